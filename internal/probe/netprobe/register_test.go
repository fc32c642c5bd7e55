package netprobe

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// rig steps a book by hand: wake does what Run does after waking, at the time that the test says.
type rig struct {
	*register
	t      *testing.T
	now    time.Time
	flight []*attempt
}

func newRig(t *testing.T, workers int) *rig {
	t.Helper()
	now := time.Now()
	return &rig{register: newRegister(workers, now), t: t, now: now}
}

// wake advances to now+d and returns how many probes were started.
func (r *rig) wake(d time.Duration) int {
	r.now = r.now.Add(d)
	r.notice(r.now)
	started := r.advance(r.now)
	for _, a := range started {
		a.cancel = func() {}
	}
	r.flight = append(r.flight, started...)
	r.arm(r.now)
	return len(started)
}

// run wakes at every time that the register asked for, up to now+d.
func (r *rig) run(d time.Duration) {
	for end := r.now.Add(d); !r.expect.After(end); {
		r.wake(r.expect.Sub(r.now))
	}
}

// answer ends the oldest probe in flight.
func (r *rig) answer(reason fleet.ResultReason) {
	r.t.Helper()
	if len(r.flight) == 0 {
		r.t.Fatal("no probe in flight")
	}
	a := r.flight[0]
	r.flight = r.flight[1:]
	a.answer = answer{reason: reason, at: r.now}
	r.notice(r.now)
	r.finish(a)
}

// told takes all reports and returns the edges as "up ok", and the number of watermarks.
func (r *rig) told() (edges []string, marks int) {
	for {
		report, ok := r.out.next()
		if !ok {
			return edges, marks
		}
		if e := report.Edge; e != nil {
			edges = append(edges, string(e.Standing)+" "+string(e.Result))
		} else {
			marks++
		}
		r.out.delivered()
	}
}

func pinged(n int, every time.Duration) probe.Target {
	return probe.Target{
		ID:      probe.ID{Machine: fleet.Name("web").Machine(n), Check: "alive"},
		Address: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}),
		Spec: &policy.Check{
			Name: "alive", Kind: policy.CheckPing, Every: every, Timeout: every / 2, DownAfter: 1, UpAfter: 1,
		},
	}
}

func TestTimeoutsAcrossAStallAreLate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stall  time.Duration
		reason fleet.ResultReason
		want   string
	}{
		"a timeout across a stall":         {2 * time.Second, fleet.ResultTimeout, "unknown late"},
		"a refusal across a stall":         {2 * time.Second, fleet.ResultRefused, "down refused"},
		"a success across a stall":         {2 * time.Second, fleet.ResultOK, "up ok"},
		"a timeout, woken at the bound":    {stallAfter, fleet.ResultTimeout, "down timeout"},
		"a timeout, woken after the bound": {stallAfter + 1, fleet.ResultTimeout, "unknown late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 10)
			r.wake(0)
			r.set([]probe.Target{pinged(1, 10*time.Second)}, r.now)
			r.wake(0)
			r.wake(r.expect.Sub(r.now) + tc.stall)
			r.answer(tc.reason)
			if edges, _ := r.told(); len(edges) != 1 || edges[0] != tc.want {
				t.Errorf("edges %q, want %q", edges, tc.want)
			}
		})
	}
}

// TestStallWhileAwake stops the scheduler between two readings of the clock, after it has taken an order and before it
// sleeps.
func TestStallWhileAwake(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gap  time.Duration
		want uint64
	}{"at the bound": {stallAfter, 0}, "beyond it": {stallAfter + 1, 1}} {
		r := newRig(t, 10)
		r.wake(0)
		r.now = r.now.Add(time.Millisecond)
		r.notice(r.now) // an order wakes it long before its time
		before := r.stalls
		r.wake(tc.gap)
		if got := r.stalls - before; got != tc.want {
			t.Errorf("%s: %d stalls noticed, want %d", name, got, tc.want)
		}
	}
}

func TestNoBurstAfterAStall(t *testing.T) {
	t.Parallel()
	const n = 1000
	r := newRig(t, n)
	var targets []probe.Target
	for i := range n {
		targets = append(targets, pinged(i, time.Second))
	}
	r.wake(0)
	r.set(targets, r.now)
	for range 500 {
		r.wake(10 * time.Millisecond)
		for len(r.flight) > 0 {
			r.answer(fleet.ResultOK)
		}
	}
	if started := r.wake(30 * time.Second); started > n/2 {
		t.Errorf("%d of %d probes started at once after the stall", started, n)
	}
	edges, _ := r.told()
	unknown := 0
	for _, e := range edges {
		if e == "unknown late" {
			unknown++
		}
	}
	if unknown < n/2 {
		t.Errorf("%d targets became unknown after half a minute of nothing, want most of %d: %q",
			unknown, n, edges[:min(9, len(edges))])
	}
	most := 0
	for range 200 {
		most = max(most, r.wake(10*time.Millisecond))
		for len(r.flight) > 0 {
			r.answer(fleet.ResultOK)
		}
	}
	if most > n/20 {
		t.Errorf("%d probes in 10 ms after the stall, want about %d", most, n/100)
	}
	for _, e := range r.standings() {
		if e.Standing != fleet.StandingUp {
			t.Fatalf("two seconds after the stall %s is %s %s", e.Machine, e.Standing, e.Result)
		}
	}
}

func TestWhatFindsNoWorkerIsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	first, second := pinged(1, time.Second), pinged(2, time.Second)
	r.wake(0)
	r.set([]probe.Target{first, second}, r.now)
	if started := r.wake(0); started != 1 {
		t.Fatalf("%d probes started with one worker", started)
	}
	r.run(3 * time.Second)
	for _, e := range r.standings() {
		if e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultLate {
			t.Errorf("%s is %s %s, want unknown late", e.Machine, e.Standing, e.Result)
		}
	}
	r.answer(fleet.ResultOK) // the worker is free again
	r.run(5 * time.Millisecond)
	if r.wake(0); len(r.flight) != 1 || r.flight[0].ask.ID == first.ID {
		t.Errorf("in flight: %d, want the one that waited", len(r.flight))
	}
	if due := r.flight[0].due; r.now.Sub(due) >= time.Second {
		t.Errorf("its probe counts as due %v ago, more than one interval", r.now.Sub(due))
	}
}

func TestNoWatermarkWhileAllWorkersAreStuck(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.wake(0)
	r.set([]probe.Target{pinged(1, 10*time.Second), pinged(2, 10*time.Second)}, r.now)
	r.wake(0)
	bound := 5*time.Second + overrun
	for elapsed := time.Duration(0); elapsed < bound; elapsed += time.Second {
		r.run(time.Second)
		if _, marks := r.told(); marks != 1 {
			t.Errorf("%d watermarks in second %v", marks, elapsed)
		}
	}
	r.run(10 * time.Second)
	if _, marks := r.told(); marks != 0 {
		t.Errorf("%d watermarks while both workers are stuck", marks)
	}
	r.answer(fleet.ResultLate)
	r.run(time.Second)
	if _, marks := r.told(); marks != 1 {
		t.Errorf("%d watermarks in the second after one worker came back", marks)
	}
}

func TestSlotsLieOnTheirGrid(t *testing.T) {
	t.Parallel()
	origin := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "every"))
		from := origin.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(1000*time.Hour)).Draw(t, "from")))
		x := &target{Target: pinged(rapid.IntRange(1, 10000).Draw(t, "machine"), every)}
		slot := x.slotFrom(origin, from)
		if slot.Before(from) || slot.Sub(from) >= every {
			t.Fatalf("slot %v from %v: want at or after it, and less than %v", slot, from, every)
		}
		if again := x.slotFrom(origin, slot); !again.Equal(slot) {
			t.Fatalf("slot from %v is %v, not itself", slot, again)
		}
		if next := x.slotFrom(origin, slot.Add(1)); next.Sub(slot) != every {
			t.Fatalf("the slot after %v comes %v later, want %v", slot, next.Sub(slot), every)
		}
	})
}

func TestRemovedTargetsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.wake(0)
	a := pinged(1, time.Second)
	r.set([]probe.Target{a}, r.now)
	r.wake(0)
	r.remove([]probe.ID{a.ID})
	r.answer(fleet.ResultRefused)
	r.run(10 * time.Second)
	edges, _ := r.told()
	if len(edges) != 0 || len(r.targets) != 0 || len(r.due) != 0 || len(r.flying) != 0 || r.ready.len() != 0 {
		t.Errorf("edges %q, %d targets, %d due, %d in flight, %d ready",
			edges, len(r.targets), len(r.due), len(r.flying), r.ready.len())
	}
}

func TestWaitingEdgeOfARemovedTargetIsDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.wake(0)
	a, b := pinged(1, time.Second), pinged(2, time.Second)
	r.set([]probe.Target{a, b}, r.now)
	r.wake(0)
	r.answer(fleet.ResultRefused)
	r.answer(fleet.ResultOK)
	r.remove([]probe.ID{a.ID})
	if edges, _ := r.told(); len(edges) != 1 || edges[0] != "up ok" {
		t.Errorf("edges %q, want only that of the other target", edges)
	}
}

// TestNewEpochHearsWhatItMustKnow: a new owner's fold begins empty, and so that it is never wrong, what is not the
// beginning is told anew.
func TestNewEpochHearsWhatItMustKnow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.wake(0)
	lost, moved := pinged(1, time.Second), pinged(2, time.Second)
	lost.Address = netip.Addr{}
	r.set([]probe.Target{lost, moved}, r.now)
	r.wake(0)
	r.answer(fleet.ResultOK)
	if edges, _ := r.told(); len(edges) != 2 {
		t.Fatalf("edges %q", edges)
	}
	moved.Address = netip.MustParseAddr("10.9.9.9")
	r.set([]probe.Target{moved}, r.now) // unknown, and not read yet
	lost.Epoch, moved.Epoch = 2, 2
	r.set([]probe.Target{lost, moved}, r.now)
	for range 2 {
		report, ok := r.out.next()
		if !ok || report.Edge == nil || report.Edge.Epoch != 2 || report.Edge.Seq != 1 {
			t.Fatalf("the new epoch hears %+v", report.Edge)
		}
		r.out.delivered()
	}
	if report, ok := r.out.next(); ok {
		t.Errorf("one report too many: %+v", report.Edge)
	}
}

func TestAnswersOfAnEarlierRunDoNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.wake(0)
	a := pinged(1, time.Second)
	r.set([]probe.Target{a}, r.now)
	r.wake(0)
	a.Address = netip.MustParseAddr("10.9.9.9")
	r.set([]probe.Target{a}, r.now)
	r.wake(0)
	r.answer(fleet.ResultRefused) // it had been on its way
	if edges, _ := r.told(); len(edges) != 0 {
		t.Errorf("edges %q for what the old address said", edges)
	}
	r.answer(fleet.ResultOK)
	if edges, _ := r.told(); len(edges) != 1 || edges[0] != "up ok" {
		t.Errorf("edges %q, want only that of the new address", edges)
	}
}
