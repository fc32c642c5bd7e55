package api

import (
	"context"
	"net/url"
)

// Plans are what of the running configuration waits for a person's word.
type Plans struct {
	Plans []Waiting `json:"plans"`
	// Passed are files of the configuration's folder that look like a part of it and are not read, and Warnings what
	// does no harm yet, and will one day.
	Passed   []string `json:"passed,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Confirmation is a person's word for a plan.
type Confirmation struct {
	Reason string   `json:"reason,omitempty"`
	As     string   `json:"as,omitempty"` // the user that the caller speaks for
	Wait   Duration `json:"wait,omitempty"`
	// DryRun has the answer only say what would become of it.
	DryRun bool `json:"-"`
}

// Confirmed is what became of it: of a fleet's plan, the order that follows from it.
type Confirmed struct {
	Plan   Waiting   `json:"plan"`
	Orders []Ordered `json:"orders,omitempty"`
}

// Plans returns what waits for a person's word.
func (c *Client) Plans(ctx context.Context) (Plans, error) { return get[Plans](ctx, c, "/v1/plans") }

// Plan returns one plan that waits.
func (c *Client) Plan(ctx context.Context, id string) (Waiting, error) {
	return get[Waiting](ctx, c, "/v1/plans/"+url.PathEscape(id))
}

// Confirm has a plan carried out.
func (c *Client) Confirm(ctx context.Context, id string, q Confirmation) (Confirmed, error) {
	return post[Confirmed](ctx, c, tried("/v1/plans/"+url.PathEscape(id)+"/confirm", q.DryRun), q)
}
