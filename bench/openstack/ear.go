package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hale/internal/provider/openstack/notification"
	"hale/internal/secret"
)

// ear hears on the message bus when Nova itself has done what was asked of it: a stop and a delete only begin with the
// request.
type ear struct {
	end     context.CancelFunc
	ending  sync.WaitGroup
	bound   chan struct{} // closed when it hears
	mu      sync.Mutex
	last    map[string]map[notification.Kind]time.Time // by Nova's id
	binding sync.Once
}

func newEar(ctx context.Context, url secret.Secret) (*ear, error) {
	l, err := notification.New(notification.Options{
		Name:         "bench",
		TransportURL: url,
		Logger:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	e := &ear{bound: make(chan struct{}), last: map[string]map[notification.Kind]time.Time{}}
	ctx, e.end = context.WithCancel(ctx)
	e.ending.Go(func() { _ = l.Listen(ctx, e.hear) }) // it ends with close
	select {
	case <-e.bound:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *ear) hear(n notification.Notice) {
	now := time.Now()
	if n.Kind == notification.Everything {
		e.binding.Do(func() { close(e.bound) })
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	kinds := e.last[string(n.Instance)]
	if kinds == nil {
		kinds = map[notification.Kind]time.Time{}
		e.last[string(n.Instance)] = kinds
	}
	if kinds[n.Kind].IsZero() {
		kinds[n.Kind] = now
	}
}

// forget begins anew.
func (e *ear) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.last)
}

// first returns when the fault of the server was told first since; zero: it was not.
func (e *ear) first(fault, id string) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last[id][map[string]notification.Kind{
		"error":  notification.Failed,
		"delete": notification.Deleted,
		"stop":   notification.Stopped,
	}[fault]]
}

func (e *ear) close() {
	e.end()
	e.ending.Wait()
}
