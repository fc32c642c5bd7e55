package agent

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/program"
)

// Description is what a program says of itself.
type Description struct {
	Program string   `json:"program"`
	Short   string   `json:"short"`
	Long    string   `json:"long"`
	Params  []Param  `json:"options"` // in the program's order
	Actions []string `json:"actions"`
}

// Param is one option of a program.
type Param struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // string, integer, second, boolean or select
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"` // of a select
	Required bool     `json:"required,omitempty"`
	// Old says that another name took its place.
	Old bool `json:"old,omitempty"`
	// Instead are the old names that it took the place of.
	Instead []string `json:"instead,omitempty"`
	Short   string   `json:"short,omitempty"`
}

// metadata is the XML that the family prints.
type metadata struct {
	XMLName xml.Name `xml:"resource-agent"`
	Short   string   `xml:"shortdesc,attr"`
	Long    string   `xml:"longdesc"`
	Params  []struct {
		Name       string `xml:"name,attr"`
		Required   string `xml:"required,attr"`
		Deprecated string `xml:"deprecated,attr"`
		Obsoletes  string `xml:"obsoletes,attr"`
		Short      string `xml:"shortdesc"`
		Content    struct {
			Type    string `xml:"type,attr"`
			Default string `xml:"default,attr"`
			Options []struct {
				Value string `xml:"value,attr"`
			} `xml:"option"`
		} `xml:"content"`
	} `xml:"parameters>parameter"`
	Actions []struct {
		Name string `xml:"name,attr"`
	} `xml:"actions>action"`
}

// longestMetadata bounds what is read of a program, in bytes.
const longestMetadata = 1 << 20

// Describe asks a program of the family what it is and which options it has. fault.NotFound: there is no such program;
// fault.Invalid: it is none of the family.
func Describe(ctx context.Context, name string) (Description, error) {
	const op = "agent.describe"
	out := program.Head{Most: longestMetadata}
	code, err := program.Run(ctx, program.Process{Args: []string{Find(name)}, Env: []string{"LANG=C", "LC_ALL=C"},
		Input: strings.NewReader("action=metadata\n"), Output: &out})
	switch {
	case err != nil && ctx.Err() != nil:
		return Description{}, fault.New(fault.Transient, op, name, ctx.Err())
	case err != nil:
		return Description{}, fault.New(fault.NotFound, op, name,
			errors.New("there is no such program, or hale may not run it; Debian has it in a package fence-agents"))
	}
	var m metadata
	text := out.String()
	if at := strings.IndexByte(text, '<'); at >= 0 {
		text = text[at:] // some warn of their own age first
	}
	if err := xml.Unmarshal([]byte(text), &m); err != nil || code != exitOK {
		return Description{}, fault.New(fault.Invalid, op, name,
			fmt.Errorf("it does not describe itself as a fence agent does (exit code %d)", code))
	}
	return m.describe(name), nil
}

func (m *metadata) describe(program string) Description {
	d := Description{Program: program, Short: oneLine(m.Short), Long: oneLine(m.Long)}
	for _, p := range m.Params {
		param := Param{
			Name:     p.Name,
			Kind:     p.Content.Type,
			Default:  p.Content.Default,
			Required: p.Required == "1",
			Old:      p.Deprecated == "1",
			Short:    oneLine(p.Short),
		}
		if p.Obsoletes != "" {
			param.Instead = []string{p.Obsoletes}
		}
		for _, o := range p.Content.Options {
			param.Choices = append(param.Choices, o.Value)
		}
		d.Params = append(d.Params, param)
	}
	for _, a := range m.Actions {
		d.Actions = append(d.Actions, a.Name)
	}
	return d
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Against says what the description has against the options of those names: unknown ones, those that are hale's own,
// and such that are missing.
func (d Description) Against(given []string) []string {
	var problems []string
	for _, name := range given {
		switch {
		case name == "action" || name == "method":
			problems = append(problems, "the option "+name+" is hale's own to set")
		case !slices.ContainsFunc(d.Params, func(p Param) bool { return p.Name == name }):
			problems = append(problems,
				fmt.Sprintf("%s has no option %s: see hale fence describe %s", d.Program, name, d.Program))
		}
	}
	for _, p := range d.Params {
		has := func(name string) bool { return slices.Contains(given, name) }
		if p.Required && !p.Old && p.Name != "action" && p.Default == "" && !has(p.Name) &&
			!slices.ContainsFunc(p.Instead, has) {
			problems = append(problems, fmt.Sprintf("%s needs the option %s (%s)", d.Program, p.Name, p.Short))
		}
	}
	if !slices.Contains(d.Actions, "off") || !slices.Contains(d.Actions, "status") {
		problems = append(problems, d.Program+" cannot turn off and say so: it has not both actions, off and status")
	}
	return problems
}
