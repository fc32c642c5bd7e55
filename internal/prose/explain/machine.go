package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// Answer is the present state of one machine in words. Each line is a clause of its own.
type Answer struct {
	Because []string // the evidence behind the verdict
	Now     []string // what is being done, or why nothing is
	Person  []string // what a person can do
}

// explainer makes one.
type explainer struct {
	Answer
	fleet   fleet.Name
	foreign fleet.Installation // another installation that marked instances of the fleet
}

func explainerOf(f published.Fleet) *explainer {
	e := &explainer{fleet: f.Spec.Name}
	if known := f.Whole.Foreign; len(known) > 0 {
		e.foreign = known[0].Installation
	}
	return e
}

// Machine says why the machine is judged as it is, what is done about it and what is not.
func Machine(f published.Fleet, v situation.View) Answer {
	e := explainerOf(f)
	e.explainVerdict(f, v)
	e.explainWork(f, v)
	if len(e.Now) == 0 {
		e.Now = []string{"nothing to do"}
	}
	return e.Answer
}

func (e *explainer) explainVerdict(f published.Fleet, v situation.View) {
	h := v.Machine.Health
	if v.Machine.Vacant() && guard.Surplus(&v.Machine, &f.Spec) {
		e.Because = append(e.Because, "the fleet has no such machine now")
		return
	}
	if c := words.Cause(h.Cause); c != "" {
		e.Because = append(e.Because, c)
	}
	if beyond := MarkedBeyond(f, v); beyond != "" {
		e.Because = append(e.Because, beyond)
	}
	if v.Machine.Current.None() {
		return
	}
	if i := v.Machine.Current; i.Adopted && !i.Candidate() {
		e.Because = append(e.Because, adopted(i.Irreplaceable))
	}
	for _, c := range v.Checks {
		e.Because = append(e.Because, prose.StandsSince(c, f.Now))
		if t := f.Whole.Book.Of(c.Check); t != nil && !t.Proven() && c.Standing != fleet.StandingUp {
			e.Because = append(
				e.Because,
				prose.Unproven(*t, f.Now.Wall)+": its failures count for nothing until it does",
			)
		}
	}
	for _, c := range v.Tells {
		e.Because = append(e.Because, prose.StandsSince(c, f.Now)+", and only tells")
	}
	e.Because = append(e.Because, providersWord(f, v))
	if left := GraceLeft(&v.Machine, f.Now); left != "" {
		e.Because = append(e.Because, left)
	}
}

// adopted says what an adopted instance is to hale.
func adopted(kept bool) string {
	if kept {
		return "hale did not build it, and never destroys it"
	}
	return "hale did not build it, and may replace it"
}

func providersWord(f published.Fleet, v situation.View) string {
	if f.Provider.Standing != fleet.ProviderUp {
		return prose.Aside(
			fmt.Sprintf("provider %s %s", f.Spec.Provider, words.Provider(f.Provider.Standing)),
			f.Provider.Detail,
		)
	}
	seen := v.Sighting(v.Machine.Current.ID)
	if !seen.Known() {
		return "the provider said nothing of the instance yet"
	}
	said := "the provider says the instance is " + words.Power(seen.Instance.Power)
	if seen.Instance.Power != fleet.PowerRunning {
		said = prose.Aside(said, words.Stop(seen.Instance.Stop))
	}
	if seen.Instance.Address.IsValid() {
		said += " at " + seen.Instance.Address.String()
	}
	return said
}

func (e *explainer) explainWork(f published.Fleet, v situation.View) {
	m := v.Machine
	if f.Acting != "" {
		e.hold(f.Acting, f.Detail)
		e.explainIdle(f)
	}
	if m.Repair != nil {
		e.Now = append(e.Now, Work(*m.Repair, f.Now))
	}
	if q := m.Quarantine; q != nil {
		e.Now = append(
			e.Now,
			fmt.Sprintf("in quarantine for %s: %s", prose.Span(f.Now.Wall.Sub(q.Since)), words.Reason(q.Reason)),
		)
		if q.Stays {
			e.Now = append(e.Now, "it is kept from its users, however healthy it is, until a person has it "+
				"serve again: hale retry "+string(m.Name))
		}
		advice := cmp.Or(words.Advice(q.Reason), words.Advice(fleet.ReasonQuarantined))
		if e.advise(advice); !strings.Contains(advice, "hale retry") {
			e.advise("when it is mended: hale retry " + string(m.Name))
		}
		return
	}
	e.explainWorld(f, m)
	if m.Health.Unproven() && m.Waiting == "" {
		e.hold(fleet.ReasonUnproven, "")
	}
	e.explainHolds(f, &v.Machine)
	e.explainWaiting(f, v)
	e.explainSize(f, m)
	if len(m.Strays) > 0 {
		e.Now = append(e.Now, fmt.Sprintf("%d further instances bear its mark, the first is %s", len(m.Strays),
			prose.Instance(m.Strays[0].ID)))
	}
}

// explainIdle says since when hale does nothing, and what its verdicts are worth meanwhile.
func (e *explainer) explainIdle(f published.Fleet) {
	if !f.Idle.IsZero() {
		e.Now = append(e.Now, fmt.Sprintf("hale has not acted in this fleet since %s UTC",
			f.Idle.UTC().Format(time.DateTime)))
	}
	switch {
	case !f.AsOf.IsZero():
		e.Now = append(e.Now, fmt.Sprintf(
			"the verdict is stale: hale saw the machine so at %s UTC, and has not judged it since",
			f.AsOf.UTC().Format(time.DateTime)))
	case f.Acting == fleet.ReasonStoreFull:
		e.Now = append(e.Now, "the verdict is what hale sees now; what changed since then is not written down")
	}
}

func (e *explainer) explainWaiting(f published.Fleet, v situation.View) {
	m := v.Machine
	e.explainFate(f, &m)
	if m.Waiting == "" || m.Waiting == f.Acting {
		return
	}
	if m.Waiting != fleet.ReasonProtected && spared(f, &v) {
		e.hold(fleet.ReasonProtected, "")
	}
	switch {
	case m.Waiting == fleet.ReasonBrake && f.Brake.By != "":
		e.explainBrake(f)
	case m.Waiting == fleet.ReasonBackoff:
		e.explainRetry(&m, f.Now)
	default:
		e.hold(m.Waiting, waitingFor(f, v))
	}
}

// waitingFor says what ends the machine's waiting, or how much of it there is, where that is known.
func waitingFor(f published.Fleet, v situation.View) string {
	m := v.Machine
	switch m.Waiting {
	case fleet.ReasonBrake:
		return prose.Because(braked(f), BrakeEnds(f))
	case fleet.ReasonAmnesty:
		return AmnestyLeft(f)
	case fleet.ReasonBudget:
		if full := guard.SharedBudget(&m, &guard.Situation{State: f.State}); full != nil {
			return prose.SharedBudget(full.Limit.Scope, full.Name, full.Taken, full.Limit.InRepair)
		}
		return fmt.Sprintf("%d of %d", f.Tally.InRepair, f.Spec.Places())
	case fleet.ReasonRecovering:
		return Lacking(&f, v)
	case fleet.ReasonVantageIsolated, fleet.ReasonVantageDoubtful:
		return f.Vantage.Detail
	case fleet.ReasonAfter:
		return unready(f.Unready)
	case fleet.ReasonApproval:
		return asked(&f, &m)
	case fleet.ReasonStoreOlder:
		if o := f.Whole.Older; o != nil {
			return prose.Older(o)
		}
	case fleet.ReasonElsewhere:
		if c := m.Elsewhere; c != nil {
			return c.String()
		}
	case fleet.ReasonInstallation:
		if known := f.Whole.Foreign; len(known) > 0 {
			return prose.Foreign(known[0])
		}
	case fleet.ReasonStoppedByPerson, fleet.ReasonShutDown, fleet.ReasonPaused, fleet.ReasonSuspended,
		fleet.ReasonRescued:
		if i := m.Incident; i != nil && i.HoldUntil.After(f.Now.Wall) {
			return "a person is paged in " + prose.Span(i.HoldUntil.Sub(f.Now.Wall))
		}
	default:
	}
	return ""
}

// unready says how the fleets stand that come first and do not serve.
func unready(all []situation.Ahead) string {
	said := make([]string, len(all))
	for i, a := range all {
		if said[i] = fmt.Sprintf("fleet %s: %d of %d healthy", a.Fleet, a.Well, a.Size); !a.Known {
			said[i] = fmt.Sprintf("fleet %s: it was not heard of yet", a.Fleet)
		}
	}
	return strings.Join(said, ", ")
}

// asked says which step a person is asked about, and what follows without a word.
func asked(f *published.Fleet, m *belief.Machine) string {
	r := m.Repair
	if r == nil || r.Hooks == nil || r.Hooks.By == 0 {
		return ""
	}
	then := "it is left to a person"
	if belief.CurrentStep(f.Spec, *r).Approve.Otherwise == policy.UnapprovedGoOn {
		then = "hale does that"
	}
	return fmt.Sprintf("hale would %s; without a word in %s %s", words.Step(r.Step),
		prose.Span(max(0, r.Hooks.By.Sub(f.Now.Mono))), then)
}

// explainFate says which common cause the machine's incident hangs under.
func (e *explainer) explainFate(f published.Fleet, m *belief.Machine) {
	if m.Incident == nil {
		return
	}
	if p := f.Whole.Parent(m.Incident.Parent); p != nil {
		e.Now = append(e.Now, fmt.Sprintf("it shares the fate of %s: incident %s, open for %s: %s",
			words.Domain(p.Domain), p.ID, prose.Span(f.Now.Wall.Sub(p.Opened)), prose.Parent(*p)))
		e.explainPolicy(f, *p)
	}
}

// spared reports whether the machine is protected, and no step is gentle enough for it as it stands: then it is not
// healed when what else holds it has passed, either.
func spared(f published.Fleet, v *situation.View) bool {
	m := &v.Machine
	if m.Incident == nil || m.Repair != nil || m.Health.Verdict != belief.VerdictUnhealthy || !f.Spec.Protects(m.Name) {
		return false
	}
	sit := guard.Situation{State: f.State, Tally: f.Tally, View: v}
	sit.Brake = guard.Braked(f.Brake, &f.Whole)
	_, some := ladder.FirstStep(m, &sit)
	return !some
}

func (e *explainer) explainRetry(m *belief.Machine, now fleet.Now) {
	e.Now = append(e.Now, Retry(m, now))
	if m.Incident != nil {
		e.advise(words.Advice(m.Incident.Last.Why))
	}
}

// Retry says what the last attempt failed by, and when the next one follows.
func Retry(m *belief.Machine, now fleet.Now) string {
	said := words.Reason(fleet.ReasonBackoff)
	if i := m.Incident; i != nil && i.Last.Why != "" {
		said = prose.Because(attempted(m), attemptFailed(i.Last))
	}
	if left := m.RetryAt.Sub(now.Mono); left > 0 {
		said += "; next try in " + prose.Span(left)
	}
	return said
}

func attempted(m *belief.Machine) string {
	if m.Incident.Cause == belief.CauseBuild || m.Current.None() {
		return "it could not be built"
	}
	return "the last repair failed"
}

// attemptFailed says by what: what the provider said, where it said something.
func attemptFailed(f belief.Failure) string {
	says := []fleet.Reason{fleet.ReasonNameTaken, fleet.ReasonCallFailed, fleet.ReasonRefusedBy,
		fleet.ReasonDeleteFailed}
	if f.Detail != "" && slices.Contains(says, f.Why) {
		return f.Detail
	}
	return prose.Aside(words.Reason(f.Why), f.Detail)
}

// Lacking says which checks must yet succeed, and how often, before the machine is healthy; empty: none is known.
func Lacking(f *published.Fleet, v situation.View) string {
	spec := &f.Spec
	var said []string
	for _, c := range v.Checks {
		if c.Standing == fleet.StandingUp {
			continue
		}
		for i := range spec.Checks {
			if k := &spec.Checks[i]; k.Name == c.Check {
				said = append(said, prose.Aside(needs(k), soFar(f, v.Machine.Name, c.Check)))
			}
		}
	}
	return strings.Join(said, ", ")
}

func needs(c *policy.Check) string {
	switch {
	case c.UpIn > 0:
		return fmt.Sprintf("check %s needs %d good answers of %d", c.Name, c.UpAfter, c.UpIn)
	case c.UpAfter == 1:
		return fmt.Sprintf("check %s needs 1 good answer", c.Name)
	}
	return fmt.Sprintf("check %s needs %d good answers in a row", c.Name, c.UpAfter)
}

// soFar says how many of them there are; empty: that is not known.
func soFar(f *published.Fleet, m fleet.MachineName, c fleet.CheckName) string {
	n, known := f.Good[probe.ID{Machine: m, Check: c}]
	if !known {
		return ""
	}
	return fmt.Sprintf("%d so far", n)
}

// explainSize says that the machine is to go, which old instances of it are kept, and who ordered the fleet's size.
func (e *explainer) explainSize(f published.Fleet, m belief.Machine) {
	l := f.Whole.Ledger
	if r := l.Removal(m.Name); r != nil {
		e.Now = append(e.Now, fmt.Sprintf("it is to go, by order of %s: %s", r.By, words.Reason(r.Why)))
	}
	if l.IsSpare(m.Name) {
		e.Now = append(e.Now, "it is a spare: it serves as soon as another machine cannot")
	}
	for i := range m.Kept {
		k := &m.Kept[i]
		e.Now = append(e.Now, fmt.Sprintf("its old instance %s is kept, powered off, until %s (%s more)",
			prose.Instance(k.ID),
			k.Until.UTC().Format("2006-01-02 15:04:05 MST"), prose.Span(max(0, k.Until.Sub(f.Now.Wall)))))
	}
	if o := l.LastWord(&f.Wanted); o != nil {
		e.Now = append(e.Now, fmt.Sprintf("fleet %s: %s", f.Wanted.Name, prose.OrderedSize(o, l.Asked(&f.Wanted),
			f.Now.Wall)))
	}
}

// explainHolds says who holds the machine, and until when.
func (e *explainer) explainHolds(f published.Fleet, m *belief.Machine) {
	for i := range f.Whole.Holds {
		h := &f.Whole.Holds[i]
		if !h.Keeps(m) {
			continue
		}
		e.Now = append(e.Now, fmt.Sprintf("%s by %s until %s (%s more): %s", prose.Held(h.Only), h.By,
			h.Until.UTC().Format("2006-01-02 15:04:05 MST"),
			prose.Span(max(0, h.Until.Sub(f.Now.Wall))), h.Reason))
	}
}

// explainWorld says what shows that the store does not know the world, where that holds the machine.
func (e *explainer) explainWorld(f published.Fleet, m belief.Machine) {
	if c := m.Elsewhere; c != nil && m.Waiting != fleet.ReasonElsewhere {
		e.hold(fleet.ReasonElsewhere, c.String())
	}
	if o := f.Whole.Older; o != nil && m.Waiting != fleet.ReasonStoreOlder {
		e.hold(fleet.ReasonStoreOlder, prose.Older(o))
	}
}

// explainPolicy says what becomes of a parent that lasts.
func (e *explainer) explainPolicy(f published.Fleet, p belief.Parent) {
	wait := f.Spec.SharedFate.Wait
	switch f.Spec.SharedFate.Then {
	case policy.FateWait:
		if left := p.Opened.Add(wait).Sub(f.Now.Wall); left > 0 {
			e.Now = append(e.Now, "a person is paged in "+prose.Span(left)+" if it lasts")
		}
	case policy.FateEvacuate:
		if left := p.Since.Add(wait).Sub(f.Now.Mono); left > 0 {
			e.Now = append(e.Now, "it is built anew elsewhere in "+prose.Span(left)+" if it lasts")
		}
	case policy.FatePage:
	}
}

func (e *explainer) hold(r fleet.Reason, detail string) {
	e.Now = append(e.Now, "held: "+prose.Aside(words.Reason(r), detail))
	e.advise(words.AdviceFor(r, e.fleet, e.foreign))
}

func (e *explainer) advise(what string) {
	if what != "" {
		e.Person = append(e.Person, what)
	}
}

// Work says where a repair stands.
func Work(r belief.Repair, now fleet.Now) string {
	said := fmt.Sprintf("%s %s, begun %s ago", words.RepairKind(r.Kind), r.ID, prose.Span(now.Wall.Sub(r.Started)))
	if r.Kind == belief.RepairHeal || r.Kind == belief.RepairOperate {
		said += ", step " + string(r.Step)
	}
	said = prose.Because(said, words.Phase(r.Phase))
	if r.Gather != "" {
		said += ", and first for the evidence to be kept"
	}
	if r.Phase == belief.PhaseVerify && r.Deadline > now.Mono {
		said += ", " + prose.Span(r.Deadline.Sub(now.Mono)) + " more"
	}
	if in := r.Intent; in != nil {
		call := fmt.Sprintf("%s of %s is under way", words.Op(in.Op), prose.Instance(in.Instance))
		if in.Unknown {
			call = fmt.Sprintf("it is not known yet whether %s of %s took effect", words.Op(in.Op),
				prose.Instance(in.Instance))
		}
		said += "; " + call
	}
	return said
}
