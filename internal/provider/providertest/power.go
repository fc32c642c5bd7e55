package providertest

import (
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

func powerCallsAreIdempotent(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	before := e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	e.do("start of a running instance", e.p.Start(e.ctx(), order.Ref))
	if seen := e.get(order.Ref); seen.Power != fleet.PowerRunning || seen.Address != before.Address {
		t.Errorf("start of a running instance changed it: %+v, was %+v", seen, before)
	}

	e.off(order.Ref)
	e.do("power off of an instance that is off", e.p.PowerOff(e.ctx(), order.Ref))
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	e.stays("the proof of off", func() (string, bool) {
		seen := e.get(order.Ref)
		return string(seen.Power), seen.Power == fleet.PowerOff
	})

	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitInstance("it to run with an address again", order.Ref, func(i fleet.Instance) bool {
		return i.Power == fleet.PowerRunning && i.Address.IsValid() && i.Stop == fleet.StopUnknown
	})
	e.same("mark after off and on", order.Mark, e.get(order.Ref).Mark)
}

func rebootKeepsTheInstance(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	for _, call := range []string{"reboot", "reboot again"} {
		e.do(call, e.p.Reboot(e.ctx(), order.Ref))
		e.awaitInstance("it to run with an address after "+call, order.Ref, func(i fleet.Instance) bool {
			return i.Power == fleet.PowerRunning && i.Address.IsValid()
		})
	}
	e.untouched(order)
}

func stopByAnotherIsExternal(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	e.do("power off by another client", h.New(t).PowerOff(e.ctx(), order.Ref))
	seen := e.awaitPower(order.Ref, fleet.PowerOff)
	e.same("who stopped it", fleet.StopExternal, seen.Stop)
}

func killedIsCrashed(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	ability[Killer](t, h).Kill(t, order.ID)
	e.awaitInstance("off by crash", order.Ref, func(i fleet.Instance) bool {
		return i.Stop == fleet.StopCrash && (i.Power == fleet.PowerOff || i.Power == fleet.PowerCrashed)
	})
	e.refused("the same create again", e.p.Create(e.ctx(), order), fault.Conflict)
	e.off(order.Ref)
	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
}
