package satellite

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/quorum"
)

// Panel is the satellites, as one fleet's engine asks them.
type Panel struct {
	hub     *Hub
	changed chan struct{}

	mu    sync.Mutex
	dirty map[probe.ID]bool
}

var _ quorum.Panel = (*Panel)(nil)

// Set implements quorum.Panel.
func (p *Panel) Set(targets ...probe.Target) { p.hub.set(p, targets) }

// Remove implements quorum.Panel.
func (p *Panel) Remove(ids ...probe.ID) { p.hub.remove(p, ids) }

// Close implements quorum.Panel.
func (p *Panel) Close() { p.hub.close(p) }

// Votes implements quorum.Panel.
func (p *Panel) Votes(id probe.ID) []quorum.Vote {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	w := p.hub.targets[id]
	if w == nil || w.panel != p {
		return nil
	}
	var out []quorum.Vote
	for _, name := range w.eyes {
		if s := p.hub.seats[name]; s != nil {
			out = append(out, s.vote(w))
		}
	}
	return out
}

// Changed implements quorum.Panel.
func (p *Panel) Changed() <-chan struct{} { return p.changed }

// Heed implements quorum.Panel.
func (p *Panel) Heed() []probe.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]probe.ID, 0, len(p.dirty))
	for id := range p.dirty {
		out = append(out, id)
	}
	clear(p.dirty)
	slices.SortFunc(out, probe.ID.Compare)
	return out
}

// heed says that the target's votes differ.
func (p *Panel) heed(id probe.ID) {
	p.mu.Lock()
	p.dirty[id] = true
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Look implements quorum.Panel.
func (p *Panel) Look(ctx context.Context, t probe.Target) <-chan quorum.Vote {
	asks := p.hub.ask(t)
	out := make(chan quorum.Vote, len(asks))
	if len(asks) == 0 {
		close(out)
		return out
	}
	ctx, end := context.WithTimeout(ctx, lookWithin(t.Spec))
	var waits sync.WaitGroup
	for name, a := range asks {
		// It ends with ctx, whose end its caller waits for.
		waits.Go(func() {
			defer p.hub.panics.Catch(name, "look", nil)
			out <- p.hub.await(ctx, name, a)
		})
	}
	// It ends with those above.
	go func() {
		defer p.hub.panics.Catch("", "look", nil)
		waits.Wait()
		end()
		close(out)
	}()
	return out
}

// ask asks the satellites that look at the target for a look, by name. One that is silent is none of the asked: nil.
func (h *Hub) ask(t probe.Target) map[string]*asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	var eyes []string
	if w := h.targets[t.ID]; w != nil {
		eyes = w.eyes
	} else {
		eyes = eyesOf(t.Machine, t.Spec.Sight.Vantages-1, slices.Sorted(maps.Keys(h.seats)), h.present(now))
	}
	out := map[string]*asked{}
	for _, name := range eyes {
		s := h.seats[name]
		if out[name] = nil; s == nil || !now.Before(s.asOf.Add(t.Spec.Sight.StaleAfter)) {
			continue
		}
		h.looks++
		wanted := watched{Target: t}
		a := &asked{look: look{Number: h.looks, Target: wanted.onWire()}, answer: make(chan said, 1)}
		s.looks[a.Number], out[name] = a, a
		s.ring()
	}
	return out
}

// await returns what the satellite's look found. One that says nothing until ctx ends is silent.
func (h *Hub) await(ctx context.Context, name string, a *asked) quorum.Vote {
	silent := quorum.Vote{Vantage: name, Standing: fleet.StandingUnknown, Until: h.origin}
	if a == nil {
		return silent
	}
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s := h.seats[name]; s != nil {
			delete(s.looks, a.Number)
		}
	}()
	select {
	case is, there := <-a.answer:
		if there {
			return quorum.Vote{Vantage: name, Standing: is.Standing, Result: is.Result, Detail: is.Detail}
		}
	case <-ctx.Done():
	}
	return silent
}

// lookWithin is how long a satellite's look may take: as long as an engine's, and the ways there and back.
func lookWithin(c *policy.Check) time.Duration {
	const ways = 3 * time.Second
	if c.DownIn > c.DownAfter {
		return 2*c.Timeout + ways
	}
	return c.Timeout + ways
}

// same reports whether satellites may go on with the target undisturbed.
func same(a, b *probe.Target) bool {
	return a.Epoch == b.Epoch && a.Instance == b.Instance && a.Address == b.Address && a.Rival == b.Rival &&
		(a.Spec == b.Spec || reflect.DeepEqual(a.Spec, b.Spec))
}
