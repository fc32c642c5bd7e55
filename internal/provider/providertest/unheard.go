package providertest

import (
	"context"
	"fmt"
	"sync"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// unheard makes a call that takes effect and whose answer is lost. That nothing was done must not be said of it.
func (e *exam) unheard(what string, call func(ctx context.Context) error) {
	e.Helper()
	l := ability[AnswerLoser](e.T, e.h)
	l.LoseAnswers(e.T)
	hear := sync.OnceFunc(func() { l.HearAnswers(e.T) })
	e.Cleanup(hear)
	ctx, cancel := context.WithTimeout(e.Context(), e.h.Patience()/4)
	defer cancel()
	e.refused(what+" without an answer", call(ctx), fault.UnknownOutcome)
	hear()
}

// unheardIsDoneOnce: of each call that changes something, the answer is lost after it took effect. The same call again does nothing anew.
func unheardIsDoneOnce(t T, h Harness) {
	e := begin(t, h)
	order := e.order(1)
	e.unheard("create", func(ctx context.Context) error { return e.p.Create(ctx, order) })
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.refused("the same create again", e.p.Create(e.ctx(), order), fault.Conflict)
	e.refused("a create of the same name", e.p.Create(e.ctx(), e.rival(order)), fault.Conflict)
	e.alone(order)

	e.unheard("certify", func(ctx context.Context) error { return e.p.Certify(ctx, order.Ref) })
	e.do("certify again", e.p.Certify(e.ctx(), order.Ref))
	order.Mark.Certified = true
	e.unheard("reboot", func(ctx context.Context) error { return e.p.Reboot(ctx, order.Ref) })
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.untouched(order)
	e.unheard("power off", func(ctx context.Context) error { return e.p.PowerOff(ctx, order.Ref) })
	e.awaitPower(order.Ref, fleet.PowerOff)
	e.do("power off again", e.p.PowerOff(e.ctx(), order.Ref))
	e.unheard("start", func(ctx context.Context) error { return e.p.Start(ctx, order.Ref) })
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.do("start again", e.p.Start(e.ctx(), order.Ref))
	e.untouched(order)
	e.alone(order)

	e.unheardRebuild(order)
	e.unheardKeep(order)
	e.off(order.Ref)
	e.unheard("delete", func(ctx context.Context) error { return e.p.Delete(ctx, order.Ref) })
	e.await("the end of what was deleted", func() (string, bool) {
		_, err := e.p.Get(e.ctx(), order.Ref)
		return fmt.Sprint(err), fault.Is(err, fault.NotFound)
	})
	e.do("delete again", e.p.Delete(e.ctx(), order.Ref))
	next := e.rival(order)
	e.do("create in its place", e.p.Create(e.ctx(), next))
	e.awaitPower(next.Ref, fleet.PowerRunning)
	e.alone(next)
}

func (e *exam) unheardRebuild(order provider.Order) {
	e.Helper()
	able, ok := e.p.(provider.Rebuilder)
	if !ok || !can(e.h, "Rebuilder") {
		return
	}
	e.off(order.Ref)
	e.unheard("rebuild", func(ctx context.Context) error { return able.Rebuild(ctx, order) })
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.refused("rebuild of what runs by now", able.Rebuild(e.ctx(), order), fault.Conflict)
	e.untouched(order)
	e.alone(order)
}

func (e *exam) unheardKeep(order provider.Order) {
	e.Helper()
	able, ok := e.p.(provider.Keeper)
	if !ok || !can(e.h, "Keeper") {
		return
	}
	e.off(order.Ref)
	e.unheard("keep", func(ctx context.Context) error { return able.Keep(ctx, order.Ref, order.Name) })
	e.do("keep again", able.Keep(e.ctx(), order.Ref, order.Name))
	if seen := e.get(order.Ref); seen.Name == order.Name || !seen.Mark.Kept {
		e.Errorf("put aside it is %+v", seen)
	}
	e.unheard("restore", func(ctx context.Context) error { return able.Restore(ctx, order.Ref, order.Name) })
	e.do("restore again", able.Restore(e.ctx(), order.Ref, order.Name))
	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.untouched(order)
}

// alone fails the test unless the order's instance is the only one of its installation.
func (e *exam) alone(order provider.Order) {
	e.Helper()
	var ours []fleet.InstanceID
	for _, seen := range e.list().Instances {
		if seen.Mark.Installation == order.Mark.Installation {
			ours = append(ours, seen.ID)
		}
	}
	e.same("instances of this installation", []fleet.InstanceID{order.ID}, ours)
}
