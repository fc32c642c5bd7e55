package fencing

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/fence"
	"hale/internal/notify"
)

// How often it is asked whether a host is cut still: where something rests on that, and where it was when it was last
// asked.
const (
	watchEvery = 5 * time.Second
	cutEvery   = 30 * time.Second
)

// Access implements engine.Fencer. A host is cut when one of its methods says so: each cuts it from all that a machine
// there could write to.
func (f fencer) Access(host fleet.HostName) (fleet.Access, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	access, at := fleet.AccessUnknown, time.Time{}
	for m, t := range f.answers(host) {
		switch {
		case m.uncut == nil:
		case t.Power == string(fence.PowerOff):
			return fleet.AccessCut, t.At
		case t.Power == string(fence.PowerOn):
			access, at = fleet.AccessOpen, t.At
		}
	}
	return access, at
}

// SaidOff implements engine.Fencer.
func (f fencer) SaidOff(host fleet.HostName) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	var at time.Time
	for m, t := range f.answers(host) {
		switch {
		case m.uncut != nil:
		case t.Power == string(fence.PowerOn):
			return time.Time{} // of two that disagree, the host runs
		case t.Power == string(fence.PowerOff):
			at = t.At
		}
	}
	return at
}

// answers are those of a host's fence methods that could say how the host is when they were last asked. The caller
// holds the lock.
func (f fencer) answers(host fleet.HostName) iter.Seq2[armed, api.FenceTest] {
	return func(yield func(armed, api.FenceTest) bool) {
		for _, e := range f.hosts {
			if e.provider != f.provider || e.host != host {
				continue
			}
			for _, m := range e.methods {
				t, tested := f.tested[fencedMethod{e.provider, e.host, m.Name}]
				if tested && t.OK && !yield(m, t) {
					return
				}
			}
		}
	}
}

// Watch implements engine.Fencer.
func (f fencer) Watch(hosts []fleet.HostName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	watched := map[fencedHost]bool{}
	for k := range f.watched {
		if k.provider != f.provider {
			watched[k] = true
		}
	}
	for _, h := range hosts {
		watched[fencedHost{f.provider, h}] = true
	}
	if maps.Equal(watched, f.watched) {
		return
	}
	f.watched = watched
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// heard notes what a method's controller said while the host was fenced.
func (f *Fencing) heard(e fenced, m armed, p fence.Power) {
	f.keep(e, m, api.FenceTest{At: time.Now().UTC(), OK: true, Power: string(p)})
}

var errStillCut = errors.New("it is cut still")

// Uncut implements power.Fencing.
func (f *Fencing) Uncut(ctx context.Context, p fleet.ProviderName, host fleet.HostName,
	free func() []string) (tries []api.FenceTry, against []string) {
	e := fencer{f, p}.host(host)
	if len(e.methods) == 0 {
		return nil, nil // a reload took them away
	}
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil
	}
	defer func() { <-e.turn }()
	if against = free(); len(against) > 0 {
		return nil, against
	}
	for _, m := range e.methods {
		if m.uncut == nil {
			continue
		}
		t := f.open(ctx, e, m)
		f.log.Info("a host's access is given back",
			"provider", p, "host", host, "method", m.Name, "ok", t.OK, "already", t.Already, "detail", t.Detail)
		tries = append(tries, t)
	}
	return tries, nil
}

// open has one method undo its cut, and asks until it says so.
func (f *Fencing) open(ctx context.Context, e fenced, m armed) api.FenceTry {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	t := api.FenceTry{Method: m.Name, Number: 1}
	began := time.Now()
	why := errStillCut
	for {
		power, err := m.Controller.Power(ctx)
		if err == nil && power == fence.PowerOn {
			f.heard(e, m, power)
			t.OK, t.Already, t.Took = true, t.Orders == 0, api.Duration(time.Since(began))
			return t
		}
		if err == nil && t.Orders == 0 {
			t.Orders++
			err = m.uncut(ctx)
		}
		if err != nil && ctx.Err() == nil {
			why = err
		}
		select {
		case <-time.After(m.Poll):
		case <-ctx.Done():
			t.Detail, t.Took = notify.Why(why), api.Duration(time.Since(began))
			return t
		}
	}
}
