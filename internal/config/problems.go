package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a configuration.
type Problem struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // of the key, as "fleets.web.checks.page.every"; empty for the file as a whole
	Message string // what is wrong
	Hint    string // how to mend it; may be empty
}

// String renders "file:line:column: path: message: hint".
func (p Problem) String() string {
	parts := []string{fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)}
	for _, s := range []string{p.Path, p.Message, p.Hint} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is everything that is wrong in a configuration, in order of place. It is never empty when it is an error.
type Problems []Problem

// Error renders one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// place is where something stands.
type place struct {
	file         string
	line, column int
}

func (p place) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column) }

// spot is a place together with the path of what stands there.
type spot struct {
	place
	path string
}

// under returns the same place with a longer path: where something is missing.
func (s spot) under(key string) spot {
	s.path = joinPath(s.path, key)
	return s
}

// joinPath appends a key, or an index as "[1]".
func joinPath(path, key string) string {
	if path == "" || strings.HasPrefix(key, "[") {
		return path + key
	}
	return path + "." + key
}

// mostProblems are told at once: who has more begins with these.
const mostProblems = 100

// finder collects problems.
type finder struct {
	found Problems
	more  *Problem // the first one that is one too many
}

func (f *finder) add(s spot, message, hint string) {
	p := Problem{File: s.file, Line: s.line, Column: s.column, Path: s.path, Message: message, Hint: hint}
	switch {
	case len(f.found) < mostProblems:
		f.found = append(f.found, p)
	case f.more == nil:
		f.more = &p
	}
}

// full reports whether further problems would not be told, so that they need no hints.
func (f *finder) full() bool { return f.more != nil }

// problems returns what was found, in order of place, each once.
func (f *finder) problems() Problems {
	found := slices.Clone(f.found)
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	found = slices.Compact(found)
	if m := f.more; m != nil {
		found = append(found, Problem{File: m.File, Line: m.Line, Column: m.Column,
			Message: fmt.Sprintf("more is wrong than the %d problems before this line", len(found)),
			Hint:    "mend those first"})
	}
	return found
}

// presence tells whether a value was written.
type presence int

const (
	absent presence = iota // not written, and there is no default
	preset                 // not written: the value is the default
	given                  // written
	broken                 // written or demanded, but not usable; the problem is reported already
)

// at is a value, how it came about, and where.
type at[V any] struct {
	spot
	value V
	how   presence
}

func (a at[V]) given() bool { return a.how == given }

// known reports whether the value may be judged: it was written well, or is the default.
func (a at[V]) known() bool { return a.how == given || a.how == preset }

// written reports whether something was written, usable or not.
func (a at[V]) written() bool { return a.how == given || a.how == broken }

// named is one entry of a mapping whose keys are names.
type named[V any] struct {
	spot  // of the name
	name  string
	value V
	// ok is false when the value is broken; what could be read of it is there.
	ok bool
}
