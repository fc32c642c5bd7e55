package server

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
	"hale/internal/state"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
)

// ofFleet is what is asked for of one fleet, or of all.
type ofFleet struct {
	Fleet string `query:"fleet" maxLength:"253" doc:"Of this fleet only."`
}

func (s *Server) given(ctx context.Context, in *ofFleet) (api.Given, error) {
	out := api.Given{Orders: []api.GivenOrder{}}
	status := s.seen(ctx, access.Viewer)
	if in.Fleet != "" {
		f, err := fleetNamed(in.Fleet, status)
		if err != nil {
			return out, err
		}
		status = []published.Fleet{f}
	}
	for _, f := range status {
		orders, err := ordersOf(ctx, s.opts.Store, f.Spec.Name)
		if err != nil {
			return out, err
		}
		for i := range orders {
			orders[i].Open = orders[i].State == api.OrderPending || isOpen(&f, fleet.OrderID(orders[i].ID))
		}
		out.Orders = append(out.Orders, orders...)
	}
	slices.SortStableFunc(out.Orders, func(a, b api.GivenOrder) int { return a.At.Compare(b.At) })
	return out, nil
}

// givenOne returns what became of one order.
func (s *Server) givenOne(ctx context.Context, in *byID) (api.GivenOrder, error) {
	all, err := s.given(ctx, &ofFleet{})
	if err != nil {
		return api.GivenOrder{}, err
	}
	for _, o := range all.Orders {
		if o.ID == in.ID {
			return o, nil
		}
	}
	p := api.NewProblem(api.CodeUnknownOrder, "there is no order "+in.ID)
	p.Advice = "it was never given, or it is so old that the journal let go of it"
	return api.GivenOrder{}, p
}

// ordersOf joins what the journal, the dead letters and the inbox know of the fleet's orders.
func ordersOf(ctx context.Context, store state.Store, name fleet.Name) ([]api.GivenOrder, error) {
	records, _, err := journal.Read(ctx, store, name)
	if err != nil {
		return nil, err
	}
	out := toldOf(records)
	dead, err := inbox.DeadLetters(ctx, store, name)
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		var o fleet.Order
		if json.Unmarshal([]byte(d.Letter), &o) != nil {
			o = fleet.Order{} // whatever it says is not believed
		}
		if o.ID == "" || !slices.ContainsFunc(out, func(g api.GivenOrder) bool { return g.ID == string(o.ID) }) {
			g := viewOrder(name, &o, d.At)
			refuse(&g, d.Reason, d.Detail)
			out = append(out, g)
		}
	}
	letters, _, err := inbox.Pending(ctx, store, name)
	for i := range letters {
		if l := &letters[i]; l.Err == nil {
			out = append(out, viewOrder(name, &l.Order, l.Order.At))
		}
	}
	return out, err
}

// toldOf returns the orders that the records tell of, and what followed from each.
func toldOf(records []record.Record) []api.GivenOrder {
	var out []api.GivenOrder
	at := map[fleet.OrderID]int{}
	for _, r := range records {
		i, known := at[r.Order]
		switch {
		case r.Order == "":
		case r.Kind == record.Order && !known:
			at[r.Order] = len(out)
			o := fleet.Order{
				ID: r.Order, Kind: r.Command, Machine: r.Machine, Host: r.Host, By: r.By, Reason: r.Detail,
			}
			g := viewOrder(r.Fleet, &o, r.At)
			if g.State, g.Text = api.OrderTaken, "taken up"; r.Reason != "" {
				refuseFor(&g, r)
			}
			out = append(out, g)
		case known && r.Kind == record.Order && string(r.Machine) == out[i].Machine:
			// taken up, then refused: it could not be done in time
			refuseFor(&out[i], r)
		case known:
			e := view.Event(r)
			out[i].Last, out[i].Text = &e, e.Text
		}
	}
	return out
}

func viewOrder(name fleet.Name, o *fleet.Order, at time.Time) api.GivenOrder {
	return api.GivenOrder{
		ID: string(o.ID), At: at, Fleet: string(name), Machine: string(o.Machine), Host: string(o.Host),
		Kind: string(o.Kind), By: o.By, Reason: o.Reason, State: api.OrderPending,
		Text: "waits: no server has taken it up yet",
	}
}

// refuseFor is refuse, and names the person who put the brake on, where that is why.
func refuseFor(g *api.GivenOrder, r record.Record) {
	refuse(g, r.Reason, "")
	if r.Braker != "" {
		g.Refused.Text, g.Refused.Advice = prose.ByHand(r.Braker, ""), prose.LetGo(r.Fleet)
		g.Text = "refused: " + g.Refused.Text
	}
}

func refuse(g *api.GivenOrder, why fleet.Reason, detail string) {
	g.State, g.Refused = api.OrderRefused, view.Reason(why, detail)
	g.Text = "refused: " + cmp.Or(words.Reason(why), string(why))
	if detail != "" {
		g.Text += " (" + detail + ")"
	}
}
