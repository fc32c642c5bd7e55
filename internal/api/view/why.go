package view

import (
	"cmp"
	"slices"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose/explain"
)

// lastEvents is how many events are told of a machine that never had an incident.
const lastEvents = 20

// Why joins the present state of a machine with the journal of its fleet.
func Why(s published.Fleet, v situation.View, journal []record.Record) api.Why {
	e := explain.Machine(s, v)
	w := api.Why{
		Now: s.Now.Wall, Fleet: string(s.Spec.Name), Machine: Machine(s, v),
		Because: listed(e.Because), Doing: listed(e.Now), Person: listed(e.Person), Timeline: []api.Event{},
	}
	own := slices.DeleteFunc(slices.Clone(journal), func(r record.Record) bool { return r.Machine != v.Machine.Name })
	if i := v.Machine.Incident; i != nil {
		w.Incident = i.ID
	} else {
		for _, r := range own {
			w.Incident = cmp.Or(r.Incident, w.Incident) // the last one
		}
	}
	for _, r := range withParents(chapter(own, w.Incident), journal) {
		w.Timeline = append(w.Timeline, Event(r))
	}
	return w
}

// listed is the list, which is empty and not absent where there is nothing on it.
func listed[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

// withParents adds what the journal has of the parent incidents that the chapter names.
func withParents(own, journal []record.Record) []record.Record {
	var parents []string
	for _, r := range own {
		if r.Parent != "" && !slices.Contains(parents, r.Parent) {
			parents = append(parents, r.Parent)
		}
	}
	if len(parents) == 0 {
		return own
	}
	out := slices.Clone(own)
	for _, r := range journal {
		if r.Machine == "" && slices.Contains(parents, r.Parent) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b record.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// chapter returns the records that tell of the incident: from the last time before it that the machine was healthy to
// the last record that names it, and whatever came later if it is still open.
func chapter(own []record.Record, incident string) []record.Record {
	names := func(r record.Record) bool { return r.Incident == incident }
	first := slices.IndexFunc(own, names)
	if incident == "" || first < 0 {
		return own[max(0, len(own)-lastEvents):]
	}
	from := first
	for from > 0 && own[from-1].Kind == record.Verdict && own[from-1].Verdict != belief.VerdictHealthy {
		from--
	}
	to := len(own)
	closed := slices.IndexFunc(own, func(r record.Record) bool {
		return names(r) && r.Kind == record.IncidentClosed
	})
	if closed >= 0 {
		to = closed + 1
	}
	return own[from:to]
}
