package fleet

import (
	"slices"
	"testing"
)

// What is shown of a machine: the certified instance that runs, else what runs unfinished, else the newest; what was
// put aside; and the highest generation of all. Marks of other machines and of other hales count for nothing, and what
// is gone does not, either.
func TestWhatMarksShowOfAMachine(t *testing.T) {
	t.Parallel()
	at := func(id InstanceID, g Generation, p Power, change func(*Mark)) Sighting {
		k := Mark{Installation: "ours", Machine: "web-1", Generation: g, Certified: true}
		if change != nil {
			change(&k)
		}
		return Sighting{Asked: 1, Instance: Instance{ID: id, Power: p, Mark: k}}
	}
	unfinished, kept := func(k *Mark) { k.Certified = false }, func(k *Mark) { k.Kept = true }
	for name, c := range map[string]struct {
		seen   []Sighting
		serves InstanceID
		gen    Generation
		aside  []InstanceID
	}{
		"nothing": {},
		"the newest": {[]Sighting{at("a", 1, PowerOff, nil), at("b", 2, PowerOff, nil)}, "b", 2,
			nil},
		"what runs, though it is older": {[]Sighting{at("a", 1, PowerRunning, nil), at("b", 2, PowerOff, nil)}, "a", 2,
			nil},
		"what is unfinished and runs": {[]Sighting{at("a", 1, PowerOff, nil), at("b", 2, PowerRunning, unfinished)},
			"b", 2, nil},
		"but not beside what is certified and runs": {[]Sighting{at("a", 1, PowerRunning, nil),
			at("b", 2, PowerRunning, unfinished)}, "a", 2, nil},
		"nor when it is off": {[]Sighting{at("a", 1, PowerOff, nil), at("b", 2, PowerOff, unfinished)}, "a", 2, nil},
		"nor what is gone": {[]Sighting{at("a", 1, PowerOff, nil), at("b", 2, PowerGone, nil)}, "a", 1,
			nil},
		"what was put aside, in order": {[]Sighting{at("c", 2, PowerOff, kept), at("b", 1, PowerOff, kept),
			at("a", 3, PowerRunning, nil)}, "a", 3, []InstanceID{"b", "c"}},
		"what was put aside, and runs": {[]Sighting{at("c", 2, PowerRunning, kept)}, "", 2, nil},
		"other machines and other hales": {[]Sighting{at("a", 4, PowerRunning, func(k *Mark) { k.Machine = "web-2" }),
			at("b", 5, PowerRunning, func(k *Mark) { k.Installation = "theirs" })}, "", 0, nil},
	} {
		v := View{Machine: Machine{Name: "web-1"}, Seen: c.seen}
		s, beyond := v.Beyond("ours")
		var serves InstanceID
		if s.Serves != nil {
			serves = s.Serves.ID
		}
		var aside []InstanceID
		for _, i := range s.Aside {
			aside = append(aside, i.ID)
		}
		if serves != c.serves || s.Generation != c.gen || !slices.Equal(aside, c.aside) || beyond != (c.gen > 0) {
			t.Errorf("%s: %q serves, generation %d, aside %v", name, serves, s.Generation, aside)
		}
		v.Machine.Generation, v.Machine.Current.ID = c.gen, c.serves
		for _, i := range c.aside {
			v.Machine.Kept = append(v.Machine.Kept, KeptInstance{Incarnation: Incarnation{ID: i}})
		}
		if s, beyond := v.Beyond("ours"); beyond {
			t.Errorf("%s: once it is believed, there is still %+v", name, s)
		}
	}
	if v := (View{Machine: Machine{Name: "web-1"},
		Seen: []Sighting{at("a", 1, PowerRunning, func(k *Mark) { k.Installation = "" })}}); v.Shown("").Marked != 0 {
		t.Error("what bears no mark is taken for an installation's")
	}
}
