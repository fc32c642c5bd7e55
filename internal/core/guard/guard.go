// Package guard holds repairs back: amnesty, brake, budget, shared fate, doubt about the provider or about hale's own
// sight, a person's stop.
//
// It promises to answer with one reason from fleet's closed set, the weightiest first, and to hold when in doubt. It
// does not judge health and does not choose steps.
package guard

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Tally counts a fleet's machines for the guard. Surplus machines are left out.
type Tally struct {
	Size     int // desired
	Failing  int // unhealthy, or in repair (L5)
	Suspect  int // may turn out to be failing: a check failed since it was last up
	InRepair int // wanted changes included (L13)
	InBuild  int
	// Rest has the holds and removals in force: what is down under one, and not in repair, does not count.
	Rest     *belief.Whole
	Changing int  // by a person's order: in repair, and not failing (L10)
	Freed    int  // quarantined, and a person's order may free them in this round, so that they count from the next on
	Rose     bool // a machine came to fail in this round, of this fleet, though as many may fail as before
}

// DoubtUntil returns when a doubt that calmed down is over.
func DoubtUntil(d *belief.Doubt, spec *policy.Spec) fleet.Instant {
	return d.CalmSince.Add(max(SettleTime(*spec), spec.Limits.Brake.ReleaseAfter))
}

// SettleTime is how long the checks need to tell of all machines that failed at one moment. A load balancer is not
// waited for beyond the next time that it is heard: how long it is to be patient with a machine is no one else's time.
func SettleTime(spec policy.Spec) time.Duration {
	var longest time.Duration
	for i := range spec.Checks {
		c := &spec.Checks[i]
		times := c.DownAfter
		if c.Kind == policy.CheckPool {
			times = 1
		}
		longest = max(longest, time.Duration(times)*c.Every+c.Timeout+c.Sight.Lag())
	}
	return longest
}

// Situation is what the guard looks at beside the machine.
type Situation struct {
	situation.State
	Struck []int // Struck(Hosts), made once for all machines; nil: it is not made
	Tally  Tally
	// Closed says that the policy's windows let no repair begin now.
	Closed bool
	// Serving is how many machines of the fleet serve, where that matters to an update.
	Serving int
	// View is what is known of the machine; nil: nothing but its belief.
	View *situation.View
	// Answering are the hosts with a machine of the fleet that is not known to fail, where that matters.
	Answering []fleet.HostName
	// Sights are what is heard, by this fleet and others, in the neighbourhoods in which a machine is silent.
	Sights Sights
	// Fated says that the machine may yet turn out to share its fate with others, which are suspect.
	Fated bool
	// Unasked says that machines near it are suspect or unknown, and were not asked since it failed.
	Unasked bool
	// Near is what the machines near one say that a look found silent, since then.
	Near situation.Testimony
	// Well is how many machines are healthy and are to stay, where any is to go.
	Well int
}

// AnyCall says why the provider may not be called at all.
func AnyCall(s *Situation) fleet.Reason {
	switch {
	case s.Acting != "":
		return s.Acting
	case s.Spec.Mode == policy.ModeObserve:
		return fleet.ReasonObserve
	case s.Whole.Older != nil:
		return fleet.ReasonStoreOlder
	}
	switch s.Provider.Standing {
	case fleet.ProviderDoubtful:
		return fleet.ReasonProviderDoubtful
	case fleet.ProviderDown:
		return fleet.ReasonProviderDown
	case fleet.ProviderUnknown: // not asked yet
		return fleet.ReasonAmnesty
	case fleet.ProviderUp:
	}
	return ""
}

// AnyRolled says why nothing may be built or destroyed: this start of hale could not be noted at the provider's, or the
// notes not be read.
func AnyRolled(s *Situation) fleet.Reason {
	if s.Roll.Silent != "" {
		return fleet.ReasonPlaceSilent
	}
	return ""
}

// AnyStep says why no rung may begin for the machine, whatever its repair: for new rungs and new repairs alike.
func AnyStep(m *belief.Machine, s *Situation) fleet.Reason {
	return rivalStep(m, s, stillRevives(m, s))
}

// AnyRung says why no rung of the machine's repair may begin, nor act on what its look showed: as of a new repair, what
// speaks against it counts at the moment of the call.
func AnyRung(m *belief.Machine, s *Situation) fleet.Reason { return anyRung(m, s, stillRevives(m, s)) }

func anyRung(m *belief.Machine, s *Situation, revives bool) fleet.Reason {
	if r := rivalStep(m, s, revives); r != "" {
		return r
	}
	switch {
	case !revives && unclear(m, s):
		return fleet.ReasonUnclear
	case follows(m, s):
		return fleet.ReasonAfter
	}
	return ""
}

// stillRevives reports whether the machine's repair is about to set it going, and did nothing else so far.
func stillRevives(m *belief.Machine, s *Situation) bool {
	return m.Repair != nil && m.Repair.Revives && Revives(m, s, m.Repair.Step)
}

func rivalStep(m *belief.Machine, s *Situation, revives bool) fleet.Reason {
	if r := anyStep(m, s, Surplus(m, &s.Spec), revives); r != "" || !m.Rivalled() {
		return r
	}
	return fleet.ReasonAccessBack // which of the two is the right one, a person must say
}

// ClearUp says why nothing may be removed that lies beside the machine's instance. Leftovers of a removed machine are
// ours to remove.
func ClearUp(m *belief.Machine, s *Situation) fleet.Reason {
	return anyStep(m, s, Surplus(m, &s.Spec) && !m.Current.None(), false)
}

// Unfinished says why not even a step under way may go on, which a hold, the brake or the time of day lets finish.
func Unfinished(m *belief.Machine, s *Situation) fleet.Reason {
	return unsafe(m, s, Surplus(m, &s.Spec) && !m.Current.None(), false)
}

// unsafe says what of the picture forbids to act on it. What sets a machine going rests on nothing that hale sees by
// itself.
func unsafe(m *belief.Machine, s *Situation, surplus, revives bool) fleet.Reason {
	switch {
	case m.Current.Candidate():
		return fleet.ReasonCandidate
	case surplus:
		return fleet.ReasonSurplus
	case stranded(m, s):
		return fleet.ReasonHostDown
	}
	if r := Untouchable(m, s); r != "" {
		return r
	}
	if r := sightReason(m, s); r != "" && (!revives || cutOff(s)) {
		return r
	}
	if !s.Now.Due(s.SteadyAt) {
		return fleet.ReasonAmnesty
	}
	return ""
}

func anyStep(m *belief.Machine, s *Situation, surplus, revives bool) fleet.Reason {
	if r := AnyCall(s); r != "" {
		return r
	}
	if HoldOn(m, s) != nil {
		return fleet.ReasonHold
	}
	if r := unsafe(m, s, surplus, revives); r != "" {
		return r
	}
	switch {
	case s.Brake.On() && (s.Brake.By != "" || !revives):
		return fleet.ReasonBrake
	case s.Closed && !m.Ordered(s.Now) && !onChore(m, s):
		return fleet.ReasonWindow
	case !revives && !onChore(m, s):
		return noWitness(m, s)
	}
	return ""
}

// Sightless reports whether the fault is, or may be, hale's own: what the checks say of the machines counts for
// nothing.
func Sightless(s *Situation) bool { return s.Whole.Doubt.Reason != "" && s.Whole.Doubt.CalmSince == 0 }

// cutOff reports whether canaries say that hale itself is cut off: then nothing could be seen healthy again. Where its
// sight is in doubt only since machines are silent, what is off, as the provider says, is started all the same.
func cutOff(s *Situation) bool { return s.Whole.Doubt.Reason == fleet.ReasonVantageIsolated }

// sightReason says why hale does not trust its own eyes. After a doubt, everything is judged afresh first.
func sightReason(m *belief.Machine, s *Situation) fleet.Reason {
	switch {
	case Sightless(s):
		return s.Whole.Doubt.Reason
	case s.Whole.Doubt.Reason != "":
		return fleet.ReasonAmnesty
	case s.Vantage.Standing == fleet.VantageUnknown && m.Health.Cause == belief.CauseChecks:
		return fleet.ReasonVantageDoubtful
	}
	return ""
}

// SharedFate says whether an open parent incident holds the step back. What the provider itself calls stopped may be
// started: the common cause has evidently left it so, and there is nothing running that a start could harm. Nothing is
// destroyed under a parent, unless it is gone already, or the policy is to evacuate and the time for it has come.
func SharedFate(m *belief.Machine, s *Situation, step fleet.StepKind) fleet.Reason {
	p := Parent(m, s)
	switch {
	case p == nil:
		return ""
	case step == fleet.StepRecreate && (m.Health.Cause == belief.CauseGone || Evacuating(m, p, s)):
		return ""
	case step != fleet.StepRecreate && step != "" && m.Health.Cause.Stopped():
		return ""
	}
	return fleet.ReasonSharedFate
}

// Parent returns the open parent incident that the machine's incident hangs under, or nil.
func Parent(m *belief.Machine, s *Situation) *belief.Parent {
	if m.Incident == nil {
		return nil
	}
	return s.Whole.Parent(m.Incident.Parent)
}

// Leaving reports whether the parent's machines are to be built anew elsewhere by now, be there an elsewhere or not.
func Leaving(p *belief.Parent, s *Situation) bool {
	shared := s.Spec.SharedFate
	return shared.Then == policy.FateEvacuate && s.Now.Due(p.Since.Add(shared.Wait))
}

// Evacuating reports whether the machine, one of the parent's, is to be built anew elsewhere by now, and there is an
// elsewhere for it.
func Evacuating(m *belief.Machine, p *belief.Parent, s *Situation) bool {
	if !Leaving(p, s) {
		return false
	}
	for _, h := range s.Hosts {
		if h.Up && p.Domain.Spares(h) && m.Reaches(h) {
			return true
		}
	}
	return false
}

// stranded reports whether the host that the machine's instance lies on does not answer, and nothing can prove it off.
func stranded(m *belief.Machine, s *Situation) bool {
	if m.Current.None() {
		return false
	}
	h, dead := DeadHost(m.Current.Host, s)
	return dead && !Fenceable(h, s)
}

// strandedOn reports whether the host that the machine's instance lies on does not answer.
func strandedOn(m *belief.Machine, s *Situation) bool {
	_, dead := DeadHost(m.Current.Host, s)
	return dead && !m.Current.None()
}

// Revives reports whether the step sets the machine going, which does not run: its provider says so, on a host that
// answers. There is nothing that it could harm, so that neither what hale sees nor how much fails at once speaks
// against it.
func Revives(m *belief.Machine, s *Situation, step fleet.StepKind) bool {
	return step.Revives() && m.Health.Cause.Stopped() && !m.Current.None() && !strandedOn(m, s)
}

// Place says why the machine's repair may not go on to a step that is more than a start: only now does it need a place
// in the budgets.
func Place(m *belief.Machine, s *Situation) fleet.Reason {
	switch {
	case s.Tally.InRepair >= s.Spec.Places() || SharedBudget(m, s) != nil:
		return fleet.ReasonBudget
	case m.Ordered(s.Now):
	case tooMany(s):
		return fleet.ReasonRepairRate
	}
	return ""
}

// tooMany reports whether as many repairs have begun within the policy's time as may.
func tooMany(s *Situation) bool {
	l, begun := s.Spec.Limits, s.Whole.Begun
	return l.Repairs > 0 && len(begun) >= l.Repairs && !s.Now.Due(begun[len(begun)-l.Repairs].Add(l.RepairsIn))
}

// CountRepair counts a repair that just began to be more than a start, for the policy's rate.
func CountRepair(was, is *belief.Repair, s *Situation) {
	counts := func(r *belief.Repair) bool { return r != nil && r.Kind == belief.RepairHeal && r.Budgeted() }
	l := &s.Spec.Limits
	if l.Repairs == 0 || !counts(is) || counts(was) && was.ID == is.ID {
		return
	}
	s.Whole.Begun = append(s.Whole.Begun, s.Now.Mono)
	s.Whole.Begun = s.Whole.Begun[max(0, len(s.Whole.Begun)-l.Repairs):]
}

// NewRepair says why no repair may begin for a machine with an open incident, which would begin with the step.
func NewRepair(m *belief.Machine, s *Situation, step fleet.StepKind) fleet.Reason {
	revives := Revives(m, s, step)
	if r := notToHeal(m, s, revives); r != "" {
		return r
	}
	if r := anyRung(m, s, revives); r != "" {
		return r
	}
	switch {
	case undecided(m, s):
		return fleet.ReasonUndecided
	case m.Ordered(s.Now): // neither attempts nor backoff
	case Spent(m, s) && Parent(m, s) == nil:
		return fleet.ReasonAttempts
	case m.RetryAt != 0 && !s.Now.Due(m.RetryAt):
		return fleet.ReasonBackoff
	}
	switch {
	case !revives:
		return Place(m, s)
	case Starting(m, s) != nil:
		return fleet.ReasonStarts
	}
	return ""
}

// notToHeal says why the machine as it stands is no case for a repair, unless a person's order says that it is.
func notToHeal(m *belief.Machine, s *Situation, revives bool) fleet.Reason {
	ordered := m.Ordered(s.Now)
	switch {
	case m.Quarantine != nil:
		return fleet.ReasonQuarantined
	case m.Incident.Blind():
		return fleet.ReasonBlind
	case !ordered && LeftAlone(m.Health.Cause, &s.Spec):
		return WhyLeftAlone(m.Health.Cause)
	case Sightless(s) && (!revives || cutOff(s)):
		return s.Whole.Doubt.Reason
	case ordered:
	case m.Health.Unproven():
		return fleet.ReasonUnproven
	case m.Health.Muted() && !m.Current.Expired:
		return fleet.ReasonNotEvery
	case m.Health.Verdict == belief.VerdictUnknown && !m.Current.Expired:
		return fleet.ReasonBlind
	case m.Health.Verdict != belief.VerdictUnhealthy && !m.Current.Expired:
		return fleet.ReasonRecovering
	}
	return ""
}

// Recent returns the starts of the machine's repairs within the policy's window, oldest first.
func Recent(m *belief.Machine, s *Situation) []fleet.Instant {
	var recent []fleet.Instant
	for _, a := range m.Attempts {
		if !s.Now.Due(a.Add(s.Spec.Repair.AttemptsIn)) {
			recent = append(recent, a)
		}
	}
	return recent
}

// Spent reports whether the machine had as many repairs within the window as the policy allows, be it that they failed,
// or that each helped for a while only.
func Spent(m *belief.Machine, s *Situation) bool {
	return s.Spec.Repair.Attempts > 0 && len(Recent(m, s)) >= s.Spec.Repair.Attempts
}

// FailsSince returns from when on the machine's failure stands beside what others show: since it failed, or, of one in
// repair, since its rung looks at it. That is the failure that the next call rests on, and others may fail since.
func FailsSince(m *belief.Machine) fleet.Instant {
	if r := m.Repair; r != nil && r.Phase == belief.PhaseLook {
		return max(m.Health.SinceMono, r.Since)
	}
	return m.Health.SinceMono
}

// AskedUntil returns until when it is waited for those near a machine that are asked since it failed. An answer that
// never comes holds nothing for ever (L8).
func AskedUntil(m *belief.Machine, spec *policy.Spec) fleet.Instant {
	return FailsSince(m).Add(2 * SettleTime(*spec))
}

// unclear reports whether suspects may yet engage the brake, or show that the machine shares its fate with others. They
// get the time that their checks need to decide.
func unclear(m *belief.Machine, s *Situation) bool {
	most := max(BrakeLimit(s.Spec.Limits.Brake, s.Tally.Size), s.Brake.Excused)
	own := Tally{Rest: s.Tally.Rest}
	if own.Add(m, &s.Spec); own.Failing == 0 && s.Tally.Failing+1 > most {
		return true // a dead build counts for nothing until it is in repair: with it, more would fail than may (L6)
	}
	if s.Tally.Failing+s.Tally.Freed > most {
		return true // since the brake was judged: it engages in the next round
	}
	storm := s.Tally.Failing+s.Tally.Suspect > most
	fated := s.Fated && !m.Health.Cause.Stopped()
	if s.Unasked && !m.Health.Cause.Stopped() && !s.Now.Due(AskedUntil(m, &s.Spec)) {
		return true
	}
	return (storm || fated) && !s.Now.Due(FailsSince(m).Add(SettleTime(s.Spec)))
}

// undecided reports whether a check that decides on the ladder's steps may yet turn out to be down: of a machine that
// dies they do not all tell at once, and what is for the first one alone would be the wrong thing to do.
func undecided(m *belief.Machine, s *Situation) bool {
	v := s.View
	if v == nil || m.Health.Cause != belief.CauseChecks || v.Epoch != m.Epoch ||
		s.Now.Due(m.Health.SinceMono.Add(SettleTime(s.Spec))) {
		return false
	}
	for i := range s.Spec.Repair.Steps {
		for _, name := range s.Spec.Repair.Steps[i].For {
			if slices.ContainsFunc(v.Checks, func(c fleet.CheckState) bool {
				return c.Check == name &&
					c.Standing != fleet.StandingDown
			}) {
				return true
			}
		}
	}
	return false
}

// NewBuild says why the first instance of a machine may not be built. After a failed build the machine has an incident,
// and it is NewRepair that is asked.
func NewBuild(m *belief.Machine, s *Situation) fleet.Reason {
	r := AnyStep(m, s)
	if r != "" && r != fleet.ReasonBrake && r != fleet.ReasonWindow && (r != fleet.ReasonAmnesty ||
		s.Provider.Standing == fleet.ProviderUnknown) {
		return r
	}
	switch {
	case s.Brake.On() && s.Brake.By != "": // a person put it on
		return fleet.ReasonBrake
	case AnyRolled(s) != "":
		return AnyRolled(s)
	case len(s.Unready) > 0:
		return fleet.ReasonAfter
	case len(s.Whole.Foreign) > 0:
		return fleet.ReasonInstallation
	case s.Tally.InBuild >= s.Spec.Limits.InBuild:
		return fleet.ReasonBuildBudget
	}
	return ""
}

// NewChange says why a wanted change of the machine may not begin. It books in the same ledger as healing: together
// with what fails, or is under way on others, it stays within the budget. While a call to build the machine may yet
// be carried out, nothing else takes or gives up its place (L1).
func NewChange(m *belief.Machine, s *Situation) fleet.Reason {
	if r := AnyStep(m, s); r != "" {
		return r
	}
	if m.Anchor != nil && !s.Now.Due(m.Anchor.Until) {
		return fleet.ReasonLateCall
	}
	own := Tally{Rest: s.Tally.Rest}
	own.Add(m, &s.Spec)
	if s.Tally.Failing+s.Tally.Changing-own.Failing-own.Changing >= s.Spec.Places() || SharedBudget(m, s) != nil {
		return fleet.ReasonBudget
	}
	return ""
}

// Surplus reports whether the machine is beyond the desired size. Of a fleet that selects, that is what it does not
// have in its care: candidates, and places without an instance.
func Surplus(m *belief.Machine, spec *policy.Spec) bool {
	if spec.Adopt.Selects() {
		return m.Current.Candidate() || m.Vacant()
	}
	n, _ := m.Name.Ordinal()
	return !spec.Has(n)
}

// LeftAlone reports whether the cause is a person's doing that the policy leaves alone (L10), or one that only a person
// may mend: a paused machine goes on where it was or not at all, so that without the step resume it is left as it is;
// and one that could not write its disk is not resumed blindly; and what was rescued is in a person's hands, also when
// hale rescued it.
func LeftAlone(c belief.Cause, spec *policy.Spec) bool {
	switch c {
	case belief.CauseParked, belief.CauseSpareOff:
		return true
	case belief.CauseStopped, belief.CauseShutdown:
		return spec.Repair.OnExternalStop != policy.ExternalStopHeal
	case belief.CausePaused:
		return spec.Repair.OnExternalStop != policy.ExternalStopHeal || !spec.Repair.Has(fleet.StepResume)
	case belief.CauseSuspended:
		return !spec.Repair.Has(fleet.StepResume)
	case belief.CauseIOError, belief.CauseRescued:
		return true
	default:
		return false
	}
}

// WhyLeftAlone is the reason for which a machine waits that fails for the cause, and is left alone.
func WhyLeftAlone(c belief.Cause) fleet.Reason {
	switch c {
	case belief.CauseParked:
		return fleet.ReasonParked
	case belief.CauseSpareOff:
		return fleet.ReasonSpareOff
	case belief.CauseShutdown:
		return fleet.ReasonShutDown
	case belief.CausePaused:
		return fleet.ReasonPaused
	case belief.CauseSuspended:
		return fleet.ReasonSuspended
	case belief.CauseIOError:
		return fleet.ReasonIOError
	case belief.CauseRescued:
		return fleet.ReasonRescued
	default:
		return fleet.ReasonStoppedByPerson
	}
}

// Counts reports whether the machine counts as failing: a person's stop that is left alone does not (L10), nor does one
// in quarantine, which a person was told of and which would hold all others for as long as it lies there; a machine in
// repair does (L5), and one that cannot write its disk, or that failed and was rescued, fails, although only a person
// can mend it.
func Counts(m *belief.Machine, spec *policy.Spec) bool {
	if m.Repair != nil && m.Repair.Kind == belief.RepairHeal {
		return true
	}
	if m.Repair != nil && m.Repair.Wanted() {
		return false // what it looks like is our own doing
	}
	if m.Quarantine != nil {
		return false
	}
	return m.Health.Verdict == belief.VerdictUnhealthy &&
		(m.Health.Cause == belief.CauseIOError || m.Rescued() || !LeftAlone(m.Health.Cause, spec))
}

// Count tallies the fleet.
func Count(spec policy.Spec, all *belief.Whole, machines []situation.View) Tally {
	t := Tally{Size: spec.Size, Rest: all}
	for i := range machines {
		t.Add(&machines[i].Machine, &spec)
	}
	return t
}

// Add counts one machine.
func (t *Tally) Add(m *belief.Machine, spec *policy.Spec) { t.count(m, spec, 1) }

// Follow counts one more machine, as Add does, and notes whether it came to fail since it was as before.
func (t *Tally) Follow(before, m *belief.Machine, spec *policy.Spec) {
	failing, was := t.Failing, Tally{Rest: t.Rest}
	if t.Add(m, spec); t.Failing > failing {
		was.Add(before, spec)
		t.Rose = t.Rose || was.Failing == 0
	}
}

// Remove takes one machine out of the count, as it was added.
func (t *Tally) Remove(m *belief.Machine, spec *policy.Spec) { t.count(m, spec, -1) }

func (t *Tally) count(m *belief.Machine, spec *policy.Spec, by int) {
	if m.Repair == nil && m.Health.Verdict != belief.VerdictUnhealthy && m.Health.Verdict != belief.VerdictSuspect {
		return // before its number is read: most machines are well
	}
	if Surplus(m, spec) || AtRest(m, t.Rest) {
		return
	}
	if Counts(m, spec) {
		t.Failing += by
	} else if m.Health.Verdict == belief.VerdictSuspect {
		t.Suspect += by
	}
	if m.Repair == nil {
		return
	}
	if m.Repair.Budgeted() {
		t.InRepair += by
	}
	if m.Repair.Kind.Ordered() {
		t.Changing += by
	}
	if m.Repair.Kind == belief.RepairBuild {
		t.InBuild += by
	}
}
