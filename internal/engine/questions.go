package engine

import (
	"cmp"
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

// subject is the instance that a question is about.
type subject struct {
	id   fleet.InstanceID
	host fleet.HostName
}

// asker is what a question is put for.
type asker string

const (
	byRepair asker = "repair" // its next step waits for the answer
	byDoubt  asker = "doubt"  // since a listing lacks an instance
)

// questions are those to one provider that are under way, or wait.
type questions struct {
	wholes *provider.Together[struct{}, whole]
	calm   pace // between whole listings

	mu    sync.Mutex // guards what follows; held for no call
	lanes map[laneKey]*lane
	apart map[fleet.HostName]bool // the hosts that each speak for themselves
}

type laneKey struct {
	host fleet.HostName // empty: those for which one control plane speaks
	asker
}

// lane is where questions of one kind wait for each other.
type lane struct {
	turns *provider.Together[subject, fleet.Sighting]
	pace
	// slows says which answers mean that less is to be asked.
	slows func(error) bool
}

func newQuestions() *questions {
	return &questions{wholes: provider.NewTogether[struct{}, whole](1), lanes: make(map[laneKey]*lane)}
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

func (q *questions) lane(host fleet.HostName, by asker) *lane {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.apart[host] {
		host = ""
	}
	key := laneKey{host, by}
	l := q.lanes[key]
	if l == nil {
		l = &lane{turns: provider.NewTogether[subject, fleet.Sighting](questionsAtOnce), slows: slowing(by)}
		q.lanes[key] = l
	}
	return l
}

// slowing returns which answers slow a lane down. A repair waits only when the provider asks for it: that a single
// instance is not to be had at the moment must not delay the others' repairs.
func slowing(by asker) func(error) bool {
	if by == byRepair {
		return func(err error) bool { return fault.Is(err, fault.Throttled) }
	}
	return func(err error) bool { return err != nil && !fault.Is(err, fault.NotFound) }
}

// instance asks for one instance when it is its turn. The sighting says when the question was put, also with an error.
func (s *poller) instance(ctx context.Context, of subject, by asker) (fleet.Sighting, error) {
	l := s.questions.lane(of.host, by)
	return l.turns.Ask(ctx, of, func() (fleet.Sighting, error) {
		if err := l.wait(ctx); err != nil {
			return fleet.Sighting{}, err
		}
		octx, cancel := context.WithTimeout(ctx, observeLimit)
		defer cancel()
		asked := s.clock.Now().Mono
		i, err := s.src.Adapter.Get(octx, provider.Ref{ID: of.id, Host: of.host})
		l.heed(l.slows(err) && ctx.Err() == nil, 0)
		return fleet.Sighting{Instance: i, Asked: asked}, err
	})
}

// whole is a listing by the very provider that we know.
type whole struct {
	asked     fleet.Instant
	instances map[fleet.InstanceID]fleet.Instance
	complete  bool // every host answered
}

// whole returns a listing that was asked for after it was called. All who call it meanwhile share it, and the provider
// is left alone for as long as it took, as pause does: so a storm of absences lists no more often than a storm of
// events.
func (s *poller) whole(ctx context.Context) (whole, error) {
	q := s.questions
	return q.wholes.Ask(ctx, struct{}{}, func() (whole, error) {
		if err := q.calm.wait(ctx); err != nil {
			return whole{}, err
		}
		began := time.Now()
		w, err := s.listWhole(ctx)
		q.calm.heed(err != nil && ctx.Err() == nil, min(time.Since(began), time.Duration(s.poll.Load())))
		return w, err
	})
}

func (s *poller) listWhole(ctx context.Context) (whole, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.within.Load()))
	defer cancel()
	w := whole{asked: s.clock.Now().Mono, complete: true}
	if err := s.vouch(ctx); err != nil {
		s.log.Warn("not found, but the provider is not the one we know", "err", err)
		return whole{}, err
	}
	listing, err := s.src.Adapter.List(ctx)
	if err != nil {
		return whole{}, err
	}
	for _, h := range listing.Hosts {
		w.complete = w.complete && h.Err == nil
	}
	w.instances = make(map[fleet.InstanceID]fleet.Instance, len(listing.Instances))
	for _, i := range slices.Backward(listing.Instances) {
		w.instances[i.ID] = i // of those that show it, the first
	}
	return w, nil
}

// pace is the pause between questions.
type pace struct {
	mu    sync.Mutex
	until time.Time     // nothing is asked before
	again time.Duration // the pause after the last question that failed; 0: it did not
}

// wait returns when it is time to ask, or ctx ends.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	until := p.until
	p.mu.Unlock()
	return process.Rest(ctx, time.Until(until))
}

// heed takes in how a question ended: after one that failed the pause is longer each time, after another one it is as
// given. Of those that end within a pause, since they were put together with the one that began it, none counts.
func (p *pace) heed(failed bool, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.until) {
		return
	}
	again := time.Duration(0)
	if failed {
		again = min(max(2*p.again, firstAgain), lastAgain)
	}
	p.again = again
	p.until = now.Add(cmp.Or(p.again, pause))
}
