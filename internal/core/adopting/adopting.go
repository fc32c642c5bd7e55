// Package adopting keeps machines that existed before hale in step with what their fleet selects: candidates, which
// are only watched, adopted ones, and those that are let go.
//
// It promises that nothing is done to any of them: it only writes down.
package adopting

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/round"
)

// adoption is the work on a machine that existed before hale.
type adoption struct{ *repair.Work }

// Follow keeps a machine that existed before hale in step with what the fleet selects: it is taken as a
// candidate, or let go. Nothing is done to it in either case.
func Follow(work *repair.Work) {
	w := adoption{work}
	m, a := w.M, &w.Situation.Spec.Adopt
	if m.Current.Adopted {
		m.Keep(a)
		w.followAlias()
		w.followClaims()
	}
	if a.Selects() && m.Vacant() {
		if i, ok := w.offered(""); ok {
			m.Consider(&i, a, w.Situation.Now)
			w.recordAdoption(fleet.ReasonCandidate, "")
		}
	}
}

// followClaims keeps whether another installation adopted the instance first: a person is told once, and when that is
// over.
func (w adoption) followClaims() {
	m := w.M
	c, claimed := guard.Elsewhere(m, w.Situation)
	switch {
	case w.Situation.Spec.Mode == policy.ModeObserve || m.Current.Candidate():
	case claimed && (m.Elsewhere == nil || m.Elsewhere.By != c.By):
		m.Elsewhere = &c
		rec := record.Record{Kind: record.Adoption, Reason: fleet.ReasonElsewhere, Instance: m.Current.ID,
			Generation: m.Current.Generation,
			Host:       m.Current.Host, Detail: c.String()}
		w.Record(rec)
		rec.Kind = record.Paged
		w.Record(rec)
	case !claimed && m.Elsewhere != nil && w.Situation.Roll.Claims:
		w.recordAdoption(fleet.ReasonClaimOver, m.Elsewhere.String())
		m.Elsewhere = nil
	}
}

// offered returns an instance that the picture shows and the fleet may adopt; with a name: only one that is called so.
func (w adoption) offered(name string) (fleet.Instance, bool) {
	for _, s := range w.View.Seen {
		i := &s.Instance
		if i.ID != w.M.Current.ID && s.Known() && i.Power != fleet.PowerGone && (name == "" || i.Name == name) &&
			w.Situation.Spec.Adopt.Eligible(i) {
			return *i, true
		}
	}
	return fleet.Instance{}, false
}

// followAlias keeps the name that the instance has at its provider, and lets the instance go when the fleet does not
// select it any more, or it is not there, or is not what it was. What is under way with it is seen to first, unless it
// is not selected any more: then it ends with the present call.
func (w adoption) followAlias() {
	m, a := w.M, &w.Situation.Spec.Adopt
	if a.Let(m.Current.ID) {
		w.dismiss()
		return
	}
	seen, name := w.bearer()
	gone := seen != nil && seen.Power == fleet.PowerGone
	there := seen != nil && !gone
	// what it bears is known only then, and unknown is not changed
	selected := a.Select.Means(name) && (!there || a.Select.Finds(seen))
	if m.Repair != nil && (selected || !w.stop()) {
		return
	}
	switch _, replaced := w.offered(name); {
	case there && seen.Mark != (fleet.Mark{}):
		w.pageAdoption(fleet.ReasonMarkChanged)
		w.letGo(fleet.ReasonMarkChanged, "")
	case !selected:
		w.unselected(name)
	case there && m.Current.Candidate() && a.Contested(seen) != "":
		w.letGo(fleet.ReasonContested, string(a.Contested(seen)))
	case gone && m.Current.Candidate():
		w.letGo(fleet.ReasonVanished, "")
	case gone && replaced: // it was built anew under its name, not by hale
		w.letGo(fleet.ReasonSucceeded, "")
	case name != m.Alias:
		was := m.Alias
		m.Alias = name
		w.recordAdoption(fleet.ReasonRenamed, was)
	}
}

// unselected lets a machine go that is selected no more. A person who renamed it, or wrote something else on it, may
// not know what that means. What it bore is not kept, so that an edit of the file may look so.
func (w adoption) unselected(name string) {
	if name != w.M.Alias || w.Situation.Spec.Adopt.Select.Means(name) {
		w.pageAdoption(fleet.ReasonNotSelected)
	}
	w.letGo(fleet.ReasonNotSelected, name)
}

// bearer returns the machine's instance as its provider shows it now, nil when it does not, and the name that it bears,
// or bore last.
func (w adoption) bearer() (*fleet.Instance, string) {
	seen := w.View.Sighting(w.M.Current.ID)
	if !seen.Known() || w.Situation.Provider.Standing != fleet.ProviderUp {
		return nil, w.M.Alias
	}
	if seen.Instance.Power == fleet.PowerGone {
		return &seen.Instance, w.M.Alias
	}
	return &seen.Instance, seen.Instance.Name
}

// dismiss takes the instance out of hale's care as a person wants it.
func (w adoption) dismiss() {
	if w.stop() {
		w.letGo(fleet.ReasonLetGo, "")
	}
}

// stop ends whatever is under way with the machine, and reports whether it did: a call comes to its end first.
func (w adoption) stop() bool {
	if r := w.M.Repair; r != nil {
		if r.Intent != nil {
			return false
		}
		w.Overrule()
	}
	return true
}

// letGo takes the instance out of hale's care.
func (w adoption) letGo(why fleet.Reason, detail string) {
	m := w.M
	if m.Incident != nil {
		w.EndIncident(why)
	}
	w.recordAdoption(why, detail)
	m.Vacate(w.Situation.Now)
}

func (w adoption) recordAdoption(why fleet.Reason, detail string) {
	m := w.M
	w.Record(record.Record{Kind: record.Adoption, Reason: why, Instance: m.Current.ID,
		Generation: m.Current.Generation,
		Host:       m.Current.Host, Detail: detail})
}

func (w adoption) pageAdoption(why fleet.Reason) {
	w.Record(record.Record{Kind: record.Paged, Reason: why, Instance: w.M.Current.ID})
}

// Adopt takes a candidate that is healthy into hale's care; until it is, it is only watched. It is written down, and
// nothing else is done.
func Adopt(work *repair.Work) {
	w := adoption{work}
	m := w.M
	if !w.seenHealthy() {
		w.Wait(fleet.ReasonCandidate, "")
		return
	}
	m.Current.Certified, m.Waiting = true, ""
	w.recordAdoption(fleet.ReasonAdopted, "")
}

// seenHealthy reports whether there is no doubt that the candidate is well: by its checks, and by its provider.
func (w adoption) seenHealthy() bool {
	s, seen := w.Situation, w.View.Sighting(w.M.Current.ID)
	return w.M.Health.Verdict == belief.VerdictHealthy && s.Acting == "" && s.Now.Due(s.SteadyAt) &&
		s.Whole.Doubt.Reason == "" &&
		s.Provider.Standing == fleet.ProviderUp && seen.Known() && seen.Asked > w.M.Acted &&
		seen.Instance.Power == fleet.PowerRunning && s.Spec.Adopt.Eligible(&seen.Instance)
}

// Count tells a person, once, when the fleet has had another number of machines for long than the one that is
// expected of it.
func Count(r *round.Round) {
	a, short := &r.S.Spec.Adopt, &r.Sit.Whole.Short
	if !a.Selects() || a.Expected == 0 || a.Expected == r.S.Spec.Size {
		*short = belief.Shortfall{}
		return
	}
	switch {
	case short.Since.IsZero():
		*short = belief.Shortfall{Since: r.S.Now.Wall, SinceMono: r.S.Now.Mono}
		r.S.Now.Await(short.SinceMono.Add(r.S.Spec.BlindAfter))
	case !short.Paged && r.S.Provider.Standing == fleet.ProviderUp &&
		r.S.Now.Due(short.SinceMono.Add(r.S.Spec.BlindAfter)):
		short.Paged = true
		rec := record.Record{Kind: record.Adoption, Reason: fleet.ReasonShort, Size: r.S.Spec.Size,
			Limit: a.Expected}
		r.Record(rec)
		rec.Kind = record.Paged
		r.Record(rec)
	}
}
