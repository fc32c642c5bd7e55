package simulated

import (
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/sim/verbs"
)

// Breakage is a way in which a person has a simulated machine fail, to see what hale does about it.
type Breakage struct {
	Name string // a word
	Does string // what happens, as the end of a sentence about the machine
	verb verbs.Verb
}

// Of is the fault of the instance.
func (b Breakage) Of(id fleet.InstanceID) Fault { return Happens{Verb: b.verb, Instance: id} }

// Breakages are all that there are, those that people try first at the beginning.
func Breakages() []Breakage {
	return []Breakage{
		{"crash", "dies at once, and is off", verbs.Crashes},
		{"hang", "runs and answers nothing, until it is reset", verbs.Hangs},
		{"service", "answers pings and refuses connections, until it is reset", verbs.StopsApp},
		{"network", "lives and cannot be reached, until it is reset", verbs.LosesNet},
		{"disk", "hangs and comes up no more: only a new instance helps", verbs.LosesDisk},
		{"panic", "dies and leaves its remains", verbs.Panics},
		{"shutdown", "shuts itself down", verbs.ShutsDown},
		{"stop", "is stopped at its provider, as by a person", verbs.IsStopped},
		{"vanish", "is removed at its provider", verbs.Vanishes},
	}
}

// BreakageNamed returns the one of the name. fault.NotFound: there is none.
func BreakageNamed(way string) (Breakage, error) {
	for _, b := range Breakages() {
		if b.Name == way {
			return b, nil
		}
	}
	return Breakage{}, fault.New(fault.NotFound, "simulated.break", way, fmt.Errorf("a simulated machine cannot fail in "+
		"the way %q; hale sim break lists the ways", way))
}
