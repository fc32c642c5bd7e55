package poller

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine/process"
	"hale/internal/provider"
)

// What many failures at once cost a provider: of three hundred instances that are gone each is asked for, and each is
// believed gone only by a complete listing. So the owners' questions to one provider go through its poller, where
// they wait for their turn and share what can be shared. What changes something does not wait here, nor does what a
// repair asks wait for the questions about what a listing lacks.

// questionsAtOnce bounds the questions about single instances that are under way in one lane.
const questionsAtOnce = 8

// Subject is the instance that a question is about.
type Subject struct {
	ID   fleet.InstanceID
	Host fleet.HostName
}

// Asker is what a question is put for.
type Asker string

// What questions are put for.
const (
	ByRepair Asker = "repair" // its next step waits for the answer
	ByDoubt  Asker = "doubt"  // since a listing lacks an instance
)

// questions are those to one provider that are under way, or wait.
type questions struct {
	wholes *provider.Together[struct{}, Listed]
	calm   process.Pace // between whole listings

	mu    sync.Mutex // guards what follows; held for no call
	lanes map[laneKey]*lane
	apart map[fleet.HostName]bool // the hosts that each speak for themselves
}

type laneKey struct {
	host fleet.HostName // empty: those for which one control plane speaks
	Asker
}

// lane is where questions of one kind wait for each other.
type lane struct {
	turns *provider.Together[Subject, fleet.Sighting]
	process.Pace
	// slows says which answers mean that less is to be asked.
	slows func(error) bool
}

func newQuestions() *questions {
	return &questions{wholes: provider.NewTogether[struct{}, Listed](1), lanes: make(map[laneKey]*lane)}
}

// hosts takes in which hosts are asked each for itself.
func (q *questions) hosts(answers []provider.HostAnswer) {
	apart := make(map[fleet.HostName]bool)
	for _, h := range answers {
		if h.Independent {
			apart[h.Name] = true
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.apart = apart
}

func (q *questions) lane(host fleet.HostName, by Asker) *lane {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.apart[host] {
		host = ""
	}
	key := laneKey{host, by}
	l := q.lanes[key]
	if l == nil {
		l = &lane{turns: provider.NewTogether[Subject, fleet.Sighting](questionsAtOnce), slows: slowing(by)}
		q.lanes[key] = l
	}
	return l
}

// slowing returns which answers slow a lane down. A repair waits only when the provider asks for it: that a single
// instance is not to be had at the moment must not delay the others' repairs.
func slowing(by Asker) func(error) bool {
	if by == ByRepair {
		return func(err error) bool { return fault.Is(err, fault.Throttled) }
	}
	return func(err error) bool { return err != nil && !fault.Is(err, fault.NotFound) }
}

// Instance asks for one instance when it is its turn. The sighting says when the question was put, also with an error.
func (s *Poller) Instance(ctx context.Context, of Subject, by Asker) (fleet.Sighting, error) {
	l := s.questions.lane(of.Host, by)
	return l.turns.Ask(ctx, of, func() (fleet.Sighting, error) {
		if err := l.Wait(ctx); err != nil {
			return fleet.Sighting{}, err
		}
		octx, cancel := context.WithTimeout(ctx, observeLimit)
		defer cancel()
		asked := s.clock.Now().Mono
		i, err := s.Source.Adapter.Get(octx, provider.Ref{ID: of.ID, Host: of.Host})
		l.Heed(process.Failed(l.slows(err) && ctx.Err() == nil), 0)
		return fleet.Sighting{Instance: i, Asked: asked, Alone: true}, err
	})
}

// Listed is a listing by the very provider that we know.
type Listed struct {
	Asked     fleet.Instant
	Instances map[fleet.InstanceID]fleet.Instance
	Complete  bool // every host answered
}

// Whole returns a listing that was asked for after it was called. All who call it meanwhile share it, and the provider
// is left alone for as long as it took, as pause does: so a storm of absences lists no more often than a storm of
// events.
func (s *Poller) Whole(ctx context.Context) (Listed, error) {
	q := s.questions
	return q.wholes.Ask(ctx, struct{}{}, func() (Listed, error) {
		if err := q.calm.Wait(ctx); err != nil {
			return Listed{}, err
		}
		began := time.Now()
		w, err := s.listWhole(ctx)
		took := min(time.Since(began), time.Duration(s.poll.Load()))
		q.calm.Heed(process.Failed(err != nil && ctx.Err() == nil), took)
		return w, err
	})
}

func (s *Poller) listWhole(ctx context.Context) (Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.within.Load()))
	defer cancel()
	w := Listed{Asked: s.clock.Now().Mono, Complete: true}
	if err := s.vouch(ctx); err != nil {
		s.log.Warn("not found, but the provider is not the one we know", "err", err)
		return Listed{}, err
	}
	listing, err := s.Source.Adapter.List(ctx)
	if err != nil {
		return Listed{}, err
	}
	for _, h := range listing.Hosts {
		w.Complete = w.Complete && h.Err == nil
	}
	w.Instances = make(map[fleet.InstanceID]fleet.Instance, len(listing.Instances))
	for _, i := range slices.Backward(listing.Instances) {
		w.Instances[i.ID] = i // of those that show it, the first
	}
	return w, nil
}

// observeLimit bounds one question about one instance.
const observeLimit = 5 * time.Second

// Meter reads the counters of one instance.
func (s *Poller) Meter(ctx context.Context, of fleet.Instance) (provider.Meter, error) {
	able, ok := s.Source.Adapter.(provider.MeterReader)
	if !ok {
		return "", fault.New(fault.Unsupported, "engine.meter", string(of.ID), nil)
	}
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	return able.Meter(ctx, provider.Ref{ID: of.ID, Host: of.Host})
}
