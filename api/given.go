package api

import (
	"context"
	"net/url"
	"slices"
	"time"
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
	// Open says that something of it waits, is under way or counts, so that it can perhaps be cancelled.
	Open bool `json:"open,omitempty"`
	// Refused says why, where it was.
	Refused Reason `json:"refused,omitzero"`
	// Last is the last thing that followed from it.
	Last *Event `json:"last,omitempty"`
	// Text says what became of it.
	Text string `json:"text"`
}

// GivenQuery says which orders are wanted.
type GivenQuery struct {
	Fleet   string // empty: all
	Last    int    // only so many; 0: all that are known
	Refused bool   // only those that were refused
	Open    bool   // only orders that wait, are under way, or still count
}

// Cancellation takes an order back.
type Cancellation struct {
	Reason string   `json:"reason,omitempty" maxLength:"200"`
	As     string   `json:"as,omitempty" maxLength:"200"` // the user that the caller speaks for
	Wait   Duration `json:"wait,omitempty"`
}

// Cancel takes an order back, and returns what became of that.
func (c *Client) Cancel(ctx context.Context, id string, q Cancellation) (Orders, error) {
	return post[Orders](ctx, c, "/v1/orders/"+url.PathEscape(id)+"/cancel", q)
}

// GivenOrder returns one order, and what became of it.
func (c *Client) GivenOrder(ctx context.Context, id string) (GivenOrder, error) {
	return get[GivenOrder](ctx, c, "/v1/orders/"+url.PathEscape(id))
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
	if q.Open {
		out.Orders = slices.DeleteFunc(out.Orders, func(g GivenOrder) bool { return !g.Open })
	}
	if n := len(out.Orders); q.Last > 0 && n > q.Last {
		out.Orders = out.Orders[n-q.Last:]
	}
	return out, nil
}
