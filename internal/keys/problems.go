package keys

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

// Place is where something stands.
type Place struct {
	File         string
	Line, column int
}

// String renders "file:line:column".
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.column) }

// Spot is a place together with the path of what stands there.
type Spot struct {
	Place
	path string
}

// Under returns the same place with a longer path: where something is missing.
func (s Spot) Under(key string) Spot {
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

// MostProblems are told at once: who has more begins with these.
const MostProblems = 100

// Finder collects problems.
type Finder struct {
	Found Problems
	more  *Problem // the first one that is one too many
}

// Add reports a problem: what is wrong, and how to mend it.
func (f *Finder) Add(s Spot, message, hint string) {
	p := Problem{File: s.File, Line: s.Line, Column: s.column, Path: s.path, Message: message, Hint: hint}
	switch {
	case len(f.Found) < MostProblems:
		f.Found = append(f.Found, p)
	case f.more == nil:
		f.more = &p
	}
}

// full reports whether further problems would not be told, so that they need no hints.
func (f *Finder) full() bool { return f.more != nil }

// Problems returns what was found, in order of place, each once.
func (f *Finder) Problems() Problems {
	found := slices.Clone(f.Found)
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

// Presence tells whether a value was written.
type Presence int

// How a value came about.
const (
	Absent Presence = iota // not written, and there is no default
	Preset                 // not written: the value is the default
	Given                  // written
	Broken                 // written or demanded, but not usable; the problem is reported already
)

// At is a value, how it came about, and where.
type At[V any] struct {
	Spot
	Value V
	How   Presence
}

// Given reports whether a usable value was written.
func (a At[V]) Given() bool { return a.How == Given }

// Known reports whether the value may be judged: it was written well, or is the default.
func (a At[V]) Known() bool { return a.How == Given || a.How == Preset }

// Written reports whether something was written, usable or not.
func (a At[V]) Written() bool { return a.How == Given || a.How == Broken }

// Named is one entry of a Mapping.
type Named[V any] struct {
	Spot  // of the name
	Name  string
	Value V
	// ok is false when the value is broken; what could be read of it is there.
	OK bool
}
