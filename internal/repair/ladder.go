package repair

import (
	"slices"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// chooseRung takes the first rung from the given one whose precondition holds.
func (w *Work) chooseRung(from int) {
	m, r := w.M, w.M.Repair
	w.takeBack(r)
	r.Target, r.Next = m.Current, fleet.Incarnation{}
	r.LookAgain()
	r.Removed, r.OffOrders, r.ClearedOrders, r.FenceAt = false, 0, 0, 0
	if from == 0 && neverStood(m, w.Situation) {
		// It was never healthy: gentler steps would only repeat what its boot did. It is built anew.
		w.takeRung(fleet.NoRung, fleet.StepRecreate)
		return
	}
	steps := w.Situation.Spec.Repair.Steps
	for rung := max(from, 0); rung < len(steps); rung++ {
		reason := passedOver(m, w.Situation, rung)
		if reason == "" {
			w.takeRung(rung, steps[rung].Kind)
			return
		}
		_, placeholder := lacks(m, w.View, steps[rung], m.Current)
		w.Record(fleet.Record{Kind: fleet.RecordStepSkipped, Step: steps[rung].Kind, Reason: reason,
			Detail: placeholder})
		if demanded(steps[rung], reason) {
			w.quarantine(fleet.ReasonSnapshotFailed, string(reason))
			return
		}
	}
	if len(steps) == 0 || from == 0 {
		w.quarantine(fleet.ReasonNoStep, "")
		return
	}
	w.failAttempt(fleet.ReasonExhausted, "")
}

// neverStood reports whether the machine's only instance is a build that never became healthy, or already gone: it is
// built anew, unless it is protected, or only hearsay speaks against it. Then it may serve somebody all the same.
func neverStood(m *fleet.Machine, s *guard.Situation) bool {
	gone := m.Current.None() && m.Incident != nil && m.Incident.Cause == fleet.CauseBuild
	return (gone || m.Current.Expired && !s.Spec.Protects(m)) && !hearsay(m, s)
}

func (w *Work) takeRung(rung int, kind fleet.StepKind) {
	r := w.M.Repair
	r.Rung, r.Step = rung, kind
	_, r.Stranded = w.deadHost(r.Target)
	w.Record(fleet.Record{Kind: fleet.RecordStepChosen, Step: kind, Cause: w.M.Health.Cause, Instance: r.Target.ID,
		Generation: r.Target.Generation})
	if r.Target.None() {
		r.Removed, r.Proof = true, fleet.ProofDeleted // there is nothing to fence
		w.enter(fleet.PhaseAct)
		return
	}
	w.enter(fleet.PhaseLook)
}

// Precondition says why the step does not apply to the machine as it stands; empty when it applies. Whatever stands
// still with its memory intact can go on where it was: it is resumed, or left alone, and never reset or replaced.
func Precondition(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason {
	return rungOf(step.Kind).applies(m, spec, step)
}

// missing reports whether the machine has no instance.
func missing(m *fleet.Machine) bool { return m.Current.None() || m.Health.Cause == fleet.CauseGone }

// replaceable says why nothing may be put in the place of the instance or of its disk.
func replaceable(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason {
	if m.Health.Cause.Halted() {
		return fleet.ReasonHalted
	}
	if _, lost := spec.Template.DiskLost(); lost && step.KeepOld == 0 {
		return fleet.ReasonDiskKept
	}
	if m.Current.Kept {
		return fleet.ReasonAdoptedKept
	}
	if !m.Current.None() && !m.Current.Replaceable() {
		return fleet.ReasonNotCertified
	}
	return ""
}

// idle says why there is nothing that runs and could be worked on.
func idle(m *fleet.Machine) fleet.Reason {
	cause := m.Health.Cause
	switch {
	case m.Current.None() || cause == fleet.CauseGone:
		return fleet.ReasonNoInstance
	case off(cause):
		return fleet.ReasonNotRunning
	case cause.Halted():
		return fleet.ReasonHalted
	}
	return ""
}

// skipped says why the ladder passes the step over: it does not fit, the provider cannot do it, or the machine is to be
// evacuated, which a step on the spot would not do.
func skipped(m *fleet.Machine, s *guard.Situation, step fleet.Step) fleet.Reason {
	if r := unfit(m, s, step); r != "" {
		return r
	}
	if slices.Contains(s.Cannot, OpOf(step)) {
		return fleet.ReasonUnsupported
	}
	if r := keepable(m, s, step); r != "" {
		return r
	}
	if p := guard.Parent(m, s); p != nil && guard.Evacuating(m, p, s) {
		return guard.SharedFate(m, s, step.Kind)
	}
	return ""
}

// unfit says why the step is not for the machine as it stands.
func unfit(m *fleet.Machine, s *guard.Situation, step fleet.Step) fleet.Reason {
	if r := Precondition(m, &s.Spec, step); r != "" {
		return r
	}
	if r := offHost(m, s, step); r != "" {
		return r
	}
	if r := toLeave(m, s, step); r != "" {
		return r
	}
	if s.Spec.Protects(m) && !step.Kind.Gentle() {
		return fleet.ReasonProtected
	}
	if step.Kind.Builds() && hearsay(m, s) {
		return fleet.ReasonSharedToken
	}
	if !concerns(m, s.View, step) {
		return fleet.ReasonNotFor
	}
	reason, _ := lacks(m, s.View, step, m.Current)
	return reason
}

// hearsay reports whether nothing speaks against the machine but heartbeats that any other machine of the fleet can
// send in its name, since they share the token.
func hearsay(m *fleet.Machine, s *guard.Situation) bool {
	if s.View == nil || m.Current.None() || m.Health.Cause.Stopped() {
		return false
	}
	said := false
	for _, state := range s.View.Checks {
		if state.Standing != fleet.StandingDown && state.Standing != fleet.StandingFailing {
			continue
		}
		i := slices.IndexFunc(s.Spec.Checks, func(c fleet.Check) bool { return c.Name == state.Check })
		if i < 0 || !s.Spec.Checks[i].Shared() {
			return false
		}
		said = true
	}
	return said
}

// factsOf are what is known of the machine's instance for a command.
func factsOf(m *fleet.Machine, v *fleet.View, on fleet.Incarnation) fleet.Facts {
	f := fleet.Facts{Machine: m.Name, Instance: on.ID, Host: on.Host, Address: m.Address}
	if v != nil {
		f.Metadata = v.Sighting(on.ID).Instance.Metadata
	}
	return f
}

// lacks returns why the step's command cannot be told of the instance what it is to be told, and the placeholder;
// empty: it can.
func lacks(m *fleet.Machine, v *fleet.View, step fleet.Step, on fleet.Incarnation) (why fleet.Reason,
	placeholder string) {
	if step.Kind != fleet.StepRun {
		return "", ""
	}
	facts := factsOf(m, v, on)
	if placeholder = facts.Unknown(step.Run.Texts()...); placeholder != "" {
		return fleet.ReasonNoMetadata, placeholder
	}
	if placeholder = facts.Unfit(step.Run.Args, step.Run.Env); placeholder != "" {
		return fleet.ReasonUnfit, placeholder
	}
	return "", ""
}

// concerns reports whether one of the checks that the step is for is down. When the provider itself says that the machine does not
// run, what its checks say is no fault of its own.
func concerns(m *fleet.Machine, v *fleet.View, step fleet.Step) bool {
	switch {
	case len(step.For) == 0:
		return true
	case m.Current.None() || m.Health.Cause.Stopped():
		return slices.Contains(step.For, fleet.ProviderTerm)
	case v == nil || v.Epoch != m.Epoch:
		return false
	}
	return slices.ContainsFunc(v.Checks, func(c fleet.CheckState) bool {
		return c.Standing == fleet.StandingDown && slices.Contains(step.For, c.Check)
	})
}

// spared returns the rungs that are for other checks than those that are down.
func (w *Work) spared() fleet.Rungs {
	var out fleet.Rungs
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !concerns(w.M, w.Situation.View, step) {
			out = out.With(rung)
		}
	}
	return out
}

// Worsen takes the machine out of quarantine when more fails now than what it was put there for, so that a step may help that
// was not for that. Once per incident: a check that comes and goes is no reason to begin again and again.
func (w *Work) Worsen() {
	m := w.M
	q := m.Quarantine
	if q == nil || q.Spared == 0 || m.Incident.Worsened || m.Health.Verdict != fleet.VerdictUnhealthy ||
		guard.LeftAlone(m.Health.Cause, &w.Situation.Spec) {
		return
	}
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !q.Spared.Has(rung) || step.Kind == fleet.StepPage || step.Kind == fleet.StepQuarantine || unfit(m, w.Situation, step) != "" {
			continue
		}
		m.Quarantine, m.Waiting = nil, ""
		m.Attempts, m.RetryAt = nil, 0
		m.Incident.Worsened, m.Incident.Failed, m.Incident.Paged = true, 0, false
		w.Record(fleet.Record{Kind: fleet.RecordQuarantineOver, Reason: fleet.ReasonWorsened, Step: step.Kind, Cause: m.Health.Cause,
			Check: m.Health.Check, Result: m.Health.Result, Instance: m.Current.ID})
		return
	}
}

// OpOf returns the operation that the step needs the provider to have; empty: none.
func OpOf(step fleet.Step) fleet.Op { return rungOf(step.Kind).op(step) }

// FirstStep returns the step that a repair of the machine would begin with, and whether there is one.
func FirstStep(m *fleet.Machine, s *guard.Situation) (fleet.StepKind, bool) {
	if neverStood(m, s) {
		return fleet.StepRecreate, true
	}
	for rung, step := range s.Spec.Repair.Steps {
		if passedOver(m, s, rung) == "" {
			return step.Kind, true
		}
	}
	return "", false
}

// Admit says why no repair may begin for a machine with an open incident, and which step one would begin with. A parent
// incident weighs more than whatever else would pass by itself. When the time has come to evacuate, hearsay does not
// do.
func Admit(m *fleet.Machine, s *guard.Situation) (held fleet.Reason, step fleet.StepKind) {
	step, some := FirstStep(m, s)
	held = guard.NewRepair(m, s)
	if held == "" && !some && s.Spec.Protects(m) {
		held = fleet.ReasonProtected
	}
	switch held {
	case "", fleet.ReasonBrake, fleet.ReasonUnclear, fleet.ReasonUndecided, fleet.ReasonBackoff, fleet.ReasonBudget:
		r := guard.SharedFate(m, s, step)
		if r != "" && guard.Evacuating(m, guard.Parent(m, s), s) && hearsay(m, s) {
			r = fleet.ReasonSharedToken
		}
		if r != "" {
			return r, step
		}
	default:
	}
	return held, step
}

// act decides the rung's next call. Steps already true are no-ops.
func (w *Work) act(r *fleet.Repair) {
	switch {
	case r.Kind == fleet.RepairUndo:
		w.undo(r)
	case r.Kind == fleet.RepairTidy:
		w.call(r, fleet.OpDropSnapshot, r.Target)
	case r.Step == fleet.StepSnapshot:
		w.snapshot(r)
	case r.Kind == fleet.RepairRemnant || r.Step == fleet.StepRecreate:
		w.replace(r)
	case r.Step == fleet.StepRebuild:
		w.rebuild(r)
	case r.Step == fleet.StepEvacuate:
		w.evacuate(r)
	case r.Step == fleet.StepPage:
		w.Page(fleet.ReasonStepPage)
		if fleet.VerifyTime(w.Situation.Spec, *r) > 0 {
			w.enter(fleet.PhaseVerify)
		} else {
			w.chooseRung(r.Rung + 1)
		}
	case r.Step == fleet.StepQuarantine:
		w.quarantine(fleet.ReasonStepLeave, "")
	case r.Step == fleet.StepRun:
		w.run(r)
	default:
		w.call(r, OpOf(fleet.CurrentStep(w.Situation.Spec, *r)), r.Target)
	}
}

// run executes the step's command, unless what it is to be told of the instance is not known any more, or would be
// taken for something else.
func (w *Work) run(r *fleet.Repair) {
	if why, placeholder := lacks(w.M, w.View, fleet.CurrentStep(w.Situation.Spec, *r), r.Target); why != "" {
		w.failRung(why, placeholder)
		return
	}
	w.call(r, fleet.OpRun, r.Target)
}

// rebuild fences the target and gives it a new disk.
func (w *Work) rebuild(r *fleet.Repair) {
	switch {
	case !r.Proof.Meets(fleet.StepRebuild.Needs(w.Situation.Spec.Repair.Fence)):
		w.fence(r)
	case r.Proof.Meets(fleet.ProofDeleted):
		w.failRung(fleet.ReasonNoInstance, "") // it went meanwhile
	default:
		w.call(r, fleet.OpRebuild, r.Target)
	}
}

// replace fences the target, removes it, and builds its successor; each only if it is still to be done.
func (w *Work) replace(r *fleet.Repair) {
	policy := w.Situation.Spec.Repair.Fence
	if w.lapsed(r) {
		w.disprove(r)
	}
	switch {
	case !r.Target.None() && !r.Removed && !w.holds(r, policy):
		w.fence(r)
	case w.strands(r, policy):
		w.leave(r)
	case !r.Target.None() && !r.Removed && w.keeps(r):
		w.call(r, fleet.OpKeep, r.Target)
	case !r.Target.None() && !r.Removed:
		w.call(r, fleet.OpDelete, r.Target) // also of one that is gone: its files may be left
	case r.Kind == fleet.RepairRemnant:
		w.forget(r.Target.ID)
		w.end(fleet.ReasonRemoved)
	case r.Kind == fleet.RepairRemove:
		w.gone(r)
	case !r.Target.None() && !w.holds(r, policy):
		w.proveAgain(r)
	case !r.Target.None() && !policy.Enough(r.Proof):
		w.proveDeleted(r)
	default:
		w.build(r)
	}
}

// fence makes sure that the target cannot run: ordered off, then seen off.
func (w *Work) fence(r *fleet.Repair) {
	if h, dead := w.deadHost(r.Target); dead && r.Kind == fleet.RepairHeal && goesElsewhere(r.Step) {
		w.fenceHost(r, h)
		return
	}
	if r.Stranded && r.Confirmed {
		r.LookAgain() // its host is back: what was confirmed without it counts no more
		return
	}
	i, known := w.seenSince(r, r.Target.ID, r.Target.Host)
	if !known {
		return
	}
	switch i.Power {
	case fleet.PowerGone:
		w.proven(r, fleet.ProofDeleted)
	case fleet.PowerOff:
		w.proven(r, fleet.ProofConfirmedOff)
	case fleet.PowerRunning, fleet.PowerPaused, fleet.PowerCrashed, fleet.PowerError, fleet.PowerUnknown:
		if w.M.KeptAt(r.Target.ID) >= 0 || w.M.LeftAt(r.Target.ID) >= 0 && !w.HeldCut(r.Target.ID) {
			w.failAttempt(fleet.ReasonStillRunning, "") // somebody uses what was put aside
			return
		}
		if r.OffOrders >= maxOffOrders {
			w.giveUpFence(fleet.ReasonStillRunning)
			return
		}
		if !r.Wanted() && r.OffOrders != r.ClearedOrders {
			r.LookAgain() // it was ordered off and runs: perhaps somebody mended it meanwhile
			return
		}
		r.OffOrders++
		w.call(r, fleet.OpPowerOff, r.Target)
	}
}

// giveUpFence: without proof there is no replacement (L1). A person must look.
func (w *Work) giveUpFence(why fleet.Reason) {
	if w.wantedIn() {
		w.giveUpChange(fleet.ReasonNoProof, string(why))
		return
	}
	if w.M.Repair.Kind == fleet.RepairRemnant || guard.Parent(w.M, w.Situation) != nil {
		w.failAttempt(why, "") // of a parent's machines a person was told already
		return
	}
	w.quarantine(fleet.ReasonNoProof, string(why))
}

func (w *Work) proven(r *fleet.Repair, p fleet.Proof) {
	r.Proof, r.ProvenAt = p, 0
	if p == fleet.ProofAccessCut {
		r.ProvenAt = w.now()
	}
	w.Record(fleet.Record{Kind: fleet.RecordProof, Proof: p, Instance: r.Target.ID, Generation: r.Target.Generation})
}

// proveAgain shows once more, after a restart or a lost order, that what was removed still does not run.
func (w *Work) proveAgain(r *fleet.Repair) {
	if h, dead := w.deadHost(r.Target); dead && w.M.LeftAt(r.Target.ID) >= 0 {
		w.fenceHost(r, h)
		return
	}
	i, known := w.seenSince(r, r.Target.ID, r.Target.Host)
	switch {
	case !known:
	case i.Power == fleet.PowerGone:
		w.proven(r, fleet.ProofDeleted)
		w.M.Retrieve(r.Target.ID)
	case i.Power == fleet.PowerOff:
		w.proven(r, fleet.ProofConfirmedOff)
	case w.M.KeptAt(r.Target.ID) >= 0:
		w.quarantine(fleet.ReasonNoProof, string(fleet.ReasonStillRunning)) // under another name, and without its disks
	default:
		w.M.Current = r.Target
		w.M.Retrieve(r.Target.ID)
		w.M.Epoch++
		w.end(fleet.ReasonRefuted)
	}
}

// proveDeleted asks for the stricter proof after a delete.
func (w *Work) proveDeleted(r *fleet.Repair) {
	i, known := w.seenSince(r, r.Target.ID, r.Target.Host)
	switch {
	case !known:
	case i.Power == fleet.PowerGone:
		w.proven(r, fleet.ProofDeleted)
	default:
		w.giveUpFence(fleet.ReasonDeleteFailed)
	}
}

// removed clears the machine's place: from here on it has no instance until its successor stands.
func (w *Work) removed(r *fleet.Repair) {
	r.Removed = true
	if w.M.Current.ID == r.Target.ID {
		w.M.Current = fleet.Incarnation{}
		w.M.Epoch++
		w.M.Acted = w.now()
	}
}

// build allots the next generation and orders it.
func (w *Work) build(r *fleet.Repair) {
	if o := w.Situation.Whole.Ledger.Removal(w.M.Name); o != nil && o.Named && !r.Wanted() {
		w.Overrule() // it is to go
		return
	}
	if found, ok := Found(w.M, w.View, w.Installation); ok {
		w.take(found)
		return
	}
	if a := w.M.Anchor; a != nil && w.Situation.Now.Due(a.Until) {
		w.M.Anchor = nil
	}
	if held := w.heldWaiting(r); held != "" {
		w.wait(held)
		return
	}
	if _, some := guard.Unasked(w.M, w.Situation); some {
		w.wait(fleet.ReasonHostUnasked)
		w.retry(r)
		return
	}
	host, ok := w.place(r.ID)
	if a := w.M.Anchor; a != nil {
		host, ok = a.Host, w.buildsOn(a.Host)
	}
	if !ok {
		w.wait(w.nowhere())
		w.retry(r)
		return
	}
	switch {
	case w.occupied():
		w.failAttempt(fleet.ReasonDiskInUse, "")
		return
	case w.Rivalled():
		w.failAttempt(fleet.ReasonRival, "")
		return
	}
	if w.leftRuns() {
		w.failAttempt(fleet.ReasonStillRunning, "")
		return
	}
	if w.stale(r) {
		w.proveAgain(r)
		return
	}
	w.bind(host)
	w.Load()[host]++ // whoever is placed next in this round sees it
	w.M.Generation++
	r.Next = fleet.Incarnation{ID: w.View.FreshID, Generation: w.M.Generation, Host: host, Edition: w.edition(r)}
	w.call(r, fleet.OpCreate, r.Next)
}

// heldWaiting says why a build that waits, as for a host or a place, does not go on: what a person ordered meanwhile counts for it, since it
// is not under way. A first one does not go on once another installation's mark was seen, either.
func (w *Work) heldWaiting(r *fleet.Repair) fleet.Reason {
	if r.Kind == fleet.RepairBuild && len(w.Situation.Whole.Foreign) > 0 {
		return fleet.ReasonInstallation // it was seen since the build was begun
	}
	switch w.M.Waiting {
	case fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere, fleet.ReasonHostUnasked, fleet.ReasonHold, fleet.ReasonBrake:
	default:
		return ""
	}
	b := &w.Situation.Brake
	switch {
	case guard.HoldOn(w.M, w.Situation) != nil:
		return fleet.ReasonHold
	case b.By != "", b.On() && r.Kind != fleet.RepairBuild:
		return fleet.ReasonBrake
	}
	return ""
}

// Found returns an instance that an earlier, lost order of ours built after all, if the machine has no other: it is
// taken instead of being removed.
func Found(m *fleet.Machine, v *fleet.View, ours fleet.Installation) (fleet.Instance, bool) {
	if !m.Current.None() {
		return fleet.Instance{}, false
	}
	for k := range v.Seen {
		s := &v.Seen[k]
		i := &s.Instance
		if i.Power == fleet.PowerRunning && s.Asked > m.Acted && m.LeftAt(i.ID) < 0 && !putOff(m, i.ID) && IsStray(m, i, ours) && IsRemnant(*m, *i, ours) {
			return *i, true
		}
	}
	return fleet.Instance{}, false
}

// putOff reports whether the instance is a stray whose removal failed.
func putOff(m *fleet.Machine, id fleet.InstanceID) bool {
	return slices.ContainsFunc(m.Strays, func(s fleet.Stray) bool { return s.ID == id && s.RetryAt != 0 })
}

// House believes that the machine has the instance, of which the store did not know.
func (w *Work) House(i fleet.Instance) {
	m := w.M
	m.Current, m.Address = w.shown(i), i.Address
	m.Epoch++
	m.Acted = w.now()
	m.Health = fleet.Health{Verdict: fleet.VerdictUnknown, Since: w.Situation.Now.Wall, SinceMono: w.now()}
	w.forget(i.ID)
	w.bind(i.Host)
	w.stands()
}

// Shelve believes that the instance was put aside by a hale whose store is not this one: it is kept as long as the policy keeps one from now on.
func (w *Work) Shelve(i fleet.Instance) {
	w.forget(i.ID)
	if w.M.Current.ID == i.ID {
		w.Vacate()
	}
	w.M.Kept = append(slices.Clone(w.M.Kept), fleet.KeepFor(w.shown(i), w.Situation.Spec.Repair.KeepTime(), w.Situation.Now))
}

// Vacate believes that the machine does not have the instance any more of which the store knew.
func (w *Work) Vacate() {
	w.M.Current = fleet.Incarnation{}
	w.M.Epoch++
}

// shown is the instance as the provider shows it. What it was built from is not shown: it is taken for what is in force.
func (w *Work) shown(i fleet.Instance) fleet.Incarnation {
	out := fleet.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host, Network: i.Network, Storage: i.Storage, Certified: i.Mark.Certified}
	if l := w.Situation.Whole.Ledger; l != nil {
		out.Edition = l.Edition
	}
	return out
}

func (w *Work) take(i fleet.Instance) {
	w.house(i)
	w.verifyFrom()
}

// house believes that the machine has the instance, which an earlier order of ours built.
func (w *Work) house(i fleet.Instance) {
	w.M.Current, w.M.Address = fleet.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host, Edition: w.edition(w.M.Repair)}, i.Address
	w.forget(i.ID)
	w.stands()
	w.Record(fleet.Record{Kind: fleet.RecordRemnant, Reason: fleet.ReasonFound, Instance: i.ID, Generation: i.Mark.Generation, Host: i.Host})
}
