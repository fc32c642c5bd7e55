package judge

import (
	"fmt"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/law"
)

// sharedBudgets checks the budgets of provider, hosts and what hosts stand in (L5), by the instances that are being
// repaired.
func (j *Judge) sharedBudgets(is *belief.Machine) {
	spec := j.spec
	if len(spec.Limits.Shared) == 0 {
		return
	}
	places := map[fleet.HostName]map[policy.ScopeKind]string{}
	for _, h := range j.w.Hosts() {
		places[fleet.HostName(h.Name)] = map[policy.ScopeKind]string{
			policy.ScopeHost: h.Name, policy.ScopeRack: h.Rack, policy.ScopeRoom: h.Room, policy.ScopeZone: h.Zone,
			policy.ScopeProvider: "one", policy.ScopeInstallation: "one",
		}
	}
	for _, limit := range spec.Limits.Shared {
		name, n := places[is.Repair.Target.Host][limit.Scope], 1
		for i := range j.store.Beliefs {
			m := &j.store.Beliefs[i]
			if m.Name != is.Name && m.Repair != nil && !m.Repair.Revives && (m.Repair.Kind == belief.RepairHeal ||
				m.Repair.Wanted()) && name != "" && places[m.Repair.Target.Host][limit.Scope] == name {
				n++
			}
		}
		if name != "" && n > limit.InRepair {
			j.Broken("L5", string(is.Name), fmt.Sprintf("%d machines of %s %s are in repair, and %d may be", n,
				limit.Scope, name, limit.InRepair))
		}
	}
}

// takesPlace checks that a repair may take a place in the budgets: when it begins, or when it goes on to more than a
// start.
func (j *Judge) takesPlace(is *belief.Machine) {
	name, brake := string(is.Name), j.store.Overall.Brake
	if is.Repair.Kind == belief.RepairHeal && brake.On() && (brake.By != "" || !is.Repair.Revives) {
		j.Broken("L6", name, "a repair begins while the brake is on")
	}
	if is.Repair.Kind == belief.RepairBuild && is.Current.None() && brake.On() && brake.By != "" {
		j.Broken("L6", name, "its first instance is built while a person's brake is on")
	}
	if is.Repair.Revives {
		return
	}
	if is.Repair.Kind == belief.RepairHeal {
		j.crowded = append(j.crowded, beginning{name, max(j.brakeLimit(), brake.Excused)})
	}
	if is.Repair.Kind == belief.RepairHeal || is.Repair.Wanted() {
		j.sharedBudgets(is)
	}
	if most := j.spec.Places(); j.inRepair > most {
		j.Broken("L5", name, fmt.Sprintf("%d machines are in repair, and %d may be", j.inRepair, most))
	}
}

// beginning is a repair that began in this round, and how many machines may fail with it.
type beginning struct {
	machine string
	most    int
}

// Decided checks what a round began against all that it found: what is written first may begin because of a machine
// that is well again, which is written after it.
func (j *Judge) Decided() {
	failing := j.failing - law.StartedToGo(j.store.Beliefs, j.booked)
	for _, b := range j.crowded {
		if failing > b.most {
			j.Broken("L6", b.machine, fmt.Sprintf("a repair begins while %d machines fail, and %d are allowed to",
				failing, b.most))
		}
	}
	j.crowded = j.crowded[:0]
}

// revives checks that a repair which takes no place in the budgets does no more than to set going what does not run,
// and that not too many begin to do so at once: one that moves to another host, or is shown there, is not started.
func (j *Judge) revives(was, is *belief.Machine) {
	r := is.Repair
	if r == nil || !r.Revives {
		return
	}
	if in := r.Intent; in != nil && !law.Sparing(in.Op) {
		j.Broken("L5", string(is.Name), fmt.Sprintf("%s without a place in the budget", in.Op))
	}
	here, all := 1, 1
	for i := range j.store.Beliefs {
		o := &j.store.Beliefs[i]
		if o.Name == is.Name || o.Repair == nil || !o.Repair.Revives || !slices.Contains(reviving, o.Repair.Step) {
			continue
		}
		if all++; o.Repair.Target.Host == r.Target.Host {
			here++
		}
	}
	if !was.Repair.Starts() && r.Starts() && (here > startsOfHost || all > startsOfAll) {
		j.Broken("L5", string(is.Name), fmt.Sprintf("%d are started at once, %d on its host", all, here))
	}
}

// What the judge allows at once of the steps that set machines going.
const startsOfHost, startsOfAll = 8, 40

var reviving = []fleet.StepKind{fleet.StepStart, fleet.StepResume}
