package bulkprobe

import (
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/defect"
)

const (
	// stallAfter is how late a shard may wake, or a probe start, before it says nothing any more.
	stallAfter = int64(250 * time.Millisecond)
	// markEvery is the time between a shard's watermarks.
	markEvery = int64(time.Second)
	// mostAtOnce bounds the probes that start in one slot, so that their answers have room; the rest starts in the next
	// ones.
	mostAtOnce = 2048
)

// target is all that a shard knows of one, without a pointer.
type target struct {
	tally   tally
	address [16]byte // IPv4 as IPv4 in IPv6
	due     int64    // of the next probe
	slot    int64    // when the probe in flight was due
	started int64    // when it started
	token   uint64   // by which the answer of a ping is known; before the first probe, a regular due time
	zone    uint32   // of a link-local address
	plan    int32
	record  int32 // its place in the register behind box, and which run of it
	run     uint32
	conn    int32  // the connection that it uses or keeps; none otherwise
	took    uint32 // microseconds, the last good answer
	box     uint16
	flags   flags
}

type flags uint8

const (
	inUse  flags = 1 << iota
	flying       // a probe is
	fresh        // no probe was started yet
	isIPv4
	again     // the probe in flight is the second try over a fresh connection
	overheard // each of its probes is told
)

func (f flags) has(x flags) bool { return f&x != 0 }

// wire is how a shard reaches its targets and its clock. All but ring is called by the shard's thread only; answers
// come through shard.answer, from within harvest, launch and flush.
type wire interface {
	// now returns the nanoseconds since the pool's origin.
	now() int64
	// launch starts the probe of target i. False: there is no room for one more in flight.
	launch(i int32, t *target, p *plan) bool
	// flush sends what launch has gathered.
	flush()
	// harvest takes all answers that are there.
	harvest()
	// expire ends the probe in flight of target i, which ran out of time, and returns what that means.
	expire(i int32, t *target, p *plan) expiry
	// forget lets go of whatever target i has.
	forget(i int32, t *target)
	// pause waits until then, until rung, or, when little is in flight, until an answer is there.
	pause(until int64, inFlight int)
	// ring ends a pause, and does not wait.
	ring()
	close()
}

// expiry is what it means that a probe's time is over.
type expiry uint8

const (
	inSilence    expiry = iota // no answer
	unconnected                // no connection, which counts neither way
	onSecondTry                // it goes on: the same probe is tried again over a fresh connection
	answeredLast               // it was answered at the last moment
)

// instruction is what a shard is told. The zero target of an instruction to inspect does not count.
type instruction struct {
	inspect func(s *shard) // or:
	handle  int32
	end     bool
	target  target // where it is not the end: all but plan
	plan    *plan
	first   int64
}

// shard owns targets. Its state belongs to the goroutine that runs it.
type shard struct {
	number  int
	wire    wire
	targets slab[target]
	wheel   *wheel
	plans   planTable
	boxes   func() []*mailbox
	now     int64 // as of this turn
	due     int64 // of the next watermark
	expect  int64 // when it meant to wake
	stalled int64 // when a stall was last noticed
	started int   // probes in this turn
	flying  int
	stats   Stats
	at      int32         // the target at hand; none
	doing   []instruction // as far as they are done
	done    int

	panics  defect.Witness
	remake  func() (wire, error) // another wire, after a panic; nil: there is none
	mended  int64                // when it last went on after one
	resting int64                // after the next one
	broken  error                // why it could not

	ending  atomic.Bool
	mu      sync.Mutex // guards the fields below; never held across a system call but that of ring
	over    bool       // it has ended, and its wire is closed
	orders  []instruction
	handles places
	spare   []instruction // to take turns with orders
}

func newShard(number int, width time.Duration, boxes func() []*mailbox) *shard {
	s := &shard{number: number, boxes: boxes, due: markEvery, at: none, mended: -restAnew - 1}
	s.wheel = newWheel(int64(width))
	return s
}

// run works until end is called, or returns at once when it was.
func (s *shard) run() {
	s.expect = s.wire.now()
	for !s.ending.Load() {
		s.step()
	}
	s.close()
}

// close lets go of the wire. Its owner does not ring after it.
func (s *shard) close() {
	s.mu.Lock()
	over := s.over
	s.over, s.orders = true, nil
	s.mu.Unlock()
	if !over {
		s.wire.close()
	}
}

func (s *shard) end() {
	s.ending.Store(true)
	s.tell()
}

// turn does all that is to be done now.
func (s *shard) turn() {
	s.now, s.started, s.at = s.wire.now(), 0, none
	s.notice()
	s.wire.harvest()
	s.obey()
	s.advance()
	s.wire.flush()
	if s.started > 0 {
		s.wire.harvest() // what answered meanwhile, while its memory is near
	}
	s.mark()
}

// notice finds that the shard was stalled: woken much later than it meant to be. Then no timeout of a probe in flight
// says anything.
func (s *shard) notice() {
	if s.now-s.expect > stallAfter {
		s.stalled = s.now
		s.stats.Stalls++
	}
}

// rest returns when to wake next, and notices a stall within the turn.
func (s *shard) rest() int64 {
	s.expect = s.now
	s.now = s.wire.now()
	s.notice()
	until := min(s.due, s.wheel.next())
	s.expect = max(until, s.now)
	return until
}

// tell queues orders, and returns at once. False: the shard has ended.
func (s *shard) tell(orders ...instruction) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.orders = append(s.orders, orders...)
	s.wire.ring()
	return true
}

// handle returns a place for one more target. It is given back when the order to end that target was obeyed.
func (s *shard) handle() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handles.get()
}

// obey does what it was told. An order over which it panics is not done again, and those behind it are done in the next
// turn.
func (s *shard) obey() {
	for s.done < len(s.doing) || s.receive() {
		o := &s.doing[s.done]
		s.at = none
		s.done++
		switch {
		case o.inspect != nil:
			o.inspect(s)
		case o.end:
			s.remove(o.handle)
		default:
			s.add(o)
		}
	}
}

// receive takes the orders that came, when all that it has are done, and reports whether there are any.
func (s *shard) receive() bool {
	if s.doing != nil {
		s.spare, s.doing, s.done = emptied(s.doing), nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == 0 {
		return false
	}
	s.doing, s.orders, s.spare = s.orders, s.spare, nil
	return true
}

func (s *shard) add(o *instruction) {
	i := o.handle
	s.at = i
	s.targets.reach(i)
	t := s.targets.at(i)
	*t = o.target
	t.conn, t.plan, t.due = none, s.plans.hold(o.plan), o.first
	t.flags |= inUse | fresh
	s.stats.Targets++
	if o.first <= s.now {
		s.start(i, t, o.plan)
		return
	}
	s.wheel.put(i, o.first)
}

func (s *shard) remove(i int32) {
	t := s.targets.at(i)
	if !t.flags.has(inUse) {
		return
	}
	s.at = i
	s.land(t)
	s.wheel.take(i)
	s.wire.forget(i, t)
	s.plans.drop(t.plan)
	*t = target{conn: none}
	s.stats.Targets--
	s.mu.Lock()
	s.handles.put(i)
	s.mu.Unlock()
}

// advance judges what has timed out and starts what is due.
func (s *shard) advance() {
	for {
		i := s.wheel.pop(s.now)
		if s.at = i; i == none {
			return
		}
		t := s.targets.at(i)
		p := s.plans.at(t.plan)
		switch at := t.next(p); {
		case at > s.now:
			s.wheel.put(i, at) // it lay beyond the wheel
		case t.flags.has(flying):
			s.expire(i, t, p)
		default:
			s.start(i, t, p)
		}
	}
}

// next returns when something is to be done about the target. A second try ends before the next probe is due.
func (t *target) next(p *plan) int64 {
	switch {
	case !t.flags.has(flying):
		return t.due
	case t.flags.has(again):
		return min(t.started+p.timeout, t.due)
	}
	return t.started + p.timeout
}

// start starts the probe that is due, unless it comes too late to say anything.
func (s *shard) start(i int32, t *target, p *plan) {
	behind := s.now - t.due
	if behind > stallAfter && (!t.flags.has(fresh) || behind > p.every) {
		s.skip(i, t, p)
		return
	}
	t.started = s.now // launch may answer at once
	if s.started >= mostAtOnce || !s.takeOff(i, t, p) {
		s.stats.PutOff++
		s.wheel.put(i, s.now+1)
		return
	}
	s.started++
	s.stats.Started++
	s.stats.Lateness.add(behind)
	s.stats.Late += time.Duration(max(behind, 0))
	if t.flags.has(flying) {
		s.wheel.put(i, t.next(p))
	}
}

// takeOff launches the probe. False: there was no room, and nothing has changed.
func (s *shard) takeOff(i int32, t *target, p *plan) bool {
	was := *t
	t.slot, t.due = t.due, s.slotFrom(t, p, t.due+p.every)
	t.flags = t.flags&^(fresh|again) | flying
	s.flying++
	if s.wire.launch(i, t, p) {
		return true
	}
	s.flying--
	*t = was
	return false
}

// skip leaves out the probe that is due. The next one comes at its regular time.
func (s *shard) skip(i int32, t *target, p *plan) {
	why := textFull
	if s.now-s.stalled <= p.every {
		why = textStalled
	}
	t.slot, t.due = t.due, s.slotFrom(t, p, s.now+1)
	t.started = 0 // it was not
	t.flags &^= fresh
	s.stats.Skipped++
	s.judge(t, p, late, why)
	s.wheel.put(i, t.due)
}

// slotFrom returns the first of the target's regular due times that is not before from, nor before the next instant.
// The first probe comes when it may; where the regular times lie is in the token until then.
func (s *shard) slotFrom(t *target, p *plan, from int64) int64 {
	from = max(from, s.now+1)
	regular := t.due
	if t.flags.has(fresh) {
		regular = int64(t.token) //nolint:gosec // below the interval
	}
	past := (from - regular) % p.every
	if past < 0 {
		past += p.every
	}
	if past == 0 {
		return from
	}
	return from + p.every - past
}

// expire judges a probe that got no answer in time.
func (s *shard) expire(i int32, t *target, p *plan) {
	r, n := timedOut, textNone
	switch s.wire.expire(i, t, p) {
	case answeredLast:
		return
	case onSecondTry:
		t.flags |= again
		t.started = s.now
		s.wheel.put(i, max(t.next(p), s.now+1))
		return
	case unconnected:
		r, n = notConnected, reasonNote(timedOut)
	case inSilence:
	}
	if t.started <= s.stalled {
		r, n = late, textStalled
	}
	s.land(t)
	s.judge(t, p, r, n)
	s.wheel.put(i, t.due)
}

// answer takes what the probe in flight of target i has to say. An answer that was read long after its time says
// nothing.
func (s *shard) answer(i int32, r reason, n note) {
	t := s.targets.at(i)
	if !t.flags.has(flying) {
		return
	}
	s.at = i
	p := s.plans.at(t.plan)
	if s.now > t.next(p)+stallAfter {
		r, n = late, textTooLate
	}
	s.land(t)
	s.wheel.take(i)
	s.stats.Answered++
	switch r {
	case ok:
		t.took = micros(s.now - t.started)
	case local:
		s.stats.Local++
	default:
	}
	s.judge(t, p, r, n)
	s.wheel.put(i, t.due)
}

// micros are the nanoseconds as microseconds: beyond an hour, an hour.
func micros(ns int64) uint32 {
	return uint32(min(max(ns, 0), int64(time.Hour)) / int64(time.Microsecond))
}

// land notes that the target's probe is not in flight any more.
func (s *shard) land(t *target) {
	if t.flags.has(flying) {
		t.flags &^= flying
		s.flying--
	}
}

// judge counts a result, and tells the target's engine when that makes a difference.
func (s *shard) judge(t *target, p *plan, r reason, n note) {
	if said, edge := t.tally.add(r, n, s.now, p); edge {
		s.announce(t, said)
	}
	if t.flags.has(overheard) {
		s.mention(t, r, n)
	}
}

// announce tells the target's engine how the target stands.
func (s *shard) announce(t *target, said note) {
	s.stats.Edges++
	s.boxes()[t.box].put(news{
		record: t.record, run: t.run, standing: t.tally.standing, reason: t.tally.reason, note: said, at: s.now,
		due: t.slot,
	})
}

// mark tells the engines of all its targets that it is alive: everything due before now is judged.
func (s *shard) mark() {
	if s.now < s.due {
		return
	}
	s.due = (s.now/markEvery + 1) * markEvery
	for _, b := range s.boxes() {
		b.mark(s.number, s.now)
	}
}
