package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// rest is for how long the size may not grow again by a program's word.
const rest = 20 * time.Second

// elastic is a fleet whose size people and programs order between bounds. A machine that fails is left as it is.
const elastic = `      seed: true
    checks: {page: {http: {path: /healthz}, every: 1s, timeout: 900ms, down_after: 3}}
    build_within: 1m
    repair: {steps: [page]}`

// TestS31S32S60ASizeIsOrderedWithinItsBounds plays what is ordered of a size between one and three machines.
func TestS31S32S60ASizeIsOrderedWithinItsBounds(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.48.0.0/16", settings{
		fleet: "web", size: 1, most: 3, fleetYAML: elastic,
		sizes: fmt.Sprintf("{min: 1, max: 3, up: {cooldown: %s}}", rest),
	})
	s.raise()
	s.stands()
	s.scene("S31 a signal in the cooldown is refused, and works after it", signalled)
	s.scene("S60 failing machines go first, and then the oldest", whoGoes)
	s.scene("S32 percent with a least step, bounds, and exactly", percents)
}

// is waits until the fleet has so many machines, and is to have so many.
func (s stage) is(size int) {
	s.Helper()
	s.await(fmt.Sprintf("there are %d machines", size), func() error {
		f, err := s.fleet()
		if err == nil && (f.Size != size || len(f.Machines) != size) {
			err = fmt.Errorf("there are %d machines of %d", len(f.Machines), f.Size)
		}
		return err
	})
}

func signalled(s stage) {
	mark := s.journal.mark()
	s.says("scale", "web", "+1", "--signal", "--reason", "the queue is long")
	first := s.event("the signal is followed", mark, because("change", "size-ordered"))
	out, err := s.hale.command(s.within(moment), "scale", "web", "+1", "--signal")
	if err == nil {
		s.Fatalf("a signal in the cooldown is not refused: %s", out)
	}
	if said := out + err.Error(); !strings.Contains(said, "rests before it moves again") {
		s.Errorf("refused, and it says %q", said)
	}
	s.event("the refusal is recorded", mark, because("order", "cooldown"))
	s.is(2)
	s.idle(time.Until(first.At.Add(rest + time.Second)))
	s.says("scale", "web", "+1", "--signal", "--reason", "the queue is still long")
	s.is(3)
}

func whoGoes(s stage) {
	mark := s.journal.mark()
	s.fault("web-2", lab.FaultNoHTTP)
	s.event("web-2 fails", mark, of("web-2", verdict("unhealthy")))
	s.says("scale", "web", "2", "--reason", "fewer visitors")
	s.is(2)
	s.says("scale", "web", "1", "--reason", "even fewer")
	s.is(1)
	gone := field(s.after(mark), because("change", "size-down"), func(e api.Event) string { return e.Machine })
	if want := []string{"web-2", "web-1"}; !slices.Equal(gone, want) {
		s.Errorf("%v went, want %v: the one that failed, and then the oldest", gone, want)
	}
}

func percents(s stage) {
	for _, step := range []struct {
		order string
		size  int
	}{
		{"+50%", 2},  // of one machine, which is one at least
		{"+300%", 3}, // that would be eight
		{"2", 2},
		{"-90%", 1}, // that would be none
	} {
		s.says("scale", "web", step.order, "--reason", "S32")
		s.is(step.size)
	}
}
