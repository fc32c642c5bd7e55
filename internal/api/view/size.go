package view

import (
	"math"
	"time"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/sizing"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/explain"
)

// Size says how a fleet's size stands, and what moves it.
func Size(s published.Fleet) api.FleetSize {
	e := explain.Size(s)
	out := api.FleetSize{
		Fleet: string(s.Wanted.Name), Now: s.Now.Wall, Size: s.Spec.Size - s.Whole.Ledger.Beside(), Desired: e.Asked,
		Word:     sizeWord(&s, &e),
		Opinions: []api.SizeOpinion{}, Metrics: []api.SizeMetric{}, Leaving: sizeLeaving(&s),
		Spares: s.Whole.Ledger.Idle(), Said: listed(e.Now), Person: listed(e.Person),
	}
	for _, v := range Machines(s) {
		if m := &v.Machine; !m.Current.None() && !s.Whole.Ledger.IsSpare(m.Name) {
			out.Actual++
			if m.Health.Verdict == belief.VerdictHealthy {
				out.Healthy++
			}
		}
	}
	if e.Policy != nil {
		sizeMoves(&out, &s, &e)
	}
	return out
}

func sizeWord(s *published.Fleet, e *explain.Sized) api.SizeWord {
	o := e.Word
	if o == nil {
		from := api.SizeFromFile
		if s.Wanted.Sizing != nil && s.Wanted.Said() == 0 {
			from = api.SizeFromBounds
		}
		return api.SizeWord{From: from, Text: e.Now[0]}
	}
	out := api.SizeWord{From: api.SizeFromOrder, By: o.By, Opinion: string(o.Opinion), Reason: o.Reason,
		Order: string(o.Order), At: o.At, Text: e.Now[0]}
	if o.Opinion != "" {
		out.From = api.SizeFromOpinion
	}
	if o.Pinned(s.Now) {
		out.Pinned = o.Pin.Until
	}
	return out
}

// sizeBounds translates the bounds of a size; nil: it has none.
func sizeBounds(z *policy.Sizing) *api.SizeBounds {
	if z == nil {
		return nil
	}
	return &api.SizeBounds{Min: z.Min, Max: z.Max, Strict: z.Strict, Mode: string(z.Mode)}
}

// sizeMoves adds what is to be said of a size that moves.
func sizeMoves(out *api.FleetSize, s *published.Fleet, e *explain.Sized) {
	z, v := e.Policy, &e.Verdict
	out.Bounds = sizeBounds(z)
	out.Wants, out.Held = v.Wants, Reason(v.Why, "")
	if v.Until != 0 {
		out.Until = s.Now.When(v.Until)
	}
	state := s.Whole.Sizing
	if sizing.Watched(&s.Wanted) && state != nil {
		out.Would = state.Would
	}
	for i := range v.Said {
		out.Opinions = append(out.Opinions, sizeOpinion(&z.Opinions[i], &v.Said[i], i == v.By))
	}
	for i := range z.Metrics {
		out.Metrics = append(out.Metrics, sizeMetric(s, &z.Metrics[i]))
	}
	out.Up, out.Down = sizePace(s, e, true), sizePace(s, e, false)
	if n := e.Next; n != nil {
		out.Next = &api.SizeLeaver{Machine: string(n.Machine), Instance: string(n.Instance), Why: Reason(n.Why, "")}
	}
	if state != nil && state.History != nil {
		h := state.History
		out.Forecast = &api.SizeForecast{Now: h.Foretold, Judged: h.Judged, Short: h.Short, Spare: h.Spare,
			Text: prose.Forecast(h)}
	}
}

func sizeOpinion(o *policy.Opinion, s *sizing.Said, counts bool) api.SizeOpinion {
	return api.SizeOpinion{Name: string(o.Name), Kind: string(o.Kind), Metric: string(o.Metric), Value: finite(s.Value),
		Total: finite(s.Total), Goal: s.Goal, Wants: s.Wants, Least: s.Low, Most: s.High,
		Silent: Reason(s.Why, s.Detail),
		Young:  s.Young, Counts: counts, Text: prose.Opinion(o, s)}
}

// finite is the number, or 0 for one that JSON does not know.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func sizeMetric(s *published.Fleet, m *policy.Metric) api.SizeMetric {
	out := api.SizeMetric{Name: string(m.Name), Kind: string(m.Kind)}
	age := time.Duration(0)
	if g := fleet.Gauged(s.Gauges, m.Name); g != nil {
		out.Readings, out.Trouble = len(g.Points), Reason(g.Trouble, g.Detail)
		for _, p := range g.Points {
			if m.Believable(p.Value) && finite(p.Value) == p.Value {
				value := p.Value
				out.Value, age = &value, s.Now.Mono.Sub(p.At)
			}
		}
	}
	out.Age = api.Duration(age.Truncate(time.Second))
	var silent *resized.Silent
	if state := s.Whole.Sizing; state != nil {
		if i := state.SilentAt(m.Name); i >= 0 {
			silent = &state.Silent[i]
			out.Silent, out.Paged = silent.Since, silent.Paged
		}
	}
	out.Text = prose.Metric(m, out.Value, age, silent, s.Now.Wall)
	return out
}

func sizePace(s *published.Fleet, e *explain.Sized, up bool) *api.SizePace {
	state, p, to := s.Whole.Sizing, e.Policy.Up, e.Case.Size+1
	if !up {
		p, to = e.Policy.Down, e.Case.Size-1
	}
	out := &api.SizePace{Cooldown: api.Duration(p.Cooldown), Stabilise: api.Duration(p.Stabilise),
		Most: sizing.Most(p, e.Case.Size)}
	if state == nil {
		return out
	}
	if out.Moved = state.DownAt; up {
		out.Moved = state.UpAt
	}
	if at := sizing.Rests(e.Policy, state, e.Case.Size, to); at != 0 && !s.Now.Due(at) {
		out.Rests = s.Now.When(at)
	}
	return out
}

// sizeLeaving are the machines that are to go.
func sizeLeaving(s *published.Fleet) []api.SizeLeaver {
	out := []api.SizeLeaver{}
	if s.Whole.Ledger == nil {
		return out
	}
	for _, r := range s.Whole.Ledger.Removals {
		out = append(out, api.SizeLeaver{Machine: string(r.Machine), Instance: string(r.Instance),
			Why: Reason(r.Why, ""), By: r.By, Opinion: string(r.Opinion)})
	}
	return out
}
