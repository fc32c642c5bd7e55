package server

import (
	"context"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine/takeover"
	"hale/internal/owner/published"
	"hale/internal/prose/words"
	"hale/internal/state/beliefs"
	"hale/internal/state/once"
)

// world says what believing the world would mean for a fleet.
func (s *Server) world(ctx context.Context, in *byName) (api.World, error) {
	f, err := fleetNamed(in.Name, s.seen(ctx, access.Viewer))
	if err != nil {
		return api.World{}, err
	}
	if why := unbelievable(f); why != "" {
		return api.World{}, refusal(f, why)
	}
	return view.World(f, f.Installation), nil
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
	said := string(f.Spec.Name) + ": " + words.Reason(why)
	if a := words.Advice(why); a != "" {
		said += "; " + a
	}
	return rest.Refused(said)
}

func fleetNamed(name string, status []published.Fleet) (published.Fleet, error) {
	var names []string
	for _, f := range status {
		if string(f.Spec.Name) == name {
			return f, nil
		}
		names = append(names, string(f.Spec.Name))
	}
	return published.Fleet{}, api.UnknownFleet(name, names)
}

// confirmsWorld checks the plan by which a person wants the world to be believed, and takes it out of the request: the
// order has none.
func confirmsWorld(q *api.OrderRequest, status []published.Fleet) error {
	if !q.Believe {
		return nil
	}
	if len(q.Subjects) != 1 || q.Plan == "" {
		return rest.BadRequest("the world is believed in one fleet, by the plan that says what that means")
	}
	f, err := fleetNamed(q.Subjects[0], status)
	if err != nil {
		return err
	}
	if why := unbelievable(f); why != "" {
		return refusal(f, why)
	}
	if view.World(f, f.Installation).Plan != q.Plan {
		return rest.Refused(q.Plan + ": " + words.Reason(fleet.ReasonStalePlan) +
			"; see what it would mean now: hale recover " + q.Subjects[0] + " --believe-the-world")
	}
	q.Plan = ""
	return nil
}

// takeOver has the store become another installation, or says what that would mean.
func (s *Server) takeOver(ctx context.Context, in *rest.Asked[api.TakeOverRequest]) (api.TakeOver, error) {
	q := in.Body
	of := fleet.Installation(q.Installation)
	out := api.TakeOver{Installation: q.Installation, Fleets: []api.World{}}
	if of == "" {
		return out, rest.BadRequest("no installation is named")
	}
	for _, f := range s.opts.Status() {
		if v := view.World(f, of); len(v.Machines) > 0 {
			out.Fleets = append(out.Fleets, v)
		}
	}
	if _, again := once.Began(ctx); again {
		// it is one already: what was ordered with that is among the orders
		if is, err := beliefs.Installation(ctx, s.opts.Store); err != nil || is == of {
			out.Done = err == nil
			return out, err
		}
	}
	taken, err := s.opts.TakeOver(ctx, takeover.Wish{
		Installation: of, By: rest.SpokenFor(ctx, q.As), Reason: q.Reason, DryRun: in.Dry})
	switch {
	case fault.Is(err, fault.Conflict):
		return out, rest.Refused("take-over of " + q.Installation + " is refused: " + rest.Because(err))
	case err != nil:
		return out, err
	}
	if out.Done = !in.Dry; out.Done {
		out.Orders = s.await(ctx, taken.Orders, taken.Revision, q.Wait)
	}
	return out, nil
}
