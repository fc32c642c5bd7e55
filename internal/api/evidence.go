package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/state/evidence"
)

// Evidence is what was kept of a machine before something was done to it.
type Evidence struct {
	Machine string `json:"machine"`
	// Incidents are those with evidence, oldest first. Incident is the one that Exhibits belong to; empty: there is
	// none.
	Incidents []string  `json:"incidents"`
	Incident  string    `json:"incident,omitempty"`
	Exhibits  []Exhibit `json:"exhibits"` // oldest first
	// Copies are those of disks that the machine's instances had, whatever the incident, oldest first.
	Copies []DiskCopy `json:"copies"`
}

// DiskCopy is a copy of an instance's disks, made by the step snapshot.
type DiskCopy struct {
	ID         string    `json:"id"`
	Incident   string    `json:"incident,omitempty"`
	Instance   string    `json:"instance"`
	Generation uint64    `json:"generation,omitempty"`
	Host       string    `json:"host,omitempty"`
	At         time.Time `json:"at"`
	// Whole says that it can be used. Until is when it goes, Where is what it is found by at the provider, and Bytes
	// what it takes.
	Whole bool      `json:"whole"`
	Until time.Time `json:"until"`
	Where string    `json:"where,omitempty"`
	Bytes uint64    `json:"bytes,omitempty"`
}

// Exhibit is the evidence on one instance.
type Exhibit struct {
	At         time.Time      `json:"at"`
	Instance   string         `json:"instance"`
	Generation uint64         `json:"generation,omitempty"`
	Host       string         `json:"host,omitempty"`
	Found      []string       `json:"found"` // what the provider and the checks said last
	Parts      []EvidencePart `json:"parts"`
	// Console is as the guest wrote it, control characters included.
	Console    []byte `json:"console,omitempty"`
	Screenshot []byte `json:"screenshot,omitempty"`
	Format     string `json:"format,omitempty"` // the screenshot's media type
}

// EvidencePart says of one part whether it is kept.
type EvidencePart struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes,omitempty"`
	// Lacks says why it is not kept, where it is not.
	Lacks Reason `json:"lacks,omitzero"`
}

// Evidence returns what is kept of a machine's incident; of the last one where incident is empty.
func (c *Client) Evidence(ctx context.Context, machine, incident string) (Evidence, error) {
	path := "/v1/machines/" + url.PathEscape(machine) + "/evidence"
	if incident != "" {
		path += "?incident=" + url.QueryEscape(incident)
	}
	return get[Evidence](ctx, c, path)
}

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
		s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
		return
	}
	known, names, copies := s.knows(machine)
	if len(kept) == 0 && !known {
		s.fail(w, http.StatusNotFound, *unknownMachine(machine, names))
		return
	}
	out := Evidence{Machine: string(machine), Incidents: []string{}, Exhibits: []Exhibit{}, Copies: copies}
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
		s.fail(w, http.StatusNotFound, Problem{
			Code: CodeUnknownIncident, Message: "nothing is kept of incident " + wanted + " of " + string(machine),
			Near: near(wanted, out.Incidents),
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
			s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
			return
		}
		out.Exhibits = append(out.Exhibits, viewExhibit(e, b))
	}
	s.answer(w, http.StatusOK, out)
}

// knows reports whether there is such a machine, which there are, and what copies of its disks.
func (s *Server) knows(machine fleet.MachineName) (known bool, names []string, copies []DiskCopy) {
	copies = []DiskCopy{}
	for _, f := range s.opts.Status() {
		names = append(names, aliases(f)...)
		for _, v := range f.Machines {
			names = append(names, string(v.Machine.Name))
			if v.Machine.Name != machine {
				continue
			}
			known = true
			for _, d := range v.Machine.Snapshots {
				copies = append(copies, DiskCopy{
					ID: string(d.ID), Incident: d.Incident, Instance: string(d.Instance),
					Generation: uint64(d.Generation), Host: string(d.Host), At: d.At, Whole: d.Whole, Until: d.Until,
					Where: d.Where, Bytes: d.Bytes,
				})
			}
		}
	}
	return known, names, copies
}

func viewExhibit(e evidence.Exhibit, b evidence.Bytes) Exhibit {
	x := Exhibit{
		At: e.At, Instance: string(e.Instance), Generation: uint64(e.Generation), Host: string(e.Host),
		Found: []string{prose.Said(e.Power, e.Stop)}, Console: b.Console, Screenshot: b.Screenshot, Format: e.Format,
	}
	for _, c := range e.Checks {
		x.Found = append(x.Found,
			prose.Stands(fleet.CheckState{Check: c.Check, Standing: c.Standing, Result: c.Result, Detail: c.Detail}))
	}
	for _, p := range prose.EvidenceParts(e.Parts) {
		part := EvidencePart{Name: p.Name, Bytes: p.Bytes}
		if p.Why != "" {
			part.Lacks = Reason{Code: string(p.Why), Text: prose.Reason(p.Why), Detail: p.Detail}
		}
		x.Parts = append(x.Parts, part)
	}
	return x
}
