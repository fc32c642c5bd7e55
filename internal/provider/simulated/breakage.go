package simulated

import "hale/internal/fleet"

// Breakage is a way in which a person has a simulated machine fail, to see what hale does about it.
type Breakage struct {
	Name string // a word
	Does string // what happens, as the end of a sentence about the machine
	// Of is the fault of the instance.
	Of func(fleet.InstanceID) Fault
}

// Breakages are all that there are, those that people try first at the beginning.
func Breakages() []Breakage {
	ill := func(symptom Symptom, cure Cure) func(fleet.InstanceID) Fault {
		return func(id fleet.InstanceID) Fault {
			return Broken{Instance: id, Illness: Illness{Symptom: symptom, Cure: cure}}
		}
	}
	return []Breakage{
		{"crash", "dies at once, and is off", func(id fleet.InstanceID) Fault { return Crash{id} }},
		{"hang", "runs and answers nothing, until it is reset", ill(Hung, ByReboot)},
		{"service", "answers pings and refuses connections, until it is reset", ill(NoHTTP, ByReboot)},
		{"network", "lives and cannot be reached, until it is reset", ill(NoNetwork, ByReboot)},
		{"disk", "hangs and comes up no more: only a new instance helps", ill(Hung, ByRecreate)},
		{"panic", "dies and leaves its remains", func(id fleet.InstanceID) Fault { return Panic{Instance: id} }},
		{"shutdown", "shuts itself down", func(id fleet.InstanceID) Fault { return GuestPowersOff{id} }},
		{
			"stop",
			"is stopped at its provider, as by a person",
			func(id fleet.InstanceID) Fault { return PersonPowersOff{id} },
		},
		{"vanish", "is removed at its provider", func(id fleet.InstanceID) Fault { return Vanishes{id} }},
	}
}
