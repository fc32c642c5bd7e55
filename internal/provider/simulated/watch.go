package simulated

import (
	"context"
	"net"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/sim/world"
)

// crowded is the number of waiting events from which on they are replaced by one that says: look at everything.
const crowded = 10_000

// subscriber is one Watch under way. Its events are guarded by World.mu.
type subscriber struct {
	client string
	events []provider.Event
	bell   chan struct{} // rings, one deep, when there are events
}

// Watch implements provider.Watcher.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Event)) error {
	s := p.world.subscribe(p.client.Name)
	defer p.world.unsubscribe(s)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.closed:
			return fault.New(fault.Transient, "simulated.watch", "", net.ErrClosed)
		case <-s.bell:
		}
		for _, event := range p.world.take(s) {
			changed(event)
		}
	}
}

// subscribe registers a watch; it is connected at once unless its client is cut.
func (w *World) subscribe(client string) *subscriber {
	s := &subscriber{client: client, bell: make(chan struct{}, 1)}
	w.do(func(t *world.World) {
		w.ears = append(w.ears, s)
		if !t.Cut(client) {
			s.post(provider.Event{})
		}
	})
	return s
}

func (w *World) unsubscribe(s *subscriber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ears = slices.DeleteFunc(w.ears, func(other *subscriber) bool { return other == s })
}

func (w *World) take(s *subscriber) []provider.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

func (s *subscriber) post(event provider.Event) {
	if len(s.events) >= crowded {
		s.events, event = nil, provider.Event{}
	}
	s.events = append(s.events, event)
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// tell sends an event about the guest to everybody who can hear it.
func (w *World) tell(vm *world.VM) {
	if w.deaf > 0 || w.truth.Supplanted(vm.Host) {
		return
	}
	times := 1
	if n := len(w.repeats); n > 0 {
		times = w.repeats[n-1]
	}
	for _, s := range w.ears {
		for i := 0; i < times && w.truth.Reaches(s.client, vm.Host); i++ {
			s.post(provider.Event{Host: fleet.HostName(vm.Host), Instance: fleet.InstanceID(vm.ID)})
		}
	}
}

// lookAgain tells a client, or with an empty name all, that a connection to the host is back.
func (w *World) lookAgain(host fleet.HostName, client string) {
	for _, s := range w.ears {
		if (client == "" || s.client == client) && !w.truth.Cut(s.client) {
			s.post(provider.Event{Host: host})
		}
	}
}
