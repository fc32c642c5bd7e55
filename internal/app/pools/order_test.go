package pools_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/memory"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
)

// diary is a pool that writes down its orders, and tells of each of them once it is carried out.
type diary struct {
	*memory.Pool
	mu    sync.Mutex
	lines []string
	after func(lines int)
	full  fleet.MachineName // there is no room for it
}

// Set implements balancer.Pool.
func (d *diary) Set(ctx context.Context, m fleet.MachineName, w balancer.Want) error {
	err := d.Pool.Set(ctx, m, w)
	if m == d.full {
		err = fault.New(fault.NotFound, "diary.set", string(m), nil)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%s %s", m, letters[w.State]))
	if d.after != nil {
		d.after(len(d.lines))
	}
	return err
}

// begin leaves what was written aside, and has each further order be told of.
func (d *diary) begin(after func(lines int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines, d.after = nil, after
}

func (d *diary) said() string {
	time.Sleep(30 * time.Second)
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, ", ")
}

// ordered plays a story with the orders that the pool gets.
func ordered(t *testing.T, tell func(t *testing.T, w *world, d *diary)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(), &diary{Pool: memory.New()}
		w.run(t, configured(settings{d}, 30*time.Second))
		expect(t, d.Pool, all)
		tell(t, w, d)
	})
}

// moved has machines answer elsewhere, so that they are to join anew.
func moved(f *published.Fleet, ordinals ...int) {
	for _, n := range ordinals {
		f.Machines[n-1].Machine.Address = netip.AddrFrom4([4]byte{10, 0, 9, byte(n)})
	}
}

// TestAPassEndsWhenAnotherThingIsWanted: a balancer that takes its time with each step is not told what was wanted long
// ago, before what is wanted now.
func TestAPassEndsWhenAnotherThingIsWanted(t *testing.T) {
	t.Parallel()
	ordered(t, func(t *testing.T, w *world, d *diary) {
		d.begin(func(lines int) {
			if lines == 1 {
				w.fail(belief.CauseChecks, 1)
			}
		})
		w.turn(func(f *published.Fleet) { moved(f, 2, 3) })
		if got, want := d.said(), "web-2 S, web-1 o, web-3 S"; got != want {
			t.Errorf("the orders were %s, and should be %s", got, want)
		}
	})
}

// TestARefusedStepKeepsNoOtherFromItsTurn though what is wanted changes all the time.
func TestARefusedStepKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	ordered(t, func(t *testing.T, w *world, d *diary) {
		d.full = "web-1"
		d.begin(func(lines int) {
			w.turn(func(f *published.Fleet) {
				f.Machines[2].Machine.Address = netip.AddrFrom4([4]byte{10, 1, 0, byte(lines)})
			})
		})
		w.turn(func(f *published.Fleet) { moved(f, 1, 2) })
		if got := d.said(); !strings.HasPrefix(got, "web-1 S, web-2 S, ") {
			t.Errorf("the orders were %s", got)
		}
	})
}

// TestADrainThatFailsIsToldAgain until the pool's wait is over, and said as what it is: that nothing was done is no
// drain. What could not be drained is taken out then, and is tried for as long as that fails.
func TestADrainThatFailsIsToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(), &diary{Pool: memory.New()}
		kept := w.run(t, configured(settings{d}, 30*time.Second))
		expect(t, d.Pool, all)
		m := d.All()["web-1"]
		m.Connections = balancer.UnknownConnections
		d.Put(m)
		d.Break(memory.Faults{Fails: true})
		d.begin(nil)
		w.turn(func(f *published.Fleet) { f.Machines[0].Machine.Repair = &belief.Repair{Kind: belief.RepairUpdate} })
		time.Sleep(11 * time.Second)
		if m := kept.Said("web")[0].Members["web-1"]; m.State != balancer.Draining || !m.Failed {
			t.Errorf("it is told of as %+v", m)
		}
		d.Break(memory.Faults{})
		time.Sleep(6 * time.Second)
		if m := kept.Said("web")[0].Members["web-1"]; m.State != balancer.Draining || m.Failed {
			t.Errorf("it drains, and is told of as %+v", m)
		}
		d.Break(memory.Faults{Fails: true})
		m = d.All()["web-1"]
		m.Failed = true
		d.Put(m)
		time.Sleep(time.Minute)
		if told := kept.Troubles(time.Now()); len(told) != 1 {
			t.Errorf("it says %+v", told)
		}
		if got := d.said(); !strings.HasPrefix(got, "web-1 d, web-1 d") || !strings.HasSuffix(got, "web-1 o, web-1 o") {
			t.Errorf("the orders were %s", got)
		}
	})
}

// TestWhatFailsLeavesBeforeOthersJoin where another machine serves: it gets requests until then. What is well, and the
// only one that serves, goes once the others were told to.
func TestWhatFailsLeavesBeforeOthersJoin(t *testing.T) {
	t.Parallel()
	ordered(t, func(t *testing.T, w *world, d *diary) {
		d.begin(nil)
		w.turn(func(f *published.Fleet) {
			moved(f, 3)
			f.Machines[0].Machine.Repair = &belief.Repair{Kind: belief.RepairUpdate}
		})
		if got, want := d.said(), "web-3 S, web-1 d, web-1 o"; got != want {
			t.Errorf("the orders were %s, and should be %s", got, want)
		}
	})
	ordered(t, func(t *testing.T, w *world, d *diary) {
		d.begin(nil)
		w.turn(func(f *published.Fleet) {
			moved(f, 1, 2)
			f.Machines[2].Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
		})
		if got, want := d.said(), "web-3 o, web-1 S, web-2 S"; got != want {
			t.Errorf("the orders were %s, and should be %s", got, want)
		}
	})
	ordered(t, func(t *testing.T, w *world, d *diary) {
		w.fail(belief.CauseOff, 1, 2)
		expect(t, d.Pool, "ooS")
		d.begin(nil)
		w.turn(func(f *published.Fleet) {
			f.Machines[1].Machine.Health = belief.Health{Verdict: belief.VerdictHealthy}
			f.Machines[2].Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseOff}
		})
		if got, want := d.said(), "web-2 S, web-3 o"; got != want {
			t.Errorf("the orders were %s, and should be %s", got, want)
		}
	})
}
