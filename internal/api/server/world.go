package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine"
	"hale/internal/owner/published"
	"hale/internal/prose"
)

// world says what believing the world would mean for a fleet.
func (s *Server) world(w http.ResponseWriter, r *http.Request) {
	f, problem := fleetNamed(r.PathValue("name"), s.opts.Status())
	if problem != nil {
		s.fail(w, http.StatusNotFound, *problem)
		return
	}
	if why := unbelievable(f); why != "" {
		s.fail(w, http.StatusConflict, refusal(f, why))
		return
	}
	s.answer(w, http.StatusOK, view.World(f, f.Installation))
}

// unbelievable says why there is nothing to believe in the fleet; empty: there is.
func unbelievable(f published.Fleet) fleet.Reason {
	switch {
	case f.Acting == fleet.ReasonNotOwner:
		return f.Acting
	case f.Provider.Standing != fleet.ProviderUp:
		return fleet.ReasonProviderDown
	case f.Whole.Older == nil && len(f.Whole.Foreign) == 0 && len(f.Roll.Unknown) == 0 &&
		len(view.World(f, f.Installation).Machines) == 0:
		return fleet.ReasonNotOlder
	}
	return ""
}

func refusal(f published.Fleet, why fleet.Reason) api.Problem {
	said := string(f.Spec.Name) + ": " + prose.Reason(why)
	if a := prose.Advice(why); a != "" {
		said += "; " + a
	}
	return api.Problem{Code: api.CodeRefused, Message: said}
}

func fleetNamed(name string, status []published.Fleet) (published.Fleet, *api.Problem) {
	var names []string
	for _, f := range status {
		if string(f.Spec.Name) == name {
			return f, nil
		}
		names = append(names, string(f.Spec.Name))
	}
	problem := api.UnknownFleet(name, names)
	return published.Fleet{}, &problem
}

// confirmsWorld checks the plan by which a person wants the world to be believed, and takes it out of the request: the
// order has none.
func confirmsWorld(q *api.OrderRequest, status []published.Fleet) *api.Problem {
	if !q.Believe {
		return nil
	}
	if len(q.Subjects) != 1 || q.Plan == "" {
		return badRequest("the world is believed in one fleet, by the plan that says what that means")
	}
	f, problem := fleetNamed(q.Subjects[0], status)
	if problem != nil {
		return problem
	}
	if why := unbelievable(f); why != "" {
		p := refusal(f, why)
		return &p
	}
	if view.World(f, f.Installation).Plan != q.Plan {
		return &api.Problem{Code: api.CodeRefused, Message: q.Plan + ": " + prose.Reason(fleet.ReasonStalePlan) +
			"; see what it would mean now: hale recover " + q.Subjects[0] + " --believe-the-world"}
	}
	q.Plan = ""
	return nil
}

// takeOver has the store become another installation, or says what that would mean.
func (s *Server) takeOver(w http.ResponseWriter, r *http.Request) {
	var q api.TakeOverRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes)).Decode(&q)
	if err == nil && q.Installation == "" {
		err = errors.New("no installation is named")
	}
	if err != nil {
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: err.Error()})
		return
	}
	of := fleet.Installation(q.Installation)
	out := api.TakeOver{Installation: q.Installation, Fleets: []api.World{}}
	for _, f := range s.opts.Status() {
		if v := view.World(f, of); len(v.Machines) > 0 {
			out.Fleets = append(out.Fleets, v)
		}
	}
	taken, err := s.opts.TakeOver(r.Context(), engine.TakeOver{
		Installation: of, By: spokenFor(r.Context(), q.As), Reason: q.Reason, DryRun: !q.Confirm})
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind == fault.Conflict && f.Err != nil:
		s.fail(w, http.StatusConflict, api.Problem{
			Code:    api.CodeRefused,
			Message: "take-over of " + q.Installation + " is refused: " + f.Err.Error(),
		})
		return
	case fault.Is(err, fault.Invalid):
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: api.Cause(err).Error()})
		return
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	if out.Done = q.Confirm; out.Done {
		out.Orders = s.await(r.Context(), taken.Orders, taken.Revision, q.Wait)
	}
	s.answer(w, http.StatusOK, out)
}
