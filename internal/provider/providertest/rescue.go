package providertest

import (
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Unrescuer is a harness with a provider.Rescuer, that can end a rescue behind its back, as a person does.
type Unrescuer interface {
	Unrescue(t T, id fleet.InstanceID)
}

// isRescued reports what a rescued instance is to look like.
func isRescued(i fleet.Instance) bool {
	return i.Power == fleet.PowerPaused && i.Stop == fleet.StopRescue
}

// rescuedIsLeft: an instance that is rescued, whether it ran or not, is a person's until they end that; then it is as
// it was.
func rescuedIsLeft(t T, h Harness) {
	e := begin(t, h)
	order, able, person := e.built(1), has[provider.Rescuer](e), ability[Unrescuer](t, h)
	wrong := order.Ref
	wrong.Mark.Generation++
	e.refused("rescue with a wrong mark", able.Rescue(e.ctx(), wrong), fault.Conflict)
	e.refused("rescue of an absent instance", able.Rescue(e.ctx(), e.order(2).Ref), fault.NotFound)
	e.untouched(order)
	for _, ready := range []func(*exam, provider.Blueprint, int){running, stopped} {
		ready(e, order, 0)
		e.do("rescue", able.Rescue(e.ctx(), order.Ref))
		seen := e.awaitInstance("a rescued instance", order.Ref, isRescued)
		e.same("mark", order.Mark, seen.Mark)
		for _, listed := range Named(e.list(), order.Name) {
			e.same("what the list says", seen, listed)
		}
		e.do("rescue again", able.Rescue(e.ctx(), order.Ref))
		e.refused("start meanwhile", e.p.Start(e.ctx(), order.Ref), fault.Conflict)
		if r, ok := e.p.(provider.Resumer); ok {
			e.refused("resume meanwhile", r.Resume(e.ctx(), order.Ref), fault.Conflict)
		}
		e.refused("delete meanwhile", e.p.Delete(e.ctx(), order.Ref), fault.Conflict)
		if seen := e.get(order.Ref); !isRescued(seen) {
			t.Errorf("it was disturbed: %+v", seen)
		}
		person.Unrescue(t, order.ID)
		e.awaitInstance("it to run as itself", order.Ref, func(i fleet.Instance) bool {
			return i.Power == fleet.PowerRunning && i.Stop == fleet.StopUnknown && i.Address.IsValid()
		})
		e.untouched(order)
	}
}

// settledRescue: whatever became of the answer, the same call again leads there; to power it off, and to start it, ends
// it.
func settledRescue(e *exam, o provider.Blueprint, _ int) {
	e.again("rescue", func() error { return has[provider.Rescuer](e).Rescue(e.ctx(), o.Ref) })
	e.awaitInstance("a rescued instance", o.Ref, isRescued)
	e.again("power off", func() error { return e.p.PowerOff(e.ctx(), o.Ref) })
	e.awaitPower(o.Ref, fleet.PowerOff)
}
