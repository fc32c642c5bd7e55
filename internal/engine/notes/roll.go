package notes

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/engine/process"
	"hale/internal/owner"
	"hale/internal/provider"
	"hale/internal/state"
	"hale/internal/state/starts"
)

const (
	rollLimit = 5 * time.Second // of a look, and of a note
	// notesKnown is how many starts that are noted at a provider's the store knows at least, if there were so many.
	notesKnown = 64
)

// Builds says that something is built or destroyed in a fleet, so that this start is to be noted before.
type Builds bool

// Roll drives an owner.Roll: the goroutines that send calls do, and its own.
type Roll struct {
	provider     fleet.ProviderName
	reader       provider.StartReader // nil: the provider has no such place
	noter        provider.StartNoter  // nil: it cannot be written
	installation fleet.Installation   // set before anything is asked; see become
	store        state.Store
	begun        *process.Beginning
	log          *slog.Logger
	nudge        func() // the owners, when it says something else than before

	turn  process.Turn
	looks atomic.Uint64 // that were begun
	last  uint64        // the number of the last one; of the one with the turn
	poke  chan struct{} // to look now

	mu sync.Mutex // guards is, but for what a pass alone changes; held for no call
	is owner.Roll
}

// NewRoll returns a roll of the starts that are noted at the provider's. Nudge wakes the owners.
func NewRoll(of fleet.ProviderName, at provider.Provider, s state.Store, b *process.Beginning, log *slog.Logger,
	nudge func()) *Roll {
	r := &Roll{
		provider: of, store: s, begun: b, log: log, nudge: nudge, turn: make(process.Turn, 1),
		poke: make(chan struct{}, 1),
	}
	r.reader, _ = at.(provider.StartReader)
	r.noter, _ = at.(provider.StartNoter)
	return r
}

// Of says whose starts are noted, before anything is asked.
func (r *Roll) Of(id fleet.Installation) { r.installation = id }

// Run looks on a beat, so that a copy of the store is found while there is nothing to do.
func (r *Roll) Run(ctx context.Context) {
	for r.reader != nil && ctx.Err() == nil {
		beat := r.look(ctx)
		select {
		case <-ctx.Done():
		case <-r.poke:
		case <-time.After(beat):
		}
	}
}

// look looks once, and returns how soon to look again.
func (r *Roll) look(ctx context.Context) time.Duration {
	again := owner.RollAgain
	_ = r.pass(ctx, owner.Pass{}, func() { again = r.is.Again() })
	return again
}

// pass takes the roll through a pass. What was looked at while this waited for its turn need not be looked at once
// more. The error: it got no turn.
func (r *Roll) pass(ctx context.Context, p owner.Pass, then func()) error {
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	asked := r.looks.Load()
	if err := r.turn.Enter(ctx); err != nil {
		return err
	}
	defer r.turn.Leave()
	p.Shared = r.last > asked
	var want owner.Want
	for do := func() owner.Want { return r.is.Begin(p) }; do != nil; do = r.answer(ctx, want) {
		r.say(func() { want = do() })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	then()
	return nil
}

// answer does what the roll wants, and returns what it is to be told; nil: it wants nothing more.
func (r *Roll) answer(ctx context.Context, want owner.Want) func() owner.Want {
	named := func(s starts.Start, err error) func() owner.Want {
		return func() owner.Want { return r.is.Named(s.Name(), err) }
	}
	switch want {
	case owner.WantNotes:
		r.last = r.looks.Add(1)
		found, err := r.reader.Starts(ctx, r.installation)
		return func() owner.Want { return r.is.Read(found, err) }
	case owner.WantKnown:
		known, err := starts.Noted(ctx, r.store)
		return func() owner.Want { return r.is.Learn(maps.Keys(known), err) }
	case owner.WantName:
		return named(r.begun.Start(ctx))
	case owner.WantAnother:
		return named(starts.Begin(ctx, r.store))
	case owner.WantStored:
		var err error = fault.New(fault.Unsupported, "engine.note", string(r.provider), nil)
		if r.noter != nil {
			err = starts.Note(ctx, r.store, r.provider, r.is.Own)
		}
		return func() owner.Want { return r.is.Stored(err) }
	case owner.WantNoted:
		err := r.noter.NoteStart(ctx, r.installation, r.is.Own)
		return func() owner.Want { return r.is.Noted(err) }
	case owner.WantPruned:
		r.prune(ctx)
	case owner.WantNothing:
	}
	return nil
}

// Become looks at the notes of another installation, which the store is from now on.
func (r *Roll) Become(ctx context.Context, id fleet.Installation) {
	if r.reader == nil || r.turn.Enter(ctx) != nil {
		return
	}
	r.installation, r.last = id, 0
	r.say(r.is.Forget)
	r.turn.Leave()
	r.look(ctx)
}

// Learn reads which starts the store knows.
func (r *Roll) Learn(ctx context.Context) error {
	noted, err := starts.Noted(ctx, r.store)
	r.say(func() { r.is.Know(maps.Keys(noted)) })
	return err
}

// say tells the roll something, and wakes the owners when it says something else than before.
func (r *Roll) say(what func()) {
	r.mu.Lock()
	was := r.is.Standing()
	what()
	is := r.is.Standing()
	r.mu.Unlock()
	if is.Equal(was) {
		return
	}
	say := r.log.Info
	if slices.Equal(is.Unknown, was.Unknown) { // only its silence is another, which records tell where it matters
		say = r.log.Debug
	}
	say("the starts noted at the provider's", "unknown", is.Unknown, "silent", is.Silent)
	r.nudge()
}

// Standing is what the notes say, as far as it was seen.
func (r *Roll) Standing() fleet.Roll {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is.Standing()
}

// Believe takes the starts for known, which a person had this store believe. That this start is another one from now on
// is noted at once, where something is built or destroyed in the fleet.
func (r *Roll) Believe(names []fleet.StartName, acts Builds) {
	r.say(func() {
		if r.is.Believe(names); acts {
			r.is.Owed = true
		}
	})
	if !acts {
		return
	}
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Inherit takes the starts of the installation for known that a person has this store take over: the hale that noted
// them is gone, they say. It is so for all fleets. What cannot be read or written now holds them until a person has
// the world believed.
func (r *Roll) Inherit(ctx context.Context, acts Builds) {
	var names []fleet.StartName
	for _, n := range r.Standing().Unknown {
		if err := starts.Note(ctx, r.store, r.provider, n.Name); err != nil {
			r.log.Warn("a start of the installation that was taken over stays unknown", "start", n.Name, "err", err)
			continue
		}
		names = append(names, n.Name)
	}
	if len(names) > 0 {
		r.Believe(names, acts)
	}
}

// Permit says why the call may not be sent; empty: it may. What builds or destroys is preceded by the note of this
// start, where the fleet is of that kind.
func (r *Roll) Permit(ctx context.Context, a situation.Action, rolled Builds) (why string) {
	if r.reader == nil {
		return ""
	}
	err := r.pass(ctx, owner.Pass{Call: &a, Rolled: bool(rolled)}, func() { why = r.is.Permit() })
	if err != nil && a.Intent.Op.Rolled() {
		return string(fleet.ReasonPlaceSilent) + ": " + err.Error()
	}
	return why
}

// prune removes the notes that are of no use, and has the store forget what stands nowhere.
func (r *Roll) prune(ctx context.Context) {
	for _, n := range r.is.Surplus() {
		if err := r.noter.ForgetStart(ctx, r.installation, n.Name); err != nil {
			r.log.Debug("an old note was not removed", "start", n.Name, "err", err)
		}
	}
	noted, err := starts.Noted(ctx, r.store)
	if err != nil {
		return
	}
	var here []fleet.StartName
	for name, by := range noted {
		if name != r.is.Own && slices.Contains(by, r.provider) {
			here = append(here, name)
		}
	}
	slices.SortFunc(here, fleet.StartName.Compare)
	var gone []fleet.StartName
	for _, name := range here[:max(0, len(here)-notesKnown)] {
		if r.noter.ForgetStart(ctx, r.installation, name) == nil {
			gone = append(gone, name)
		}
	}
	if err := starts.Forget(ctx, r.store, r.provider, gone); err != nil {
		r.log.Debug("old starts were not forgotten", "err", err)
	}
}
