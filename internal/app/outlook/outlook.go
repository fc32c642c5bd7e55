package outlook

import (
	"fmt"
	"slices"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/resized"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose"
)

// settledAt is an end of the amnesty that is over: a plan has waited.
const settledAt = fleet.Instant(1)

// Before is what was believed before the plan was made.
type Before struct {
	UnderWay map[fleet.MachineName]belief.Repair
	Adopted  map[fleet.InstanceID]bool
	// Moved are how sizes moved that have bounds.
	Moved map[fleet.Name]*resized.State
}

// Of says what would be done: what decide begins in this picture, which is not carried out, and why it holds the
// rest.
func Of(f published.Fleet, was Before) api.PlannedWork {
	f.Whole.Sizing = was.Moved[f.Spec.Name].SeenAt(f.Now)
	s := booked(pictured(f, was.UnderWay))
	f.Spec, f.Whole.Ledger, f.Machines = s.Spec, s.Whole.Ledger, s.Machines
	d := decide.Decide(s)
	begun := outlook{d: d, was: was, spec: &f.Spec, tally: guard.Tally{Size: f.Spec.Size, Rest: &d.Whole}}
	for i := range d.Machines {
		begun.tally.Add(&d.Machines[i].Belief, begun.spec)
	}
	otherwise := begun
	if s.Spec.Mode == policy.ModeObserve { // what is left without a word, since hale only watches
		s.Spec.Mode, s.Wanted.Mode = policy.ModeAct, policy.ModeAct
		otherwise.d = decide.Decide(s)
	}
	f.Brake, f.Whole.Brakes = d.Brake, d.Whole.Brakes
	w := api.PlannedWork{
		Fleet: string(f.Spec.Name), Mode: string(f.Spec.Mode), Brake: view.Brake(f), Provider: view.Provider(f),
		Failing: begun.tally.Failing, Size: f.Spec.Size, Machines: []api.PlannedStep{}, Ordered: view.OrderedSize(f),
		Plans: []api.Waiting{}, Warnings: view.Warnings(f),
	}
	if p := f.Pending(); !p.Empty() {
		w.Plans = append(w.Plans, view.Waiting(p))
	}
	for _, step := range f.Spec.Repair.Steps {
		if slices.Contains(f.Cannot, ladder.OpOf(step)) {
			w.Unsupported = append(w.Unsupported, string(step.Kind))
		}
	}
	for i := range d.Machines { // all of them, since all are due
		m, v := &d.Machines[i], s.Machines[d.Machines[i].Index]
		action, held := begun.of(&v.Machine, m)
		if action == api.ActionNone && held.Code == "" && f.Spec.Mode == policy.ModeObserve {
			action, _ = otherwise.of(&v.Machine, &otherwise.d.Machines[i])
			if action != api.ActionNone && action != api.ActionAdopt {
				held = view.Reason(fleet.ReasonObserve, "")
			}
		}
		if action == api.ActionNone && m.Belief.Vacant() && guard.Surplus(&m.Belief, &f.Spec) {
			continue // the place is empty, or was given up
		}
		v.Machine = m.Belief
		p := api.PlannedStep{
			Machine: string(v.Machine.Name), Alias: v.Machine.Alias, Verdict: string(v.Machine.Health.Verdict),
			Since: v.Machine.Health.Since, Text: view.Verdict(v), Action: action, Held: held,
		}
		if r, busy := was.UnderWay[v.Machine.Name]; busy && action == api.ActionGoOn {
			p.Repair, p.Kind = fmt.Sprintf("%s, step %s, phase %s", r.ID, r.Step, r.Phase), string(r.Kind)
			if r.Kind == belief.RepairBuild {
				p.Repair, p.Held = fmt.Sprintf("%s, phase %s", r.ID, r.Phase), api.Reason{} // nothing else is wanted
			}
		}
		w.Machines = append(w.Machines, p)
	}
	return w
}

// pictured is what decide is asked about: every machine, all that the watch found, and the repairs that were set aside.
// These stand still.
func pictured(f published.Fleet, underWay map[fleet.MachineName]belief.Repair) situation.Situation {
	s := situation.Situation{
		State: f.State, Installation: f.Installation, Wanted: &f.Wanted, Machines: slices.Clone(f.Machines),
	}
	s.SteadyAt = settledAt
	for i := range s.Machines {
		v := &s.Machines[i]
		v.Due, v.Machine.Waiting = true, "" // so that it is said again what holds it
		if r, busy := underWay[v.Machine.Name]; busy {
			r.Intent, r.RetryAt = nil, f.Now.Mono.Add(standstill)
			v.Machine.Repair = &r
		}
	}
	return s
}

// standstill is how long a repair under way is left alone: longer than a plan takes.
const standstill = 24 * time.Hour

// outlook is a decision that is told and not carried out.
type outlook struct {
	d     round.Decision
	was   Before
	spec  *policy.Spec
	tally guard.Tally // with what is begun
}

// of says what is begun for one machine, or what is held, and why.
func (o *outlook) of(was *belief.Machine, m *round.Decided) (action string, held api.Reason) {
	is, r, why, rec := &m.Belief, m.Belief.Repair, m.Belief.Waiting, record.Record{}
	for _, said := range m.Records {
		if said.Kind == record.Held {
			rec = said
		}
	}
	action = api.ActionNone
	switch {
	case r != nil:
		action = workOf(was, r)
	case is.Quarantine != nil && was.Quarantine == nil: // nothing on the ladder helps, or it was tried too often
		why = is.Quarantine.Reason
	case is.Current.Candidate(), is.Current.Adopted && !o.was.Adopted[is.Current.ID] && why == "":
		action = api.ActionAdopt
	case rec.Step != "" && is.Incident == nil:
		action = api.ActionBuild
	case rec.Step != "":
		action = string(rec.Step)
	case why != "" && is.Health.Verdict == belief.VerdictHealthy && !is.Current.Certified:
		action = api.ActionCertify
	}
	return action, view.Reason(why, o.figures(why, is, &rec))
}

// workOf names the work that a machine is in.
func workOf(was *belief.Machine, r *belief.Repair) string {
	switch {
	case was.Repair != nil && was.Repair.ID == r.ID:
		return api.ActionGoOn
	case r.Kind == belief.RepairHeal:
		return string(r.Step)
	case r.Kind == belief.RepairRemnant:
		return api.ActionRemnant
	case r.Kind == belief.RepairBuild && !was.Current.None():
		return api.ActionCertify
	}
	return string(r.Kind)
}

// figures is the arithmetic behind a reason.
func (o *outlook) figures(held fleet.Reason, m *belief.Machine, rec *record.Record) string {
	switch {
	case held == fleet.ReasonBrake:
		return prose.BrakeFigures(*rec)
	case held == fleet.ReasonSharedFate && m.Incident != nil:
		if p := o.d.Whole.Parent(m.Incident.Parent); p != nil {
			return p.ID + ", " + prose.Parent(*p)
		}
	case held == fleet.ReasonBudget && rec.Scope != "":
		return prose.SharedBudget(rec.Scope, rec.Detail, rec.Failing, rec.Limit)
	case held == fleet.ReasonBudget:
		return fmt.Sprintf("%d of %d", o.tally.InRepair, o.spec.Places())
	case held == fleet.ReasonBuildBudget:
		return fmt.Sprintf("%d of %d", o.tally.InBuild, o.spec.Limits.InBuild)
	}
	return ""
}

// Unwitnessed warns of the machines of one fleet that no witness can vouch for when they fall silent.
func Unwitnessed(f published.Fleet, all []published.Fleet) []string {
	sights := guard.Sights{}
	for i := range all {
		o := &all[i]
		if o.Spec.Provider == f.Spec.Provider {
			sights.Hear(fleet.Now{}, &o.Spec, o.Believed(), func(fleet.Neighbourhood) bool { return true })
		}
	}
	var alone []string
	for m := range f.Believed() {
		if guard.Unwitnessed(m, &f.Spec, sights, f.Hosts) {
			alone = append(alone, prose.Called(m.Name, m.Alias))
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return []string{prose.Unwitnessed(alone)}
}
