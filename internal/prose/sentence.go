package prose

import (
	"fmt"
	"math"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// Sentence says what the record says, in one line without a full stop.
func Sentence(r record.Record) string {
	if tell, ok := sentences[r.Kind]; ok {
		return tell(r) + again(r)
	}
	return about(r) + ": " + string(r.Kind)
}

var sentences = map[record.Kind]func(record.Record) string{
	record.Verdict:        verdict,
	record.Address:        address,
	record.IncidentOpen:   incidentOpen,
	record.IncidentClosed: incidentClosed,
	record.ParentOpen:     parentOpen,
	record.ParentClosed:   parentClosed,
	record.ChildJoined:    childJoined,
	record.ChildReleased:  childReleased,
	record.Held:           held,
	record.RepairStarted:  repairStarted,
	record.RepairEnded:    repairEnded,
	record.StepChosen:     stepChosen,
	record.StepSkipped:    stepSkipped,
	record.StepFailed:     stepFailed,
	record.Look:           look,
	record.Evidence:       evidence,
	record.Snapshot:       snapshot,
	record.Intent:         intent,
	record.Outcome:        outcome,
	record.Output:         output,
	record.HookBegun:      hookBegun,
	record.HookOver:       hookOver,
	record.PoolLeft:       poolLeft,
	record.Proof:          proof,
	record.Verified:       verified,
	record.Certified:      certified,
	record.Quarantined:    quarantined,
	record.QuarantineOver: quarantineOver,
	record.Paged:          paged,
	record.Reminded:       reminded,
	record.JointOver:      jointOver,
	record.Notified:       notified,
	record.Undelivered:    undelivered,
	record.Remnant:        remnant,
	record.Check:          checkNews,
	record.HostStands:     hostStands,
	record.Summary:        summary,
	record.Warning:        warning,
	record.WarningOver:    warningOver,
	record.Brake:          brake,
	record.Provider:       providerNews,
	record.Vantage:        vantageNews,
	record.Owner:          owner,
	record.Order:          order,
	record.Found:          found,
	record.HoldBegun:      holdBegun,
	record.HoldEnded:      holdEnded,
	record.Adoption:       adoption,
	record.Change:         wantedChange,
	record.Size:           size,
	record.Metric:         metric,
	record.HostProof:      hostProof,
	record.HostCut:        hostCut,
	record.HostUncut:      hostUncut,
	record.LeftBehind:     leftBehind,
	record.Contest:        contest,
	record.Store:          storeNews,
	record.Defect:         defectFound,
	record.DefectOver:     defectOver,
}

// about names what the record is about.
func about(r record.Record) string {
	switch {
	case r.Machine != "":
		return Called(r.Machine, r.Alias)
	case r.Kind == record.Provider && r.Provider != "":
		return "provider " + string(r.Provider)
	}
	return "fleet " + string(r.Fleet)
}

// atStep names the machine and, where there is one, the step under way.
func atStep(r record.Record) string {
	if r.Step == "" {
		return about(r)
	}
	return about(r) + ", " + stepName(r)
}

// stepName is the step's name; a first build is at no step of the ladder, although it does what recreate does.
func stepName(r record.Record) string {
	if r.Step == fleet.StepRecreate && r.Incident == "" {
		return "build"
	}
	return string(r.Step)
}

// Because joins a statement and what explains it; empty explanations are left out.
func Because(statement string, explanations ...string) string {
	said := statement
	for _, e := range explanations {
		if e != "" {
			said += ": " + e
		}
	}
	return said
}

// Aside appends a detail in brackets, unless there is none.
func Aside(statement, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return statement
	}
	return statement + " (" + detail + ")"
}

func after(r record.Record) string {
	if r.Took <= 0 {
		return ""
	}
	return " after " + Span(r.Took)
}

// instance names the record's instance, its generation and host.
func instance(r record.Record) string {
	if r.Instance == "" {
		return "no instance"
	}
	said := "instance " + Instance(r.Instance)
	if r.Generation != 0 {
		said += fmt.Sprintf(" (generation %d)", r.Generation)
	}
	if r.Host != "" {
		said += " on host " + string(r.Host)
	}
	return said
}

// Finding says how one check stands, or answered: "check page: connection refused (detail)".
func Finding(name fleet.CheckName, result fleet.ResultReason, detail string) string {
	if name == "" {
		return ""
	}
	return Aside("check "+string(name)+": "+words.Result(result), detail)
}

func verdict(r record.Record) string {
	if r.Cause.Parked() {
		return Because(about(r)+" is off", words.Cause(r.Cause))
	}
	said := about(r) + " is " + words.Verdict(r.Verdict)
	finding := Finding(r.Check, r.Result, r.Detail)
	switch r.Verdict {
	case belief.VerdictHealthy:
		return said
	case belief.VerdictStarting:
		return Because(said, finding)
	case belief.VerdictSuspect:
		if finding == "" {
			finding = "the provider and the checks disagree"
		}
		return Because(said, finding)
	case belief.VerdictUnhealthy, belief.VerdictUnknown:
	}
	if words.Cause(r.Cause) == "" && finding == "" {
		return Because(said, "nothing was heard of it yet")
	}
	return Because(said, words.Cause(r.Cause), finding)
}

func address(r record.Record) string {
	if !r.Address.IsValid() {
		return about(r) + ": the provider names no address; the last known one stays probed"
	}
	return fmt.Sprintf("%s has the address %s", about(r), r.Address)
}

func incidentOpen(r record.Record) string {
	return Because(about(r)+": incident "+r.Incident+" is open", words.Cause(r.Cause), Finding(r.Check, r.Result, ""))
}

func incidentClosed(r record.Record) string {
	return Because(about(r)+": incident "+r.Incident+" is closed"+after(r), words.Reason(r.Reason))
}

func held(r record.Record) string {
	why := words.Reason(r.Reason)
	switch {
	case r.Reason == fleet.ReasonBrake && r.By != "":
		why, r.Detail = ByHand(r.By, r.Detail), ""
	case r.Reason == fleet.ReasonBrake:
		why, r.Detail = arithmetic(r), ""
	case r.Scope != "":
		why, r.Detail = "as many machines are in repair as may be", SharedBudget(r.Scope, r.Detail, r.Failing, r.Limit)
	case r.Reason == fleet.ReasonSharedFate && r.Parent != "":
		why += fmt.Sprintf(" (incident %s, %s)", r.Parent, share(r))
	default:
	}
	said := about(r) + " is held: " + Aside(why, r.Detail)
	switch {
	case r.Step != "" && stepName(r) == string(r.Step):
		said += "; else hale would " + words.Step(r.Step)
	case r.Step != "":
		said += "; else hale would build it"
	}
	return said
}

// share says how much of a domain fails.
func share(r record.Record) string {
	if len(r.Domains) > 0 {
		return fmt.Sprintf("%d of %d machines there fail", r.Failing, r.Size)
	}
	return fmt.Sprintf("%d of %d machines on %s fail", r.Failing, r.Size, words.Domain(r.Domain))
}

func parentOpen(r record.Record) string {
	said := fmt.Sprintf("%s: incident %s is open: %s, too many together", about(r), parent(r), share(r))
	return Aside(said, odds(r.Chance))
}

// odds says how unlikely the failures are without a common cause.
func odds(chance float64) string {
	switch {
	case chance <= 0:
		return ""
	case chance >= 1e-4:
		return fmt.Sprintf("1 in %.0f by chance", 1/chance)
	}
	return fmt.Sprintf("1 in 10^%.0f by chance", math.Floor(-math.Log10(chance)))
}

func parent(r record.Record) string {
	if r.Parent == "" {
		return "of a domain"
	}
	return r.Parent
}

// Parent says what a parent incident is about: how much of its domain fails, and how unlikely that is by chance.
func Parent(p belief.Parent) string {
	return Aside(fmt.Sprintf("%d of %d machines on %s fail", p.Failing, p.Members, words.Domain(p.Domain)),
		odds(p.Chance))
}

func parentClosed(r record.Record) string {
	why := "what is left of the failures is no more than chance"
	if r.Reason == fleet.ReasonSuperseded {
		why = words.Reason(r.Reason)
	}
	return Because(fmt.Sprintf("%s: incident %s on %s is closed%s", about(r), parent(r), words.Domain(r.Domain),
		after(r)),
		why)
}

func childJoined(r record.Record) string {
	return fmt.Sprintf("%s shares the fate of %s: its incident belongs to %s", about(r), words.Domain(r.Domain),
		parent(r))
}

func childReleased(r record.Record) string {
	return fmt.Sprintf("%s: its incident stands alone again, and it is judged afresh", about(r))
}

// arithmetic is the brake's.
func arithmetic(r record.Record) string {
	if r.Failing <= r.Limit {
		return Failing(r.Failing, r.Size, r.Scope, r.Detail) + ", and the brake is still on"
	}
	return fmt.Sprintf("%s, the brake engages above %d", Failing(r.Failing, r.Size, r.Scope, r.Detail), r.Limit)
}

func repairStarted(r record.Record) string {
	kind := belief.RepairKind(r.Reason)
	if r.Reason == fleet.ReasonKeepOver {
		return fmt.Sprintf("%s: hale removes the old %s, which was kept for %s (%s)", about(r), instance(r),
			Span(r.Took), r.Repair)
	}
	if r.Reason == fleet.ReasonHostBack {
		return fmt.Sprintf("%s: hale removes the old instance that was left on its host, which is back (%s)", about(r),
			r.Repair)
	}
	switch kind {
	case belief.RepairUndo:
		return fmt.Sprintf("%s: hale brings %s back, by order of %s (%s)", about(r), instance(r), giver(r), r.Repair)
	case belief.RepairBuild:
		return fmt.Sprintf("%s: hale builds its instance (%s)", about(r), r.Repair)
	case belief.RepairRemove:
		return Because(fmt.Sprintf("%s: hale removes the machine, by order of %s (%s)", about(r), giver(r), r.Repair),
			words.Reason(fleet.Reason(r.Detail)))
	case belief.RepairUpdate:
		return changed(r)
	case belief.RepairReplace:
		return fmt.Sprintf("%s: hale replaces %s with a new instance, by order of %s (%s)", about(r), instance(r),
			giver(r), r.Repair)
	case belief.RepairOperate:
		return operated(r)
	case belief.RepairTidy:
		return fmt.Sprintf("%s: hale removes the copy %s of the disks of %s (%s)", about(r), r.Snapshot, instance(r),
			r.Repair)
	case belief.RepairRemnant:
		return fmt.Sprintf("%s: hale removes what an unfinished build left (%s)", about(r), r.Repair)
	case belief.RepairHeal:
		if r.Detail == string(fleet.ReasonStandsStill) {
			return Because(fmt.Sprintf("%s: repair %s begins", about(r), r.Repair), words.Cause(r.Cause)) + "; " +
				words.Reason(fleet.ReasonStandsStill)
		}
	}
	return Because(fmt.Sprintf("%s: %s %s begins", about(r), words.RepairKind(kind), r.Repair), words.Cause(r.Cause))
}

func repairEnded(r record.Record) string {
	return Because(fmt.Sprintf("%s: %s ended%s", about(r), r.Repair, after(r)), words.Reason(r.Reason))
}

func stepChosen(r record.Record) string {
	return fmt.Sprintf("%s: the next step is %s, to %s", about(r), r.Step, words.Step(r.Step))
}

func stepSkipped(r record.Record) string {
	return fmt.Sprintf("%s: step %s does not apply: %s", about(r), r.Step, Aside(words.Reason(r.Reason), r.Detail))
}

func stepFailed(r record.Record) string {
	return fmt.Sprintf("%s: step %s failed: %s", about(r), stepName(r), Aside(words.Reason(r.Reason), r.Detail))
}

func look(r record.Record) string {
	seen := Finding(r.Check, r.Result, r.Detail)
	if seen == "" && r.Detail != "" {
		seen = "the provider says it is " + words.Power(fleet.Power(r.Detail))
	}
	return Because(atStep(r), Because(words.Reason(r.Reason), seen))
}

func intent(r record.Record) string {
	if r.Op == fleet.OpRun {
		return fmt.Sprintf("%s: hale runs the command for %s", atStep(r), instance(r))
	}
	if r.Op == fleet.OpHook {
		return fmt.Sprintf("%s: hale runs %s", about(r), Hook(r.Hook))
	}
	if r.Op == fleet.OpFence {
		return fmt.Sprintf("%s: the host does not answer, and hale has its %s cut, to be sure of %s", atStep(r),
			cutOf(r), instance(r))
	}
	return fmt.Sprintf("%s: hale asks the provider to %s %s", atStep(r), words.Op(r.Op), instance(r))
}

func outcome(r record.Record) string {
	ended := words.Outcome(r.Outcome)
	if r.Op == fleet.OpFence {
		return fenceOutcome(r)
	}
	if r.Op == fleet.OpHook {
		return hookOutcome(r)
	}
	said := fmt.Sprintf("%s: %s %s: %s", atStep(r), words.Op(r.Op), instance(r), ended)
	return Aside(said+after(r), r.Detail)
}

// output is a piece of what a command said, on one line.
func output(r record.Record) string {
	return Because(atStep(r)+": it says", strings.Join(strings.FieldsFunc(r.Detail,
		func(c rune) bool { return c == '\n' }), " | "))
}

// snapshot is about a copy of an instance's disks.
func snapshot(r record.Record) string {
	if r.Reason == fleet.ReasonRemoved {
		return Because(fmt.Sprintf("%s: the copy %s of the disks of %s is removed", about(r), r.Snapshot, instance(r)),
			r.Detail)
	}
	size := ""
	if r.Bytes > 0 {
		size = ", " + Volume(r.Bytes)
	}
	return Because(fmt.Sprintf("%s: the disks of %s are copied (%s%s), for %s", atStep(r), instance(r), r.Snapshot,
		size, Span(r.Took)), r.Detail)
}

func proof(r record.Record) string {
	r.Host = ""
	return fmt.Sprintf("%s: the old %s is %s", atStep(r), instance(r), words.Proof(r.Proof))
}

func verified(r record.Record) string {
	said := about(r) + " is healthy" + after(r)
	if r.Address.IsValid() {
		said += " at " + r.Address.String()
	}
	if r.Step != "" {
		said += ": " + stepName(r) + " worked"
	}
	return said
}

func certified(r record.Record) string {
	return fmt.Sprintf("%s: %s is certified: hale finished building it and saw it healthy", about(r), instance(r))
}

func quarantined(r record.Record) string {
	detail := words.Reason(fleet.Reason(r.Detail)) // which may be a provider's own words
	return Because(about(r)+" is in quarantine, hale does not touch it", Aside(words.Reason(r.Reason), detail))
}

func quarantineOver(r record.Record) string {
	return Because(about(r)+" is out of quarantine", words.Reason(r.Reason), Finding(r.Check, r.Result, ""))
}

func paged(r record.Record) string {
	if r.Joint != "" {
		return pagedJointly(r, "a person must look at ")
	}
	if r.Reason == fleet.ReasonUnproven || r.Reason == fleet.ReasonRolloutHeld {
		return Because("a person must look at "+subjectOfPage(r), whyPaged(r))
	}
	detail := r.Detail
	if r.Scope != "" {
		detail = "" // it is the scope's name, which is said
	}
	if len(r.Of) > 0 {
		detail = named(r)
	}
	why := Aside(whyPaged(r), detail)
	if sick := words.Cause(r.Cause); sick != "" && ladder[r.Reason] {
		why = sick + "; " + why
	}
	return Because("a person must look at "+subjectOfPage(r), why)
}

func whyPaged(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonUnproven:
		return Unproven(testedOf(r), r.At)
	case fleet.ReasonBrake:
		if r.By != "" {
			return ByHand(r.By, r.Detail)
		}
		return arithmetic(r)
	case fleet.ReasonSharedFate:
		return share(r)
	case fleet.ReasonVantageDoubtful:
		return silence(r)
	case fleet.ReasonShort:
		return shortfall(r)
	case fleet.ReasonRestStays:
		return Because(words.Reason(r.Reason), instance(r))
	case fleet.ReasonRolloutHeld:
		return Because(words.Reason(r.Reason), words.Reason(fleet.Reason(r.Detail)))
	case fleet.ReasonHostReboots:
		return rebooted(r)
	case fleet.ReasonTargetPanicked, fleet.ReasonCheckPanicked: // which one
		return panicked(r) + " panicked, " + words.Reason(r.Reason)
	default:
		return words.Reason(r.Reason)
	}
}

func reminded(r record.Record) string {
	if r.Joint != "" {
		return pagedJointly(r, "a person must still look at ")
	}
	return Because("a person must still look at "+subjectOfPage(r)+after(r), whyPaged(r))
}

func notified(r record.Record) string {
	said := fmt.Sprintf("%s: %s took the message (%s)", about(r), targetOf(r), words.Event(r.Event))
	if r.Tries > 1 {
		said += fmt.Sprintf(" at try %d", r.Tries)
	}
	return said
}

func undelivered(r record.Record) string {
	said := fmt.Sprintf("%s: %s did not take the message (%s)", about(r), targetOf(r), words.Event(r.Event))
	if r.Tries > 0 {
		said += fmt.Sprintf(" in %d tries", r.Tries)
	}
	return Because(said+", and it is a dead letter", Aside(words.Reason(r.Reason), r.Detail))
}

func targetOf(r record.Record) string {
	if r.Target == "" {
		return "the target"
	}
	return string(r.Target)
}

// subjectOfPage is the provider, or the domain, where the page is about it.
func subjectOfPage(r record.Record) string {
	if r.Machine == "" && !r.Domain.None() {
		return words.Domain(r.Domain)
	}
	if r.Machine == "" && r.Metric != "" {
		return "metric " + string(r.Metric) + " of " + about(r)
	}
	if r.Machine == "" && r.Reason == fleet.ReasonBrake && r.Scope != "" {
		return scope(r.Scope, r.Detail)
	}
	if r.Machine == "" && r.Provider != "" && (r.Reason == fleet.ReasonDown ||
		r.Reason == fleet.ReasonProviderDoubtful) {
		return "provider " + string(r.Provider)
	}
	if r.Reason == fleet.ReasonStoreFull || r.Reason == fleet.ReasonStoreDown || r.Reason == fleet.ReasonStoreLow ||
		r.Reason == fleet.ReasonStoreLost {
		return "hale's store"
	}
	return about(r)
}

func remnant(r record.Record) string {
	if r.Reason == fleet.ReasonSecondRunning {
		return fmt.Sprintf("%s: %s bears its mark too; hale leaves both alone", about(r), instance(r))
	}
	if r.Reason == fleet.ReasonFound {
		return fmt.Sprintf("%s: %s is there: %s", about(r), instance(r), words.Reason(r.Reason))
	}
	return fmt.Sprintf("%s: %s is what an unfinished build left, and will be removed", about(r), instance(r))
}

func brake(r record.Record) string {
	if r.By != "" && r.Reason == fleet.ReasonReleased {
		return Aside(fmt.Sprintf("%s: %s takes the brake off: %d of %d machines fail", about(r), r.By, r.Failing,
			r.Size), r.Detail)
	}
	if r.By != "" {
		return Aside(fmt.Sprintf("%s: %s puts the brake on: no repair begins", about(r), r.By), r.Detail)
	}
	if r.Reason == fleet.ReasonReleased {
		return fmt.Sprintf("%s: the brake is released: %s", about(r), Failing(r.Failing, r.Size, r.Scope, r.Detail))
	}
	return fmt.Sprintf("%s: the brake is on: %s; no repair begins", about(r), arithmetic(r))
}

func providerNews(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonDown:
		return Aside(about(r)+" does not answer; its machines are only probed", r.Detail)
	case fleet.ReasonProviderDoubtful:
		return Aside(about(r)+" is another one than before; nothing is touched", r.Detail)
	default:
		return Because(about(r), words.Reason(r.Reason))
	}
}

// silence is what makes hale doubt its own sight.
func silence(r record.Record) string {
	if r.Failing == 0 {
		return words.Reason(r.Reason)
	}
	return fmt.Sprintf("%d of %d machines fall silent at once, while the provider says that they run", r.Failing,
		r.Size)
}

func vantageNews(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonVantageIsolated:
		return Because(about(r)+": the checks count for nothing, and no repair begins",
			Aside(words.Reason(r.Reason), r.Detail))
	case fleet.ReasonVantageDoubtful:
		return Because(about(r)+": hale doubts its own sight, and no repair begins", Aside(silence(r), r.Detail))
	default:
		return about(r) + ": hale trusts its own sight again" + after(r) + ", and has judged everything afresh"
	}
}

func owner(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonTookOver:
		if r.Size == 1 {
			return Because(about(r), fmt.Sprintf("server %s looks after its one machine and judges it afresh",
				r.Detail))
		}
		return Because(about(r), fmt.Sprintf("server %s looks after its %d machines and judges them afresh", r.Detail,
			r.Size))
	case fleet.ReasonActing:
		return Because(about(r), "hale acts again; it did not, because "+words.Reason(fleet.Reason(r.Detail)))
	default:
		return Because(about(r), words.Reason(r.Reason))
	}
}
