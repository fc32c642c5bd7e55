package view

import (
	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/explain"
)

// Rollout says how another template goes through a fleet.
func Rollout(s published.Fleet) api.Rollout {
	e := explain.Rollout(s)
	out := api.Rollout{Fleet: string(s.Wanted.Name), Now: s.Now.Wall, State: rolloutState(e.Update),
		Machines: e.Machines, Done: e.Done, Under: e.Under, Left: e.Left, Healthy: e.Well, Why: Reason(e.Why, ""),
		Metric: string(e.Metric), Drifts: []api.Drift{}, Said: listed(e.Now), Person: listed(e.Person)}
	if e.Update != nil {
		out.By, out.Order = e.Update.By, string(e.Update.Order)
	}
	if e.Until != 0 {
		out.Until = s.Now.When(e.Until)
	}
	if e.Metric != "" {
		out.Bound = &e.Bound
	}
	if e.Read {
		value := finite(e.Value)
		out.Value = &value
	}
	for _, d := range e.Drifts {
		a := api.Drift{Machine: string(d.Machine), Instance: string(d.Instance), Template: d.Edition,
			Text: prose.Drift(d.Machine, explain.Facts(d))}
		for _, f := range d.Facts {
			a.Facts = append(a.Facts, api.Fact{Key: f.Key, Is: f.Is, Wanted: f.Wanted})
		}
		out.Drifts = append(out.Drifts, a)
	}
	return out
}

func rolloutState(u *belief.Update) string {
	switch {
	case u == nil:
		return api.RolloutNone
	case !u.Goes():
		return api.RolloutStopped
	case u.IsPaused():
		return api.RolloutPaused
	case u.Undoes != nil:
		return api.RolloutUndoing
	case u.Mends:
		return api.RolloutMending
	case !u.Proven:
		return api.RolloutProving
	}
	return api.RolloutGoesOn
}

// rolloutLine says briefly how another template goes through the fleet; empty: none does.
func rolloutLine(s *published.Fleet) string {
	if l := s.Whole.Ledger; l != nil && l.Update != nil {
		return prose.Rollout(l.Update, s.Now.Wall)
	}
	return ""
}
