package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
	"hale/internal/starts"
	"hale/internal/state"
)

const (
	rollBeat  = 30 * time.Second // between two looks at a provider's notes that nothing asks for
	rollAgain = 5 * time.Second  // after one that was not answered
	rollLimit = 5 * time.Second  // of a look, and of a note
	// notesKept is how many starts stand at a provider's beside this one, and notesKnown how many the store knows of
	// each at least, if there were so many.
	notesKept  = 4
	notesKnown = 64
)

// roll knows which starts of hale are noted at one provider's. A start that is there, with this store's installation,
// and that the store does not know, was noted by another store than this one: by a copy of it, or by this one before it
// lost that or was put back.
//
// It is asked by the goroutines that send calls, and by its own.
//
// Its rule is: a call that builds or destroys is sent only after this start was noted, and after a look that began
// later and found no start unknown. So of two engines on copies of one store that send such calls, the one that looked
// last has seen the other.
type roll struct {
	provider     fleet.ProviderName
	reader       provider.StartReader // nil: the provider has no such place
	noter        provider.StartNoter  // nil: it cannot be written
	installation fleet.Installation   // set before anything is asked; see become
	store        state.Store
	begun        *beginning
	log          *slog.Logger
	nudge        func() // the owners, when it says something else than before

	turn   chan struct{} // holds one of those who look or note, as a mutex would; the engine holds none across a call
	looks  atomic.Uint64 // that were begun
	last   look          // the last one; of the one with the turn
	own    fleet.StartName
	wanted atomic.Bool   // own is to be noted as soon as it can be: something waits for that, or a person is to see it
	renew  atomic.Bool   // a person's word makes this a new start
	poke   chan struct{} // to look now
	others bool          // own is a start of the roll's own, and not the engine's

	mu      sync.Mutex // guards what follows; held for no call
	known   map[fleet.StartName]bool
	seen    []fleet.NotedStart
	silent  string // why the notes were not read
	unnoted string // why own was not noted
}

// look is what the provider said of its notes.
type look struct {
	number uint64
	found  map[fleet.HostName][]fleet.StartName
	err    error
}

func newRoll(src Source, s state.Store, b *beginning, log *slog.Logger, nudge func()) *roll {
	r := &roll{
		provider: src.Name, store: s, begun: b, log: log, nudge: nudge, turn: make(chan struct{}, 1),
		poke: make(chan struct{}, 1), known: make(map[fleet.StartName]bool),
	}
	r.reader, _ = src.Adapter.(provider.StartReader)
	r.noter, _ = src.Adapter.(provider.StartNoter)
	return r
}

// run looks on a beat, so that a copy of the store is found while there is nothing to do.
func (r *roll) run(ctx context.Context) {
	for r.reader != nil && ctx.Err() == nil {
		beat := rollBeat
		if err := r.look(ctx); err != nil && !fault.Is(err, fault.Unsupported) {
			beat = rollAgain
		}
		select {
		case <-ctx.Done():
		case <-r.poke:
		case <-time.After(beat):
		}
	}
}

// look looks once, unless one is under way that began after this was asked for.
func (r *roll) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	asked := r.looks.Load()
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer r.leave()
	l := r.lookAfter(ctx, asked)
	if r.wanted.Load() && l.err == nil && r.standing().Unknown == nil {
		l = r.noted(ctx, l)
	}
	return l.err
}

// become looks at the notes of another installation, which the store is from now on.
func (r *roll) become(ctx context.Context, id fleet.Installation) {
	if r.reader == nil || r.enter(ctx) != nil {
		return
	}
	r.installation, r.own, r.last = id, "", look{}
	r.leave()
	r.say(func() { r.seen = nil })
	if err := r.look(ctx); err != nil {
		r.log.Debug("the starts of the installation that was taken over are not known yet", "err", err)
	}
}

func (r *roll) enter(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *roll) leave() { <-r.turn }

// lookAfter returns the last look if it is a later one than that, or looks.
func (r *roll) lookAfter(ctx context.Context, number uint64) look {
	if r.last.number > number {
		return r.last
	}
	l := look{number: r.looks.Add(1)}
	l.found, l.err = r.reader.Starts(ctx, r.installation)
	if l.err == nil && r.strange(l.found) {
		l.err = r.learn(ctx) // another engine on this store may have noted its start meanwhile
	}
	r.last = l
	r.take(l)
	return l
}

// strange reports whether there are starts that the store is not known to know.
func (r *roll) strange(found map[fleet.HostName][]fleet.StartName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, names := range found {
		if slices.ContainsFunc(names, func(n fleet.StartName) bool { return !r.known[n] }) {
			return true
		}
	}
	return false
}

// learn reads which starts the store knows.
func (r *roll) learn(ctx context.Context) error {
	if r.reader == nil {
		return nil
	}
	noted, err := starts.Noted(ctx, r.store)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range noted {
		r.known[n] = true
	}
	return nil
}

// take takes in what was seen.
func (r *roll) take(l look) {
	r.say(func() {
		r.silent = ""
		switch {
		case fault.Is(l.err, fault.Unsupported):
			r.seen = nil
		case l.err != nil:
			r.silent = fault.Plain(l.err) // what was seen before counts on
		default:
			r.seen = seenIn(l.found)
		}
	})
}

// say changes what it says, and wakes the owners when that is something else than before.
func (r *roll) say(change func()) {
	was := r.standing()
	r.mu.Lock()
	change()
	r.mu.Unlock()
	is := r.standing()
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

// seenIn lists each start once, oldest first, with one host that has it.
func seenIn(found map[fleet.HostName][]fleet.StartName) []fleet.NotedStart {
	var seen []fleet.NotedStart
	for host, names := range found {
		for _, name := range names {
			at := slices.IndexFunc(seen, func(n fleet.NotedStart) bool { return n.Name == name })
			if at < 0 {
				seen = append(seen, fleet.NotedStart{Name: name, Host: host})
			} else {
				seen[at].Host = min(seen[at].Host, host)
			}
		}
	}
	slices.SortFunc(seen, func(a, b fleet.NotedStart) int { return a.Name.Compare(b.Name) })
	return seen
}

// standing is what the notes say, as far as it was seen.
func (r *roll) standing() fleet.Roll {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := fleet.Roll{Silent: cmp.Or(r.silent, r.unnoted)}
	for _, n := range r.seen {
		if !r.known[n.Name] {
			is.Unknown = append(is.Unknown, n)
		}
	}
	return is
}

// believe takes the starts for known, which a person had this store believe. This engine's start is another one from
// now on: a copy of the store whose start is among them knows the one before, perhaps, and must find that somebody goes
// on here: at once, where something is built or destroyed in the fleet.
func (r *roll) believe(names []fleet.StartName, acts bool) {
	r.know(names...)
	r.renew.Store(true)
	if !acts {
		return
	}
	r.wanted.Store(true)
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// inherit takes the starts of the installation for known that a person has this store take over: the hale that noted
// them is gone, they say. It is so for all fleets. What cannot be read or written now holds them until a person has
// the world believed.
func (r *roll) inherit(ctx context.Context, acts bool) {
	var names []fleet.StartName
	for _, n := range r.standing().Unknown {
		if err := starts.Note(ctx, r.store, r.provider, n.Name); err != nil {
			r.log.Warn("a start of the installation that was taken over stays unknown", "start", n.Name, "err", err)
			continue
		}
		names = append(names, n.Name)
	}
	if len(names) > 0 {
		r.say(func() {
			for _, n := range names {
				r.known[n] = true
			}
		})
		r.believe(names, acts)
	}
}

func (r *roll) know(names ...fleet.StartName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		r.known[n] = true
	}
}

// permit says why the call may not be sent; nil: it may. What builds or destroys is preceded by the note of this start,
// where the fleet is of that kind.
func (r *roll) permit(ctx context.Context, a fleet.Action, rolled bool) error {
	if r.reader == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	asked := r.looks.Load()
	if err := r.enter(ctx); err != nil {
		return r.unless(!a.Intent.Op.Rolled(), err)
	}
	defer r.leave()
	l := r.lookAfter(ctx, asked)
	if rolled && a.Intent.Op.Rolled() && l.err == nil && r.standing().Unknown == nil {
		l = r.noted(ctx, l)
	}
	if u := r.standing().Unknown; u != nil {
		return fmt.Errorf("%s: %s at the provider is unknown to this store", fleet.ReasonStoreOlder, u[0].Name)
	}
	switch {
	case fault.Is(l.err, fault.Unsupported):
		return nil
	case l.err != nil:
		return r.unless(!a.Intent.Op.Rolled(), l.err)
	}
	return r.unless(!a.Intent.Op.Rolled() || answersFor(l.found, a), fmt.Errorf("host %q does not show its notes",
		a.Host))
}

// unless returns the error as the reason for which nothing is built or destroyed, unless it does not matter.
func (*roll) unless(harmless bool, err error) error {
	if harmless {
		return nil
	}
	return fmt.Errorf("%s: %w", fleet.ReasonPlaceSilent, err)
}

// answersFor reports whether the notes were read where the call acts. A host that is to be fenced, or left, does not
// answer.
func answersFor(found map[fleet.HostName][]fleet.StartName, a fleet.Action) bool {
	_, whole := found[""]
	_, there := found[a.Host]
	return whole || there || a.Intent.Op == fleet.OpFence || a.Intent.Op == fleet.OpEvacuate
}

// noted sees to it that this start is noted wherever the look was answered, and returns a look that began after that.
// One place that has it is enough.
func (r *roll) noted(ctx context.Context, l look) look {
	l = r.tryNote(ctx, l)
	why := ""
	if r.wanted.Store(l.err != nil); l.err != nil {
		why = fault.Plain(l.err)
	}
	r.say(func() { r.unnoted = why })
	return l
}

func (r *roll) tryNote(ctx context.Context, l look) look {
	own, err := r.name(ctx)
	if err != nil {
		l.err = err
		return l
	}
	lacks := func(l look) (none, some bool) {
		none = true
		for _, names := range l.found {
			has := slices.Contains(names, own)
			none, some = none && !has, some || !has
		}
		return none, some
	}
	if _, some := lacks(l); !some {
		return l
	}
	err = r.note(ctx, own)
	if l = r.lookAfter(ctx, l.number); l.err != nil {
		return l
	}
	if none, _ := lacks(l); none {
		l.err = errors.Join(errors.New("this start could not be noted"), err)
		return l
	}
	if r.standing().Unknown == nil {
		r.prune(ctx, own, l)
	}
	return l
}

// name returns this start's name.
func (r *roll) name(ctx context.Context) (fleet.StartName, error) {
	if r.renew.Swap(false) {
		r.own, r.others = "", true
	}
	if r.own != "" {
		return r.own, nil
	}
	begin := r.begun.start
	if r.others {
		begin = func(ctx context.Context) (starts.Start, error) { return starts.Begin(ctx, r.store) }
	}
	s, err := begin(ctx)
	if err != nil {
		return "", err
	}
	r.own = s.Name()
	return r.own, nil
}

// note lets the store know the start, and then notes it at the provider's.
func (r *roll) note(ctx context.Context, own fleet.StartName) error {
	if r.noter == nil {
		return fault.New(fault.Unsupported, "engine.note", string(own), nil)
	}
	if err := starts.Note(ctx, r.store, r.provider, own); err != nil {
		return err
	}
	r.know(own)
	return r.noter.NoteStart(ctx, r.installation, own)
}

// prune removes all notes but the latest. All of them are known: one of another engine on this store that is removed is
// noted again by it.
func (r *roll) prune(ctx context.Context, own fleet.StartName, l look) {
	seen := slices.DeleteFunc(seenIn(l.found), func(n fleet.NotedStart) bool { return n.Name == own })
	for _, n := range seen[:max(0, len(seen)-notesKept)] {
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
		if name != own && slices.Contains(by, r.provider) {
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
