package app

import (
	"fmt"
	"slices"

	"hale/internal/api"
	"hale/internal/engine"
	"hale/internal/fleet"
	"hale/internal/guard"
	"hale/internal/prose"
	"hale/internal/repair"
)

// settledAt is an end of the amnesty that is over: a plan has waited.
const settledAt = fleet.Instant(1)

// beforehand is what was believed before the plan was made.
type beforehand struct {
	underWay map[fleet.MachineName]fleet.Repair
	adopted  map[fleet.InstanceID]bool
	ours     fleet.Installation
}

// planFleet says what would be done in the order of the machines, each seeing what was planned before it.
func planFleet(f engine.FleetStatus, was beforehand) api.PlannedWork {
	s := guard.Situation{
		Spec: f.Spec, Now: f.At, SteadyAt: settledAt, Acting: f.Acting, Provider: f.Provider, Hosts: f.Hosts, Silent: f.Silent, Cannot: f.Cannot,
		Vantage: f.Vantage, Brake: f.Brake, Whole: f.Whole, Slots: f.Slots,
		Tally: withWork(f, was.underWay),
	}
	s.Closed, _ = f.Spec.Repair.Closed(f.At.Wall)
	s.Brake = guard.StepBrake(s.Brake, f.Spec.Limits.Brake, s.Tally, s.Now)
	f.Brake = s.Brake
	w := api.PlannedWork{
		Fleet: string(f.Spec.Name), Mode: string(f.Spec.Mode), Brake: api.ViewBrake(f), Provider: api.ViewProvider(f),
		Failing: s.Tally.Failing, Size: f.Spec.Size, Machines: []api.PlannedStep{}, Ordered: api.ViewOrderedSize(f),
		Plans: []api.Waiting{},
	}
	if p := f.Pending(); !p.Empty() {
		w.Plans = append(w.Plans, api.ViewWaiting(p))
	}
	for _, step := range f.Spec.Repair.Steps {
		if slices.Contains(f.Cannot, repair.OpOf(step)) {
			w.Unsupported = append(w.Unsupported, string(step.Kind))
		}
	}
	for _, v := range f.Machines {
		if v.Machine.Vacant() && guard.Surplus(&v.Machine, &f.Spec) && !remnant(v, was.ours) {
			continue // nobody has the place, or it was given up
		}
		p := api.PlannedStep{
			Machine: string(v.Machine.Name), Alias: v.Machine.Alias, Verdict: string(v.Machine.Health.Verdict), Since: v.Machine.Health.Since,
			Text: api.VerdictText(v), Action: api.ActionNone,
		}
		if r, busy := was.underWay[v.Machine.Name]; busy {
			p.Action, p.Repair = api.ActionGoOn, fmt.Sprintf("%s, step %s, phase %s", r.ID, r.Step, r.Phase)
		} else {
			planMachine(&p, v, &s, was)
		}
		w.Machines = append(w.Machines, p)
	}
	return w
}

// withWork counts the repairs that were set aside.
func withWork(f engine.FleetStatus, underWay map[fleet.MachineName]fleet.Repair) guard.Tally {
	t := guard.Tally{Size: f.Spec.Size, Rest: &f.Whole}
	for _, v := range f.Machines {
		m := v.Machine
		if r, busy := underWay[m.Name]; busy {
			m.Repair = &r
		}
		t.Add(&m, &f.Spec)
	}
	return t
}

// planMachine asks the guard and the ladder what follows for one machine, and books what would begin.
func planMachine(p *api.PlannedStep, v fleet.View, s *guard.Situation, was beforehand) {
	m := v.Machine
	s.View = &v
	held := fleet.Reason("")
	switch {
	case remnant(v, was.ours):
		p.Action, held = api.ActionRemnant, guard.ClearUp(&m, s)
	case m.Current.Adopted && !was.adopted[m.Current.ID]:
		p.Action = api.ActionAdopt
		if m.Health.Verdict != fleet.VerdictHealthy {
			held = fleet.ReasonCandidate
		}
	case m.Health.Verdict == fleet.VerdictHealthy && !m.Current.Certified:
		p.Action = api.ActionCertify
		if s.Spec.Mode == fleet.ModeObserve {
			held = fleet.ReasonObserve
		}
	case m.Incident != nil:
		p.Action, held = planRepair(&m, s)
		if held == "" {
			s.Tally.InRepair++
			guard.TakeSlot(&m, s)
		}
	case m.Current.None():
		p.Action, held = api.ActionBuild, guard.NewBuild(&m, s)
		if held == "" {
			s.Tally.InBuild++
		}
	}
	p.Held = api.ViewReason(held, figures(held, &m, *s))
}

func planRepair(m *fleet.Machine, s *guard.Situation) (action string, held fleet.Reason) {
	held, step := repair.Admit(m, s)
	switch {
	case step != "":
		return string(step), held
	case held == "":
		held = fleet.ReasonNoStep
	}
	return api.ActionNone, held
}

// figures is the arithmetic behind a reason.
func figures(held fleet.Reason, m *fleet.Machine, s guard.Situation) string {
	switch held {
	case fleet.ReasonBrake:
		return fmt.Sprintf("%d of %d machines fail", s.Tally.Failing, s.Tally.Size)
	case fleet.ReasonSharedFate:
		if p := guard.Parent(m, &s); p != nil {
			return p.ID + ", " + prose.Parent(*p)
		}
		return ""
	case fleet.ReasonBudget:
		if full := guard.SharedBudget(m, &s); full != nil {
			return prose.SharedBudget(full.Limit.Scope, full.Name, full.Taken, full.Limit.InRepair)
		}
		return fmt.Sprintf("%d of %d", s.Tally.InRepair, s.Spec.Limits.InRepair)
	case fleet.ReasonBuildBudget:
		return fmt.Sprintf("%d of %d", s.Tally.InBuild, s.Spec.Limits.InBuild)
	default:
		return ""
	}
}

// remnant reports whether an unfinished build of the machine left an instance that would be removed first.
func remnant(v fleet.View, ours fleet.Installation) bool {
	for _, stray := range v.Machine.Strays {
		if repair.IsRemnant(v.Machine, v.Sighting(stray.ID).Instance, ours) {
			return true
		}
	}
	return false
}
