package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Breaking has machines of simulated providers fail, and no others.
type Breaking interface {
	// Break has the machine's instance at the provider fail in the way, and returns what happens to it. fault.NotFound:
	// there is no such way. fault.Invalid: the provider is a real one. fault.Conflict: the instance has gone.
	Break(p fleet.ProviderName, id fleet.InstanceID, way string) (does string, err error)
	// Ways are the ways, a line each.
	Ways() []Breakage
}

// Breakages are the ways in which machines of simulated providers can fail.
type Breakages struct {
	Breakages []Breakage `json:"breakages"`
}

// Breakage is one of them.
type Breakage struct {
	Name string `json:"name"`
	Does string `json:"does"` // the end of a sentence about the machine
}

// BreakOrder asks for it.
type BreakOrder struct {
	Machine string `json:"machine"`
	Way     string `json:"way"`
}

// Broken is what was done.
type Broken struct {
	Machine string `json:"machine"`
	Does    string `json:"does"`
}

func (s *Server) breakages(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, Breakages{Breakages: s.opts.Breaking.Ways()})
}

// breakMachine has a simulated machine fail.
func (s *Server) breakMachine(w http.ResponseWriter, r *http.Request) {
	var order BreakOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes)).Decode(&order); err != nil {
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: err.Error()})
		return
	}
	out, status, problem := s.broken(order)
	if problem != nil {
		s.fail(w, status, *problem)
		return
	}
	s.answer(w, http.StatusOK, out)
}

func (s *Server) broken(order BreakOrder) (Broken, int, *Problem) {
	status := s.opts.Status()
	name, problem := meant(order.Machine, status)
	if problem != nil {
		return Broken{}, http.StatusBadRequest, problem
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
	return Broken{}, http.StatusNotFound, &Problem{
		Code: CodeUnknownMachine, Message: "there is no machine " + name, Near: near(name, names),
	}
}

func (s *Server) breaks(p fleet.ProviderName, m *fleet.Machine, way string) (Broken, int, *Problem) {
	name := string(m.Name)
	if m.Current.None() {
		return Broken{}, http.StatusConflict, &Problem{Code: CodeRefused, Message: name + " has no instance yet"}
	}
	does, err := s.opts.Breaking.Break(p, m.Current.ID, way)
	switch {
	case err == nil:
		return Broken{Machine: name, Does: does}, 0, nil
	case fault.Is(err, fault.NotFound):
		var known []string
		for _, b := range s.opts.Breaking.Ways() {
			known = append(known, b.Name)
		}
		return Broken{}, http.StatusBadRequest, &Problem{
			Code:    CodeBadRequest,
			Message: said(err),
			Near:    near(way, known),
		}
	}
	return Broken{}, http.StatusConflict, &Problem{Code: CodeRefused, Message: name + " " + said(err)}
}

// said is the cause of a fault, without its operation and subject.
func said(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Err != nil {
		return f.Err.Error()
	}
	return err.Error()
}

// Breakages returns the ways in which machines of simulated providers can fail.
func (c *Client) Breakages(ctx context.Context) (Breakages, error) {
	return get[Breakages](ctx, c, "/v1/simulated/breakages")
}

// Break has a machine of a simulated provider fail.
func (c *Client) Break(ctx context.Context, o BreakOrder) (Broken, error) {
	return post[Broken](ctx, c, "/v1/simulated/break", o)
}
