package situation

import (
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// What is shown of a machine: the certified instance that runs, else what runs unfinished, else the newest; what was
// put aside; and the highest generation of all. Marks of other machines and of other hales count for nothing, and what
// is gone does not, either.
func TestWhatMarksShowOfAMachine(t *testing.T) {
	t.Parallel()
	at := func(id fleet.InstanceID, g fleet.Generation, p fleet.Power, change func(*fleet.Mark)) fleet.Sighting {
		k := fleet.Mark{Installation: "ours", Machine: "web-1", Generation: g, Certified: true}
		if change != nil {
			change(&k)
		}
		return fleet.Sighting{Asked: 1, Instance: fleet.Instance{ID: id, Power: p, Mark: k}}
	}
	unfinished, kept := func(k *fleet.Mark) { k.Certified = false }, func(k *fleet.Mark) { k.Kept = true }
	for name, c := range map[string]struct {
		seen   []fleet.Sighting
		serves fleet.InstanceID
		gen    fleet.Generation
		aside  []fleet.InstanceID
	}{
		"nothing": {},
		"the newest": {[]fleet.Sighting{at("a", 1, fleet.PowerOff, nil), at("b", 2, fleet.PowerOff, nil)}, "b", 2,
			nil},
		"what runs, though it is older": {[]fleet.Sighting{at("a", 1, fleet.PowerRunning, nil),
			at("b", 2, fleet.PowerOff, nil)}, "a", 2,
			nil},
		"what is unfinished and runs": {[]fleet.Sighting{at("a", 1, fleet.PowerOff, nil),
			at("b", 2, fleet.PowerRunning, unfinished)},
			"b", 2, nil},
		"but not beside what is certified and runs": {[]fleet.Sighting{at("a", 1, fleet.PowerRunning, nil),
			at("b", 2, fleet.PowerRunning, unfinished)}, "a", 2, nil},
		"nor when it is off": {[]fleet.Sighting{at("a", 1, fleet.PowerOff, nil),
			at("b", 2, fleet.PowerOff, unfinished)}, "a", 2, nil},
		"nor what is gone": {[]fleet.Sighting{at("a", 1, fleet.PowerOff, nil), at("b", 2, fleet.PowerGone, nil)}, "a",
			1,
			nil},
		"what was put aside, in order": {[]fleet.Sighting{at("c", 2, fleet.PowerOff, kept),
			at("b", 1, fleet.PowerOff, kept),
			at("a", 3, fleet.PowerRunning, nil)}, "a", 3, []fleet.InstanceID{"b", "c"}},
		"what was put aside, and runs": {[]fleet.Sighting{at("c", 2, fleet.PowerRunning, kept)}, "", 2, nil},
		"other machines and other hales": {[]fleet.Sighting{at("a", 4, fleet.PowerRunning,
			func(k *fleet.Mark) { k.Machine = "web-2" }),
			at("b", 5, fleet.PowerRunning, func(k *fleet.Mark) { k.Installation = "theirs" })}, "", 0, nil},
	} {
		v := View{Machine: belief.Machine{Name: "web-1"}, Seen: c.seen}
		s, beyond := v.Beyond("ours")
		var serves fleet.InstanceID
		if s.Serves != nil {
			serves = s.Serves.ID
		}
		var aside []fleet.InstanceID
		for _, i := range s.Aside {
			aside = append(aside, i.ID)
		}
		if serves != c.serves || s.Generation != c.gen || !slices.Equal(aside, c.aside) || beyond != (c.gen > 0) {
			t.Errorf("%s: %q serves, generation %d, aside %v", name, serves, s.Generation, aside)
		}
		v.Machine.Generation, v.Machine.Current.ID = c.gen, c.serves
		if s.Serves != nil && s.Serves.Mark.Certified {
			if s, _ := v.Beyond("ours"); s.Serves == nil {
				t.Errorf("%s: nothing shows that its own instance was finished since", name)
			}
			v.Machine.Current.Certified = true
		}
		for _, i := range c.aside {
			v.Machine.Kept = append(v.Machine.Kept, belief.KeptInstance{Incarnation: belief.Incarnation{ID: i}})
		}
		if s, beyond := v.Beyond("ours"); beyond {
			t.Errorf("%s: once it is believed, there is still %+v", name, s)
		}
	}
	if v := (View{Machine: belief.Machine{Name: "web-1"},
		Seen: []fleet.Sighting{at("a", 1, fleet.PowerRunning,
			func(k *fleet.Mark) { k.Installation = "" })}}); v.Shown("").Marked != 0 {
		t.Error("what bears no mark is taken for an installation's")
	}
}
