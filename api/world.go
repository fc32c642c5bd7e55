package api

import (
	"context"
	"net/url"
	"time"
)

// Older is what proves that a store is older than the world.
type Older struct {
	Machine    string    `json:"machine,omitempty"`
	Instance   string    `json:"instance,omitempty"`
	Host       string    `json:"host,omitempty"`
	Generation uint64    `json:"generation,omitempty"` // of the instance
	Allotted   uint64    `json:"allotted,omitempty"`   // the highest one, by the store
	Start      string    `json:"start,omitempty"`      // of hale, instead of an instance
	Since      time.Time `json:"since"`
	Why        Reason    `json:"why"`
}

// Foreign is another installation of hale, with the first instance that was seen to bear its mark.
type Foreign struct {
	Installation string    `json:"installation"`
	Machine      string    `json:"machine"`
	Instance     string    `json:"instance"`
	Host         string    `json:"host,omitempty"`
	Since        time.Time `json:"since"`
	Why          Reason    `json:"why"`
}

// World is what the provider shows of a fleet by the marks of an installation, as far as it is not believed.
type World struct {
	Fleet        string `json:"fleet"`
	Installation string `json:"installation"`
	// Plan names exactly this: it is another one as soon as anything of it is.
	Plan     string  `json:"plan"`
	Machines []Shown `json:"machines"`
	// Starts are those of hale that are noted at the provider's, and that the store does not know.
	Starts []string `json:"starts"`
	// Silent are the hosts that do not answer: what is there is not known.
	Silent []string `json:"silent"`
}

// Shown is what believing the world would make of one machine.
type Shown struct {
	Machine string `json:"machine"`
	// From and To are its generation, by the store and by the marks.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Instance would be the machine's, on Host; Was is the one that is believed to be. Empty: that stays.
	Instance string `json:"instance,omitempty"`
	Host     string `json:"host,omitempty"`
	Was      string `json:"was,omitempty"`
	// Aside were put aside, and would be kept.
	Aside []string `json:"aside,omitempty"`
	// Marked is how many instances bear the machine's mark.
	Marked int    `json:"marked"`
	Text   string `json:"text"`
}

// TakeOverRequest asks for this store to become another installation.
type TakeOverRequest struct {
	Installation string   `json:"installation"`
	Reason       string   `json:"reason,omitempty"`
	As           string   `json:"as,omitempty"`
	Wait         Duration `json:"wait,omitempty"`
	// DryRun has the answer only say what would be.
	DryRun bool `json:"-"`
}

// TakeOver is what a take-over means, and where it was done, what became of the orders that follow from it.
type TakeOver struct {
	Installation string    `json:"installation"`
	Fleets       []World   `json:"fleets"` // that have instances with its mark
	Done         bool      `json:"done"`
	Orders       []Ordered `json:"orders,omitempty"`
}

// World returns what believing the world would mean for a fleet.
func (c *Client) World(ctx context.Context, name string) (World, error) {
	return get[World](ctx, c, "/v1/fleets/"+url.PathEscape(name)+"/world")
}

// TakeOver asks for this store to become another installation, or what that would mean.
func (c *Client) TakeOver(ctx context.Context, q TakeOverRequest) (TakeOver, error) {
	return post[TakeOver](ctx, c, tried("/v1/take-over", q.DryRun), q)
}
