package judge

import (
	"maps"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/sim/law"
	"hale/internal/sim/world"
)

// Memory is what the judge knows of the orders that are in a store.
type Memory struct {
	plans
	words law.Words
	kept  law.Kept
}

// Memory returns what it knows now.
func (j *Judge) Memory() Memory { return Memory{j.plans.clone(), j.sizes.Words, j.holds.Kept()} }

// RolledBack takes in that the store holds again what it held when the judge knew that.
func (j *Judge) RolledBack(then Memory) {
	was := j.store.Overall
	j.lasts(j.w.Now())
	file := j.filed
	j.plans, j.sizes.Words = then.plans.clone(), then.words
	if file != j.filed && file != 0 { // it was edited since, which is a later word than any that the store knows
		j.filed, j.said = file, file
		j.sizes.Stated()
	}
	j.holds.RolledBack(was.Whole.Holds, then.kept)
	j.wishes.braked = was.Brake.By != ""
	clear(j.steps)
	j.tells(was)
	j.leave(was.Whole.Ledger)
	j.booked = was.Whole.Ledger
	j.bind() // the bounds are those of today
	j.recount()
	for i := range j.outages {
		if name := string(j.spec.Name.Machine(i + 1)); j.isBeyond(name) {
			j.unmissed(name)
		}
	}
	j.rolled, j.rolledAt = true, j.w.Now()
	j.truth.Forgets()
	for _, d := range j.w.DiskCopies() {
		if m := j.belief(d.Machine); m == nil || m.SnapshotAt(fleet.SnapshotID(d.ID)) < 0 {
			j.forgot[copyMade{d.Machine, d.ID}] = true
		}
	}
}

// clone returns a copy that shares nothing with the plans.
func (p *plans) clone() plans {
	c := *p
	c.shown, c.leaving, c.renewed = maps.Clone(p.shown), maps.Clone(p.leaving), maps.Clone(p.renewed)
	c.unplanned, c.renewing = maps.Clone(p.unplanned), maps.Clone(p.renewing)
	c.left, c.going, c.away = maps.Clone(p.left), maps.Clone(p.going), maps.Clone(p.away)
	c.surged = maps.Clone(p.surged)
	return c
}

// astray reports whether there is an instance that hale built, or a start of hale that is noted, and the store does not
// know it: it lost its memory of it, or never had it.
func (j *Judge) astray() bool {
	unknown := func(n string) bool { return !j.store.Starts.Noted[fleet.StartName(n)] }
	if slices.ContainsFunc(j.w.Noted(j.options.Installation), unknown) {
		return true
	}
	if !j.rolled {
		return false
	}
	for i := range j.store.Beliefs {
		for _, vm := range j.w.All(string(j.spec.Name.Machine(i + 1))) {
			if j.unknown(vm.ID) {
				return true
			}
		}
	}
	return false
}

// unknown reports whether a hale built the instance, and the store of this one never heard of it.
func (j *Judge) unknown(id string) bool { return j.built[id] && !j.store.Named(fleet.InstanceID(id)) }

// isNews reports whether a hale with another store built the instance so lately that no listing need show it; or when
// its host, or its provider, may not say what is.
func (j *Judge) isNews(vm *world.VM) bool {
	first := j.eldest()
	return j.unknown(vm.ID) && (first.isStruck(vm.Host) || j.w.Now()-max(first.stirred, vm.Born) <= seenWithin)
}

// isStruck reports whether the host, something that it lies in, or the provider is struck.
func (j *Judge) isStruck(host string) bool {
	at := slices.IndexFunc(j.options.Hosts, func(h world.Host) bool { return h.Name == host })
	for d, n := range j.isShared {
		if n > 0 && (at < 0 || d.Kind == "all" || world.Has(j.options.Hosts[at:at+1], d)) {
			return true
		}
	}
	return false
}

// unborn checks that nothing is taken away that was built by a hale which is another one by now: it may serve (L1, L2).
// What was asked for before the store was put back was known then.
func (j *Judge) unborn(c *world.Call) {
	if !j.options.Naive && j.unknown(c.ID) && (!j.rolled || c.Sent > j.rolledAt) {
		j.Broken("L2", c.Mark.Machine, string(c.Op)+" of "+string(j.called(c.ID))+", which its store does not know")
	}
}
