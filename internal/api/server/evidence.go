package server

import (
	"cmp"
	"net/http"
	"slices"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/state/evidence"
)

// evidence answers also for a machine that was removed.
func (s *Server) evidence(w http.ResponseWriter, r *http.Request) {
	text, problem := meant(r.PathValue("name"), s.opts.Status())
	if problem != nil {
		s.fail(w, http.StatusBadRequest, *problem)
		return
	}
	machine := fleet.MachineName(text)
	kept, err := evidence.Of(r.Context(), s.opts.Store, machine)
	if err != nil {
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	known, names, copies := s.knows(machine)
	if len(kept) == 0 && !known {
		s.fail(w, http.StatusNotFound, *unknownMachine(machine, names))
		return
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
	wanted := r.URL.Query().Get("incident")
	if wanted != "" && !slices.Contains(out.Incidents, wanted) {
		s.fail(w, http.StatusNotFound, api.Problem{
			Code: api.CodeUnknownIncident, Message: "nothing is kept of incident " + wanted + " of " + string(machine),
			Near: api.Near(wanted, out.Incidents),
		})
		return
	}
	out.Incident = cmp.Or(wanted, out.Incident)
	for _, e := range kept {
		if e.Incident != out.Incident {
			continue
		}
		b, err := evidence.Open(r.Context(), s.opts.Store, e)
		if err != nil {
			s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
			return
		}
		out.Exhibits = append(out.Exhibits, view.Exhibit(e, b))
	}
	s.answer(w, http.StatusOK, out)
}

// knows reports whether there is such a machine, which there are, and what copies of its disks.
func (s *Server) knows(machine fleet.MachineName) (known bool, names []string, copies []api.DiskCopy) {
	copies = []api.DiskCopy{}
	for _, f := range s.opts.Status() {
		names = append(names, aliases(f)...)
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
