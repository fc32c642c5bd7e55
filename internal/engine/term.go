package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/inference"
	"hale/internal/core/record"
	"hale/internal/core/tenure"
	"hale/internal/defect"
	"hale/internal/engine/beside"
	"hale/internal/engine/defects"
	"hale/internal/engine/process"
	"hale/internal/engine/sources"
	"hale/internal/owner"
	"hale/internal/owner/picture"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
	"hale/internal/state/lossless"
	"hale/internal/state/outbox"
	"hale/internal/state/starts"
)

// term is one uninterrupted ownership of a fleet. Everything in it is touched by the reigning goroutine only; others
// send it news.
type term struct {
	*holder
	lease    state.Lease
	ownerRev int64
	wrote    int64        // the store's revision at the fleet's last write in this term
	start    starts.Start // of the engine
	book     *journal.Journal

	own      *owner.Owner     // what is known of the fleet, and what follows
	sources  *sources.Sources // of its metrics
	canaries *beside.Canaries
	beside   besides
	docs     []stored // the beliefs in the store, by the picture's index
	brakeDoc stored
	wholeDoc stored

	trouble string    // the error behind the reason for not acting
	idle    time.Time // since when hale does not act; zero: it does
	// foreseen is how machines stand that could not be written down, by their index: for people to see, and for
	// nothing else.
	foreseen map[int]belief.Health
	telling  defects.Telling
	// heeded is how much of the defects was looked at, and when.
	heeded   uint64
	heededAt time.Time
	shown    fleet.Instant // when the fleet was last shown
	stale    bool          // it is not shown yet as it stands
	heard    time.Time     // the probes' watermark
	box      *outbox.Box
	// tale is the journal as it was read last, for the stories of the messages that wait.
	tale    []record.Record
	listens time.Time // since when the loop listens again after a round that took long
	// disbelief keeps off the questions about absences as long as no listing is to be believed.
	disbelief process.Pace

	letters  map[fleet.OrderID]inbox.Letter // that the owner was told of, and has not taken up yet
	slotsDoc stored                         // the book of slots, as last read or written
	inbox    chan news
	wg       sync.WaitGroup
}

// news is something that happened elsewhere, applied by the reigning goroutine.
type news func(*term)

// stored is a key as this owner last wrote or read it.
type stored struct {
	revision int64
	value    digest
	rest     *lossless.Rest // of it, which this version does not know
}

// digest stands for a value, which would be a kilobyte of each machine: two with the same one are the same.
type digest struct {
	size int
	sum  [sha256.Size]byte
}

func digestOf(value []byte) digest { return digest{len(value), sha256.Sum256(value)} }

// Begin waits for the fleet to be free, takes it, and loads what was believed of it.
func (o *holder) begin(ctx context.Context) (*term, error) {
	start, err := o.begun.Start(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := o.store.Grant(ctx, tenure.Lease(o.spec))
	if err != nil {
		return nil, err
	}
	t := &term{holder: o, start: start, lease: lease, inbox: make(chan news, 64), telling: defects.Tell(o.confessed),
		sources: sources.New(o.name, o.probes,
			o.poller.Source.Adapter, o.gauges, o.defects.Witness(defect.Metric, string(o.name)))}
	t.box = outbox.NewBox(func(now fleet.Now, r record.Record) record.Record { return t.own.About(now, r) })
	err = o.soundly("the beginning of a term", func() error {
		if err := t.claim(ctx); err != nil {
			return err
		}
		return t.load(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, o.release(ctx, lease))
	}
	return t, nil
}

// rest is for how long calls of another server may be under way, by what the lease knows of its store.
func rest(lease state.Lease) time.Duration {
	if r, knows := lease.(interface{ Rest() time.Duration }); knows {
		return r.Rest()
	}
	return 0
}

// claim makes this server the owner. If another one was, its last calls get the time that they may take at most (L7).
func (t *term) claim(ctx context.Context) error {
	late := false
	for {
		rev, err := t.store.Commit(ctx, state.Txn{
			If:   []state.Compare{state.Absent(beliefs.OwnerKey(t.spec.Name))},
			Then: []state.Write{state.PutLeased(beliefs.OwnerKey(t.spec.Name), []byte(t.server), t.lease.ID())},
		})
		if err == nil {
			t.ownerRev, t.unreturned = rev, nil
			break
		}
		if !fault.Is(err, fault.Conflict) {
			return err
		}
		if mine, err := t.clearOwn(ctx); mine || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		late = true
		t.sayWhy(err)
		stop := t.watchAfar(ctx)
		err = t.awaitVacancy(ctx)
		stop()
		if err != nil {
			return err
		}
	}
	if !late {
		return nil
	}
	return process.Rest(ctx, tenure.Handover)
}

// clearOwn removes the key of an earlier term of this server's own, which could not give its lease back, and reports
// whether it was there. That term's calls have ended, so that there is nothing to wait for.
func (t *term) clearOwn(ctx context.Context) (bool, error) {
	if len(t.unreturned) == 0 {
		return false, nil
	}
	e, err := t.store.Get(ctx, beliefs.OwnerKey(t.spec.Name))
	if fault.Is(err, fault.NotFound) || err == nil && !slices.Contains(t.unreturned, e.Lease) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = t.store.Commit(ctx, state.Txn{
		If: []state.Compare{state.Held(e.Key, e.Revision, e.Lease)}, Then: []state.Write{state.Delete(e.Key)},
	})
	if fault.Is(err, fault.Conflict) { // it has just run out
		return false, nil
	}
	return err == nil, err
}

// awaitVacancy returns when the owner's key is gone.
func (t *term) awaitVacancy(ctx context.Context) error {
	key := beliefs.OwnerKey(t.spec.Name)
	entries, rev, err := t.store.List(ctx, key)
	if err != nil || len(entries) == 0 {
		return err
	}
	for e, err := range t.store.Watch(ctx, key, rev) {
		if err != nil {
			return err
		}
		if e.Deleted {
			return nil
		}
	}
	return ctx.Err()
}

// load reads the beliefs of an earlier owner and makes them good for this one.
func (t *term) load(ctx context.Context) error {
	if t.drift == nil {
		drift := t.clock.Drift(t.clock.Now())
		t.drift = &drift
	}
	now := t.clock.Unset(*t.drift) // what was promised in an earlier term is measured by that clock
	t.take()
	var err error
	if t.book, err = journal.Open(ctx, t.store, t.spec.Name); err != nil {
		return err
	}
	var brake belief.Brake
	if t.brakeDoc, err = t.read(ctx, beliefs.BrakeKey(t.spec.Name), &brake); err != nil {
		return err
	}
	var whole belief.Whole
	if t.wholeDoc, err = t.read(ctx, beliefs.WholeKey(t.spec.Name), &whole); err != nil {
		return err
	}
	if err := t.poller.Roll.Learn(ctx); err != nil {
		return err
	}
	beliefs, docs, err := t.loadMachines(ctx)
	if err != nil {
		return err
	}
	claimed, err := t.pages().ProviderTold(ctx)
	if err := errors.Join(err, t.loadPost(ctx)); err != nil {
		return err
	}
	epoch := forsake(t.probes) + 1
	t.own = owner.New(owner.Options{Claimed: claimed, Together: t.together, Options: picture.Options{
		Spec: t.spec, Installation: t.installation, Beliefs: beliefs, Brake: brake, Whole: whole,
		Epoch: epoch, Cannot: t.cannot, FreshID: freshID, Aimed: t.point, Rest: rest(t.lease),
	}}, now)
	t.docs = make([]stored, t.own.Len())
	for i := range t.docs {
		t.docs[i] = docs[t.own.View(i).Machine.Name]
	}
	t.askCanaries(beside.AskCanaries(t.vantage, t.probes, epoch, now))
	t.own.NotePlan(now)
	t.warnOfPlan()
	t.heard = time.Now()
	if err := t.openInbox(ctx); err != nil {
		return err
	}
	if err := t.loadSlots(ctx); err != nil {
		return err
	}
	return t.announce(ctx)
}

// announce stores who looks after the fleet from now on. After a panic that is who did before, and what there is to say
// is what panicked.
func (t *term) announce(ctx context.Context) error {
	if t.heedDefects(); !t.stumbled {
		return t.write(ctx, owner.Write{Records: []record.Record{t.own.About(t.clock.Now(), record.Record{
			Kind: record.Owner, Reason: fleet.ReasonTookOver, Detail: t.server, Size: t.own.Spec().Size})}})
	}
	if err := t.write(ctx, owner.Write{Records: t.own.Noted()}); err != nil {
		return err
	}
	t.own.Said()
	t.telling.Stored()
	return nil
}

// read loads what is stored under the key; where there is nothing, the value stays as it is.
func (t *term) read(ctx context.Context, key string, value any) (stored, error) {
	e, err := t.store.Get(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, err
	}
	rest, err := lossless.Unmarshal(e.Value, value)
	if err != nil {
		return stored{}, fault.New(fault.Permanent, "engine.load", e.Key, err)
	}
	return stored{e.Revision, digestOf(e.Value), rest}, nil
}

// loadMachines returns the beliefs as stored, sorted by ordinal, and where they are stored.
func (t *term) loadMachines(ctx context.Context) ([]belief.Machine, map[fleet.MachineName]stored, error) {
	entries, _, err := t.store.List(ctx, beliefs.MachinesPrefix(t.spec.Name))
	if err != nil {
		return nil, nil, err
	}
	beliefs := make([]belief.Machine, 0, len(entries))
	docs := make(map[fleet.MachineName]stored, len(entries))
	for _, e := range entries {
		var m belief.Machine
		rest, err := lossless.Unmarshal(e.Value, &m)
		if err != nil {
			return nil, nil, fault.New(fault.Permanent, "engine.load", e.Key, err)
		}
		if _, ok := m.Name.Ordinal(); !ok || m.Name.Fleet() != t.spec.Name {
			return nil, nil, fault.New(fault.Permanent, "engine.load", e.Key,
				errors.New("not a machine of this fleet: "+string(m.Name)))
		}
		beliefs = append(beliefs, m)
		docs[m.Name] = stored{e.Revision, digestOf(e.Value), rest}
	}
	slices.SortStableFunc(beliefs, func(a, b belief.Machine) int {
		x, _ := a.Name.Ordinal()
		y, _ := b.Name.Ordinal()
		return x - y
	})
	return beliefs, docs, nil
}

// end gives the fleet up: whatever still runs is told to stop and awaited, then the lease goes.
func (t *term) end(ctx context.Context, cancel context.CancelFunc) {
	level := slog.LevelWarn
	// hale ends: with many fleets not all leases are given back in time, and a next start does without
	if ctx.Err() != nil {
		level = slog.LevelDebug
	}
	defer func() { // whatever panics here: a lease that is not given back is renewed for ever
		if err := t.release(ctx, t.lease); err != nil {
			t.log.Log(ctx, level, "the lease was not given back; it will run out", "err", err)
		}
	}()
	cancel()
	t.fellows.Leave(t.spec.Name)
	t.wg.Wait()
	t.forsakeAll()
}

// releaseWithin bounds the giving back of a lease, which runs out by itself too.
const releaseWithin = 500 * time.Millisecond

// release gives a lease back, also when ctx has ended. What could not be given back the next term clears.
func (o *holder) release(ctx context.Context, lease state.Lease) error {
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	if err := lease.Revoke(rctx); err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.LeaseLost) {
		o.unreturned = append(o.unreturned, lease.ID())
		return err
	}
	return nil
}

// reign is the owner's loop: hear, decide, store, act.
func (t *term) reign(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	t.follow(ctx, t.followInbox)
	t.follow(ctx, t.followSlots)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.lease.Lost():
			return fault.New(fault.LeaseLost, "engine.reign", string(t.spec.Name), nil)
		case <-timer.C:
		case r := <-t.probes.Reports():
			t.hear(r)
		case r := <-t.reports:
			t.see(ctx, r)
		case n := <-t.inbox:
			n(t)
		case <-t.edited:
			t.heed()
		case a := <-t.trials:
			a.answer <- t.own.Try(a.order, t.clock.Now())
			continue
		case <-t.nudged:
			if err := t.loadPost(ctx); err != nil {
				return err
			}
		}
		t.turn.Store(int64(t.clock.Now().Mono))
		t.lived.Store(t.turn.Load())
		t.hearAll()
		t.heedDefects()
		next, err := t.round(ctx)
		if err != nil {
			return err
		}
		if err := t.fade(ctx); err != nil && !fault.Is(err, fault.NoSpace) {
			return err
		}
		if err := t.post(ctx); err != nil {
			return err
		}
		timer.Reset(t.untilNext(next))
		t.turn.Store(0)
	}
}

// hearAll takes the probe reports that wait already, so that one round judges them together, and so that the watermark
// behind them is not late when there are many. An engine brings one after the other: it is given the time to come with
// the next.
func (t *term) hearAll() {
	const (
		most   = 10_000
		yields = 2
	)
	for heard, idle := 0, 0; heard < most && idle < yields; {
		select {
		case r := <-t.probes.Reports():
			t.hear(r)
			heard, idle = heard+1, 0
		default:
			idle++
			runtime.Gosched()
		}
	}
}

// heartbeat is the longest that the owner goes without looking at its clocks and watermark.
const heartbeat = time.Second

func (t *term) untilNext(next fleet.Instant) time.Duration {
	if next == 0 {
		return heartbeat
	}
	return min(heartbeat, max(0, next.Sub(t.clock.Now().Mono)))
}

// round decides if there is anything to decide, and lets what follows happen.
func (t *term) round(ctx context.Context) (fleet.Instant, error) {
	now := t.clock.Now()
	t.minds(now)
	t.lookBeside(ctx, now)
	t.readMetrics(ctx, now)
	t.own.SetTolls(t.fellows.Tolls(t.own.Spec()))
	t.own.SetUnready(t.fellows.Unready(t.own.Spec().After), now)
	t.own.SetRoll(t.poller.Notes())
	t.hearPools(now)
	if !t.own.Due(now) {
		return t.show(now), nil
	}
	t.own.Decide(now)
	err := t.storeAll(ctx, now)
	if t.clock.Now().Mono.Sub(now.Mono) > heartbeat {
		t.listens = time.Now()
	}
	if err != nil {
		return t.refused(now, err)
	}
	for _, i := range t.own.Asks(t.clock.Now()) {
		t.ask(ctx, i)
	}
	t.stale = true
	return t.show(now), nil
}

const (
	// manyMachines are so many that showing them costs more than most rounds do, and showEvery is how often such a
	// fleet is shown.
	manyMachines = 500
	showEvery    = 250 * time.Millisecond
)

// show shows the fleet as it stands, a large one not too often, and returns when the next round is due.
func (t *term) show(now fleet.Now) fleet.Instant {
	due, next := t.shown.Add(showEvery), t.own.Wake()
	switch {
	case !t.stale:
	case t.own.Len() < manyMachines || now.Due(due):
		t.publish(now)
		t.shown, t.stale = now.Mono, false
	case next == 0 || due < next:
		return due
	}
	return next
}

// publish shows the fleet as it stands.
func (t *term) publish(now fleet.Now) {
	views, whole := t.own.Copies(), t.own.State().Whole.Clone()
	for i, h := range t.foreseen {
		if i < len(views) {
			views[i].Machine.Health = h
		}
	}
	tally := guard.Count(*t.own.Spec(), &whole, views)
	t.fellows.Pay(t.spec.Name, t.spec.Provider, tally)
	state := *t.own.State()
	state.Now, state.Whole, state.Roll, state.Cannot = now, whole, t.poller.Notes(), t.cannot
	state.Gauges = t.own.Gauges()
	t.published.Store(&published.Fleet{
		State:        state,
		Installation: t.installation,
		Wanted:       t.spec,
		Revision:     t.wrote,
		Detail:       t.trouble,
		Idle:         t.idle,
		FromMemory:   len(t.foreseen) > 0,
		Tally:        tally,
		Lots:         inference.Lots(t.own.Spec(), &whole, views, now),
		Machines:     views,
		Post:         t.box.Standing(),
	})
}
