package sim

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner"
	"hale/internal/sim/exemplar"
)

// An order is taken up once: a server that takes it up again breaks a law (L12).
func TestAnOrderIsTakenUpOnce(t *testing.T) {
	t.Parallel()
	s, err := newStage(Options{Spec: exemplar.Fleet(3), Horizon: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c := s.servers[0]
	c.start()
	id := s.Post(fleet.Order{Kind: fleet.OrderRelease, Fleet: "web"})
	for _, want := range []int{0, 1} {
		c.keep(owner.Write{Rulings: []fleet.Ruling{{Order: id}}})
		var laws []string
		for _, v := range s.judge.Broke() {
			laws = append(laws, v.Law)
		}
		if len(laws) != want || want == 1 && !slices.Equal(laws, []string{"L12"}) {
			t.Errorf("the judge says %v, want %d", laws, want)
		}
	}
}
