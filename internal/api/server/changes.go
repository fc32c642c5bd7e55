package server

import (
	"errors"
	"net/http"
	"path/filepath"

	"hale/api"
	"hale/internal/core/fault"
	"hale/internal/keys"
)

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	c, err := s.opts.Desk.Reload(r.Context())
	s.changes(w, c, err)
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	if !filepath.IsAbs(path) {
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: "path: is not an absolute path"})
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
	s.changes(w, api.Changes{Changes: []api.Change{}, Plans: []api.Waiting{}}, err)
}

// changes answers with what changed, or with all that is wrong.
func (s *Server) changes(w http.ResponseWriter, c api.Changes, err error) {
	var problems keys.Problems
	switch {
	case err == nil:
		s.answer(w, http.StatusOK, c)
	case errors.As(err, &problems):
		p := api.Problem{
			Code:    api.CodeConfiguration,
			Message: "the configuration is not valid; the one that runs is left as it is",
		}
		for _, one := range problems {
			p.Lines = append(p.Lines, one.String())
		}
		s.fail(w, http.StatusUnprocessableEntity, p)
	case fault.Is(err, fault.Invalid):
		var f *fault.Error
		errors.As(err, &f)
		s.fail(w, http.StatusUnprocessableEntity, api.Problem{Code: api.CodeConfiguration, Message: f.Err.Error()})
	default:
		s.fail(w, http.StatusConflict, api.Problem{Code: api.CodeRefused, Message: api.Cause(err).Error()})
	}
}
