package steward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/notify"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/outbox"

	"github.com/google/uuid"
)

const (
	// storePatience is how long the store must have taken nothing, or everything again, to be worth a word.
	storePatience = 10 * time.Second
	// storeCalm is how long after its end an outage that comes back is no other one yet: a store at the edge of its
	// room tells people once, not every minute.
	storeCalm = 10 * time.Minute
	// stewardBeat is the time between two looks at the store.
	stewardBeat = time.Second
)

// Store is a store that listens to the answers to writes: nothing else knows, before a disk is full or broken,
// that it is.
type Store struct {
	state.Store
	told func(took time.Duration, err error) // how each write went; nil: nothing is
	mu   sync.Mutex
	last uint64
	// underWay are the writes that have no answer yet, by when they began.
	underWay map[uint64]time.Time
	failing  time.Time // since when each write has failed; zero: the last one did not
	well     time.Time // since when none has
	err      error     // of the last one that failed
}

// Listen listens to what the store answers, and tells of it; told may be nil.
func Listen(s state.Store, told func(took time.Duration, err error)) *Store {
	return &Store{Store: s, told: told, underWay: map[uint64]time.Time{}}
}

// Commit implements state.Store.
func (h *Store) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	n := h.begin()
	began := time.Now()
	rev, err := h.Store.Commit(ctx, txn)
	h.hear(ctx, n, err)
	if h.told != nil {
		h.told(time.Since(began), err)
	}
	return rev, err
}

// Grant implements state.Store.
func (h *Store) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	n := h.begin()
	lease, err := h.Store.Grant(ctx, ttl)
	h.hear(ctx, n, err)
	return lease, err
}

func (h *Store) begin() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.underWay[h.last] = time.Now()
	return h.last
}

// hear takes note of how a write ended. One that was called off, or that was wrong in itself, says nothing of the
// store.
func (h *Store) hear(ctx context.Context, n uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	began := h.underWay[n]
	delete(h.underWay, n)
	switch {
	case err == nil, fault.Is(err, fault.Conflict), fault.Is(err, fault.LeaseLost):
		if !h.failing.IsZero() || h.well.IsZero() {
			h.well = time.Now()
		}
		h.failing, h.err = time.Time{}, nil
	case ctx.Err() != nil, fault.Is(err, fault.Invalid):
	default:
		if h.failing.IsZero() {
			h.failing = began
		}
		h.err = err
	}
}

var errNoAnswer = errors.New("it has not answered a write yet")

// stands returns since when the store takes nothing, and why; or since when it takes everything.
func (h *Store) stands(now time.Time) (failing, well time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failing, err = h.failing, h.err
	for _, began := range h.underWay {
		if now.Sub(began) >= storePatience && (failing.IsZero() || began.Before(failing)) {
			failing = began
		}
	}
	if !failing.IsZero() && err == nil {
		err = errNoAnswer
	}
	return failing, h.well, err
}

// Options are what a steward is made of. All are needed but Room.
type Options struct {
	Room    func() (state.Space, error) // nil: the store has no disk
	Find    func(name policy.TargetName) notify.Target
	Words   func(l outbox.Letter, story []record.Record) notify.Message
	Within  time.Duration // bounds one try to send, beyond what the targets themselves allow
	Logger  *slog.Logger
	Defects *defect.Register
	Status  func() []published.Fleet
}

// Steward watches the store that everything else relies on, and tells people of it without it: what cannot be written
// down waits in no outbox. It keeps in memory what it told, so that a restart in the middle of an outage tells once
// more.
type Steward struct {
	Options
	store *Store
	shown atomic.Pointer[published.Store]

	id       fleet.Installation
	nonce    string
	seq      uint64
	outage   *plight // nil: the store takes what is written
	closedAt time.Time
	low      *plight // nil: there is room
	words    []*word
	busy     map[policy.TargetName]bool
	outcomes chan func()
	wg       sync.WaitGroup
}

// plight is an outage of the store, or that it is nearly full.
type plight struct {
	reason fleet.Reason
	since  time.Time
	detail string
	paged  bool
	over   bool
	told   []policy.Recipient // who took the page
}

// word is a message on its way to one target.
type word struct {
	about  *plight
	letter outbox.Letter
	to     policy.Recipient
}

// New is one that watches the store by what is heard of it.
func New(o Options, s *Store) *Steward {
	w := &Steward{
		Options: o, store: s, nonce: uuid.NewString()[:8], busy: map[policy.TargetName]bool{},
		outcomes: make(chan func()),
	}
	w.shown.Store(&published.Store{})
	return w
}

// Place is where a panic of the steward's own is noted.
func (w *Steward) Place() defect.Place {
	return defect.Place{Part: defect.Surface, Name: "what watches the store"}
}

// Run watches until ctx ends.
func (w *Steward) Run(ctx context.Context) {
	defer w.wg.Wait()
	beat := time.NewTicker(stewardBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case took := <-w.outcomes:
			took()
		case <-beat.C:
		}
		now := time.Now()
		w.heedOutage(now)
		w.heedRoom(now)
		w.show(now)
		w.deliver(ctx, now)
	}
}

// heedOutage begins or ends an outage of the store.
func (w *Steward) heedOutage(now time.Time) {
	failing, well, err := w.store.stands(now)
	switch {
	case w.outage != nil && failing.IsZero() && now.Sub(well) >= storePatience:
		w.Logger.Info("the store takes what is written again", "after", well.Sub(w.outage.since).Round(time.Second))
		w.end(w.outage, well)
		w.outage, w.closedAt = nil, now
		return
	case w.outage == nil && !failing.IsZero() && now.Sub(failing) >= storePatience:
		w.outage = &plight{reason: storeTrouble(err), since: failing}
		w.Logger.Error("the store takes nothing: no repair begins", "since", failing, "err", fault.Plain(err))
	case w.outage == nil:
		return
	}
	if err != nil {
		w.outage.detail = fault.Plain(err)
	}
	if !w.outage.paged && (w.closedAt.IsZero() || now.Sub(w.closedAt) >= storeCalm) {
		w.page(w.outage, w.outage.detail+w.seen())
	}
}

// storeTrouble names what a write of the store failed by.
func storeTrouble(err error) fleet.Reason {
	if fault.Is(err, fault.NoSpace) {
		return fleet.ReasonStoreFull
	}
	return fleet.ReasonStoreDown
}

// heedRoom warns once, long before the store is full, and says when it is over.
func (w *Steward) heedRoom(now time.Time) {
	if w.Room == nil {
		return
	}
	room, err := w.Room()
	if err != nil {
		return // a store fails by itself when its disk does not answer
	}
	why := room.Low()
	if w.low != nil {
		why = room.StillLow()
	}
	switch {
	case w.low == nil && why != "":
		w.low = &plight{reason: fleet.ReasonStoreLow, since: now, detail: why}
		w.Logger.Warn("the store is nearly full: make room before it takes nothing more", "why", why)
		w.page(w.low, why)
	case w.low != nil && why == "":
		w.Logger.Info("the store has enough room again")
		w.end(w.low, now)
		w.low = nil
	case w.low != nil:
		w.low.detail = why
	}
}

// show keeps what is answered to those who ask.
func (w *Steward) show(now time.Time) {
	var s published.Store
	if failing, _, err := w.store.stands(now); !failing.IsZero() {
		s.Trouble, s.Since, s.Detail = storeTrouble(err), failing, fault.Plain(err)
	}
	if w.low != nil {
		s.Low, s.LowAt = w.low.detail, w.low.since
	}
	w.shown.Store(&s)
}

// fewSeen is how many failing machines are named.
const fewSeen = 5

// seen says which machines fail while nothing can be written down.
func (w *Steward) seen() string {
	var failing []string
	fleets := 0
	for _, s := range w.Status() {
		if s.Acting == "" {
			continue
		}
		fleets++
		for _, v := range s.Machines {
			if v.Machine.Health.Verdict == belief.VerdictUnhealthy {
				failing = append(failing, string(v.Machine.Name))
			}
		}
	}
	said := fmt.Sprintf("; hale does nothing in %d of its fleets", fleets)
	if n := len(failing); n > 0 {
		names := strings.Join(failing[:min(n, fewSeen)], ", ")
		if n > fewSeen {
			names += fmt.Sprintf(" and %d more", n-fewSeen)
		}
		said += ", where it sees fail: " + names
	}
	return said
}

// page tells each target of a fleet's pages once.
func (w *Steward) page(p *plight, detail string) {
	p.paged = true
	rec := record.Record{At: p.since, Kind: record.Paged, Reason: p.reason, Detail: detail}
	for _, to := range w.recipients() {
		if to.Wants(policy.NotifyPage) {
			w.put(p, to, rec)
		}
	}
}

// end tells those who took the page that it is over.
func (w *Steward) end(p *plight, at time.Time) {
	p.over = true
	for _, to := range p.told {
		w.put(p, to, ending(p, at))
	}
}

func ending(p *plight, at time.Time) record.Record {
	return record.Record{At: at, Kind: record.Store, Reason: overReason(p), Took: at.Sub(p.since), Paged: true}
}

// put puts one message on its way to one target.
func (w *Steward) put(p *plight, to policy.Recipient, rec record.Record) {
	event, ok := rec.Notifies()
	if !ok || !to.Wants(event) {
		return
	}
	w.seq++
	rec.Seq = w.seq
	rec.Fleet = "store" // in the key only
	key := outbox.KeyOf(w.id, w.nonce, rec)
	rec.Fleet = ""
	w.words = append(w.words, &word{about: p, to: to, letter: outbox.Letter{
		Key: key, Event: event, Record: rec, Since: time.Now(), Sendings: []outbox.Sending{{Target: to.Target}}}})
}

// recipients are the targets of all fleets, each with all that one of them wants told to it.
func (w *Steward) recipients() []policy.Recipient {
	var all []policy.Recipient
	for _, s := range w.Status() {
		for _, to := range s.Wanted.Notify.To {
			i := slices.IndexFunc(all, func(r policy.Recipient) bool { return r.Target == to.Target })
			if i < 0 {
				to.Events = slices.Clone(to.Events)
				all = append(all, to)
				continue
			}
			for _, event := range to.Events {
				if !all[i].Wants(event) {
					all[i].Events = append(all[i].Events, event)
				}
			}
		}
	}
	return all
}

// deliver sends what is due, one message at a time to each target.
func (w *Steward) deliver(ctx context.Context, now time.Time) {
	w.words = slices.DeleteFunc(w.words, func(m *word) bool {
		unheard := m.about.over && m.letter.Event == policy.NotifyPage && !w.busy[m.to.Target]
		return unheard || len(m.letter.Sendings) == 0
	})
	for _, m := range w.words {
		target := w.Find(m.to.Target)
		if w.busy[m.to.Target] || now.Before(m.letter.Sendings[0].DueAt(now)) {
			continue
		}
		if target == nil {
			m.letter.Sendings = nil
			continue
		}
		w.busy[m.to.Target] = true
		w.send(ctx, m, target)
	}
}

// send tries a message once.
func (w *Steward) send(ctx context.Context, m *word, target notify.Target) {
	letter := m.letter
	w.wg.Go(func() {
		o := outbox.Outcome{Detail: "it was not tried"}
		defer func() {
			select {
			case w.outcomes <- func() { w.took(m, o) }:
			case <-ctx.Done():
			}
		}()
		defer w.Defects.Catch(w.Place(), "tell "+string(m.to.Target), func(p *defect.Panic) {
			o = outbox.Outcome{Detail: p.Error()}
		})
		sctx, cancel := context.WithTimeout(ctx, w.Within)
		defer cancel()
		_, err := target.Send(sctx, w.Words(letter, nil))
		o = outbox.Outcome{Taken: err == nil}
		if err != nil {
			o = outbox.Outcome{Refused: notify.Refused(err), Later: notify.Later(err), Detail: notify.Why(err)}
		}
	})
}

// took notes how a try went.
func (w *Steward) took(m *word, o outbox.Outcome) {
	delete(w.busy, m.to.Target)
	var dead *outbox.Dead
	m.letter, _, dead = m.letter.After(m.to.Target, m.to, o, time.Now())
	switch {
	case dead != nil:
		w.Logger.Error(
			"a message about the store was given up",
			"target",
			m.to.Target,
			"reason",
			dead.Reason,
			"err",
			dead.Detail,
		)
	case o.Taken && m.letter.Event == policy.NotifyPage:
		m.about.told = append(m.about.told, m.to)
		if m.about.over {
			w.put(m.about, m.to, ending(m.about, time.Now()))
		}
	}
}

// overReason is by what a plight ends.
func overReason(p *plight) fleet.Reason {
	if p.reason == fleet.ReasonStoreLow {
		return fleet.ReasonStoreRoom
	}
	return fleet.ReasonStoreTakes
}

// lastTry is the time between two tries to tell a target that the store is lost.
const lastTry = time.Second

// TellLost pages, in the name of the installation, that the store cannot go on and hale ends. It returns when each
// target took it, refused it, or ctx ended.
func (w *Steward) TellLost(ctx context.Context, id fleet.Installation, why error) {
	rec := record.Record{
		At:     time.Now(),
		Kind:   record.Paged,
		Reason: fleet.ReasonStoreLost,
		Detail: fault.Plain(why),
		Fleet:  "store",
	}
	letter := outbox.Letter{Event: policy.NotifyPage, Since: rec.At}
	letter.Key = outbox.KeyOf(id, uuid.NewString()[:8], rec)
	letter.Record, letter.Record.Fleet = rec, ""
	var wg sync.WaitGroup
	for _, to := range w.recipients() {
		target := w.Find(to.Target)
		if !to.Wants(policy.NotifyPage) || target == nil {
			continue
		}
		wg.Go(func() {
			defer w.Defects.Catch(w.Place(), "tell "+string(to.Target), nil)
			for ctx.Err() == nil {
				_, err := target.Send(ctx, w.Words(letter, nil))
				if err == nil || notify.Refused(err) {
					return
				}
				w.Logger.Error("a message about the store was not taken", "target", to.Target, "err", notify.Why(err))
				pause(ctx, lastTry)
			}
		})
	}
	wg.Wait()
}

// Stands returns how the store does.
func (w *Steward) Stands() published.Store { return *w.shown.Load() }

// Begin has the steward speak for the installation.
func (w *Steward) Begin(id fleet.Installation) { w.id = id }

// pause lets the time pass, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
