package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/once"
)

// plans are those that the caller may see: of the fleets in which it is a viewer, and of one that sees all, those of
// providers and of the configuration.
func (s *Server) plans(ctx context.Context, _ *rest.Nothing) (api.Plans, error) {
	waits, err := s.opts.Desk.Pending(ctx)
	out := api.Plans{Plans: []api.Waiting{}}
	if err != nil {
		return out, unfit(err)
	}
	p := access.Of(ctx)
	for _, w := range waits.Plans {
		if p.May(access.Viewer, fleetOf(w)) {
			out.Plans = append(out.Plans, w)
		}
	}
	if p.May(access.Viewer, "") {
		out.Passed, out.Warnings = waits.Passed, waits.Warnings
	}
	return out, nil
}

// fleetOf is the fleet whose plan it is; empty: it is no fleet's.
func fleetOf(w api.Waiting) fleet.Name {
	name, ok := strings.CutPrefix(w.Subject, "fleet ")
	if !ok {
		return ""
	}
	return fleet.Name(name)
}

// planToConfirm is planNamed, but that a fleet's owner, which may be another server, has the last word on what waits.
func (s *Server) planToConfirm(ctx context.Context, id string) (api.Waiting, error) {
	w, err := s.planNamed(ctx, id)
	var p api.Problem
	if !errors.As(err, &p) || p.Code != api.CodeUnknownPlan {
		return w, err
	}
	if end := strings.LastIndexByte(id, '-'); end > 0 {
		if _, unknown := fleetNamed(id[:end], s.seen(ctx, access.Viewer)); unknown == nil {
			return api.Waiting{ID: id, Subject: "fleet " + id[:end], Remove: []api.Touched{}, Replace: []api.Touched{},
				Doubted: []api.Touched{}}, nil
		}
	}
	return w, err
}

// byPlan names a plan.
type byPlan struct {
	ID string `path:"id" maxLength:"300" doc:"The plan's id. It is another one as soon as anything in the plan is."`
}

// onePlan is a plan with its revision.
type onePlan struct {
	Revision string `header:"ETag" doc:"The plan's revision."`
	Body     api.Waiting
}

func (s *Server) plan(ctx context.Context, in *byPlan) (*onePlan, error) {
	w, err := s.planNamed(ctx, in.ID)
	return &onePlan{Revision: rest.Quoted(w.ID), Body: w}, err
}

func (s *Server) planNamed(ctx context.Context, id string) (api.Waiting, error) {
	all, err := s.plans(ctx, nil)
	if err != nil {
		return api.Waiting{}, err
	}
	var known []string
	for _, w := range all.Plans {
		if w.ID == id {
			return w, nil
		}
		known = append(known, w.ID)
	}
	p := api.Unknown(api.CodeUnknownPlan, "plan "+id+" that waits", id, known)
	p.Advice = "it was carried out or taken back, or it is another one since something in it changed: see what waits now"
	return api.Waiting{}, p
}

// confirming gives a word for a plan.
type confirming struct {
	rest.Repeatable
	ID      string `path:"id" maxLength:"300" doc:"The plan's id."`
	IfMatch string `header:"If-Match" maxLength:"310" doc:"The revision of the plan that was seen."`
	Body    api.Confirmation
}

// confirmed is how far a confirmation came, for when it is asked again.
type confirmed struct {
	Plan   api.Waiting
	Orders []fleet.Order `json:",omitempty"` // to the fleet
}

// confirm gives a person's word for a plan: of a fleet to the fleet's owner, of a provider or of the configuration to
// this server.
func (s *Server) confirm(ctx context.Context, in *confirming) (api.Confirmed, error) {
	if err := rest.Matches(in.IfMatch, rest.Quoted(in.ID)); err != nil {
		return api.Confirmed{}, err
	}
	var was confirmed
	revision, err := once.Stage(ctx, &was)
	if err != nil {
		return api.Confirmed{}, err
	}
	if revision == 0 {
		if was.Plan, err = s.planToConfirm(ctx, in.ID); err != nil {
			return api.Confirmed{}, err
		}
	}
	out := api.Confirmed{Plan: was.Plan}
	audit.About(ctx, "plan "+in.ID)
	name := fleetOf(was.Plan)
	if name == "" {
		if err := rest.May(ctx, access.Admin, ""); err != nil {
			return out, err
		}
		return out, s.readdress(ctx, in, was.Plan, revision > 0)
	}
	if err := rest.May(ctx, access.Operator, name); err != nil {
		return out, err
	}
	if revision == 0 {
		was.Orders = []fleet.Order{{
			Kind: fleet.OrderConfirm, Fleet: name, Plan: in.ID, By: rest.SpokenFor(ctx, in.Body.As), Reason: in.Body.Reason,
			At: time.Now().UTC(), Expires: time.Now().UTC().Add(fleet.OrderLife),
		}}
		if was.Orders[0].ID, err = once.OrderID(ctx, "confirm"); err != nil {
			return out, err
		}
		if in.Dry {
			out.Orders = s.try(ctx, was.Orders)
			return out, nil
		}
		if err := s.agreed(ctx, was.Orders); err != nil {
			return out, err
		}
		if revision, err = s.post(ctx, was.Orders, was); err != nil {
			return out, err
		}
	}
	out.Orders = s.await(ctx, was.Orders, revision, in.Body.Wait)
	return out, nil
}

// readdress has a plan carried out that is no fleet's. Again says that hale ended while it did so: then the plan is
// done if nothing of its subject waits any more.
func (s *Server) readdress(ctx context.Context, in *confirming, w api.Waiting, again bool) error {
	if in.Dry {
		return nil
	}
	if !again {
		if err := s.hold(ctx, access.RiskConfirm, "plan "+w.ID); err != nil {
			return err
		}
		if _, err := once.Commit(ctx, s.opts.Store, state.Txn{}, confirmed{Plan: w}); err != nil {
			return err
		}
	}
	err := s.opts.Desk.Readdress(ctx, in.ID, rest.SpokenFor(ctx, in.Body.As))
	if again && fault.Is(err, fault.Conflict) {
		waits, unread := s.opts.Desk.Pending(ctx)
		if unread == nil && !slices.ContainsFunc(waits.Plans, func(o api.Waiting) bool { return o.Subject == w.Subject }) {
			return nil
		}
	}
	return unfit(err)
}
