package chart

import (
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Chart is one machine in one round: the belief about it is changed in place, and what follows is collected.
type Chart struct {
	M            *belief.Machine
	View         *situation.View // to be read only
	Situation    *guard.Situation
	Installation fleet.Installation
	// Load counts the fleet's instances per host, to spread new ones.
	Load func() map[fleet.HostName]int

	Actions []situation.Action
	Records []record.Record
	Rulings []fleet.Ruling // on the orders to the machine
	// TakenAlong says that its host had taken the machine along, and that a start was all that it needed, or would have
	// been, had the host not done so again.
	TakenAlong bool
	// Order is the person's order from which the records of this round follow; empty: none.
	Order fleet.OrderID
}

// Now is the present, by the process's clock.
func (c *Chart) Now() fleet.Instant { return c.Situation.Now.Mono }

// fewRecords is how many a machine has in a round in which it fails: room for them is made once, since thousands may.
const fewRecords = 4

// Record adds a record about the machine.
func (c *Chart) Record(rec record.Record) {
	m := c.M
	rec.At, rec.Fleet, rec.Machine, rec.Alias = c.Situation.Now.Wall, c.Situation.Spec.Name, m.Name, m.Alias
	rec.Provider = c.Situation.Spec.Provider
	if rec.Order == "" {
		rec.Order = c.Order
	}
	if rec.Kind == record.RepairStarted || rec.Kind == record.RepairEnded ||
		rec.Kind == record.IncidentClosed {
		rec.Again, m.Swings = m.Swung(), nil // from now on the same reasons say something new
	}
	if m.Repair != nil {
		rec.Repair = m.Repair.ID
		if rec.Step == "" && !m.Repair.Aside() && m.Repair.Kind != belief.RepairRemove &&
			m.Repair.Kind != belief.RepairUndo {
			rec.Step = m.Repair.Step
		}
	}
	if m.Incident != nil && rec.Incident == "" {
		rec.Incident = m.Incident.ID
	}
	if m.Incident != nil && (rec.Kind == record.IncidentOpen || rec.Kind == record.IncidentClosed) {
		rec.Began = m.Incident.Began
	}
	if m.Incident != nil && rec.Parent == "" {
		rec.Parent = m.Incident.Parent
	}
	if c.Records == nil {
		c.Records = make([]record.Record, 0, fewRecords)
	}
	c.Records = append(c.Records, rec)
}

// Mark is what the instance must bear: of an adopted one, nothing.
func (c *Chart) Mark(i belief.Incarnation) fleet.Mark {
	if i.Adopted {
		return fleet.Mark{}
	}
	return fleet.Mark{Installation: c.Installation, Fleet: c.Situation.Spec.Name, Machine: c.M.Name,
		Generation: i.Generation, Certified: i.Certified}
}

// braked has the arithmetic of the brake that holds a machine, and who put it on.
func braked(rec record.Record, b *belief.Brake, s *guard.Situation) record.Record {
	if rec.By, rec.Detail = b.By, b.Words; b.Scope == "" {
		return rec
	}
	t := guard.Among(b, s.Tally, s.Tolls)
	rec.Scope, rec.Failing, rec.Size = b.Scope, t.Failing, t.Size
	rec.Limit = guard.BrakeLimit(guard.BrakePolicy(b, &s.Spec.Limits), t.Size)
	if b.Scope == policy.ScopeProvider {
		rec.Detail = string(s.Spec.Provider)
	}
	return rec
}

// Wait records once why nothing is done, and which step would be. A reason that comes and goes is counted; see
// belief.Machine.Swings.
func (c *Chart) Wait(reason fleet.Reason, step fleet.StepKind) {
	if c.M.Waiting == reason {
		return
	}
	c.M.Waiting = reason
	switch {
	case reason == "":
		return
	case c.M.Incident != nil && (reason == fleet.ReasonHostDown || reason == fleet.ReasonProviderDown):
		c.M.Incident.Dark = true
	}
	again, write := c.M.Swing(reason, c.Situation.Now.Wall)
	if !write {
		return
	}
	t := c.Situation.Tally
	rec := record.Record{Kind: record.Held, Again: again, Reason: reason, Cause: c.M.Health.Cause, Step: step,
		Instance: c.M.Current.ID, Failing: t.Failing, Size: t.Size,
		Limit: guard.BrakeLimit(c.Situation.Spec.Limits.Brake, t.Size)}
	if p := guard.Parent(c.M, c.Situation); p != nil && reason == fleet.ReasonSharedFate {
		rec.Domain, rec.Failing, rec.Size, rec.Limit = p.Domain, p.Failing, p.Members, 0
	}
	if full := guard.SharedBudget(c.M, c.Situation); full != nil && reason == fleet.ReasonBudget {
		rec.Scope, rec.Detail, rec.Failing, rec.Limit = full.Limit.Scope, full.Name, full.Taken, full.Limit.InRepair
	}
	if b := c.Situation.Brake; reason == fleet.ReasonBrake {
		rec = braked(rec, &b, c.Situation)
	}
	if h, some := guard.Unasked(c.M, c.Situation); some && reason == fleet.ReasonHostUnasked {
		rec.Host = h
	}
	c.Record(rec)
}

// OpenIncident opens the machine's incident. There is none.
func (c *Chart) OpenIncident(cause belief.Cause) {
	m := c.M
	m.Incidents++
	m.Incident = &belief.Incident{
		ID: string(m.Name) + "/" + strconv.FormatUint(m.Incidents, 10), Cause: cause, Opened: c.Situation.Now.Wall,
		Began: c.firstFailure(),
	}
	c.Record(record.Record{Kind: record.IncidentOpen, Cause: cause, Check: m.Health.Check, Result: m.Health.Result,
		Instance: m.Current.ID, Generation: m.Current.Generation})
}

// EndIncident closes the machine's incident. There is one.
func (c *Chart) EndIncident(why fleet.Reason) {
	m := c.M
	c.Record(record.Record{Kind: record.IncidentClosed, Reason: why, Cause: m.Incident.Cause,
		Took: c.Situation.Now.Wall.Sub(m.Incident.Opened), Instance: m.Current.ID, Joint: m.Incident.Joint,
		Paged: m.Incident.Known() && m.Health.Verdict == belief.VerdictHealthy}) // else another incident follows
	m.IncidentOver()
}

// SetBack notes in the incident that an attempt failed, and returns how long the next one waits.
func (c *Chart) SetBack(why belief.Failure) time.Duration {
	i := c.M.Incident
	i.Failed++
	i.Last = why
	return policy.Backoff(c.Situation.Spec.Repair.Backoff, i.Failed)
}

// firstFailure returns when the first probe failed of the checks that fail now; zero: none does, or it is not known.
func (c *Chart) firstFailure() time.Time {
	first := fleet.Instant(0)
	for _, check := range c.View.Checks {
		fails := check.Standing == fleet.StandingFailing || check.Standing == fleet.StandingDown
		if fails && check.Answered != 0 && (first == 0 || check.Answered < first) {
			first = check.Answered
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return c.Situation.Now.When(first)
}

// Page tells a person, once per incident.
func (c *Chart) Page(reason fleet.Reason) {
	if c.M.Incident == nil || c.M.Incident.Paged {
		return
	}
	c.M.Incident.Paged, c.M.Incident.Told, c.M.Incident.For = true, c.Situation.Now.Wall, reason
	c.M.Incident.Joint = ""
	c.Record(record.Record{Kind: record.Paged, Reason: reason, Cause: c.M.Incident.Cause, Instance: c.M.Current.ID})
}

// Uncount takes the attempt back: nothing was tried.
func (c *Chart) Uncount() { c.M.Attempts = c.M.Attempts[:max(0, len(c.M.Attempts)-1)] }

// Ordered reports whether a person's current order wants the machine repaired.
func (c *Chart) Ordered() bool { return c.M.Ordered(c.Situation.Now) }

// Unproven reports whether all that keeps the machine from being healthy is a check that never succeeded as it is.
func (c *Chart) Unproven() bool { return health.OnlyUnproven(&c.M.Health, c.View.Checks) }

// FreshlySeen reports whether the provider said something of the instance since the last call ended.
func (c *Chart) FreshlySeen(r *belief.Repair) bool {
	return c.View.Sighting(c.M.Current.ID).Asked > r.LastOutcome
}

// SeenSince returns what the provider said of the instance after the last call ended. As long as it said nothing, it is
// to be asked.
func (c *Chart) SeenSince(r *belief.Repair, id fleet.InstanceID) (i fleet.Instance, known bool) {
	seen := c.View.Sighting(id)
	if !seen.Known() || seen.Asked <= r.LastOutcome {
		return fleet.Instance{}, false
	}
	return seen.Instance, true
}

// WithoutEffect takes back that hale powered the instance off, where its provider says for certain that nothing was
// done: if it goes off from now on, that was not hale (L10). A call with an unknown outcome may still be carried out.
func (c *Chart) WithoutEffect(r *belief.Repair, in belief.Intent, o fleet.Outcome) {
	stops := in.Op.TurnsOff() || in.Op == fleet.OpReboot
	if stops && o.Kind != fleet.OutcomeDone && in.Instance == c.M.Current.ID {
		c.M.Current.PoweredOff = false
	}
	if in.Op.TurnsOff() && r.Wanted() && (o.Kind == fleet.OutcomeRetry || o.Kind == fleet.OutcomeNotSent) {
		r.OffCalls-- // else it needs a further look
	}
}

// belated is how long hale expects a provider to carry out a power-off or a delete late, after it accepted the call or
// gave no answer. Clouds queue their work: the simulated one takes up to two minutes.
const belated = 3 * time.Minute

// Belated reports whether the last call is so recent that it may be carried out yet.
func (c *Chart) Belated(r *belief.Repair) bool {
	return !c.Situation.Now.Due(r.LastOutcome.Add(belated))
}

// MayGoOff reports whether the target of a wanted change may yet power off by a call that was sent. If the change were
// given up before that, the machine would serve again, and then go off.
func (c *Chart) MayGoOff(r *belief.Repair) bool { return r.Wanted() && r.OffAccepted && c.Belated(r) }

// TurnedOff reports whether it was hale that turned the instance off, if it is off: its provider accepted an order of
// this rung, or may have. An order that was surely not carried out turned nothing off: a person may have.
func (c *Chart) TurnedOff() bool { return c.M.Current.PoweredOff || c.M.Repair.OffAccepted }

// AnswersStill reports whether one of the machine's checks succeeds at this very moment.
func (c *Chart) AnswersStill() bool {
	if c.View.Epoch != c.M.Epoch {
		return false
	}
	for _, check := range c.View.Checks {
		if check.Standing == fleet.StandingUp {
			return true
		}
	}
	return false
}

// RefuseChange ends a wanted change of the machine before it begins, and tells a person.
func (c *Chart) RefuseChange(order fleet.OrderID, why fleet.Reason) {
	c.M.Change = &belief.Change{Order: order, Ended: why}
	c.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonGivenUp, Order: order, Detail: string(why),
		Instance: c.M.Current.ID})
}
