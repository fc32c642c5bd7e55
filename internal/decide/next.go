package decide

import (
	"slices"
	"time"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// next returns the earliest instant after now at which a deadline of the decided machines or of the fleet ends.
func (r *round) next(d Decision, works []*work) fleet.Instant {
	c := calendar{now: r.s.Now}
	c.add(r.s.SteadyAt)
	if r.s.Spec.Repair.Windowed() {
		c.addWall(r.hours.until)
	}
	c.addBrake(&d.Brake, &r.s.Spec)
	for i := range d.Whole.Brakes {
		c.addBrake(&d.Whole.Brakes[i], &r.s.Spec)
	}
	r.addWhole(&c, &d.Whole)
	c.add(guard.RepairsFrom(&d.Whole, &r.s.Spec))
	c.add(r.blind)
	if !r.unmuted.IsZero() {
		c.addWall(r.unmuted)
	}
	if l := d.Whole.Ledger; l != nil && l.Update.Goes() && l.Update.Calm != 0 {
		c.add(l.Update.Calm.Add(r.s.Spec.Update.Soak))
	}
	if r.again {
		c.add(r.s.Now.Mono + 1)
	}
	braked := func(b fleet.Brake) bool { return b.Engaged && !b.Paged }
	untold := braked(d.Brake) || slices.ContainsFunc(d.Whole.Brakes, braked) ||
		slices.ContainsFunc(d.Whole.Parents, func(p fleet.Parent) bool { return !p.Paged })
	for _, w := range works {
		c.addMachine(w.M, &r.s.Spec)
		c.addWitness(r, w)
		if i := w.M.Incident; untold && i != nil {
			c.addWall(i.Opened.Add(fleet.HostBoot))
		}
	}
	return c.earliest
}

// addBrake notes when a brake releases, and when a person is told of it.
func (c *calendar) addBrake(b *fleet.Brake, spec *fleet.Spec) {
	policy := guard.BrakePolicy(b, &spec.Limits)
	if b.CalmSince != 0 {
		c.add(guard.CalmUntil(b, policy))
	}
	if b.SteadySince != 0 {
		c.add(guard.SteadyUntil(b, policy, guard.SettleTime(*spec)))
	}
	if b.Engaged && !b.Paged {
		c.addWall(b.Since.Add(pagePause))
		c.addWall(b.Since.Add(brakePause))
	}
	if at, ok := remindOfBrakeAt(b, spec); ok {
		c.addWall(at)
	}
}

// addWhole notes the deadlines of parent incidents and doubts.
func (r *round) addWhole(c *calendar, whole *fleet.Whole) {
	spec := &r.s.Spec
	for _, p := range whole.Parents {
		c.add(p.Since.Add(spec.SharedFate.Wait))
		if !p.Paged {
			c.add(p.Since.Add(guard.SettleTime(*spec)))
			c.addWall(p.Opened.Add(spec.SharedFate.Wait))
			c.addWall(p.Opened.Add(pagePause))
		}
		if at, ok := remindOf(&p, spec); ok {
			c.addWall(at)
		}
		if p.CalmSince != 0 {
			c.add(p.CalmSince.Add(spec.Limits.Brake.ReleaseAfter))
		}
	}
	if d := whole.Doubt; d.Reason != "" && !d.Paged {
		c.addWall(d.Since.Add(pagePause))
	}
	if at, ok := remindOfDoubtAt(&whole.Doubt, spec); ok {
		c.addWall(at)
	}
	if whole.Doubt.CalmSince != 0 {
		c.add(r.doubtEnds())
	}
	if s := whole.Short; !s.Since.IsZero() && !s.Paged {
		c.add(s.SinceMono.Add(spec.BlindAfter))
	}
	for i := range whole.Holds {
		h := &whole.Holds[i]
		if h.Over(c.now) {
			c.add(c.now.Mono + 1) // one of many
		}
		c.add(h.Ends)
		c.addWall(h.Until)
	}
	for i := range whole.Fenced {
		c.add(whole.Fenced[i].Ends)
		c.addWall(whole.Fenced[i].Until)
	}
	if whole.Book != nil {
		r.addBook(c, whole.Book)
	}
	if v := r.s.Vantage; v.Standing == fleet.VantageUnknown && !whole.Doubt.Paged {
		c.add(v.Since.Add(spec.BlindAfter))
	}
}

type calendar struct {
	now      fleet.Now
	earliest fleet.Instant
}

// add notes a deadline that is still to come.
func (c *calendar) add(at fleet.Instant) {
	if at > c.now.Mono && (c.earliest == 0 || at < c.earliest) {
		c.earliest = at
	}
}

// addWall notes a deadline in wall time.
func (c *calendar) addWall(at time.Time) { c.add(c.now.Mono.Add(at.Sub(c.now.Wall))) }

// addClear notes when it is clear whether the machine fails alone.
func (c *calendar) addClear(m *fleet.Machine, spec *fleet.Spec) {
	c.add(m.Health.SinceMono.Add(guard.SettleTime(*spec)))
	c.add(guard.AskedUntil(m, spec))
}

func (c *calendar) addMachine(m *fleet.Machine, spec *fleet.Spec) {
	c.add(m.Health.Grace)
	c.add(m.RetryAt)
	for _, s := range m.Strays {
		c.add(s.RetryAt)
	}
	for i := range m.Kept {
		c.add(m.Kept[i].RetryAt)
		c.add(m.Kept[i].Ends)
		c.addWall(m.Kept[i].Until)
	}
	for i := range m.Snapshots {
		c.add(m.Snapshots[i].RetryAt)
		c.add(m.Snapshots[i].Ends)
		c.addWall(m.Snapshots[i].Until)
	}
	if m.Contest != nil && !m.Contest.Paged {
		c.add(m.Contest.Asked.Add(contestLasts))
	}
	if m.Anchor != nil {
		c.add(m.Anchor.Until)
	}
	if m.Repair != nil {
		c.add(m.Repair.RetryAt)
		c.add(m.Repair.AskAt)
		c.add(m.Repair.GatherBy)
		c.add(m.Repair.FenceAt)
		if m.Repair.Phase == fleet.PhaseVerify {
			c.add(m.Repair.Deadline)
		}
	}
	if m.Health.Verdict == fleet.VerdictUnknown && !m.Health.Muted() && untold(m) {
		c.add(m.Health.SinceMono.Add(spec.BlindAfter))
	}
	if m.Waiting == fleet.ReasonUnclear || m.Waiting == fleet.ReasonUndecided {
		c.addClear(m, spec)
	}
	if i := m.Incident; i != nil && !i.HoldUntil.IsZero() && !i.Paged {
		c.addWall(i.HoldUntil)
	}
	if m.Wanted != nil {
		c.addWall(m.Wanted.Until)
	}
	if at, ok := pageAt(m, spec); ok {
		c.addWall(at)
	}
	if at, ok := remindAt(m, spec); ok {
		c.addWall(at)
	}
}
