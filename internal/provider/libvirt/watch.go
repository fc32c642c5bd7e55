package libvirt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/provider"
)

// Bounds of the wait between two attempts to connect.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// eventKinds are what a watch subscribes to: lifecycle, resets from within, and writes to the metadata.
var eventKinds = [...]golibvirt.DomainEventID{
	golibvirt.DomainEventIDLifecycle, golibvirt.DomainEventIDReboot, golibvirt.DomainEventIDMetadataChange,
}

// Watch listens on all hosts until ctx ends, or Close. Each (re)connection is told as an event of the host without an
// instance, after the subscription, so a List that follows misses nothing. It is told once more one keepalive later: a
// daemon that has just started still takes hold of its domains, and sends no event for those that it finds dead.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Event)) error {
	var listening sync.WaitGroup
	for _, h := range p.hosts {
		listening.Go(func() {
			defer p.panics.Catch("", "watch", nil)
			p.watchHost(ctx, h, changed)
		})
	}
	listening.Wait()
	return nil
}

// watchHost listens, and connects anew whenever that ends.
func (p *Provider) watchHost(ctx context.Context, h *host, changed func(provider.Event)) {
	backoff := minBackoff
	for ctx.Err() == nil && !h.isClosed() {
		connected, err := p.listen(ctx, h, changed)
		if connected {
			backoff = minBackoff
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelInfo
		if !connected { // the listing says who does not answer
			level = slog.LevelDebug
		}
		p.log.LogAttrs(ctx, level, "watch interrupted",
			slog.String("host", string(h.name)), slog.String("error", fault.Plain(err)))
		wait := time.NewTimer(backoff)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// listen connects, subscribes and tells of events until the connection ends, and why it did. So does a panic end it.
func (p *Provider) listen(ctx context.Context, h *host, changed func(provider.Event)) (connected bool, err error) {
	defer p.panics.Catch("", "watch", func(d *defect.Panic) { err = d })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guard := time.AfterFunc(p.keepalive, cancel) // runs while an answer is awaited
	defer guard.Stop()
	_, s, err := h.open(ctx, noLimit, "libvirt.watch", string(h.name))
	if err != nil {
		return false, err
	}
	defer s.end()
	sub, err := s.subscribe(ctx)
	defer sub.close()
	if err != nil {
		return false, s.fault(err)
	}
	guard.Stop()
	h.facts.attach()
	defer h.facts.detach()
	changed(provider.Event{Host: h.name})
	tick := time.NewTicker(p.keepalive)
	defer tick.Stop()
	for ticks := 0; ; {
		event, err := sub.next(tick.C)
		switch {
		case err != nil:
			return true, s.fault(err)
		case event != nil:
			h.facts.forget(event.UUID)
			changed(provider.Event{Host: h.name, Instance: idOf(event.UUID)})
			continue
		}
		guard.Reset(p.keepalive)
		if _, err := s.ConnectGetLibVersion(); err != nil {
			return true, s.fault(err)
		}
		guard.Stop()
		if ticks++; ticks == 1 {
			changed(provider.Event{Host: h.name})
		}
	}
}

// errLost is why a watch ends when its connection does.
var errLost = errors.New("the connection ended")

// domainOf returns the domain that an event is about.
func domainOf(event any) (golibvirt.Domain, bool) {
	switch e := event.(type) {
	case *golibvirt.DomainEventCallbackLifecycleMsg:
		return e.Msg.Dom, true
	case *golibvirt.DomainEventCallbackRebootMsg:
		return e.Msg.Dom, true
	case *golibvirt.DomainEventCallbackMetadataChangeMsg:
		return e.Dom, true
	}
	return golibvirt.Domain{}, false
}

// subscription is the streams of one watch. Their order of end matters, see close.
type subscription struct {
	wire    *wire
	cancel  context.CancelFunc
	streams [len(eventKinds)]<-chan any
}

// subscribe asks for all eventKinds. Also after an error the subscription must be closed.
func (s *session) subscribe(ctx context.Context) (*subscription, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sub := &subscription{wire: s.wire, cancel: cancel}
	for i, kind := range eventKinds {
		stream, err := s.SubscribeEvents(ctx, kind, golibvirt.OptDomain{})
		if err != nil {
			return sub, err
		}
		sub.streams[i] = stream
	}
	return sub, nil
}

// next waits for an event and returns its domain, or nil after a tick. An error means that the connection ended.
func (s *subscription) next(tick <-chan time.Time) (*golibvirt.Domain, error) {
	for {
		var event any
		var open bool
		select {
		case event, open = <-s.streams[0]:
		case event, open = <-s.streams[1]:
		case event, open = <-s.streams[2]:
		case <-tick:
			return nil, nil
		}
		if !open {
			return nil, errLost
		}
		s.wire.unread.Add(-1)
		if dom, ok := domainOf(event); ok {
			return &dom, nil
		}
	}
}

// close ends the streams. The client deadlocks when a stream is cancelled while its reader still delivers, and leaks a
// stream that is not read to its end. So close first cuts the connection, then ends the streams, and reads them all
// out.
func (s *subscription) close() {
	s.wire.cut(errRetired)
	<-s.wire.down
	s.cancel()
	for _, stream := range s.streams {
		if stream == nil {
			continue
		}
		for range stream {
			continue // what is left does not matter
		}
	}
}
