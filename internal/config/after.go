package config

import (
	"fmt"
	"slices"
	"strings"

	"hale/internal/config/fleets"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// after tells each fleet of those that come before it. Each must be there, and none may wait for itself.
func after(c *Config, drafts []keys.Named[fleets.Draft], f *keys.Finder) {
	first := map[string][]string{}
	var known []string
	for i := range drafts {
		known = append(known, drafts[i].Name)
		for _, name := range drafts[i].Value.After() {
			first[drafts[i].Name] = append(first[drafts[i].Name], name.Value)
		}
	}
	for i := range drafts {
		d := &drafts[i]
		at := slices.IndexFunc(c.Fleets, func(s policy.Spec) bool { return string(s.Name) == d.Name })
		for _, name := range d.Value.After() {
			switch round := wait(first, name.Value, d.Name); {
			case !slices.Contains(known, name.Value):
				f.Add(name.Spot, "there is no fleet "+name.Value, keys.DidYouMean(name.Value, known))
			case round != nil:
				f.Add(name.Spot, fmt.Sprintf("fleet %s would wait for itself: %s after %s", d.Name, d.Name,
					strings.Join(round, " after ")), "take one of these out")
			case at >= 0:
				c.Fleets[at].After = append(c.Fleets[at].After, fleet.Name(name.Value))
			}
		}
	}
}

// wait returns the shortest way by which the fleet waits for the last one; nil: it does not. It looks at each fleet
// once, however many ways lead there.
func wait(first map[string][]string, name, last string) []string {
	from := map[string]string{name: ""}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at == last {
			return walked(from, at)
		}
		for _, before := range first[at] {
			if _, seen := from[before]; !seen {
				from[before] = at
				next = append(next, before)
			}
		}
	}
	return nil
}

// walked returns the way that leads to the fleet, by where each one was reached from.
func walked(from map[string]string, to string) []string {
	var way []string
	for ; to != ""; to = from[to] {
		way = append(way, to)
	}
	slices.Reverse(way)
	return way
}
