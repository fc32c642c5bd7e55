package picture_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/owner/picture"
)

// field lists machines that hale never marked, in a hundred groups by their names.
func field(size int) []fleet.Instance {
	all := make([]fleet.Instance, 0, size)
	for n := range size {
		all = append(all, fleet.Instance{ID: fleet.InstanceID(fmt.Sprintf("id-%d", n)), Host: "a",
			Name: fmt.Sprintf("f%d-%d", n%100, n), Power: fleet.PowerRunning,
			Address: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})})
	}
	return all
}

func selects(pattern string) *picture.Picture {
	s := spec()
	s.Size, s.Adopt = 0, policy.Adoption{Select: policy.Selector{Name: pattern}}
	return picture.New(picture.Options{Spec: s, FreshID: func() fleet.InstanceID { return "fresh" }}, noon(0))
}

func offered(p *picture.Picture) []string {
	var names []string
	for i := range p.Len() {
		for _, s := range p.View(i).Seen {
			names = append(names, s.Instance.Name)
		}
	}
	slices.Sort(names)
	return names
}

// A fleet finds what it may adopt by name, whether an instance was listed at first, came later, or was renamed. One
// that is no longer listed is not offered.
func TestAFleetIsOfferedWhatItsPatternMeans(t *testing.T) {
	t.Parallel()
	hosts, all := []fleet.Host{{Name: "a", Up: true}}, field(300)
	c := picture.NewCatalogue()
	c.Replace(hosts, all, at(time.Second))
	see := func(pattern string, want ...string) {
		t.Helper()
		p := selects(pattern)
		p.See(c, nil)
		if is := offered(p); !slices.Equal(is, want) {
			t.Errorf("%s: offered are %v, want %v", pattern, is, want)
		}
	}
	see("f7-*", "f7-107", "f7-207", "f7-7")
	see("f?-2?7", "f7-207")
	see("*-299", "f99-299")
	see("f7-7", "f7-7")

	late, renamed := all[8], all[9]
	late.ID, late.Name, renamed.Name = "late", "f7-00", "f7-99"
	c.Update(hosts, []fleet.Instance{late, renamed}, []fleet.InstanceID{all[7].ID}, at(2*time.Second))
	see("f7-*", "f7-00", "f7-107", "f7-207", "f7-99")
	see("f9-*", "f9-109", "f9-209")
}

// The size of a fleet that selects is how many machines it has in its care, whatever comes and goes.
func TestTheSizeOfAFleetThatSelectsIsWhatItCaresFor(t *testing.T) {
	t.Parallel()
	c, p := picture.NewCatalogue(), selects("f7-*")
	c.Replace([]fleet.Host{{Name: "a", Up: true}}, field(300), at(time.Second))
	p.See(c, nil)
	for i, want := range []int{1, 2, 3} {
		m := p.View(i).Machine
		m.Current = belief.Incarnation{ID: p.View(i).Seen[0].Instance.ID, Host: "a", Adopted: true, Certified: true}
		p.Adopt(round.Decided{Index: i, Belief: m})
		if is := p.State().Spec.Size; is != want {
			t.Errorf("%d machines were taken, and the size is %d", want, is)
		}
	}
	m := p.View(1).Machine
	for range 2 { // the second time it is gone already
		m.Current = belief.Incarnation{}
		p.Adopt(round.Decided{Index: 1, Belief: m})
		if is := p.State().Spec.Size; is != 2 {
			t.Errorf("one of three left, and the size is %d", is)
		}
	}
}

// A hundred fleets look through each listing.
func BenchmarkOffer(b *testing.B) {
	c := picture.NewCatalogue()
	c.Replace([]fleet.Host{{Name: "a", Up: true}}, field(100_000), at(time.Second))
	p := selects("f7-*")
	p.See(c, nil)
	for b.Loop() {
		p.See(c, nil)
	}
}
