package sim

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/tenure"
	"hale/internal/owner"
	"hale/internal/owner/picture"
	"hale/internal/sim/prober"
	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// server is one hale server in the simulator: the real decisions on the real picture, with everything around them
// simulated in one goroutine. It does in its order what package engine does with goroutines.
type server struct {
	s    *stage
	name string

	life   uint64 // counts starts; what belongs to an earlier one is void
	alive  bool
	frozen time.Duration // until when the process stands still; 0: it runs
	since  time.Duration // of the freeze
	missed []func()      // what reached the process while it stood still
	born   time.Duration
	skew   time.Duration // of the wall clock
	heeded time.Duration // the skew that its terms know of
	reigns bool          // it had a term in this life of the process, or has one

	client *world.Client
	roll   roll
	lease  lease
	term   uint64 // 0: it owns nothing
	own    *owner.Owner
	cat    *picture.Catalogue
	probes *prober.Prober
	hosts  []fleet.Host
	state  fleet.ProviderState

	wake     time.Duration // when the next round is planned; 0: none is
	polls    bool          // a listing is planned or under way
	lastPoll time.Duration
	pollAt   time.Duration // when the next regular listing is planned; 0: none is
	// measureAt is when metrics are read next; 0: no reading is planned.
	measureAt time.Duration
	ids       int
	hot       bool          // in stage.hot
	beside    time.Duration // when the hosts are asked next on which a machine is silent
	// toldOfStore says that a person was told that the store takes nothing.
	toldOfStore bool
	neighbours  neighbours
	keeping     keeping
	// crashIn counts the writes until the process dies: half of the times before the write is stored. 0: never.
	crashIn  int
	pauseFor time.Duration // before the next call is sent, after the lease was read
}

const (
	observeLimit = 5 * time.Second
	listLimit    = 10 * time.Second
	deafAfter    = 4 * time.Second
	eventPause   = 20 * time.Millisecond
	hurryPoll    = 200 * time.Millisecond
	firstInstant = fleet.Instant(time.Second)
)

func (c *server) now() fleet.Now { return c.nowBy(c.skew) }

// nowBy returns the present by a wall clock with that skew.
func (c *server) nowBy(skew time.Duration) fleet.Now {
	t := c.s.w.Now()
	return fleet.Now{Mono: firstInstant.Add(t - c.born), Wall: c.s.wall(t).Add(skew)}
}

// worldTime returns when an instant of this process is.
func (c *server) worldTime(i fleet.Instant) time.Duration { return c.born + i.Sub(firstInstant) }

// soon lets do happen within this life of the process: after d, and not while the process stands still.
func (c *server) soon(d time.Duration, do func()) {
	life := c.life
	c.s.w.After(d, func() { c.enter(life, do) })
}

// enter runs do in the process, now or when it goes on.
func (c *server) enter(life uint64, do func()) {
	switch {
	case !c.alive || c.life != life:
	case c.frozen != 0:
		c.missed = append(c.missed, func() { c.enter(life, do) })
	default:
		do()
	}
}

// start begins a process.
func (c *server) start() {
	c.life++
	c.alive, c.frozen, c.missed, c.born, c.term = true, 0, nil, c.s.w.Now(), 0
	c.pauseFor, c.crashIn, c.reigns = 0, 0, false
	c.roll = roll{}
	c.s.trace.Say(c.s.w.Now(), "", c.name+" starts")
	if c.s.servers.alone() && c.s.store.owner == c {
		c.s.store.owner = nil // it holds the data folder's lock, and revokes its own predecessor's lease
	}
	c.claim(false)
}

// claim takes the fleet, or waits for its owner's end. A new owner lets the last one's calls end first.
func (c *server) claim(late bool) {
	st := c.s.store
	if st.cut[c] > 0 || st.full > 0 { // a full store takes no claim either
		c.soon(time.Second, func() { c.claim(late) })
		return
	}
	if o := st.owner; o != nil {
		wait := max(o.lease.ends(c.s.w.Now())-c.s.w.Now(), 0)
		if o.holds() {
			wait = max(wait, time.Second)
		}
		if wait > 0 || o.holds() {
			c.soon(max(wait, time.Second), func() { c.claim(true) })
			return
		}
	}
	st.term++
	st.owner = c
	term := st.term
	c.lease = lease{length: tenure.Lease(c.s.spec), granted: c.s.w.Now()}
	if !late {
		c.begin(term)
		return
	}
	c.soon(tenure.Handover, func() {
		if st.owner == c && st.term == term {
			c.begin(term)
		} else {
			c.claim(true)
		}
	})
}

// holds reports whether the server still renews its lease.
func (c *server) holds() bool {
	return c.alive && c.frozen == 0 && c.lease.stopped == 0 && c.s.store.cut[c] == 0 && c.s.store.owner == c
}

// Begin loads what was believed and starts to watch.
func (c *server) begin(term uint64) {
	beliefs, all, err := c.s.store.Load()
	if err != nil {
		c.s.judge.Broken("L12", "", "the stored beliefs cannot be read: "+err.Error())
		return
	}
	if c.term = term; !c.reigns {
		c.heeded, c.reigns = c.skew, true
	}
	c.watch()
	c.own = owner.New(owner.Options{Options: picture.Options{
		Spec: c.s.wanted, Installation: fleet.Installation(c.s.installation), Beliefs: beliefs, Brake: all.Brake,
		Whole: all.Whole, FreshID: c.freshID, Aimed: c.aimed,
	}}, c.nowBy(c.heeded))
	if !c.beginSlots(all.Slots) {
		c.lose()
		return
	}
	for _, o := range c.s.store.Inbox {
		c.own.TellOrder(o)
	}
	c.cat = picture.NewCatalogue()
	c.state = fleet.ProviderState{Standing: fleet.ProviderUnknown}
	c.beginRoll()
	c.s.judge.TookOver(c.seen())
	c.own.Note(c.now(),
		record.Record{Kind: record.Owner, Reason: fleet.ReasonTookOver, Detail: c.name, Size: c.own.Spec().Size})
	c.own.NotePlan(c.now())
	c.polls, c.pollAt, c.lastPoll = false, 0, c.s.w.Now()-c.s.options.Poll
	c.listAfresh()
	c.measureAt = 0
	c.measure()
	c.beginPools()
	c.heedClock()
	c.heat()
}

// listAfresh asks the provider a moment after everything began anew: what was asked earlier does not count.
func (c *server) listAfresh() { c.soon(time.Millisecond, c.list) }

// watch opens the eyes: a connection with the provider, and probes.
func (c *server) watch() {
	if c.client != nil {
		c.client.Close()
	}
	c.client = c.s.w.Client(c.name)
	c.client.News = func() { c.soon(eventPause, c.list) }
	c.client.Noted = func() { c.readRollIn(owner.RollBeat) }
	c.probes = prober.New(c.s.w, c.name, c.s.spec, max(c.s.spec.Size+c.s.spec.Beside(), len(c.s.store.Beliefs)),
		c.hear)
	c.probes.Behind(c.s.pools)
	c.probes.CountEdges(&c.s.score.Edges)
	c.probes.Edit(c.s.wanted.Checks)
	c.neighbours.watch(c)
}

func (c *server) aimed(index int, a picture.Aim) { c.probes.Aim(index, a) }

func (c *server) freshID() fleet.InstanceID {
	c.ids++
	return fleet.InstanceID(c.name + "." + strconv.FormatUint(c.life, 10) + "." + strconv.Itoa(c.ids))
}

// crash ends the process as kill -9 does. Calls on their way go on.
func (c *server) crash() {
	if !c.alive {
		return
	}
	c.rest()
	c.alive = false
	if c.probes != nil {
		c.probes.Halt()
	}
	if c.client != nil {
		c.client.News, c.client.Noted = nil, nil
	}
}

// rest stops the lease's renewal.
func (c *server) rest() {
	if c.lease.stopped == 0 {
		c.lease.stopped = c.s.w.Now()
	}
}

// freeze stops the process for a time, at whatever point it is.
func (c *server) freeze(d time.Duration) {
	if !c.alive || c.frozen != 0 {
		return
	}
	c.since = c.s.w.Now()
	c.frozen = c.since + d
	c.rest()
	if c.probes != nil {
		c.probes.Halt()
	}
	life := c.life
	c.s.w.After(d, func() {
		if c.alive && c.life == life {
			c.thaw()
		}
	})
}

// renew goes on with the lease's renewal, if it is not too late: a term that ended leaves its lease to run out.
func (c *server) renew() {
	now := c.s.w.Now()
	if c.alive && c.frozen == 0 && c.term != 0 && c.s.store.cut[c] == 0 && c.s.store.owner == c &&
		c.lease.ends(now) > now {
		c.lease.granted, c.lease.stopped = now, 0
	}
}

func (c *server) thaw() {
	c.s.trace.Say(c.s.w.Now(), "", "! "+c.name+" goes on")
	stood := c.s.w.Now() - c.since
	c.frozen = 0
	missed := c.missed
	c.missed = nil
	c.renew()
	if c.probes != nil {
		c.probes.Resume()
	}
	if c.term != 0 && stood > deafAfter {
		c.own.Deafen(fleet.ResultLate)
		c.own.Listen(c.now())
		c.tellStandings()
		c.s.judge.WentOn(c.seen(), stood)
	}
	for _, do := range missed {
		do()
	}
	c.heat()
}

// tellStandings repeats what the probes know.
func (c *server) tellStandings() {
	c.probes.All(func(index int, r prober.Row) { c.hear(index, r) })
}

// stepClock moves the wall clock. The process notices within its heartbeat.
func (c *server) stepClock(by time.Duration) {
	c.skew += by
	c.soon(time.Second, c.heedClock)
}

// heedClock has the term notice that the wall clock was set.
func (c *server) heedClock() {
	if c.term == 0 || c.heeded == c.skew {
		return
	}
	c.heeded = c.skew
	c.own.ClockSet(c.now())
	c.s.judge.StartedAfresh(c.seen())
	c.listAfresh()
	c.heat()
}

// lose ends the term: the store says that another one owns the fleet, or does not answer.
func (c *server) lose() {
	c.rest()
	c.term = 0
	c.life++ // whatever was under way is void
	c.probes.Halt()
	c.client.News, c.client.Noted = nil, nil
	c.soon(100*time.Millisecond, func() { c.claim(true) })
}

func (c *server) hear(index int, r prober.Row) {
	if c.term == 0 || !c.alive || c.frozen != 0 {
		return
	}
	c.own.Hear(picture.Edge{
		Machine:  c.own.View(index).Machine.Name,
		Check:    r.Check.Name,
		Epoch:    r.Epoch,
		Standing: r.Tally.Standing,
		Result:   r.Tally.Reason,
		Since:    c.now().Mono,
	})
	c.heat()
}

// answersChanged takes in that an address may answer differently.
func (c *server) answersChanged(a netip.Addr) {
	if c.alive && c.frozen == 0 && c.probes != nil {
		c.probes.Changed(a)
	}
	if c.neighbours.probes != nil {
		c.neighbours.probes.Changed(a)
	}
}

// GuestChanged takes in that the agent inside an instance may answer differently.
func (c *server) guestChanged(id string) {
	if c.alive && c.frozen == 0 && c.probes != nil {
		c.probes.GuestChanged(id)
	}
}

// heat asks for a round at the end of this instant.
func (c *server) heat() {
	if !c.hot {
		c.hot = true
		c.s.hot = append(c.s.hot, c)
	}
}

// round decides if there is anything to decide, and lets what follows happen.
func (c *server) round() {
	if !c.alive || c.frozen != 0 || c.term == 0 {
		return
	}
	if c.lease.ends(c.s.w.Now()) <= c.s.w.Now() {
		c.lose()
		return
	}
	now := c.now()
	c.lookBeside()
	if !c.own.Due(now) {
		return
	}
	if c.own.State().Acting != fleet.ReasonStoreFull {
		c.s.score.Decisions++
	}
	c.own.Decide(now)
	defer c.s.judge.Decided()
	for w, ok := c.own.Ready(now); ok; w, ok = c.own.Ready(now) {
		if err := c.write(w); err != nil {
			c.refused(err)
			return
		}
	}
	for _, i := range c.own.Asks(c.now()) {
		c.askOnDemand(i)
	}
	c.pollForRepairs()
	c.heedPools()
	if c.own.Dirty() {
		c.heat()
	}
	if next := c.own.Next(); next != 0 {
		c.wakeAt(c.worldTime(next))
	}
	if c.s.options.settled != nil {
		c.s.options.settled(c)
	}
}

func (c *server) wakeAt(t time.Duration) {
	c.wake = t
	life := c.life
	c.s.w.At(t, func() {
		if c.life == life && c.wake == t {
			c.enter(life, c.heat)
		}
	})
}

// refused deals with a store that did not take a decision.
func (c *server) refused(err error) {
	already := c.own.State().Acting == fleet.ReasonStoreFull
	if !c.own.Refused(err, c.now()) {
		c.lose()
		return
	}
	if c.s.store.full == 0 {
		c.s.judge.Broken("L7", "", c.name+" goes on after the store refused what it wrote")
	}
	if !already {
		c.s.trace.Say(c.s.w.Now(), "", c.name+" can write nothing down, the store is full, and so it does nothing")
		c.tellOfStore()
	}
	c.wakeAt(c.worldTime(c.own.Next()))
}

// storePatience is how long the store must have taken nothing, or everything again, until people are told (package
// engine).
const storePatience = 10 * time.Second

// tellOfStore has a person told, without the store, once it has taken nothing for a while.
func (c *server) tellOfStore() {
	if len(c.s.spec.Notify.To) == 0 {
		return
	}
	life := c.life
	c.s.w.At(c.s.w.Now()+storePatience, func() {
		if c.life != life || !c.alive || c.own == nil || c.own.State().Acting != fleet.ReasonStoreFull {
			return
		}
		c.s.score.StorePages++
		c.toldOfStore = true
		c.s.trace.Say(c.s.w.Now(), "", "a person is told, without the store, that "+c.name+" can write nothing down")
	})
}

// tellStoreTakes tells them of its end.
func (c *server) tellStoreTakes() {
	life := c.life
	c.s.w.At(c.s.w.Now()+storePatience, func() {
		if c.life == life && c.alive && c.toldOfStore && c.s.store.full == 0 {
			c.toldOfStore = false
			c.s.trace.Say(c.s.w.Now(), "", "a person is told that the store takes what is written again")
		}
	})
}

// write stores what is to be stored together, and lets what may follow begin.
func (c *server) write(w owner.Write) error {
	st, void := c.s.store, false
	for i := range w.Machines {
		m := &w.Machines[i]
		// what was seen before says nothing any more
		void = void || c.own.View(m.Index).Machine.Acted != m.Belief.Acted
	}
	if w.Fleet || w.Alive || w.Slots != nil || len(w.Records) > 0 || len(w.Rulings) > 0 || st.Differs(w.Machines) {
		if err := c.commit(func() { c.keep(w) }); err != nil {
			return err
		}
	}
	for _, b := range c.own.Stored(c.now()) {
		if c.perform(b.Index, b.Action); c.frozen != 0 {
			break
		}
	}
	if void {
		c.pollSoon()
	}
	if w.Believes {
		c.believe(w.Believed)
	}
	if w.Alive {
		c.tellStoreTakes()
	}
	return nil
}

// keep is what the store holds after a write.
func (c *server) keep(w owner.Write) {
	st, judge, by := c.s.store, c.s.judge, c.seen()
	for _, r := range w.Rulings {
		if !st.Waits(r.Order) {
			judge.Broken("L12", "", fmt.Sprintf("order %s is taken up once more", r.Order))
		}
	}
	switch {
	case w.Fleet:
		judge.Ruled(w.Rulings)
		is := stored.Overall{Brake: w.Brake, Whole: w.Whole.Clone(), Slots: st.Overall.Slots}
		judge.CommittedWhole(by, st.Overall, is, w.Records)
		st.Overall = is
		st.Starts.Know(w.Believed...)
	case len(w.Machines) == 0:
		for _, r := range w.Records {
			judge.Record(r)
		}
	}
	for i := range w.Machines {
		m := &w.Machines[i]
		n, _ := m.Belief.Name.Ordinal()
		judge.Committed(by, &st.Beliefs[n-1], &m.Belief, m.Records)
		c.s.drains.Stored(&m.Belief)
		st.Beliefs[n-1] = m.Belief.Clone()
		st.Names(&m.Belief)
	}
	if w.Slots != nil {
		st.Overall.Slots = *w.Slots
	}
	st.Settle(w.Rulings)
	if !w.Fleet {
		judge.Ruled(w.Rulings)
	}
}

// pollForRepairs lists soon while anything is repaired.
func (c *server) pollForRepairs() {
	for _, i := range c.own.Open() {
		if c.own.View(i).Machine.Repair != nil {
			c.pollSoon()
			return
		}
	}
}

// commit writes, unless the process dies at this write.
func (c *server) commit(write func()) error {
	if c.crashIn > 0 {
		if c.crashIn--; c.crashIn == 0 {
			if c.s.w.Random(2) == 0 {
				_ = c.s.store.commit(c, c.term, write)
			}
			c.s.crashAndReturn(c)
			return fault.New(fault.Transient, "sim.commit", c.name, nil)
		}
	}
	return c.s.store.commit(c, c.term, write)
}
