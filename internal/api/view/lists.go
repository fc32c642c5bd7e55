package view

import (
	"cmp"
	"slices"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/explain"
)

// FleetSummary translates a fleet's status to one line.
func FleetSummary(s published.Fleet) api.FleetSummary {
	f := api.FleetSummary{
		Name: string(s.Spec.Name), Provider: string(s.Spec.Provider), Mode: string(s.Spec.Mode),
		Size:    s.Spec.Size - s.Whole.Ledger.Beside(),
		Failing: s.Tally.Failing, Suspect: s.Tally.Suspect, InRepair: s.Tally.InRepair, InBuild: s.Tally.InBuild,
		Holds: len(s.Whole.Holds), Acting: s.Acting == "", NotActing: Reason(s.Acting, s.Detail),
		Standing: string(s.Provider.Standing), Parents: len(s.Whole.Parents),
	}
	brake, _, _ := s.Braked()
	f.Braked = brake.On()
	if p := s.Pending(); !p.Empty() {
		f.Plans++
	}
	for _, v := range Machines(s) {
		m := &v.Machine
		if m.Health.Verdict == belief.VerdictHealthy && !m.Current.Candidate() {
			f.Healthy++
		}
		if needsPerson(m) {
			f.NeedPerson++
		}
		if m.Waiting != "" {
			f.Held++
		}
	}
	return f
}

// needsPerson reports whether a person was paged for the machine as it stands.
func needsPerson(m *belief.Machine) bool {
	return m.Quarantine != nil || m.Incident != nil && m.Incident.Paged
}

// Instances translates what the provider has, or had, for the fleet's machines.
func Instances(s published.Fleet) []api.Instance {
	var out []api.Instance
	for i := range s.Machines {
		v := &s.Machines[i]
		add := func(id fleet.InstanceID, host fleet.HostName, role string) *api.Instance {
			out = append(out, api.Instance{
				Provider: string(s.Spec.Provider), Fleet: string(s.Spec.Name), Machine: string(v.Machine.Name),
				ID: string(id), Role: role, Host: string(host),
			})
			added := &out[len(out)-1]
			if seen := v.Sighting(id); seen.Known() {
				added.Power = string(seen.Instance.Power)
				added.Host = cmp.Or(string(seen.Instance.Host), added.Host)
				added.Generation = uint64(seen.Instance.Mark.Generation)
			}
			return added
		}
		if c := v.Machine.Current; !c.None() {
			a := add(c.ID, c.Host, api.RoleCurrent)
			a.Generation, a.Certified, a.Adopted = uint64(c.Generation), c.Certified, c.Adopted
		}
		for _, k := range v.Machine.Kept {
			a := add(k.ID, k.Host, api.RoleKept)
			a.Generation, a.Certified = uint64(k.Generation), k.Certified
		}
		for _, stray := range v.Machine.Strays {
			add(stray.ID, stray.Host, api.RoleStray)
		}
	}
	return out
}

// UnownedInstances translates what bears the mark of hale and no fleet owns.
func UnownedInstances(all []published.Unowned) []api.Instance {
	out := make([]api.Instance, 0, len(all))
	for _, u := range all {
		i := u.Instance
		out = append(out, api.Instance{
			Provider: string(u.Provider), Fleet: string(i.Mark.Fleet), Machine: string(i.Mark.Machine),
			ID:   string(i.ID),
			Role: api.RoleUnowned, Generation: uint64(i.Mark.Generation), Host: string(i.Host), Power: string(i.Power),
		})
	}
	return out
}

// OpenIncidents translates the incidents that are open, of machines and of domains.
func OpenIncidents(s published.Fleet) []api.IncidentItem {
	var out []api.IncidentItem
	for _, v := range Machines(s) {
		i := v.Machine.Incident
		if i == nil {
			continue
		}
		out = append(out, api.IncidentItem{
			ID: i.ID, Fleet: string(s.Spec.Name), Machine: string(v.Machine.Name), Cause: string(i.Cause),
			Opened: i.Opened,
			Paged:  i.Paged, Parent: i.Parent, Waiting: held(s, *v),
		})
	}
	for _, p := range s.Whole.Parents {
		out = append(out, api.IncidentItem{
			ID: p.ID, Fleet: string(s.Spec.Name), Domain: domain(p.Domain), Opened: p.Opened, Paged: p.Paged,
		})
	}
	return out
}

// ClosedIncidents returns what the journal knows of incidents that are not open.
func ClosedIncidents(records []record.Record, open []api.IncidentItem) []api.IncidentItem {
	known := map[string]*api.IncidentItem{}
	var order []string
	for i := range records {
		r := &records[i]
		id := r.Incident
		if r.Kind == record.ParentOpen || r.Kind == record.ParentClosed {
			id = r.Parent
		}
		if id == "" {
			continue
		}
		item := known[id]
		if item == nil {
			item = &api.IncidentItem{ID: id, Fleet: string(r.Fleet), Machine: string(r.Machine)}
			known[id], order = item, append(order, id)
		}
		follow(item, r)
	}
	var out []api.IncidentItem
	for _, id := range order {
		stillOpen := slices.ContainsFunc(open, func(o api.IncidentItem) bool { return o.ID == id })
		if item := known[id]; !stillOpen && !item.Closed.IsZero() {
			out = append(out, *item)
		}
	}
	return out
}

// follow adds what a record says of the incident.
func follow(item *api.IncidentItem, r *record.Record) {
	switch r.Kind {
	case record.IncidentOpen:
		item.Opened, item.Cause = r.At, string(r.Cause)
	case record.ParentOpen:
		item.Opened, item.Domain = r.At, domain(r.Domain)
	case record.IncidentClosed, record.ParentClosed:
		item.Closed, item.Result = r.At, Reason(r.Reason, r.Detail)
		item.Cause = cmp.Or(item.Cause, string(r.Cause))
		if item.Opened.IsZero() && r.Took > 0 {
			item.Opened = r.At.Add(-r.Took)
		}
	case record.Paged:
		item.Paged = true
	case record.ChildJoined:
		item.Parent = r.Parent
	default:
	}
}

// IncidentTimeline returns what the journal has of an incident: of a machine's, with what led to it.
func IncidentTimeline(item api.IncidentItem, records []record.Record) []api.Event {
	var own []record.Record
	if item.Machine == "" {
		own = slices.DeleteFunc(slices.Clone(records), func(r record.Record) bool { return r.Parent != item.ID })
	} else {
		own = slices.DeleteFunc(slices.Clone(records), func(r record.Record) bool {
			return string(r.Machine) != item.Machine
		})
		own = withParents(chapter(own, item.ID), records)
	}
	out := make([]api.Event, 0, len(own))
	for _, r := range own {
		out = append(out, Event(r))
	}
	return out
}

// OpenRepairs translates the repairs that are under way.
func OpenRepairs(s published.Fleet) []api.RepairItem {
	var out []api.RepairItem
	for _, v := range Machines(s) {
		r := v.Machine.Repair
		if r == nil {
			continue
		}
		item := api.RepairItem{
			ID: r.ID, Fleet: string(s.Spec.Name), Machine: string(v.Machine.Name), Kind: string(r.Kind),
			Step:  string(r.Step),
			Phase: string(r.Phase), Started: r.Started, Text: explain.Work(*r, s.Now),
		}
		if i := v.Machine.Incident; i != nil {
			item.Incident = i.ID
		}
		out = append(out, item)
	}
	return out
}

// EndedRepairs returns the repairs whose end the journal knows.
func EndedRepairs(records []record.Record) []api.RepairItem {
	began := map[string]time.Time{}
	var out []api.RepairItem
	for i := range records {
		r := &records[i]
		switch r.Kind {
		case record.RepairStarted:
			began[r.Repair] = r.At
		case record.RepairEnded:
			item := api.RepairItem{
				ID: r.Repair, Fleet: string(r.Fleet), Machine: string(r.Machine), Incident: r.Incident,
				Step:    string(r.Step),
				Started: began[r.Repair], Ended: r.At, Result: Reason(r.Reason, r.Detail), Took: api.Duration(r.Took),
				Text: prose.Sentence(*r),
			}
			if item.Started.IsZero() && r.Took > 0 {
				item.Started = r.At.Add(-r.Took)
			}
			out = append(out, item)
		default:
		}
	}
	return out
}

// Hosts translates the hosts of the fleet's provider.
func Hosts(s published.Fleet) []api.HostItem {
	lying := map[fleet.HostName]int{}
	for i := range s.Machines {
		if lies := s.Machines[i].Machine.Lies(); !lies.None() {
			lying[lies.Host]++
		}
	}
	out := make([]api.HostItem, 0, len(s.Hosts))
	for _, h := range s.Hosts {
		out = append(out, api.HostItem{
			Provider: string(s.Spec.Provider), Host: host(h), Machines: lying[h.Name],
			Held: slices.ContainsFunc(s.Whole.Holds, func(k belief.Hold) bool {
				return h.Name != "" &&
					k.Host == h.Name
			}),
		})
	}
	return out
}

// WhoAmI translates a caller.
func WhoAmI(p access.Principal) api.WhoAmI {
	return api.WhoAmI{Kind: string(p.Kind), Name: p.Name, ID: p.ID, Grants: Grants(p.Grants)}
}

// Grants translates what a caller may do.
func Grants(all []access.Grant) []api.Grant {
	out := make([]api.Grant, 0, len(all))
	for _, g := range all {
		granted := api.Grant{Role: g.Role.String()}
		for _, f := range g.Fleets {
			granted.Fleets = append(granted.Fleets, string(f))
		}
		out = append(out, granted)
	}
	return out
}
