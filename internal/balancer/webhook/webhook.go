// Package webhook keeps a pool by POST requests to one address: for load balancers that hale does not know.
//
// It promises what package post does of the way there, and that only what is listed afterwards proves that a member is
// as wanted.
package webhook

import (
	"context"
	"encoding/json"
	"net/http"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/outlet/post"
)

// Pool is behind one address.
type Pool struct{ post *post.Post }

var _ balancer.Pool = (*Pool)(nil)

// New makes a pool. It connects to nothing yet.
func New(p *post.Post) *Pool { return &Pool{p} }

// Close implements balancer.Pool.
func (p *Pool) Close() { p.post.Close() }

// Members implements balancer.Pool.
func (p *Pool) Members(ctx context.Context) ([]balancer.Member, error) {
	const op = "webhook.members"
	said, err := p.send(ctx, balancer.Question{Action: balancer.List})
	if fault.Is(err, fault.UnknownOutcome) {
		return nil, fault.New(fault.Transient, op, "", err)
	}
	if err != nil {
		return nil, err
	}
	all, err := balancer.ParseMembers(said)
	if err != nil {
		return nil, fault.New(fault.Transient, op, "", err)
	}
	return all, nil
}

// Set implements balancer.Pool.
func (p *Pool) Set(ctx context.Context, name fleet.MachineName, w balancer.Want) error {
	const op = "webhook.set"
	if err := w.Check(op, name); err != nil {
		return err
	}
	if _, err := p.send(ctx, balancer.Ordered(name, w)); err != nil {
		return err
	}
	return balancer.Confirm(ctx, p, op, name, w)
}

func (p *Pool) send(ctx context.Context, q balancer.Question) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fault.New(fault.Invalid, "webhook.send", string(q.Member), err)
	}
	said, err := p.post.Send(ctx, "", http.Header{"Content-Type": {"application/json"}}, body)
	return said.Body, err
}
