package decide

import (
	"slices"

	"hale/internal/core/adopting"
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/record"
)

// judge brings the belief up to date with the evidence: address, health, strays, incident.
func (w *work) judge() {
	adopting.Follow(&w.Work)
	w.followPlace()
	w.noticeAccess()
	w.noticeContest()
	w.followAddress(w.View.Sighting(w.M.Current.ID))
	if !w.judgeHealth() {
		return
	}
	w.noticeStrays()
	w.noticeUse()
	w.judgeIncident()
}

// noticeUse notes, in a fleet with spares, that the machine has a place among those that serve: should it give its
// place away, those whom it served may use it still.
func (w *work) noticeUse() {
	l := w.Situation.Whole.Ledger
	if l != nil && len(l.Spares) > 0 && w.M.Current.Certified && !l.IsSpare(w.M.Name) {
		w.M.Current.Served = true
	}
}

// judgeHealth brings the verdict up to date, unless the instance is being replaced: what it looks like then is our own
// doing.
func (w *work) judgeHealth() bool {
	m, s := w.M, w.Situation
	was := m.Health
	evidence := health.Evidence{
		Spec: &s.Spec, Now: s.Now, Checks: w.checks(), Epoch: w.View.Epoch, Seen: w.View.Sighting(m.Current.ID),
		ProviderUp: s.Provider.Standing == fleet.ProviderUp, Leave: guard.Leaves(w.View.Sighting(m.Current.ID), s),
		Ended: w.View.Ran.Ended && w.View.Ran.Instance == m.Current.ID,
	}
	if !m.IsMarked(s.Now) {
		m.Marked = nil
	}
	if health.StartedByOthers(m, &evidence) {
		m.Epoch++
		m.Health.Grace = s.Now.Mono.Add(s.Spec.Grace)
	}
	turnedOff := m.Current.PoweredOff || m.Current.Parked != ""
	if turnedOff && (m.Repair == nil || m.Repair.Intent == nil) && health.Runs(m, &evidence) {
		m.Current.PoweredOff, m.Current.Parked = false, "" // a stop from now on is not hale's
	}
	if beingReplaced(m) {
		return false
	}
	m.Health = health.Judge(m, &evidence)
	if m.Current.None() && guard.Surplus(m, &s.Spec) {
		return true // it has left: there is nothing to tell of
	}
	if h := m.Health; h.Verdict != was.Verdict || h.Cause != was.Cause || (nothingKnown(h) && h.Result != was.Result) {
		w.Record(record.Record{Kind: record.Verdict, Verdict: h.Verdict, Was: was.Verdict, Cause: h.Cause,
			Check: h.Check, Result: h.Result, Instance: m.Current.ID, Generation: m.Current.Generation,
			Detail: detailOf(evidence.Checks, h.Check)})
	}
	return true
}

// checks returns how the checks stand; as long as hale itself is cut off, they are unknown (L4).
func (w *work) checks() []fleet.CheckState {
	if w.Situation.Vantage.Standing != fleet.VantageIsolated {
		return w.View.Checks
	}
	unknown := make([]fleet.CheckState, len(w.View.Checks))
	for i, c := range w.View.Checks {
		unknown[i] = fleet.CheckState{Check: c.Check, Standing: fleet.StandingUnknown, Result: fleet.ResultIsolated}
	}
	return unknown
}

func beingReplaced(m *belief.Machine) bool {
	r := m.Repair
	if r != nil && r.Wanted() {
		return r.Phase == belief.PhaseAct
	}
	return r != nil && r.Kind == belief.RepairHeal && r.Phase == belief.PhaseAct &&
		(r.Step == fleet.StepRecreate || r.Step == fleet.StepRebuild)
}

// nothingKnown reports whether the verdict is for want of results: then the reason for the want is news, too.
func nothingKnown(h belief.Health) bool {
	return h.Verdict == belief.VerdictUnknown || h.Verdict == belief.VerdictStarting
}

func detailOf(checks []fleet.CheckState, name fleet.CheckName) string {
	for _, c := range checks {
		if c.Check == name {
			return c.Detail
		}
	}
	return ""
}

// followPlace keeps the belief of where instances are: they may be migrated, and where one was last counts when it
// is gone.
func (w *work) followPlace() {
	follow := func(i *belief.Incarnation) {
		s := w.View.Sighting(i.ID)
		if !s.Known() || s.Instance.Power == fleet.PowerGone {
			return
		}
		i.Host = s.Instance.Host
		if s.Instance.Network != "" {
			i.Network = s.Instance.Network
		}
		if s.Instance.Storage != "" {
			i.Storage = s.Instance.Storage
		}
	}
	was := w.M.Current.Host
	if follow(&w.M.Current); w.M.Current.Host != was {
		w.M.Moved = w.Situation.Now.Mono
	}
	w.followDisks()
	if w.M.Repair != nil {
		follow(&w.M.Repair.Target)
	}
}

// followDisks keeps the belief of where the kept disks are: they are where the instance is that has them.
func (w *work) followDisks() {
	m := w.M
	if m.Volumes == nil || m.Current.None() || m.Current.Host == m.Volumes.Host {
		return
	}
	if i := slices.IndexFunc(w.Situation.Hosts, func(h fleet.Host) bool { return h.Name == m.Current.Host }); i >= 0 {
		m.Volumes = m.Volumes.At(w.Situation.Hosts[i])
	}
}

// followAddress keeps the last address that the provider named: a missing one is no news of the machine (L8).
func (w *work) followAddress(seen fleet.Sighting) {
	m, a := w.M, seen.Instance.Address
	if !seen.Known() || seen.Asked <= m.Acted || !a.IsValid() || a == m.Address {
		return
	}
	m.Address = a
	w.Record(record.Record{Kind: record.Address, Reason: fleet.ReasonNewAddress, Address: a,
		Instance: m.Current.ID})
}

// noticeStrays keeps the list of instances that bear the machine's mark and should not be there.
func (w *work) noticeStrays() {
	m := w.M
	var strays []belief.Stray
	for k := range w.View.Seen {
		seen := &w.View.Seen[k]
		i := &seen.Instance
		if !chart.IsStray(m, i, w.Installation) {
			continue
		}
		if w.Away(i.ID) {
			continue // of it nothing is known, but that it is off
		}
		if i.Mark.Generation > m.Generation {
			continue // it proves that the store is older than the world, which a person is told of; see readMarks
		}
		at := slices.IndexFunc(m.Strays, func(s belief.Stray) bool { return s.ID == i.ID })
		switch {
		case at < 0 && seen.Asked <= max(m.Acted, m.Cleared): // it may be what hale removed since
		case at < 0:
			strays = append(strays, w.newStray(i))
		default:
			strays = append(strays, w.knownStray(m.Strays[at], i))
		}
	}
	for _, s := range m.Strays {
		_, dead := guard.DeadHost(s.Host, w.Situation)
		if dead && s.Paged && !w.View.Sighting(s.ID).Known() && !w.Away(s.ID) {
			strays = append(strays, s) // its host cannot be asked; forgotten, it would be told of anew
		}
	}
	m.Strays = strays
}

// knownStray tells a person of what was left behind off, and runs by now.
func (w *work) knownStray(s belief.Stray, i *fleet.Instance) belief.Stray {
	if w.M.LeftAt(i.ID) >= 0 && !w.HeldCut(i.ID) && i.Power == fleet.PowerRunning && !s.Paged {
		s.Paged = true
		w.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonSecondRunning, Instance: i.ID,
			Generation: i.Mark.Generation, Host: i.Host})
	}
	return s
}

// newStray tells of an instance that should not be there: a person, too, unless it is hale's own to remove.
func (w *work) newStray(i *fleet.Instance) belief.Stray {
	s, reason := belief.Stray{ID: i.ID, Host: i.Host, Seen: w.Situation.Now.Mono}, fleet.Reason("")
	if !chart.IsRemnant(*w.M, *i, w.Installation) {
		s.Paged, reason = true, fleet.ReasonSecondRunning
		w.Record(record.Record{Kind: record.Paged, Reason: reason, Instance: i.ID, Generation: i.Mark.Generation})
	}
	w.Record(record.Record{Kind: record.Remnant, Reason: reason, Instance: i.ID, Generation: i.Mark.Generation,
		Host: i.Host})
	return s
}
