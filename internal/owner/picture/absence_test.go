package picture_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
)

func TestAListingThatShowsNoNeighbourIsNotBelieved(t *testing.T) {
	t.Parallel()
	witnesses := []fleet.InstanceID{"a", "b", "c", "d"}
	for name, tc := range map[string]struct {
		shown []fleet.InstanceID
		want  bool
	}{
		"an empty list":       {nil, false},
		"one of four":         {witnesses[:1], false},
		"half of them":        {witnesses[:2], true},
		"all of them":         {witnesses, true},
		"strangers in plenty": {[]fleet.InstanceID{"x", "y", "z"}, false},
	} {
		got := picture.Credible(witnesses, func(id fleet.InstanceID) bool { return slices.Contains(tc.shown, id) })
		if got != tc.want {
			t.Errorf("%s: credible is %v", name, got)
		}
	}
	if !picture.Credible(nil, func(fleet.InstanceID) bool { return false }) {
		t.Error("where there is no other machine, nobody can vouch")
	}
}

func TestWitnessesAreSpreadOverTheFleet(t *testing.T) {
	t.Parallel()
	const size = 40
	var beliefs []belief.Machine
	var list []fleet.Instance
	for n := 1; n <= size; n++ {
		id := fleet.InstanceID("i" + strconv.Itoa(n))
		beliefs = append(beliefs, belief.Machine{Name: spec().Name.Machine(n),
			Current: belief.Incarnation{ID: id, Host: "h1"}})
		list = append(list, fleet.Instance{ID: id, Host: "h1", Power: fleet.PowerRunning})
	}
	sp := spec()
	sp.Size = size
	p := picture.New(picture.Options{Spec: sp, Beliefs: beliefs, FreshID: func() fleet.InstanceID { return "fresh" }},
		noon(0))
	c := picture.NewCatalogue()
	c.Replace([]fleet.Host{{Name: "h1", Up: true}}, list, at(time.Second))
	p.SetProvider(fleet.ProviderState{Standing: fleet.ProviderUp})
	p.See(c, nil)
	got := p.Witnesses(3)
	if slices.Contains(got, "i4") {
		t.Error("a machine vouches for itself")
	}
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != 8 {
		t.Errorf("witnesses %v, want 8 different ones", got)
	}
	if next := slices.Contains(got, "i5") && slices.Contains(got, "i6"); next {
		t.Errorf("witnesses %v are neighbours of each other", got)
	}
}
