package server

import (
	"context"
	"slices"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/rollout"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/state/once"
)

// isOpen reports whether something of the order waits, is under way or counts in the fleet.
func isOpen(f *published.Fleet, id fleet.OrderID) bool {
	if id == "" {
		return false
	}
	l := f.Whole.Ledger
	removes := func(r belief.Removal) bool { return r.Order == id }
	if l != nil && slices.ContainsFunc(l.Removals, removes) || rollout.Carries(l, id) ||
		slices.ContainsFunc(f.Whole.Holds, func(h belief.Hold) bool { return h.Order == id }) {
		return true
	}
	return slices.ContainsFunc(f.Machines, func(v situation.View) bool {
		m := &v.Machine
		return m.Wanted != nil && m.Wanted.Order == id || m.Marked != nil && m.Marked.Order == id ||
			m.Repair.CarriesOut(id)
	})
}

// cancelling takes an order back.
type cancelling struct {
	rest.Repeatable
	ID   string `path:"id" maxLength:"300" doc:"The order's id."`
	Body api.Cancellation
}

// cancellation is the order by which the caller takes back what they may take back.
func (s *Server) cancellation(ctx context.Context, in *cancelling) (fleet.Order, error) {
	of, err := s.givenOne(ctx, &byID{ID: in.ID})
	if err == nil {
		err = rest.May(ctx, access.Operator, fleet.Name(of.Fleet))
	}
	if err != nil {
		return fleet.Order{}, err
	}
	o := fleet.Order{Kind: fleet.OrderCancel, Fleet: fleet.Name(of.Fleet), After: fleet.OrderID(in.ID),
		By: rest.SpokenFor(ctx, in.Body.As), Reason: in.Body.Reason, At: time.Now().UTC()}
	if o.ID, err = once.OrderID(ctx, "cancel"); err != nil {
		return fleet.Order{}, err
	}
	if err := o.Check(); err != nil {
		return fleet.Order{}, rest.BadRequest(err.Error())
	}
	audit.About(ctx, "order "+in.ID, of.Fleet, of.Machine)
	return o, nil
}

// cancel takes an order back, as far as it has not begun or can end in order, and answers when its fleet's owner did.
func (s *Server) cancel(ctx context.Context, in *cancelling) (api.Orders, error) {
	orders, revision, err := posted(ctx)
	if err != nil {
		return api.Orders{}, err
	}
	if revision == 0 {
		o, err := s.cancellation(ctx, in)
		if err != nil {
			return api.Orders{}, err
		}
		orders = []fleet.Order{o}
		if in.Dry {
			return api.Orders{Orders: s.try(ctx, orders)}, nil
		}
		if revision, err = s.post(ctx, orders, orders); err != nil {
			return api.Orders{}, err
		}
	}
	return api.Orders{Orders: s.await(ctx, orders, revision, in.Body.Wait)}, nil
}
