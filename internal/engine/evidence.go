package engine

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/engine/fellows"
	"hale/internal/engine/poller"
	"hale/internal/engine/process"
	"hale/internal/owner/picture"
	"hale/internal/probe"
)

// minds looks at the clocks and at the probes' watermark.
func (t *term) minds(now fleet.Now) {
	if d := t.clock.Drift(now); d-*t.drift > process.Tolerance || *t.drift-d > process.Tolerance {
		*t.drift = d
		t.clockSet(now)
	}
	// After a long round the watermark is old because the loop did not listen, not because the probes were silent.
	deaf := time.Since(t.heard) > fellows.Late && time.Since(t.listens) > fellows.Late
	switch {
	case deaf == t.own.Deaf():
	case deaf:
		t.log.Warn("the probes' watermark is stale: what the checks said counts no more")
		t.own.Deafen(fleet.ResultLate)
		t.beside.hosts.Forget()
		t.canaries.Forget(fleet.ResultLate, now)
		t.lookAround()
	default:
		t.own.Listen(now)
		for _, e := range t.probes.Standings() {
			t.hearEdge(e)
		}
	}
}

// clockSet forgets what was seen, as at a take-over (L9).
func (t *term) clockSet(now fleet.Now) {
	t.log.Warn("the clock was set: judging everything afresh")
	t.own.ClockSet(now)
}

// hear takes in what the probes report.
func (t *term) hear(r probe.Report) {
	if r.Watermark != nil && r.Watermark.At.After(t.heard) {
		t.heard = r.Watermark.At
	}
	if r.Edge != nil {
		t.hearEdge(*r.Edge)
	}
}

func (t *term) hearEdge(e probe.Edge) {
	if t.hearBeside(e) {
		return
	}
	t.own.Hear(picture.Edge{
		Machine: e.Machine, Check: e.Check, Epoch: e.Epoch, Standing: e.Standing, Result: e.Result, Detail: e.Detail,
		Since: t.clock.Instant(e.At),
	})
}

// see takes in what the provider said of everything.
func (t *term) see(ctx context.Context, r poller.Report) {
	now := t.clock.Now()
	t.own.SetProvider(r.State, now)
	if r.State.Standing != fleet.ProviderUp {
		return
	}
	for _, d := range t.own.See(r.Catalogue, nil, now) {
		t.confirmAbsence(ctx, d)
	}
	for i := range t.own.Len() {
		if t.own.AwaitsAddress(i) {
			t.poller.Hasten()
		}
	}
}

// confirmAbsence asks for an instance that a complete listing does not have: only then is it gone.
func (t *term) confirmAbsence(ctx context.Context, d picture.Doubt) {
	q := t.question(d.Index, d.Instance.ID, d.Instance.Host)
	q.by = poller.ByDoubt
	told := func(s *fleet.Sighting) news {
		return func(t *term) {
			t.own.Answered(d.Instance.ID)
			if s != nil {
				t.own.Sight(d.Index, *s)
			}
		}
	}
	t.apart(ctx, "observe", func() news { return told(t.observation(ctx, q)) }, func(*defect.Panic) news {
		return told(nil)
	})
}

// question is about one instance. The witnesses are other machines' instances, without which no listing is believed.
type question struct {
	poller.Subject
	by        poller.Asker
	witnesses []fleet.InstanceID
}

// question is what a repair asks.
func (t *term) question(index int, id fleet.InstanceID, host fleet.HostName) question {
	return question{poller.Subject{ID: id, Host: host}, poller.ByRepair, t.own.Witnesses(index)}
}

// observation asks for one instance; a nil sighting means that nothing was learnt.
func (t *term) observation(ctx context.Context, q question) *fleet.Sighting {
	s, err := t.poller.Instance(ctx, q.Subject, q.by)
	switch {
	case err == nil:
		return &s
	case fault.Is(err, fault.NotFound):
		return t.absence(ctx, q, s.Asked)
	}
	t.log.Debug("no observation", "instance", q.ID, "err", err)
	return nil
}

// absence follows up a "not found" to what was asked then. An instance is gone only if a complete listing, by the very
// provider that we know and asked for later, does not have it on any host either: it may have been migrated, and
// another provider would have none of ours.
func (t *term) absence(ctx context.Context, q question, asked fleet.Instant) *fleet.Sighting {
	w, err := t.poller.Whole(ctx)
	if err != nil || !w.Complete {
		return nil // it may be there
	}
	if i, listed := w.Instances[q.ID]; listed {
		return &fleet.Sighting{Instance: i, Asked: w.Asked}
	}
	shows := func(id fleet.InstanceID) bool { _, listed := w.Instances[id]; return listed }
	if !picture.Credible(q.witnesses, shows) {
		t.log.Warn("not found, but the provider's list does not show its neighbours either", "instance", q.ID)
		if q.by == poller.ByDoubt {
			t.disbelief.Heed(true, 0)
			_ = t.disbelief.Wait(ctx) // for the next listing will lack all of them again, and raise the same doubts
		}
		return nil
	}
	t.disbelief.Heed(false, 0)
	return &fleet.Sighting{Instance: fleet.Instance{ID: q.ID, Host: q.Host, Power: fleet.PowerGone}, Asked: asked}
}
