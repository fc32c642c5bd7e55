package doorway

import (
	"context"
	"sync"
	"time"
)

// retryEvery is the time from one try to serve to the next.
const retryEvery = 2 * time.Second

// Moving is a server whose place changes while it runs. The zero value is not one: see NewMoving.
type Moving[P comparable] struct {
	changed chan struct{}

	mu      sync.Mutex
	place   P
	failing bool
}

// NewMoving makes one that is at the zero place.
func NewMoving[P comparable]() *Moving[P] { return &Moving[P]{changed: make(chan struct{}, 1)} }

// To has it serve at the place. One that does so already goes on undisturbed; one that cannot tries again at once.
func (m *Moving[P]) To(place P) {
	m.mu.Lock()
	moved := place != m.place || m.failing
	m.place = place
	m.mu.Unlock()
	if !moved {
		return
	}
	select {
	case m.changed <- struct{}{}:
	default: // it is told already
	}
}

// Run serves until ctx ends. The context that serve gets ends when there is another place. When serve fails, failed is
// told why, and it is tried again.
func (m *Moving[P]) Run(ctx context.Context, serve func(ctx context.Context, at P) error, failed func(error)) {
	for ctx.Err() == nil {
		err := m.once(ctx, serve)
		m.mu.Lock()
		m.failing = err != nil
		m.mu.Unlock()
		if err == nil || ctx.Err() != nil {
			continue
		}
		failed(err)
		select {
		case <-ctx.Done():
		case <-m.changed:
		case <-time.After(retryEvery):
		}
	}
}

// once serves at the place as it is now.
func (m *Moving[P]) once(ctx context.Context, serve func(ctx context.Context, at P) error) error {
	select {
	case <-m.changed: // it is taken up now
	default:
	}
	m.mu.Lock()
	place := m.place
	m.mu.Unlock()
	here, leave := Until(ctx, m.changed)
	defer leave()
	return serve(here, place)
}

// Until returns a context that ends with ctx, and when something comes from the channel, or it is closed. The caller
// calls leave when it is done: it ends the context, and waits until nothing reads from the channel.
func Until(ctx context.Context, over <-chan struct{}) (here context.Context, leave func()) {
	here, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		select {
		case <-here.Done():
		case <-over:
		}
	})
	return here, func() {
		cancel()
		watch.Wait()
	}
}
