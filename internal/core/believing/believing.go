package believing

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Believing is what a round finds of it. The zero value is ready.
type Believing struct {
	*round.Round
	order *fleet.Order // to believe the world, which was taken up in this round
}

// Begin takes up a round, and opens all machines when the world is to be believed in it.
func (r *Believing) Begin(of *round.Round) {
	r.Round, r.order = of, nil
	if !slices.ContainsFunc(r.S.Orders, func(o fleet.Order) bool { return o.Believe && !o.Due(r.S.Now) }) {
		return
	}
	for i := range r.S.Machines {
		r.Open(i)
	}
}

// Believes reports whether the world is believed in this round. Every machine has its part in that.
func (r *Believing) Believes() bool { return r.order != nil }

// ReadMarks finds in the marks of a machine's instances what proves that the store does not know the world: it never
// allotted what is there, or another installation of hale was here before. In the round in which it is believed they
// are not read.
func (r *Believing) ReadMarks(w *chart.Chart) {
	if r.order != nil {
		return
	}
	first := w.M.Current.None() && w.M.Incident == nil && w.M.Repair == nil
	for k := range w.View.Seen {
		i := &w.View.Seen[k].Instance
		switch {
		case i.Mark.Machine != w.M.Name || i.Power == fleet.PowerGone:
		case i.Mark.Installation == w.Installation:
			if i.Mark.Generation > w.M.Generation {
				r.older(w.M, i)
			}
		case first && i.Mark.Installation != "":
			r.foreign(w.M, i)
		}
	}
}

// older holds the fleet, and tells a person once.
func (r *Believing) older(m *belief.Machine, i *fleet.Instance) {
	if r.Sit.Whole.Older != nil {
		return
	}
	r.Sit.Whole.Older = &belief.Older{
		Machine: m.Name, Instance: i.ID, Host: i.Host, Generation: i.Mark.Generation, Allotted: m.Generation,
		Since: r.S.Now.Wall, SinceMono: r.S.Now.Mono,
	}
	r.tell(record.Record{Kind: record.Store, Reason: fleet.ReasonStoreOlder, Machine: m.Name, Instance: i.ID,
		Generation: i.Mark.Generation, Host: i.Host,
		Limit: int(m.Generation)}) //nolint:gosec // few
}

// ReadRoll finds in the starts that are noted at the provider's what proves that the store does not know the world. A
// person is told again of a start of which they were not told, unless it comes so soon that it belongs to what they
// were told just now: a store that was put back may say that they were told of what is long past.
func (r *Believing) ReadRoll() {
	unknown, o := r.S.Roll.Unknown, r.Sit.Whole.Older
	news := slices.IndexFunc(unknown, func(n fleet.NotedStart) bool { return !o.Covers(n.Name) })
	if news < 0 || r.order != nil {
		return
	}
	n, now := unknown[news], r.S.Now
	is := belief.Older{Start: n.Name, Host: n.Host, Since: now.Wall, SinceMono: now.Mono}
	same := o != nil && o.SinceMono != 0 && !now.Due(o.SinceMono.Add(r.S.Spec.BlindAfter))
	if same {
		is = *o
	}
	if o != nil {
		is.Told = slices.Clone(o.Told)
	}
	for _, n := range unknown {
		if !slices.Contains(is.Told, n.Name) {
			is.Told = append(is.Told, n.Name)
		}
	}
	if r.Sit.Whole.Older = &is; !same {
		r.tell(record.Record{Kind: record.Store, Reason: fleet.ReasonStoreOlder, Host: n.Host,
			Detail: string(n.Name)})
	}
}

// Trusted returns whether the world is to be believed, and the starts that are known from now on.
func (r *Believing) Trusted() (believes bool, names []fleet.StartName) {
	if r.order == nil {
		return false, nil
	}
	for _, n := range r.S.Roll.Unknown {
		names = append(names, n.Name)
	}
	return true, names
}

// mostForeign bounds the other installations that are remembered.
const mostForeign = 8

// foreign holds first builds, and tells a person once of each other installation.
func (r *Believing) foreign(m *belief.Machine, i *fleet.Instance) {
	known := slices.ContainsFunc(r.Sit.Whole.Foreign,
		func(f belief.Foreign) bool { return f.Installation == i.Mark.Installation })
	if known || len(r.Sit.Whole.Foreign) >= mostForeign {
		return
	}
	r.Sit.Whole.Foreign = append(r.Sit.Whole.Foreign, belief.Foreign{
		Installation: i.Mark.Installation, Machine: m.Name, Instance: i.ID, Host: i.Host, Since: r.S.Now.Wall,
	})
	r.tell(record.Record{Kind: record.Store, Reason: fleet.ReasonInstallation, Machine: m.Name, Instance: i.ID,
		Host:   i.Host,
		Detail: string(i.Mark.Installation)})
}

// tell records something about the fleet that a person is told of, too.
func (r *Believing) tell(rec record.Record) {
	r.Record(rec)
	rec.Kind = record.Paged
	r.Record(rec)
}

// IsOurs lets go of other installations that are this one by now: a person had it taken over.
func (r *Believing) IsOurs() {
	r.Sit.Whole.Foreign = slices.DeleteFunc(r.Sit.Whole.Foreign,
		func(f belief.Foreign) bool { return f.Installation == r.S.Installation })
}

// TakeUp takes the order to believe the world. Each machine's own part follows when its turn comes; see Believe.
// Other installations are not believed while their marks are listed, or may be on a host that does not answer.
func (r *Believing) TakeUp(o *fleet.Order) {
	if r.S.Provider.Standing != fleet.ProviderUp {
		r.Rule(o, fleet.ReasonProviderDown)
		return
	}
	foreign := slices.DeleteFunc(slices.Clone(r.Sit.Whole.Foreign),
		func(f belief.Foreign) bool { return !r.mayBeListed(&f) })
	if r.Sit.Whole.Older == nil && len(foreign) == len(r.Sit.Whole.Foreign) && !r.outgrown() &&
		len(r.S.Roll.Unknown) == 0 {
		why := fleet.ReasonNotOlder
		if len(foreign) > 0 {
			why = fleet.ReasonInstallation
		}
		r.Rule(o, why)
		return
	}
	r.Rule(o, "")
	r.order = o
	r.Sit.Whole.Older, r.Sit.Whole.Foreign = nil, foreign
	r.Record(record.Record{Kind: record.Store, Reason: fleet.ReasonBelieved, Order: o.ID, By: o.By, Paged: true})
	r.stopUpdate(o)
}

// stopUpdate stops an update that the store holds to be under way. It may have gone through the fleet long ago, so that
// a person has to confirm it anew (L3); and what was beyond the size then may be of it by now, so that people say
// whether it goes.
func (r *Believing) stopUpdate(o *fleet.Order) {
	l := r.Sit.Whole.Ledger
	if l != nil && len(l.Surge) > 0 {
		l = l.Settling()
		r.Sit.Whole.Ledger = l
	}
	if l == nil || !l.Update.Goes() || l.Update.IsPaused() {
		return
	}
	u := *l.Update
	u.Stopped = fleet.ReasonBelieved
	r.Sit.Whole.Ledger = l.Updated(&u)
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonBelieved, Order: u.Order, By: o.By})
}

// mayBeListed reports whether an instance with the other installation's mark is listed, or was on a host that does not
// answer.
func (r *Believing) mayBeListed(f *belief.Foreign) bool {
	return slices.ContainsFunc(r.S.Silent, func(s fleet.Silence) bool { return s.Host == f.Host }) ||
		slices.ContainsFunc(r.S.Machines, func(v situation.View) bool { return v.Shown(f.Installation).Marked > 0 })
}

// outgrown reports whether an instance bears a mark with a generation that the store never allotted.
func (r *Believing) outgrown() bool {
	return slices.ContainsFunc(r.S.Machines, func(v situation.View) bool {
		return v.Shown(r.S.Installation).Generation > v.Machine.Generation
	})
}

// stoppedByHand returns the only instance with the machine's mark, if the store did not know of its generation and it
// was stopped from outside: hale, which knew nothing of it, did not do that.
func stoppedByHand(v *situation.View, ours fleet.Installation) (fleet.Instance, bool) {
	var found []fleet.Instance
	for k := range v.Seen {
		i := v.Seen[k].Instance
		if i.Power != fleet.PowerGone && i.Mark.Installation == ours && i.Mark.Machine == v.Machine.Name {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return fleet.Instance{}, false
	}
	i := found[0]
	byHand := i.Stop == fleet.StopExternal || i.Stop == fleet.StopShutdown
	return i, i.Mark.Generation > v.Machine.Generation && !i.Mark.Kept && i.Power == fleet.PowerOff && byHand
}

// Believe takes what the provider shows of the machine for what is: no generation that was ever marked is allotted
// again, the certified instance that runs, or else what runs at all, or else the newest certified one is the machine's,
// and what was put aside is kept. What was under way rested on an older world, and begins anew.
func (r *Believing) Believe(w *repair.Work) {
	m, o := w.M, r.order
	w.Order = o.ID
	seen := situation.View{Machine: *m, Seen: w.View.Seen}
	shown, beyond := seen.Beyond(w.Installation)
	believed := w.View.Sighting(m.Current.ID) // not known, as after a start: it is not listed, and not asked for yet
	if !beyond && (believed.Instance.Power != fleet.PowerGone || !runsUnfinished(w)) {
		return
	}
	stopped, hand := stoppedByHand(w.View, w.Installation)
	m.Generation = max(m.Generation, shown.Generation)
	if m.Repair != nil {
		w.Overrule()
	}
	switch {
	case shown.Serves != nil && shown.Serves.Mark.Certified:
		w.House(*shown.Serves)
	case shown.Serves != nil || believed.Instance.Power == fleet.PowerGone || hand && !believed.Known():
		w.Vacate() // what runs, and was not finished, is found, verified and certified as after any lost call
		if hand {
			w.House(stopped) // and what a person stopped meanwhile waits for them
		}
	}
	if i, runs := chart.Found(m, w.View, w.Installation); runs && guard.Surplus(m, &w.Situation.Spec) {
		w.House(i) // what is beyond the fleet's size is not finished, and it may serve: a person must say that it goes
	}
	for _, i := range shown.Aside {
		w.Shelve(*i)
	}
	if m.Current.None() { // it is built, or taken, as one that never was
		if m.Incident != nil {
			w.EndIncident(fleet.ReasonBelieved)
		}
		now := w.Situation.Now
		m.Health = belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing, Since: now.Wall,
			SinceMono: now.Mono}
	}
	w.Record(record.Record{Kind: record.Store, Reason: fleet.ReasonBelieved, Instance: m.Current.ID,
		Generation: m.Current.Generation,
		Host:       m.Current.Host, By: o.By})
}

// runsUnfinished reports whether the only instance with the machine's mark runs, and was not finished, as far as the
// provider shows. Where the machine's own is gone, it may be what was being built as the store was put back, whatever
// its generation: one that went and came back begins to count anew.
func runsUnfinished(w *repair.Work) bool {
	marked, runs := 0, false
	for k := range w.View.Seen {
		i := &w.View.Seen[k].Instance
		if i.Power == fleet.PowerGone || !i.Marked(w.M.Name, w.Installation) {
			continue
		}
		marked++
		runs = i.Power == fleet.PowerRunning && !i.Mark.Certified && !i.Mark.Kept
	}
	return marked == 1 && runs
}
