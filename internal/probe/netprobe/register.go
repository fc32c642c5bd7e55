package netprobe

import (
	"container/heap"
	"context"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

const (
	// stallAfter is how late the scheduler may wake before it takes itself for stalled.
	stallAfter = 250 * time.Millisecond
	// beatEvery is how often it wakes while probes are in flight, to notice a stall.
	beatEvery = 100 * time.Millisecond
	// overrun is how long after its timeout a probe's end may be read and still mean anything.
	overrun = time.Second
	// markEvery is the time between watermarks.
	markEvery = time.Second
	// manyAtOnce is the number of new or changed targets that may all be due at once. More targets are spread over the
	// interval, and at most spreadOver.
	manyAtOnce = 100
	spreadOver = time.Second
)

// target is one target and all that is known about it.
type target struct {
	probe.Target
	run     uint64 // counts restarts; what belongs to an earlier run is ignored
	gone    bool
	tally   probe.Tally
	edge    probe.Edge  // the last one, delivered or not; what Standings says
	pending *probe.Edge // not delivered yet
	due     time.Time   // of the next probe
	index   int         // in the heap, -1 outside
	fresh   bool        // no probe of this run was released yet
	slot    time.Time   // the due time of the probe that waits or flies
	waiting bool        // for a worker
	flying  *attempt
	// measure is what the last good answer did, unless a failure came after it; zero: there is none.
	measure probe.Measure
}

// result is what one probe had to say.
type result struct {
	reason  fleet.ResultReason
	detail  string
	started time.Time // zero: it was not
	at      time.Time // when it was known
	due     time.Time // when its probe was due
	measure probe.Measure
}

// attempt is one probe in flight.
type attempt struct {
	target  *target
	run     uint64
	ask     probe.Target // as it was at the start
	due     time.Time
	started time.Time
	stalled bool               // the scheduler was stalled meanwhile
	cancel  context.CancelFunc // set by the engine
	answer  answer             // set by the worker
}

type waiter struct {
	target *target
	run    uint64
}

// register is the state of a shard. It is pure: time is an argument, and what it wants done it returns.
type register struct {
	workers int
	origin  time.Time // of the grid of due times
	targets map[probe.ID]*target
	due     dueHeap
	ready   fifo[waiter]
	flying  map[*attempt]struct{}
	looks   int    // in progress
	stalls  uint64 // noticed so far
	out     outbox
	hearing probe.Hearing // nil: beats are not received
	log     probe.Listeners
	markDue time.Time
	beat    time.Time
	// expect is when the clock was to be read next at the latest: when it was read last, or while the scheduler sleeps,
	// when it meant to wake.
	expect time.Time
}

func newRegister(workers int, now time.Time) *register {
	return &register{
		workers: workers,
		origin:  now,
		targets: make(map[probe.ID]*target),
		flying:  make(map[*attempt]struct{}),
		markDue: now.Add(markEvery),
		expect:  now,
	}
}

// set adds or replaces targets; unchanged ones are left alone.
func (b *register) set(targets []probe.Target, now time.Time) {
	changed := slices.DeleteFunc(slices.Clone(targets), func(want probe.Target) bool {
		t, ok := b.targets[want.ID]
		if !ok || !same(t.Target, want) {
			return false
		}
		t.Keeps = want.Keeps
		return true
	})
	for _, want := range changed {
		first := now
		if len(changed) > manyAtOnce {
			first = now.Add(share(want.ID, min(want.Spec.Every, spreadOver)))
		}
		b.restart(want, first, now)
	}
}

// restart makes the target begin from unknown, with its first probe due at first.
func (b *register) restart(want probe.Target, first, now time.Time) {
	t, ok := b.targets[want.ID]
	if !ok {
		t = &target{index: -1, edge: probe.Edge{ID: want.ID, Epoch: want.Epoch, Standing: fleet.StandingUnknown}}
		b.targets[want.ID] = t
	}
	t.halt()
	b.hear(want)
	newEpoch := t.edge.Epoch != want.Epoch
	if newEpoch {
		t.edge.Epoch, t.edge.Seq = want.Epoch, 0
	}
	t.Target, t.fresh, t.due = want, true, first
	t.tally, t.measure = probe.NewTally(), probe.Measure{}
	switch why := want.Unaimed(); {
	case why != fleet.ResultNone:
		t.tally.Reason, t.tally.Detail = why, string(want.Rival)
		b.unschedule(t)
	case t.index < 0:
		heap.Push(&b.due, t)
	default:
		heap.Fix(&b.due, t.index)
	}
	told := t.edge.Standing == t.tally.Standing && t.edge.Result == t.tally.Reason
	if newEpoch && (t.edge.Result != fleet.ResultNone || t.pending != nil) {
		told = false // the new epoch has not heard it
	}
	if !told {
		b.tell(t, result{at: now, due: now})
	}
}

// hear has the target's beats noted afresh, if it has any.
func (b *register) hear(want probe.Target) {
	switch {
	case b.hearing == nil:
	case want.Spec.Kind == policy.CheckHeartbeat:
		b.hearing.Watch(want)
	default:
		b.hearing.Forget(want.ID)
	}
}

// same reports whether the target may go on undisturbed. Another instance is another target, whatever its address.
func same(x, y probe.Target) bool {
	return x.ID == y.ID && x.Instance == y.Instance && x.Epoch == y.Epoch &&
		(x.Spec == y.Spec || reflect.DeepEqual(x.Spec, y.Spec)) &&
		(x.Address == y.Address || !x.Spec.Kind.ByAddress()) && (x.Rival == y.Rival || !x.Spec.Reaches()) &&
		(x.Host == y.Host || x.Spec.Kind != policy.CheckAgent && !x.Spec.Exec.Asks("{host}")) &&
		(x.Metadata == y.Metadata || !x.Spec.Exec.AsksMetadata())
}

// halt ends what waits or flies for the target.
func (t *target) halt() {
	t.run++
	t.waiting = false
	if t.flying != nil {
		t.flying.cancel()
		t.flying = nil
	}
}

func (b *register) unschedule(t *target) {
	if t.index >= 0 {
		heap.Remove(&b.due, t.index)
	}
}

// remove ends targets; their undelivered edges are dropped.
func (b *register) remove(ids []probe.ID) {
	for _, id := range ids {
		t, ok := b.targets[id]
		if !ok {
			continue
		}
		t.halt()
		t.gone, t.pending = true, nil
		b.unschedule(t)
		if b.hearing != nil {
			b.hearing.Forget(id)
		}
		delete(b.targets, id)
	}
}

// standings returns the latest edge of every target, sorted by ID. One that has none yet has Seq 0.
func (b *register) standings() []probe.Edge {
	edges := make([]probe.Edge, 0, len(b.targets))
	for _, t := range b.targets {
		edges = append(edges, t.edge)
	}
	slices.SortFunc(edges, func(x, y probe.Edge) int {
		if c := strings.Compare(string(x.Machine), string(y.Machine)); c != 0 {
			return c
		}
		return strings.Compare(string(x.Check), string(y.Check))
	})
	return edges
}

// notice takes a reading of the clock. When it comes much later than was to be expected, asleep or awake, the scheduler
// was stalled: no timeout of a probe in flight says anything. It comes before anything else that is done after waking.
func (b *register) notice(now time.Time) {
	late := now.Sub(b.expect)
	b.expect = now
	if late <= stallAfter {
		return
	}
	b.stalls++
	for a := range b.flying {
		a.stalled = true
	}
}

// advance releases what is due, marks the shard alive, and returns the probes to start.
func (b *register) advance(now time.Time) []*attempt {
	for len(b.due) > 0 && !b.due[0].due.After(now) {
		b.release(b.due[0], now)
	}
	if b.out.mark == nil && !b.markDue.After(now) {
		b.markDue = now.Add(markEvery)
		if !b.stuck(now) {
			b.out.watermark(probe.Watermark{Shards: 1, At: now})
		}
	}
	return b.start(now)
}

// release puts a due target in the line for a worker and sets its next due time.
func (b *register) release(t *target, now time.Time) {
	due := t.due
	t.due = t.slotFrom(b.origin, due.Add(t.every()))
	if !t.due.After(now) {
		t.due = t.slotFrom(b.origin, now.Add(1))
	}
	heap.Fix(&b.due, t.index)
	fresh := t.fresh
	t.fresh = false
	switch {
	case t.flying != nil:
		b.judge(t, result{reason: fleet.ResultLate, detail: "the previous probe has not ended", at: now, due: due})
	case t.waiting: // it keeps its place in the line
		b.judge(t, result{reason: fleet.ResultLate, detail: "no free worker", at: now, due: t.slot})
		t.slot = due
	case !fresh && now.Sub(due) > stallAfter:
		b.judge(t, result{reason: fleet.ResultLate, detail: "stalled", at: now, due: due})
	default:
		t.waiting, t.slot = true, due
		b.ready.push(waiter{t, t.run})
	}
}

// start takes waiting targets while workers are free.
func (b *register) start(now time.Time) []*attempt {
	var started []*attempt
	for len(b.flying) < b.workers && b.ready.len() > 0 {
		w := b.ready.first()
		b.ready.drop()
		t := w.target
		if t.gone || t.run != w.run || !t.waiting {
			continue
		}
		a := &attempt{target: t, run: t.run, ask: t.Target, due: t.slot, started: now}
		t.waiting, t.flying = false, a
		b.flying[a] = struct{}{}
		started = append(started, a)
	}
	return started
}

// finish takes an attempt's answer.
func (b *register) finish(a *attempt) {
	delete(b.flying, a)
	t := a.target
	if t.gone || t.run != a.run {
		return
	}
	t.flying = nil
	r := result{reason: a.answer.reason, detail: a.answer.detail, started: a.started, at: a.answer.at, due: a.due,
		measure: a.answer.measure}
	if r.reason == fleet.ResultTimeout && a.stalled {
		r.reason, r.detail = fleet.ResultLate, "stalled"
	}
	b.judge(t, r)
}

func (b *register) judge(t *target, r result) {
	before := t.tally
	t.tally = before.Add(probe.Result{Reason: r.reason, Detail: r.detail, At: r.at.Sub(b.origin)}, t.Spec)
	switch probe.MeaningOf(r.reason) {
	case probe.MeansSuccess:
		t.measure = r.measure
	case probe.MeansFailure:
		t.measure = probe.Measure{}
	case probe.MeansNothing:
	}
	if t.tally.Differs(before) {
		b.tell(t, r)
	}
	if b.log.To(t.Machine) {
		b.log.Tell(probe.Single{ID: t.ID, Started: r.started, Ended: r.at, Result: r.reason, Detail: r.detail,
			Standing: t.tally.Standing})
	}
}

// tell makes an edge of the target's tally.
func (b *register) tell(t *target, r result) {
	t.edge = probe.Edge{
		ID: t.ID, Epoch: t.Epoch, Seq: t.edge.Seq + 1,
		Standing: t.tally.Standing, Was: t.edge.Standing,
		Result: t.tally.Reason, Detail: t.tally.Detail,
		At: r.at, Due: r.due,
	}
	b.out.edge(t, t.edge)
}

// stuck reports whether every worker is held by a probe that should have ended long ago.
func (b *register) stuck(now time.Time) bool {
	if len(b.flying) < b.workers {
		return false
	}
	for a := range b.flying {
		if now.Sub(a.started) <= limitOf(a.ask.Spec)+overrun {
			return false
		}
	}
	return true
}

// arm returns when to wake next, given that everything due at now is done.
func (b *register) arm(now time.Time) time.Time {
	wake := now.Add(markEvery)
	sooner := func(at time.Time) {
		if at.Before(wake) {
			wake = at
		}
	}
	if b.out.mark == nil {
		sooner(b.markDue)
	}
	if len(b.due) > 0 {
		sooner(b.due[0].due)
	}
	if len(b.flying) > 0 || b.looks > 0 {
		if !b.beat.After(now) {
			b.beat = now.Add(beatEvery)
		}
		sooner(b.beat)
	}
	b.expect = wake
	return wake
}

// slotFrom returns the first of the target's regular due times that is not before from.
func (t *target) slotFrom(origin, from time.Time) time.Time {
	every := t.every()
	past := (from.Sub(origin) - share(t.ID, every)) % every
	if past < 0 {
		past += every
	}
	if past == 0 {
		return from
	}
	return from.Add(every - past)
}

// every guards against an interval that was not validated.
func (t *target) every() time.Duration { return max(t.Spec.Every, time.Millisecond) }

// limitOf guards against a timeout that was not validated.
func limitOf(c *policy.Check) time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return max(c.Every, time.Millisecond)
}

// share returns the ID's place within the span, by hash: the same on every start and on every server.
func share(id probe.ID, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(id.Machine))
	h.Write([]byte{0})
	h.Write([]byte(id.Check))
	return time.Duration(mix(h.Sum64()) % uint64(span)) //nolint:gosec // below span, which is positive
}

// mix spreads the few differing bits of similar names over the whole word (the finish of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// dueHeap orders targets by due time, and those of one instant by ID.
type dueHeap []*target

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	if h[i].Machine != h[j].Machine {
		return h[i].Machine < h[j].Machine
	}
	return h[i].Check < h[j].Check
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	t, ok := x.(*target)
	if !ok {
		return
	}
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
