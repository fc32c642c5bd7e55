package api

import "context"

// FenceUncutRequest asks for a cut to be undone.
type FenceUncutRequest struct {
	// Subject is a host, or a machine that lies on it, as in FenceRequest.
	Subject string `json:"subject"`
	Reason  string `json:"reason,omitempty"`
	As      string `json:"as,omitempty"`
	// DryRun has the answer only say that it would be done, or why not.
	DryRun bool `json:"-"`
}

// FenceUncut is how it ended that a host was to get its access to storage and network back.
type FenceUncut struct {
	Provider string `json:"provider"`
	Host     string `json:"host"`
	// Tries are the methods that cut it, one each. OK: that one says that the host has its access; Already: it had it
	// before.
	Tries []FenceTry `json:"tries"`
}

// FenceUncut has a cut undone. It takes as long as those do who cut.
func (c *Client) FenceUncut(ctx context.Context, q FenceUncutRequest) (FenceUncut, error) {
	return post[FenceUncut](ctx, c, tried("/v1/fences/uncut", q.DryRun), q)
}
