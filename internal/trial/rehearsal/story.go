package rehearsal

import (
	"fmt"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/sim"
	"hale/internal/trial/scenario"
)

// Story is the weather of a scenario file: it happens to the user's fleet instead of the file's own.
type Story struct{ Script *scenario.Script }

// Title implements Weather.
func (s Story) Title() string { return "scenario " + s.Script.Name }

func (s Story) befall(o *sim.Options) (unfit []string) { return s.Script.Befall(o) }

// Adapt returns the order with the story as its weather, for the fleet that it is about, and with what the story says
// of the run where the caller did not choose: chosen tells of seed, servers, operator and run whether he did.
func (s Story) Adapt(o Options, chosen func(setting string) bool) (Options, error) {
	w := s.Script.World
	o.Weather = s
	if w.Seed != 0 && !chosen("seed") {
		o.Seed = w.Seed
	}
	if w.Servers != 0 && !chosen("servers") {
		o.Servers = w.Servers
	}
	if w.Operator != 0 && !chosen("operator") {
		o.Operator = w.Operator
	}
	if !chosen("run") {
		o.Horizon = w.Horizon
	}
	err := s.choose(&o)
	return o, err
}

// choose finds the fleet that the story happens to: the one that was named, or the one of the same name, or the only
// one.
func (s Story) choose(o *Options) error {
	about := s.Script.About()
	if o.Fleet != "" || len(about) == 0 {
		return nil
	}
	var same, all []string
	for _, f := range o.Config.Fleets {
		all = append(all, string(f.Name))
		for _, name := range about {
			if name == f.Name {
				same = append(same, string(name))
			}
		}
	}
	switch {
	case len(about) == 1 && len(same) == 1:
		o.Fleet = about[0]
	case len(about) == 1 && len(all) == 1:
	default:
		return fmt.Errorf("%s is about fleet %s: say with --fleet which one of %s it shall happen to",
			s.Script.Name, list(about), strings.Join(all, ", "))
	}
	return nil
}

func list(names []fleet.Name) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, " and ")
}
