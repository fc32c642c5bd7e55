package server

import (
	"cmp"
	"context"
	"slices"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/naming"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/near"
	"hale/internal/owner/published"
	"hale/internal/state/evidence"
)

// evidenceOf is whose evidence is asked for, and of which incident.
type evidenceOf struct {
	Name     string `path:"name" maxLength:"253" doc:"A name, or what the provider calls the machine."`
	Incident string `query:"incident" maxLength:"300" doc:"Of this incident; else of the last one."`
}

// evidence answers also for a machine that was removed.
func (s *Server) evidence(ctx context.Context, in *evidenceOf) (api.Evidence, error) {
	status := s.seen(ctx, access.Admin)
	text, err := naming.Meant(in.Name, status)
	if err != nil {
		return api.Evidence{}, err
	}
	machine := fleet.MachineName(text)
	known, names, copies := knows(status, machine)
	if !known && !access.Of(ctx).May(access.Admin, machine.Fleet()) {
		return api.Evidence{}, naming.UnknownMachine(machine, names)
	}
	kept, err := evidence.Of(ctx, s.opts.Store, machine)
	if err != nil {
		return api.Evidence{}, err
	}
	if len(kept) == 0 && !known {
		return api.Evidence{}, naming.UnknownMachine(machine, names)
	}
	out := api.Evidence{Machine: string(machine), Incidents: []string{}, Exhibits: []api.Exhibit{}, Copies: copies}
	for _, e := range kept {
		if !slices.Contains(out.Incidents, e.Incident) {
			out.Incidents = append(out.Incidents, e.Incident)
		}
	}
	if n := len(out.Incidents); n > 0 {
		out.Incident = out.Incidents[n-1]
	}
	if in.Incident != "" && !slices.Contains(out.Incidents, in.Incident) {
		p := api.NewProblem(api.CodeUnknownIncident,
			"nothing is kept of incident "+in.Incident+" of "+string(machine))
		p.Near = near.Names(in.Incident, out.Incidents)
		return api.Evidence{}, p
	}
	out.Incident = cmp.Or(in.Incident, out.Incident)
	for _, e := range kept {
		if e.Incident != out.Incident {
			continue
		}
		b, err := evidence.Open(ctx, s.opts.Store, e)
		if err != nil {
			return api.Evidence{}, err
		}
		out.Exhibits = append(out.Exhibits, view.Exhibit(e, b))
	}
	return out, nil
}

// knows reports whether there is such a machine, which there are, and what copies of its disks.
func knows(status []published.Fleet, machine fleet.MachineName) (known bool, names []string, copies []api.DiskCopy) {
	copies = []api.DiskCopy{}
	for _, f := range status {
		names = append(names, naming.Aliases(f)...)
		for _, v := range f.Machines {
			names = append(names, string(v.Machine.Name))
			if v.Machine.Name != machine {
				continue
			}
			known = true
			for _, d := range v.Machine.Snapshots {
				copies = append(copies, api.DiskCopy{
					ID: string(d.ID), Incident: d.Incident, Instance: string(d.Instance),
					Generation: uint64(d.Generation), Host: string(d.Host), At: d.At, Whole: d.Whole, Until: d.Until,
					Where: d.Where, Bytes: d.Bytes,
				})
			}
		}
	}
	return known, names, copies
}
