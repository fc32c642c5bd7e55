package api

import "context"

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
	// DryRun has the answer only say what would happen.
	DryRun bool `json:"-"`
}

// Broken is what was done.
type Broken struct {
	Machine string `json:"machine"`
	Does    string `json:"does"`
}

// Breakages returns the ways in which machines of simulated providers can fail.
func (c *Client) Breakages(ctx context.Context) (Breakages, error) {
	return get[Breakages](ctx, c, "/v1/simulated/breakages")
}

// Break has a machine of a simulated provider fail.
func (c *Client) Break(ctx context.Context, o BreakOrder) (Broken, error) {
	return post[Broken](ctx, c, tried("/v1/simulated/break", o.DryRun), o)
}
