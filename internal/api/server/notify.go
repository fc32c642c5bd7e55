package server

import (
	"context"
	"slices"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/notify"
	"hale/internal/prose"
	"hale/internal/state/once"
	"hale/internal/state/outbox"
)

// dead returns the dead letters of the fleets in which the caller has the role.
func (s *Server) dead(ctx context.Context, r access.Role) ([]outbox.Stored[outbox.Dead], error) {
	var all []outbox.Stored[outbox.Dead]
	for _, f := range s.seen(ctx, r) {
		dead, err := outbox.DeadLetters(ctx, s.opts.Store, f.Spec.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, dead...)
	}
	return all, nil
}

func (s *Server) deadLetters(ctx context.Context, _ *rest.Nothing) (api.DeadLetters, error) {
	dead, err := s.dead(ctx, access.Viewer)
	out := api.DeadLetters{Letters: make([]api.DeadLetter, 0, len(dead))}
	for _, k := range dead {
		d := k.Value
		out.Letters = append(out.Letters, api.DeadLetter{
			Key: d.Key, Target: string(d.Target), Message: prose.MessageKind(d.Event), Event: view.Event(d.Record),
			Tries: d.Tries, At: d.At, Reason: view.Reason(d.Reason, d.Detail),
		})
	}
	return out, err
}

// retryDead takes dead letters back among those that wait. It is done once for each, however often it is asked.
func (s *Server) retryDead(ctx context.Context, in *rest.Asked[api.RetryOrder]) (api.Retried, error) {
	var out api.Retried
	order := in.Body
	if order.All == (order.Key != "") {
		return out, rest.BadRequest("say which: a key, or all")
	}
	dead, err := s.dead(ctx, access.Operator)
	for _, d := range dead {
		if err == nil && (order.All || d.Value.Key == order.Key) {
			if in.Dry {
				out.Letters++
			} else if err = outbox.Revive(ctx, s.opts.Store, d, time.Now().UTC()); err == nil {
				out.Letters++
			} else if fault.Is(err, fault.Conflict) {
				err = nil // another server did so
			}
		}
	}
	if out.Letters > 0 && !in.Dry {
		s.opts.Nudge()
	}
	if _, again := once.Began(ctx); err == nil && out.Letters == 0 && !order.All && !again {
		return out, api.Unknown(api.CodeUnknownLetter, "dead letter "+order.Key, order.Key, keysOf(dead))
	}
	return out, err
}

func keysOf(dead []outbox.Stored[outbox.Dead]) []string {
	var keys []string
	for _, d := range dead {
		if !slices.Contains(keys, d.Value.Key) {
			keys = append(keys, d.Value.Key)
		}
	}
	return keys
}

// target names a target that is to take a test message.
type target struct {
	rest.Repeatable
	Name string `path:"name" maxLength:"253"`
}

func (s *Server) testTarget(ctx context.Context, in *target) (api.TestAnswer, error) {
	name := policy.TargetName(in.Name)
	var known []string
	if s.opts.Targets != nil {
		for _, t := range s.opts.Targets() {
			known = append(known, string(t))
		}
	}
	if !slices.Contains(known, in.Name) {
		return api.TestAnswer{}, api.Unknown(api.CodeUnknownTarget, "target "+in.Name, in.Name, known)
	}
	if in.Dry {
		return api.TestAnswer{Target: in.Name}, nil
	}
	began := time.Now()
	said, err := s.opts.Test(ctx, name)
	if err != nil {
		return api.TestAnswer{}, api.NewProblem(api.CodeTarget, in.Name+" did not take the message: "+notify.Why(err))
	}
	return api.TestAnswer{Target: in.Name, Answer: said.Said, Took: api.Duration(time.Since(began))}, nil
}
