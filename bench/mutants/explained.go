package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// explanations maps the keys of mutants that survive, and may, to the reasons.
type explanations map[string]string

// loadExplained reads explanations. Each is a paragraph: file, function and operator; the change; and the reason, over
// as many lines as it takes. Lines that begin with # are comments.
func loadExplained(file string) (explanations, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := explanations{}
	var entry []string
	begin := 0
	finish := func() error {
		if len(entry) == 0 {
			return nil
		}
		if len(entry) < 3 || len(strings.Fields(entry[0])) != 3 {
			return fmt.Errorf("%s:%d: want file, function and operator; the change; the reason", file, begin)
		}
		key := oneLine(entry[0]) + "\n" + oneLine(entry[1])
		if all[key] != "" {
			return fmt.Errorf("%s:%d: explained twice", file, begin)
		}
		all[key] = oneLine(strings.Join(entry[2:], " "))
		entry = nil
		return nil
	}
	n := 0
	for line := range strings.Lines(string(data) + "\n\n") {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			if err := finish(); err != nil {
				return nil, err
			}
		default:
			if len(entry) == 0 {
				begin = n
			}
			entry = append(entry, line)
		}
	}
	return all, nil
}

// outdated lists the explanations that explain nothing any more: no mutant has their key, or all that have it are
// caught.
func (x explanations) outdated(results []result) []string {
	known, needed := map[string]bool{}, map[string]bool{}
	for _, r := range results {
		known[r.key()] = true
		if r.Outcome != caught && r.Outcome != timedOut && r.Outcome != notCompiling {
			needed[r.key()] = true
		}
	}
	var old []string
	for key := range x {
		switch {
		case !known[key]:
			old = append(old, "no mutant: "+strings.ReplaceAll(key, "\n", ": "))
		case !needed[key]:
			old = append(old, "caught: "+strings.ReplaceAll(key, "\n", ": "))
		}
	}
	slices.Sort(old)
	return old
}
