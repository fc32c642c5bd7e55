package providertest

import (
	"context"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// halfAsideIsMadeWhole: whichever order of a keep was the last one that was heard of, what is left does not run without
// what it gave up: it is not let run, or has all of it. A restore makes it whole.
func halfAsideIsMadeWhole(t T, h Harness) {
	e := begin(t, h)
	order := e.withDisk(e.order(1))
	e.do("create", e.p.Create(e.ctx(), order))
	whole := func(i fleet.Instance) bool {
		return i.Power == fleet.PowerRunning && i.Name == order.Name && i.Address.IsValid()
	}
	was := e.awaitInstance("an address", order.Ref, whole)
	able := has[provider.Keeper](e)
	e.eachOrder("keep", func(after int) bool {
		e.off(order.Ref)
		err := e.unheard(after, func(ctx context.Context) error { return able.Keep(ctx, order.Ref, order.Name) })
		e.uncertain("keep", after, err)
		what := fmt.Sprintf("what was put aside as far as order %d", after+1)
		if let := e.p.Start(e.ctx(), order.Ref); let == nil {
			e.awaitInstance(what+", which was let run, whole", order.Ref, whole)
			e.off(order.Ref)
		} else {
			e.refused("start of "+what, let, fault.Conflict)
		}
		e.do("restore", able.Restore(e.ctx(), order.Ref, order.Name))
		if seen := e.get(order.Ref); seen.Name != order.Name || seen.Power != fleet.PowerOff || seen.Mark.Kept {
			t.Errorf("brought back, %s is %+v", what, seen)
		}
		e.do("start", e.p.Start(e.ctx(), order.Ref))
		seen := e.awaitInstance("an address of what was brought back", order.Ref, whole)
		e.same("address", was.Address, seen.Address)
		e.untouched(order)
		return err == nil
	})
}

// setAsideComesBack: an instance that was put aside gives up its name and its kept disk, and gets both back.
func setAsideComesBack(t T, h Harness) {
	e := begin(t, h)
	able, ok := e.p.(provider.Keeper)
	if !ok {
		return // Cannot says so
	}
	old := e.order(1)
	old.Template.Disks = append(old.Template.Disks[:len(old.Template.Disks):len(old.Template.Disks)],
		policy.Disk{Name: "data", Size: 8 << 20})
	e.do("create", e.p.Create(e.ctx(), old))
	e.awaitPower(old.Ref, fleet.PowerRunning)
	e.refused("keep of what runs", able.Keep(e.ctx(), old.Ref, old.Name), fault.Conflict)
	e.off(old.Ref)
	wrong := old.Ref
	wrong.Mark.Generation++
	e.refused("keep with a wrong mark", able.Keep(e.ctx(), wrong, old.Name), fault.Conflict)
	for range 2 { // the second changes nothing
		e.do("keep", able.Keep(e.ctx(), old.Ref, old.Name))
		if seen := e.get(old.Ref); seen.Name == old.Name || !seen.Mark.Kept || seen.Power != fleet.PowerOff {
			t.Errorf("put aside it is %+v", seen)
		}
	}
	e.refused("start of what was put aside", e.p.Start(e.ctx(), old.Ref), fault.Conflict)
	if seen := e.get(old.Ref); seen.Power != fleet.PowerOff {
		t.Errorf("put aside and started it is %s", seen.Power)
	}
	next := e.rival(old)
	next.Made = []string{"data"}
	e.do("create in its place, with its disk", e.p.Create(e.ctx(), next))
	e.awaitPower(next.Ref, fleet.PowerRunning)
	e.refused("restore while the name is taken", able.Restore(e.ctx(), old.Ref, old.Name), fault.Conflict)
	e.untouched(next)

	e.off(next.Ref)
	e.do("keep of the other", able.Keep(e.ctx(), next.Ref, next.Name))
	for range 2 {
		e.do("restore", able.Restore(e.ctx(), old.Ref, old.Name))
		seen := e.get(old.Ref)
		e.same("mark", old.Mark, seen.Mark)
		if seen.Name != old.Name || seen.Power != fleet.PowerOff {
			t.Errorf("brought back it is %+v", seen)
		}
	}
	e.do("start", e.p.Start(e.ctx(), old.Ref))
	e.awaitPower(old.Ref, fleet.PowerRunning)
	e.refused("restore of the other", able.Restore(e.ctx(), next.Ref, next.Name), fault.Conflict)
}
