package providertest

import (
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

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
