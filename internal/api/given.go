package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/state"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
)

// Given are the orders that people gave, oldest first: those that wait, those that the journal still knows, and those
// that were refused.
type Given struct {
	Orders []GivenOrder `json:"orders"`
}

// GivenOrder is one of them, and what became of it.
type GivenOrder struct {
	ID      string    `json:"id,omitempty"`
	At      time.Time `json:"at"` // when it was taken up or refused; of one that waits, when it was given
	Fleet   string    `json:"fleet"`
	Machine string    `json:"machine,omitempty"`
	Host    string    `json:"host,omitempty"`
	Kind    string    `json:"kind,omitempty"` // empty: it cannot be read
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"` // in that person's words
	State   string    `json:"state"`            // one of the Order constants
	// Refused says why, where it was.
	Refused Reason `json:"refused,omitzero"`
	// Last is the last thing that followed from it.
	Last *Event `json:"last,omitempty"`
	// Text says what became of it.
	Text string `json:"text"`
}

func (s *Server) given(w http.ResponseWriter, r *http.Request) {
	only := r.URL.Query().Get("fleet")
	var known []string
	out := Given{Orders: []GivenOrder{}}
	for _, f := range s.opts.Status() {
		known = append(known, string(f.Spec.Name))
		if only != "" && only != string(f.Spec.Name) {
			continue
		}
		orders, err := ordersOf(r.Context(), s.opts.Store, f.Spec.Name)
		if err != nil {
			s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
			return
		}
		out.Orders = append(out.Orders, orders...)
	}
	if only != "" && !slices.Contains(known, only) {
		s.fail(w, http.StatusNotFound, Problem{
			Code:    CodeUnknownFleet,
			Message: "there is no fleet " + only,
			Near:    near(only, known),
		})
		return
	}
	slices.SortStableFunc(out.Orders, func(a, b GivenOrder) int { return a.At.Compare(b.At) })
	s.answer(w, http.StatusOK, out)
}

// ordersOf joins what the journal, the dead letters and the inbox know of the fleet's orders.
func ordersOf(ctx context.Context, store state.Store, name fleet.Name) ([]GivenOrder, error) {
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
		if o.ID == "" || !slices.ContainsFunc(out, func(g GivenOrder) bool { return g.ID == string(o.ID) }) {
			g := viewOrder(name, &o, d.At)
			g.refuse(d.Reason, d.Detail)
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
func toldOf(records []fleet.Record) []GivenOrder {
	var out []GivenOrder
	at := map[fleet.OrderID]int{}
	for _, r := range records {
		i, known := at[r.Order]
		switch {
		case r.Order == "":
		case r.Kind == fleet.RecordOrder && !known:
			at[r.Order] = len(out)
			o := fleet.Order{
				ID: r.Order, Kind: r.Command, Machine: r.Machine, Host: r.Host, By: r.By, Reason: r.Detail,
			}
			g := viewOrder(r.Fleet, &o, r.At)
			if g.State, g.Text = OrderTaken, "taken up"; r.Reason != "" {
				g.refuseFor(r)
			}
			out = append(out, g)
		case known && r.Kind == fleet.RecordOrder && string(r.Machine) == out[i].Machine:
			// taken up, then refused: it could not be done in time
			out[i].refuseFor(r)
		case known:
			e := ViewEvent(r)
			out[i].Last, out[i].Text = &e, e.Text
		}
	}
	return out
}

func viewOrder(name fleet.Name, o *fleet.Order, at time.Time) GivenOrder {
	return GivenOrder{
		ID: string(o.ID), At: at, Fleet: string(name), Machine: string(o.Machine), Host: string(o.Host),
		Kind: string(o.Kind), By: o.By, Reason: o.Reason, State: OrderPending,
		Text: "waits: no server has taken it up yet",
	}
}

// refuseFor is refuse, and names the person who put the brake on, where that is why.
func (g *GivenOrder) refuseFor(r fleet.Record) {
	g.refuse(r.Reason, "")
	if r.Braker != "" {
		g.Refused.Text, g.Refused.Advice = prose.ByHand(r.Braker, ""), prose.LetGo(r.Fleet)
		g.Text = "refused: " + g.Refused.Text
	}
}

func (g *GivenOrder) refuse(why fleet.Reason, detail string) {
	g.State, g.Refused = OrderRefused, ViewReason(why, detail)
	g.Text = "refused: " + cmp.Or(prose.Reason(why), string(why))
	if detail != "" {
		g.Text += " (" + detail + ")"
	}
}

// GivenQuery says which orders are wanted.
type GivenQuery struct {
	Fleet   string // empty: all
	Last    int    // only so many; 0: all that are known
	Refused bool   // only those that were refused
}

// Given returns the orders that people gave, and what became of them.
func (c *Client) Given(ctx context.Context, q GivenQuery) (Given, error) {
	path := "/v1/orders"
	if q.Fleet != "" {
		path += "?fleet=" + url.QueryEscape(q.Fleet)
	}
	out, err := get[Given](ctx, c, path)
	if err != nil {
		return out, err
	}
	if q.Refused {
		out.Orders = slices.DeleteFunc(out.Orders, func(g GivenOrder) bool { return g.State != OrderRefused })
	}
	if n := len(out.Orders); q.Last > 0 && n > q.Last {
		out.Orders = out.Orders[n-q.Last:]
	}
	return out, nil
}
