package poller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/engine/notes"
	"hale/internal/engine/process"
	"hale/internal/hook"
	"hale/internal/owner/picture"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// Source is one provider with how it is to be watched.
type Source struct {
	Name    fleet.ProviderName
	Adapter provider.Provider
	// Watcher tells of lifecycle events; nil when the provider has none.
	Watcher provider.Watcher
	Poll    time.Duration // between full listings
	// ListWithin is how long one listing may take until the provider counts as down; 0: DefaultListWithin.
	ListWithin time.Duration
	// Runner executes the commands of run steps for the provider's machines; nil: there is none, and such steps are
	// skipped.
	Runner program.Runner
	// Hooks runs people's hooks around the work on the provider's machines; nil: there is nothing that does.
	Hooks hook.Runner
	// Fencer cuts the power of the provider's hosts; nil: there is none.
	Fencer Fencer
	// Addresses are the hosts' own, where the operator names them.
	Addresses map[fleet.HostName]netip.Addr
}

// DefaultListWithin is the limit of a listing without one of its own.
const DefaultListWithin = 10 * time.Second

const (
	hurryPoll  = 200 * time.Millisecond // while an owner waits for an address
	hurryFor   = time.Second
	eventPause = 20 * time.Millisecond // gathers the events of one moment into one listing
)

// Cannot returns the operations that are not to be had.
func (s Source) Cannot() []fleet.Op {
	lacks := provider.Cannot(s.Adapter)
	if s.Runner == nil {
		lacks = append(lacks, fleet.OpRun)
	}
	return lacks
}

// Report is what a poller tells the owners: the whole truth as of one question.
type Report struct {
	State fleet.ProviderState
	// catalogue is what was listed. All fleets see the same one: it is not changed any more.
	Catalogue *picture.Catalogue
}

// Poller watches one provider: it lists on a beat, at once after an event, and faster while an owner is in a hurry.
type Poller struct {
	Source  Source            // guarded
	given   provider.Provider // the adapter as it was given
	clock   *process.Clock
	store   state.Store
	log     *slog.Logger
	defects *defect.Register
	// serves says whether users may be served by a host; nil: unknown.
	serves func(fleet.HostName) bool
	// rests says which hosts must stay cut; nil: unknown.
	rests func() []fleet.HostName
	// questions are the owners'.
	questions *questions

	poke chan struct{} // an event came
	// impatient wakes the pause when hurry was set.
	impatient chan struct{}
	hurry     atomic.Int64 // a fleet.Instant
	poll      atomic.Int64 // between full listings, a time.Duration
	within    atomic.Int64 // what a listing may take, a time.Duration

	mu   sync.Mutex // guards subs, which is never held while the provider is asked
	subs []chan Report

	state fleet.ProviderState
	hosts []fleet.Host // as last listed
	// the fleets with machines on each host when it answered last; only with a Fencer
	seen     map[fleet.HostName][]fleet.Name
	owed     bool                                      // something was announced, and no listing since has succeeded
	again    time.Duration                             // the pause before the next try, as long as one is owed
	compared fleet.Instant                             // when the identity was last compared
	pinned   atomic.Pointer[map[fleet.HostName]string] // the identities of first sight; nil: not loaded yet
	Roll     *notes.Roll
	Adopters *notes.Adopters
	// marked is what the last good listing has of hale's marks.
	marked atomic.Pointer[Listing]
}

// Options are what a poller is told.
type Options struct {
	Source  Source
	Clock   *process.Clock
	Begun   *process.Beginning
	Store   state.Store
	Log     *slog.Logger
	Defects *defect.Register
	// Called is told of each call to the provider; may be nil.
	Called func(fleet.ProviderName, provider.Call, time.Duration, error)
	// Serves says whether users may be served by a host; nil: unknown.
	Serves func(fleet.HostName) bool
	// Rests says which hosts must stay cut; nil: unknown.
	Rests func() []fleet.HostName
	// Cares says which instances at the provider are adopted.
	Cares func() notes.Cares
}

// New returns a poller that does nothing yet.
func New(o Options) *Poller {
	s := &Poller{
		Source: o.Source.guarded(o.Defects, o.Called), given: o.Source.Adapter, clock: o.Clock, store: o.Store,
		log: o.Log.With("provider", o.Source.Name), defects: o.Defects, serves: o.Serves, rests: o.Rests,
		questions: newQuestions(), poke: make(chan struct{}, 1), impatient: make(chan struct{}, 1),
		state: fleet.ProviderState{Standing: fleet.ProviderUnknown},
		seen:  map[fleet.HostName][]fleet.Name{},
	}
	s.Roll = notes.NewRoll(o.Source.Name, s.Source.Adapter, o.Store, o.Begun, s.log, s.Nudge)
	s.Adopters = notes.NewAdopters(s.Source.Adapter, s.log, s.Nudge)
	s.Adopters.Care(o.Cares)
	s.SetBeat(o.Source)
	return s
}

// Is reports whether the poller watches this very provider.
func (s *Poller) Is(src Source) bool { return s.Source.Name == src.Name && s.given == src.Adapter }

// Runs are what the poller does, each on a goroutine of its own.
func (s *Poller) Runs() []func(context.Context) {
	return []func(context.Context){s.run, s.watch, s.Roll.Run, s.Adopters.Run}
}

// Shows is what its last good listing has of hale's marks; nil: there was none.
func (s *Poller) Shows() *Listing { return s.marked.Load() }

// Notes is what hale's notes at the provider's say.
func (s *Poller) Notes() fleet.Roll { return s.Adopters.Tell(s.Roll.Standing()) }

// SetBeat sets how often the provider is listed, and how long that may take.
func (s *Poller) SetBeat(src Source) {
	s.poll.Store(int64(src.Poll))
	s.within.Store(int64(cmp.Or(src.ListWithin, DefaultListWithin)))
}

// Subscribe returns a channel that always holds the latest report, from the next one on, which comes soon.
func (s *Poller) Subscribe() <-chan Report {
	c := make(chan Report, 1)
	s.mu.Lock()
	s.subs = append(s.subs, c)
	s.mu.Unlock()
	s.Nudge()
	return c
}

// Unsubscribe lets nothing more be sent to the channel.
func (s *Poller) Unsubscribe(reports <-chan Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = slices.DeleteFunc(s.subs, func(c chan Report) bool { return c == reports })
}

// Hasten asks for frequent listings for a while.
func (s *Poller) Hasten() {
	s.hurry.Store(int64(s.clock.Now().Mono.Add(hurryFor)))
	select {
	case s.impatient <- struct{}{}:
	default:
	}
}

// Nudge asks for a listing soon.
func (s *Poller) Nudge() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

func (s *Poller) watch(ctx context.Context) {
	if s.Source.Watcher == nil {
		return
	}
	for pause := process.FirstAgain; ; pause = min(2*pause, process.LastAgain) {
		err := s.Source.Watcher.Watch(ctx, func(provider.Event) { s.Nudge() })
		if err == nil || ctx.Err() != nil {
			return
		}
		s.log.Error("lifecycle events are lost for a while; polling goes on", "err", err, "again", pause)
		_ = process.Rest(ctx, pause)
		s.Nudge() // what happened meanwhile was not told
	}
}

func (s *Poller) run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		s.publish(s.look(ctx))
		if s.state.Standing == fleet.ProviderUp {
			s.owed, s.again = false, 0
		}
		s.pause(ctx, began, time.Now())
	}
}

// beat is the time from one listing to the next. What was announced is not forgotten when the listing that it led to
// fails: it is tried again soon, however rare polls are.
func (s *Poller) beat(hurried time.Duration) time.Duration {
	beat := time.Duration(s.poll.Load())
	if s.clock.Now().Mono < fleet.Instant(s.hurry.Load()) {
		beat = min(beat, hurried)
	}
	if s.owed {
		s.again = min(max(2*s.again, process.FirstAgain), process.LastAgain)
		beat = min(beat, s.again)
	}
	return beat
}

// pause waits for the next beat after a listing, for an event, or less long when an owner becomes impatient. The
// provider is left alone for as long as the listing took, so that neither the events of a busy cloud nor a hurry has it
// list all the time: of one that lists slowly because much is asked of it, orders are what it should have time for.
func (s *Poller) pause(ctx context.Context, last, ended time.Time) {
	rested := ended.Add(min(ended.Sub(last), time.Duration(s.poll.Load())))
	hurried := max(hurryPoll, rested.Sub(last))
	timer := time.NewTimer(time.Until(last.Add(s.beat(hurried))))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-s.impatient:
			timer.Reset(time.Until(last.Add(hurried)))
		case <-s.poke:
			s.owed = true
			timer.Reset(max(eventPause, time.Until(rested)))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			return
		}
	}
}

func (s *Poller) publish(r Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.subs {
		select {
		case <-c: // the older one is of no use any more
		default:
		}
		c <- r
	}
}

// Place is where a panic of the poller's own is noted.
func (s *Poller) Place() defect.Place {
	return defect.Place{Part: defect.Provider, Of: string(s.Source.Name)}
}

// look asks the provider once. A listing that makes no sense has failed.
func (s *Poller) look(ctx context.Context) (r Report) {
	defer s.defects.Catch(s.Place(), "look", func(p *defect.Panic) {
		s.note(p)
		r = Report{State: s.state, Catalogue: picture.NewCatalogue()}
	})
	asked := s.clock.Now().Mono
	lctx, cancel := context.WithTimeout(ctx, time.Duration(s.within.Load()))
	defer cancel()
	list, err := s.Source.Adapter.List(lctx)
	if err == nil && s.identityDue(s.hostsOf(list), s.clock.Now()) {
		err = s.checkIdentity(ctx)
	}
	s.note(err)
	c := picture.NewCatalogue()
	if err == nil {
		s.state.Detail = silence(list.Hosts)
		s.questions.hosts(list.Hosts)
		s.remember(list)
		s.marked.Store(&Listing{marked(list.Instances), s.clock.Now().Wall})
		c.Replace(s.fenced(s.hostsOf(list)), list.Instances, asked)
	}
	return Report{State: s.state, Catalogue: c}
}

func (s *Poller) hostsOf(l provider.Listing) []fleet.Host {
	hosts := make([]fleet.Host, 0, len(l.Hosts))
	for _, h := range l.Hosts {
		hosts = append(hosts, fleet.Host{Name: h.Name, Up: h.Err == nil, Place: h.Place, Closed: h.Closed,
			Disabled:    h.Disabled,
			Independent: h.Independent, Address: h.Address})
	}
	bear := map[netip.Addr]int{}
	for i := range hosts {
		if named, ok := s.Source.Addresses[hosts[i].Name]; ok {
			hosts[i].Address = named
		}
		bear[hosts[i].Address]++
	}
	for i := range hosts {
		if bear[hosts[i].Address] > 1 { // what two have is a sign of neither
			hosts[i].Address = netip.Addr{}
		}
	}
	sort.Slice(hosts, func(i, j int) bool { return hosts[i].Name < hosts[j].Name })
	return hosts
}

// note turns the result of a listing into the provider's standing.
func (s *Poller) note(err error) {
	next := fleet.ProviderState{Standing: fleet.ProviderUp, Since: s.state.Since}
	switch {
	case errors.Is(err, errDoubtful), errors.Is(err, provider.ErrDoubtful):
		next.Standing, next.Detail = fleet.ProviderDoubtful, err.Error()
	case err != nil:
		next.Standing, next.Detail = fleet.ProviderDown, fault.Plain(err)
	}
	if next.Standing != s.state.Standing {
		next.Since = s.clock.Now().Mono
		s.log.Info("provider", "standing", next.Standing, "detail", next.Detail)
	}
	s.state = next
}

// fewSilent is how many silent hosts are told of before the others are only counted.
const fewSilent = 3

// silence says which hosts do not answer while the provider does, and why; empty: all answer.
func silence(hosts []provider.HostAnswer) string {
	var said []string
	for _, h := range hosts {
		if h.Err != nil {
			said = append(said, fmt.Sprintf("host %s does not answer: %s", h.Name, fault.Plain(h.Err)))
		}
	}
	if more := len(said) - fewSilent; more > 0 {
		said = append(said[:fewSilent], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

var errDoubtful = errors.New("another provider answers behind this address")

// identityEvery is how long an identity that was compared is believed, as long as no host went or came.
const identityEvery = time.Minute

// identityDue reports whether the provider must show again who it is: hosts changed, or it is long ago.
func (s *Poller) identityDue(hosts []fleet.Host, now fleet.Now) bool {
	changed := !slices.Equal(hosts, s.hosts)
	s.hosts = hosts
	return changed || s.state.Standing != fleet.ProviderUp || now.Mono.Sub(s.compared) > identityEvery
}

// checkIdentity compares the provider with the one that was pinned at first sight, and pins hosts that are new.
func (s *Poller) checkIdentity(ctx context.Context) error {
	if s.pinned.Load() == nil {
		if err := s.loadPin(ctx); err != nil {
			return err
		}
	}
	// With time of its own: a host that hangs may have taken all that the listing had.
	ictx, cancel := context.WithTimeout(ctx, time.Duration(s.within.Load()))
	defer cancel()
	ids, err := s.Source.Adapter.Identity(ictx)
	if err != nil {
		return err
	}
	pinned := *s.pinned.Load()
	if err := compare(pinned, ids); err != nil {
		return err
	}
	all := maps.Clone(pinned)
	maps.Copy(all, ids)
	if len(all) > len(pinned) {
		if err := s.storePin(ctx, all); err != nil {
			return err
		}
		s.pinned.Store(&all)
	}
	s.compared = s.clock.Now().Mono
	return nil
}

func compare(pinned, ids map[fleet.HostName]string) error {
	for host, id := range ids {
		if pin, known := pinned[host]; known && pin != id {
			return fmt.Errorf("%w: host %q was %s and is now %s; if that is right, forget the old one with a new "+
				"data folder or provider name",
				errDoubtful, host, pin, id)
		}
	}
	return nil
}

// vouch compares the provider once more, before something is believed to be gone. It pins nothing.
func (s *Poller) vouch(ctx context.Context) error {
	pinned := s.pinned.Load()
	if pinned == nil {
		return errDoubtful
	}
	ids, err := s.Source.Adapter.Identity(ctx)
	if err != nil {
		return err
	}
	return compare(*pinned, ids)
}

func (s *Poller) loadPin(ctx context.Context) error {
	e, err := s.store.Get(ctx, beliefs.PinKey(s.Source.Name))
	if fault.Is(err, fault.NotFound) {
		s.pinned.Store(&map[fleet.HostName]string{})
		return nil
	}
	if err != nil {
		return err
	}
	pinned := make(map[fleet.HostName]string)
	if err := json.Unmarshal(e.Value, &pinned); err != nil {
		return fault.New(fault.Permanent, "engine.identity", string(s.Source.Name), err)
	}
	s.pinned.Store(&pinned)
	return nil
}

func (s *Poller) storePin(ctx context.Context, pinned map[fleet.HostName]string) error {
	data, err := json.Marshal(pinned)
	if err != nil {
		return fault.New(fault.Permanent, "engine.identity", string(s.Source.Name), err)
	}
	_, err = s.store.Commit(ctx, state.Txn{Then: []state.Write{state.Put(beliefs.PinKey(s.Source.Name), data)}})
	return err
}
