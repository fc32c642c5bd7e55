package main

import (
	"bytes"
	"fmt"
	"os"
	"path"

	"github.com/goccy/go-yaml"
)

// handMade is a mutant that a person thought of: a change that must be caught, whatever the mechanical ones say.
type handMade struct {
	Name  string
	Why   string
	Edits []struct{ File, Old, New string }
}

// loadHand reads a list of mutants made by hand and applies them to the tree. A mutant that no longer applies is an
// error: otherwise its test would silently be lost.
func (t tree) loadHand(file string) ([]mutant, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []handMade
	if err := yaml.UnmarshalWithOptions(data, &list, yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []mutant
	names := map[string]bool{}
	for _, h := range list {
		if h.Name == "" || len(h.Edits) == 0 || names[h.Name] {
			return nil, fmt.Errorf("%s: %q needs a name of its own and edits", file, h.Name)
		}
		names[h.Name] = true
		m, err := t.byHand(h)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, h.Name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func (t tree) byHand(h handMade) (mutant, error) {
	m := mutant{
		ID: "hand: " + h.Name, Package: path.Dir(h.Edits[0].File), File: h.Edits[0].File,
		Function: "-", Operator: opHand, Change: h.Name, patch: map[string][]byte{},
	}
	for i, e := range h.Edits {
		text, ok := m.patch[e.File]
		if !ok {
			var err error
			if text, err = os.ReadFile(t.abs(e.File)); err != nil {
				return mutant{}, err
			}
		}
		old := []byte(e.Old)
		if n := bytes.Count(text, old); n != 1 {
			return mutant{}, fmt.Errorf("%s holds the old text %d times, not once: %q", e.File, n, e.Old)
		}
		at := bytes.Index(text, old)
		if i == 0 {
			m.Line = 1 + bytes.Count(text[:at], []byte("\n"))
			m.Col = 1
			m.Source = lineOf(text, m.Line)
			m.runs = position{m.Line, m.Col}
		}
		m.patch[e.File] = apply(text, []edit{{at, at + len(old), e.New}})
	}
	return m, nil
}
