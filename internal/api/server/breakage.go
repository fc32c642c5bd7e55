package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"hale/api"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Breaking has machines of simulated providers fail, and no others.
type Breaking interface {
	// Break has the machine's instance at the provider fail in the way, and returns what happens to it. fault.NotFound:
	// there is no such way. fault.Invalid: the provider is a real one. fault.Conflict: the instance has gone.
	Break(p fleet.ProviderName, id fleet.InstanceID, way string) (does string, err error)
	// Ways are the ways, a line each.
	Ways() []api.Breakage
}

func (s *Server) breakages(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, api.Breakages{Breakages: s.opts.Breaking.Ways()})
}

// breakMachine has a simulated machine fail.
func (s *Server) breakMachine(w http.ResponseWriter, r *http.Request) {
	var order api.BreakOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes)).Decode(&order); err != nil {
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: err.Error()})
		return
	}
	out, status, problem := s.broken(order)
	if problem != nil {
		s.fail(w, status, *problem)
		return
	}
	s.answer(w, http.StatusOK, out)
}

func (s *Server) broken(order api.BreakOrder) (api.Broken, int, *api.Problem) {
	status := s.opts.Status()
	name, problem := meant(order.Machine, status)
	if problem != nil {
		return api.Broken{}, http.StatusBadRequest, problem
	}
	var names []string
	for _, f := range status {
		names = append(names, aliases(f)...)
		for i := range f.Machines {
			m := &f.Machines[i].Machine
			if string(m.Name) == name {
				return s.breaks(f.Spec.Provider, m, order.Way)
			}
			names = append(names, string(m.Name))
		}
	}
	return api.Broken{}, http.StatusNotFound, &api.Problem{
		Code: api.CodeUnknownMachine, Message: "there is no machine " + name, Near: api.Near(name, names),
	}
}

func (s *Server) breaks(p fleet.ProviderName, m *fleet.Machine, way string) (api.Broken, int, *api.Problem) {
	name := string(m.Name)
	if m.Current.None() {
		return api.Broken{}, http.StatusConflict, &api.Problem{Code: api.CodeRefused, Message: name + " has no instance yet"}
	}
	does, err := s.opts.Breaking.Break(p, m.Current.ID, way)
	switch {
	case err == nil:
		return api.Broken{Machine: name, Does: does}, 0, nil
	case fault.Is(err, fault.NotFound):
		var known []string
		for _, b := range s.opts.Breaking.Ways() {
			known = append(known, b.Name)
		}
		return api.Broken{}, http.StatusBadRequest, &api.Problem{
			Code:    api.CodeBadRequest,
			Message: said(err),
			Near:    api.Near(way, known),
		}
	}
	return api.Broken{}, http.StatusConflict, &api.Problem{Code: api.CodeRefused, Message: name + " " + said(err)}
}

// said is the cause of a fault, without its operation and subject.
func said(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Err != nil {
		return f.Err.Error()
	}
	return err.Error()
}
