package providertest

import (
	"context"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// Adjusted is a harness with a provider.Adjuster.
type Adjusted interface {
	// Adjusted returns the harness's template with another size and other texts, and tags where the provider has such.
	Adjusted() policy.Template
}

// sizeless is a template that says nothing of a size.
func sizeless(t policy.Template) policy.Template {
	t.Memory, t.CPUs = 0, 0
	if t.Server != nil {
		server := *t.Server
		server.Flavor, t.Server = "", &server
	}
	return t
}

// as returns the order with another template.
func as(o provider.Blueprint, t policy.Template) provider.Blueprint {
	o.Template = t
	return o
}

// awaitAs waits until the instance is as the template says, in all that can be adjusted, and has the power.
func (e *exam) awaitAs(o provider.Blueprint, t policy.Template, p fleet.Power) {
	e.Helper()
	e.awaitInstance(fmt.Sprintf("an instance of %+v that is %s", t.Size(), p), o.Ref, func(i fleet.Instance) bool {
		return len(t.Drift(&i)) == 0 && i.Size != fleet.Size{} && i.Power == p
	})
}

// adjustedInPlace: another size comes to an instance that is off, texts and tags in any state, and all else stays.
func adjustedInPlace(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.Adjuster](e)
	was, wanted := order.Template, ability[Adjusted](t, h).Adjusted()
	before := e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	if drift := was.Drift(&before); len(drift) > 0 || before.Size == (fleet.Size{}) {
		t.Errorf("as it was built it drifts in %v: %+v", drift, before)
	}
	if parts, whole := wanted.Parts(&was); !whole || !policy.NeedRest(parts) {
		t.Fatalf("the harness would adjust %v, and that is all: %t", parts, whole)
	}
	e.refused("another size while it runs", able.Adjust(e.ctx(), as(order, wanted)), fault.Conflict)
	e.same("what it has", before, e.get(order.Ref))
	e.do("texts while it runs", able.Adjust(e.ctx(), as(order, sizeless(wanted))))
	seen := e.get(order.Ref)
	if seen.Power != fleet.PowerRunning || seen.Size != before.Size || seen.Address != before.Address ||
		!seen.Metadata.Covers(wanted.Metadata) || !seen.Tags.Covers(wanted.Tags) {
		t.Errorf("with other texts it is %+v, and was %+v", seen, before)
	}
	e.untouched(order)

	e.off(order.Ref)
	wrong := as(order, wanted)
	wrong.Mark.Generation++
	e.refused("adjusting with a wrong mark", able.Adjust(e.ctx(), wrong), fault.Conflict)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	for _, call := range []string{"adjust", "adjust again"} {
		e.do(call, able.Adjust(e.ctx(), as(order, wanted)))
		e.awaitAs(order, wanted, fleet.PowerOff)
	}
	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitAs(order, wanted, fleet.PowerRunning)
	seen = e.awaitInstance("its address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	e.same("its address", before.Address, seen.Address)
	e.untouched(order)
	e.alone(order)
	for _, listed := range Named(e.list(), order.Name) {
		e.same("what the list says", e.get(order.Ref), listed)
	}
	e.refused("adjusting an absent instance", able.Adjust(e.ctx(), as(e.order(2), wanted)), fault.NotFound)

	e.off(order.Ref)
	e.do("adjusting it back", able.Adjust(e.ctx(), as(order, was)))
	seen = e.awaitInstance("the size that it had", order.Ref,
		func(i fleet.Instance) bool { return i.Size == before.Size })
	e.same("power", fleet.PowerOff, seen.Power)
	e.same("the texts", before.Metadata.With(wanted.Metadata).With(was.Metadata), seen.Metadata)
}

// sized is what a round adjusts to: by turns, so that there is something to do.
func (e *exam) sized(o provider.Blueprint, round int) provider.Blueprint {
	e.Helper()
	if round%2 == 1 {
		return o
	}
	return as(o, ability[Adjusted](e.T, e.h).Adjusted())
}

// toBeAdjusted is an instance that is off, and sized otherwise.
func toBeAdjusted(e *exam, o provider.Blueprint, round int) {
	e.Helper()
	stopped(e, o, round)
	e.do("adjust", has[provider.Adjuster](e).Adjust(e.ctx(), e.sized(o, round+1)))
}

func adjusting(ctx context.Context, e *exam, o provider.Blueprint, round int) error {
	e.Helper()
	return has[provider.Adjuster](e).Adjust(ctx, e.sized(o, round))
}

func settledAdjust(e *exam, o provider.Blueprint, round int) {
	to := e.sized(o, round)
	e.again("adjust", func() error { return has[provider.Adjuster](e).Adjust(e.ctx(), to) })
	e.awaitAs(o, to.Template, fleet.PowerOff)
}
