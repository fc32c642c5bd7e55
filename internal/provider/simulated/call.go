package simulated

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// read carries a question to the world and the answer back. ask runs with the world locked.
func (p *Provider) read(ctx context.Context, op fleet.Op, ref provider.Ref, ask func(now time.Time) error) error {
	fail := func(kind fault.Kind, err error) error {
		return fault.New(kind, "simulated."+string(op), string(ref.ID), err)
	}
	if err := p.over(ctx); err != nil {
		return fail(fault.Transient, err)
	}
	f, lifted := p.meet(op, ref)
	travel := p.world.options.Latency
	if ofNotes(op) {
		travel = 0 // they are asked for right before other calls, whose time the world's latency is
	}
	switch f.Effect {
	case Fails:
		return fail(cmp.Or(f.Kind, fault.Transient), errInjected)
	case Slow:
		travel += f.Delay
	case Hangs:
		if err := p.hang(ctx, lifted); err != nil {
			return fail(fault.Transient, err)
		}
	case HangsAfter: // see below: of these calls it hits notes only
	case ActsLate, AnswerLost, ActsTwice, NoEffect: // these do not hit reads
	}
	if err := p.wait(ctx, travel); err != nil {
		return fail(fault.Transient, err)
	}
	if err := p.askWorld(op, ref, ask); err != nil {
		return fail(fault.KindOf(err), cause(err))
	}
	if f.Effect == HangsAfter {
		if err := p.hang(ctx, lifted); err != nil {
			return fail(fault.UnknownOutcome, err)
		}
	}
	return nil
}

// askWorld asks what is true now, unless the client is cut off.
func (p *Provider) askWorld(op fleet.Op, ref provider.Ref, ask func(now time.Time) error) error {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut(p.client) || !ofAllHosts(op) && w.unreachable(p.client, ref.Host) {
		return fault.New(fault.Transient, "simulated."+string(op), string(ref.ID), errUnreachable)
	}
	return ask(time.Now())
}

// cause returns what is behind the world's own error, so that the caller reads the operation once.
func cause(err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// deed is one changing call under way.
type deed struct {
	client string
	op     fleet.Op
	ref    provider.Ref
	sent   time.Time
	victim victim
	// act changes the world, which is locked, and says whether it did.
	act func(w *World, now time.Time) (changed bool, err error)
	// again says that this is an injected repetition.
	again bool
}

// change carries an order to the world and the answer back. Once the order was sent, whatever ends the wait for the
// answer leaves its outcome unknown.
func (p *Provider) change(ctx context.Context, op fleet.Op, ref provider.Ref,
	act func(w *World, now time.Time) (bool, error)) error {
	d := deed{client: p.client, op: op, ref: ref, sent: time.Now(), victim: p.world.victim(p.client, ref), act: act}
	if err := p.over(ctx); err != nil {
		return d.fail(fault.Transient, err)
	}
	f, lifted := p.meet(op, ref)
	there := p.world.options.Latency / 2
	back := p.world.options.Latency - there
	switch f.Effect {
	case Fails:
		return d.fail(cmp.Or(f.Kind, fault.Transient), errInjected)
	case Slow:
		there += f.Delay
	case Hangs:
		if err := p.hang(ctx, lifted); err != nil {
			return d.fail(fault.UnknownOutcome, err)
		}
	case ActsLate:
		time.AfterFunc(f.Delay, func() { _ = p.world.perform(d) })
		return d.fail(fault.UnknownOutcome, p.hang(ctx, lifted))
	case NoEffect:
		d.act = func(*World, time.Time) (bool, error) { return false, nil }
	case HangsAfter, AnswerLost, ActsTwice: // they come after the deed
	}
	if err := p.wait(ctx, there); err != nil {
		return d.fail(fault.UnknownOutcome, err)
	}
	outcome := p.world.perform(d)
	switch f.Effect {
	case AnswerLost:
		return d.fail(fault.UnknownOutcome, errInjected)
	case ActsTwice:
		d.again = true
		time.AfterFunc(f.Delay, func() { _ = p.world.perform(d) })
	case HangsAfter:
		if err := p.hang(ctx, lifted); err != nil {
			return d.fail(fault.UnknownOutcome, err)
		}
	case Fails, Slow, Hangs, ActsLate, NoEffect: // they came before the deed
	}
	if err := p.wait(ctx, back); err != nil {
		return d.fail(fault.UnknownOutcome, err)
	}
	return outcome
}

func (d deed) fail(kind fault.Kind, err error) error {
	return fault.New(kind, "simulated."+string(d.op), string(d.ref.ID), err)
}

// perform executes the order and books it.
func (w *World) perform(d deed) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut(d.client) || d.op != fleet.OpEvacuate && w.unreachable(d.client, d.ref.Host) {
		return d.fail(fault.Transient, errUnreachable)
	}
	now := time.Now()
	call := Call{
		At: now, Sent: d.sent, Served: d.victim.served, Unseen: d.victim.unseen, Client: d.client, Op: d.op, Instance: d.ref.ID, Host: d.ref.Host, Machine: d.ref.Mark.Machine,
		Again: d.again, ForGood: d.ref.ForGood,
	}
	if g := w.meant(d.ref); g != nil {
		call.Healthy, call.Power = g.healthy(now), g.power
	}
	var err error
	if call.Effect, err = d.act(w, now); err != nil {
		call.Kind = fault.KindOf(err)
		err = d.fail(call.Kind, cause(err))
	}
	w.calls = append(w.calls, call)
	return err
}

// victim is how the instance was, by truth, when a call to it was sent.
type victim struct {
	served time.Duration // for how long it had been healthy; 0: it was not
	unseen bool          // the client's probes could not reach it
}

func (w *World) victim(client string, ref provider.Ref) victim {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.meant(ref)
	if g == nil {
		return victim{}
	}
	return victim{served: g.served(time.Now()), unseen: w.hidden(client, g)}
}

// meet returns the fault that hits the call.
func (p *Provider) meet(op fleet.Op, ref provider.Ref) (Calls, <-chan struct{}) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.world.hit(p.client, op, ref)
}

// wait lets the time pass. It ends early, with the reason, with the context or the handle.
func (p *Provider) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	case <-p.closed:
	}
	return p.over(ctx)
}

// hang waits until the fault is lifted. It ends early, with the reason, with the context or the handle.
func (p *Provider) hang(ctx context.Context, lifted <-chan struct{}) error {
	select {
	case <-lifted:
		return nil
	case <-ctx.Done():
	case <-p.closed:
	}
	return p.over(ctx)
}
