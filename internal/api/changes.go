package api

import (
	"errors"
	"net/http"
	"path/filepath"

	"hale/internal/core/change"
	"hale/internal/core/fault"
	"hale/internal/keys"
)

// Changes are what another configuration changes, and what of it waits for a person's word.
type Changes struct {
	Changes []Change  `json:"changes"`
	Plans   []Waiting `json:"plans"`
	// Withdrawn are plans that waited for a person's word and are not in the configuration any more.
	Withdrawn []Waiting `json:"withdrawn,omitempty"`
	// Unwatched are the machines of fleets that leave: they run on, and nothing watches or repairs them.
	Unwatched []Unwatched `json:"unwatched,omitempty"`
	// Passed are files of the configuration's folder that look like a part of it and are not read.
	Passed []string `json:"passed,omitempty"`
	// Warnings are what does no harm yet, and will one day.
	Warnings []string `json:"warnings,omitempty"`
}

// Unwatched is a fleet that leaves the configuration.
type Unwatched struct {
	Fleet    string   `json:"fleet"`
	Machines []string `json:"machines"`
}

// Change is one thing that differs between two configurations.
type Change struct {
	Subject string `json:"subject"` // as "fleet web"
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	// Destructive says that it waits for a person's word.
	Destructive bool `json:"destructive"`
}

// Waiting is a plan that takes effect only when a person confirms it.
type Waiting struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Text    string `json:"text,omitempty"`
	// From and To are the sizes of a fleet that is to shrink.
	From     int       `json:"from,omitempty"`
	To       int       `json:"to,omitempty"`
	Remove   []Touched `json:"remove"`
	Template bool      `json:"template"` // the template is another one
	Replace  []Touched `json:"replace"`  // by instances of that template
	Doubted  []Touched `json:"doubted"`  // that are taken for gone, should they not be at a provider's new address
	Blocked  Reason    `json:"blocked,omitzero"`
}

// SubjectConfiguration is the subject of a plan of the whole configuration: fleets in it look renamed.
const SubjectConfiguration = "configuration"

// Touched is a machine that a plan would destroy or replace.
type Touched struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance,omitempty"`
	Why      Reason `json:"why,omitzero"` // why it is this one
}

// ViewWaiting translates a fleet's plan.
func ViewWaiting(p change.Plan) Waiting {
	w := Waiting{
		ID: p.ID, Subject: "fleet " + string(p.Fleet), Template: p.Template, Blocked: ViewReason(p.Blocked, ""),
		Remove: viewTouched(p.Remove), Replace: viewTouched(p.Replace), Doubted: []Touched{},
	}
	if p.From != p.To {
		w.From, w.To = p.From, p.To
	}
	return w
}

func viewTouched(all []change.Touched) []Touched {
	out := make([]Touched, 0, len(all))
	for _, t := range all {
		out = append(out, Touched{Machine: string(t.Machine), Instance: string(t.Instance), Why: ViewReason(t.Why, "")})
	}
	return out
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	c, err := s.opts.Desk.Reload(r.Context())
	s.changes(w, c, err)
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	if !filepath.IsAbs(path) {
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: "path: is not an absolute path"})
		return
	}
	c, err := s.opts.Desk.Compare(r.Context(), path)
	s.changes(w, c, err)
}

func (s *Server) pending(w http.ResponseWriter, r *http.Request) {
	c, err := s.opts.Desk.Pending(r.Context())
	s.changes(w, c, err)
}

func (s *Server) readdress(w http.ResponseWriter, r *http.Request) {
	err := s.opts.Desk.Readdress(r.Context(), r.URL.Query().Get("plan"), callerOf(r.Context()))
	s.changes(w, Changes{Changes: []Change{}, Plans: []Waiting{}}, err)
}

// changes answers with what changed, or with all that is wrong.
func (s *Server) changes(w http.ResponseWriter, c Changes, err error) {
	var problems keys.Problems
	switch {
	case err == nil:
		s.answer(w, http.StatusOK, c)
	case errors.As(err, &problems):
		p := Problem{
			Code:    CodeConfiguration,
			Message: "the configuration is not valid; the one that runs is left as it is",
		}
		for _, one := range problems {
			p.Lines = append(p.Lines, one.String())
		}
		s.fail(w, http.StatusUnprocessableEntity, p)
	case fault.Is(err, fault.Invalid):
		var f *fault.Error
		errors.As(err, &f)
		s.fail(w, http.StatusUnprocessableEntity, Problem{Code: CodeConfiguration, Message: f.Err.Error()})
	default:
		s.fail(w, http.StatusConflict, Problem{Code: CodeRefused, Message: cause(err).Error()})
	}
}
