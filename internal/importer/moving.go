// Package importer reads what other healers were told, and writes what means the same to hale: Senlin's health policies
// with their profiles and clusters, and Cloudify blueprints with agentless healers.
//
// It promises that every key of a file is carried over or named, with its line, as one that is not; that it names what
// hale does differently on purpose, and what a person must fill in; that a secret in a file is never repeated; and that
// what it writes is a valid configuration. It touches nothing but the text that it is given.
package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Source is one file.
type Source struct {
	Name string
	Data []byte
}

// Result is a configuration with what is to be known about it.
type Result struct {
	Config []byte // with the notes as a comment at its head
	Notes  []Note
}

// Kind is what a note is about.
type Kind string

// The kinds.
const (
	Lost    Kind = "not carried over"
	Missing Kind = "to be filled in"
	Differs Kind = "different on purpose"
)

// Note is something that a person should know.
type Note struct {
	Kind Kind
	File string // empty: of no place
	Line int
	Text string
}

// String renders "file:line: kind: text".
func (n Note) String() string {
	if n.File == "" {
		return fmt.Sprintf("%s: %s", n.Kind, n.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", n.File, n.Line, n.Kind, n.Text)
}

// mover gathers notes.
type mover struct{ notes []Note }

func (m *mover) note(kind Kind, at *value, format string, args ...any) {
	n := Note{Kind: kind, Text: fmt.Sprintf(format, args...)}
	if at != nil {
		n.File, n.Line = at.file, at.line
	}
	m.notes = append(m.notes, n)
}

// observe is the mode of each fleet: the other healer still runs, and two of them would repair the same machines.
const observe = "observe"

// write renders the configuration below the notes.
func (m *mover) write(from string, sources []Source, config yaml.MapSlice) (Result, error) {
	slices.SortStableFunc(m.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)),
			cmp.Compare(position(sources, a.File), position(sources, b.File)), cmp.Compare(a.Line, b.Line))
	})
	var b bytes.Buffer
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, s.Name)
	}
	fmt.Fprintf(&b, "# From %s: %s. Read the notes, then: hale validate, hale simulate, and hale run.\n",
		from, strings.Join(names, ", "))
	b.WriteString("# It only watches (mode: observe) until you take that out.\n")
	for _, kind := range []Kind{Missing, Lost, Differs} {
		if !slices.ContainsFunc(m.notes, func(n Note) bool { return n.Kind == kind }) {
			continue
		}
		fmt.Fprintf(&b, "#\n# %s:\n", strings.ToUpper(string(kind[:1]))+string(kind[1:]))
		for _, n := range m.notes {
			if n.Kind == kind {
				fmt.Fprintf(&b, "#   %s\n", strings.Replace(n.String(), string(n.Kind)+": ", "", 1))
			}
		}
	}
	b.WriteString("\n")
	text, err := yaml.MarshalWithOptions(config, yaml.Indent(2), yaml.IndentSequence(true),
		yaml.UseLiteralStyleIfMultiline(true))
	b.Write(text)
	return Result{Config: b.Bytes(), Notes: m.notes}, err
}

func order(k Kind) int { return slices.Index([]Kind{Missing, Lost, Differs}, k) }

func position(sources []Source, name string) int {
	return slices.IndexFunc(sources, func(s Source) bool { return s.Name == name })
}

// mapOf makes an ordered mapping of keys and values; those without a value are left out.
func mapOf(pairs ...any) yaml.MapSlice {
	var out yaml.MapSlice
	for i := 0; i+1 < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
		case []string:
			if len(v) == 0 {
				continue
			}
		case yaml.MapSlice:
			if v == nil {
				continue
			}
		}
		out = append(out, yaml.MapItem{Key: pairs[i], Value: pairs[i+1]})
	}
	return out
}
