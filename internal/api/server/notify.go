package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/notify"
	"hale/internal/prose"
	"hale/internal/state/outbox"
)

// longestOrder bounds the body of a request, in bytes.
const longestOrder = 64 << 10

// dead returns the dead letters of all fleets.
func (s *Server) dead(ctx context.Context) ([]outbox.Stored[outbox.Dead], error) {
	var all []outbox.Stored[outbox.Dead]
	for _, f := range s.opts.Status() {
		dead, err := outbox.DeadLetters(ctx, s.opts.Store, f.Spec.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, dead...)
	}
	return all, nil
}

func (s *Server) deadLetters(w http.ResponseWriter, r *http.Request) {
	dead, err := s.dead(r.Context())
	if err != nil {
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	out := api.DeadLetters{Letters: make([]api.DeadLetter, 0, len(dead))}
	for _, k := range dead {
		d := k.Value
		out.Letters = append(out.Letters, api.DeadLetter{
			Key: d.Key, Target: string(d.Target), Message: prose.MessageKind(d.Event), Event: view.Event(d.Record),
			Tries: d.Tries, At: d.At, Reason: view.Reason(d.Reason, d.Detail),
		})
	}
	s.answer(w, http.StatusOK, out)
}

// retryDead takes dead letters back among those that wait. It is done once for each, however often it is asked.
func (s *Server) retryDead(w http.ResponseWriter, r *http.Request) {
	var order api.RetryOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestOrder)).Decode(&order); err != nil ||
		order.All == (order.Key != "") {
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: "say which: a key, or all"})
		return
	}
	dead, err := s.dead(r.Context())
	var out api.Retried
	for _, d := range dead {
		if err == nil && (order.All || d.Value.Key == order.Key) {
			if err = outbox.Revive(r.Context(), s.opts.Store, d, time.Now().UTC()); err == nil {
				out.Letters++
			} else if fault.Is(err, fault.Conflict) {
				err = nil // another server did so
			}
		}
	}
	if out.Letters > 0 {
		s.opts.Nudge()
	}
	switch {
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
	case out.Letters == 0 && !order.All:
		s.fail(w, http.StatusNotFound, api.Problem{
			Code:    api.CodeUnknownLetter,
			Message: "there is no dead letter " + order.Key,
			Near:    nearKeys(order.Key, dead),
		})
	default:
		s.answer(w, http.StatusOK, out)
	}
}

func nearKeys(key string, dead []outbox.Stored[outbox.Dead]) []string {
	var keys []string
	for _, d := range dead {
		if !slices.Contains(keys, d.Value.Key) {
			keys = append(keys, d.Value.Key)
		}
	}
	return api.Near(key, keys)
}

func (s *Server) testTarget(w http.ResponseWriter, r *http.Request) {
	name := fleet.TargetName(r.PathValue("name"))
	if targets := s.opts.Targets(); !slices.Contains(targets, name) {
		known := make([]string, len(targets))
		for i, t := range targets {
			known[i] = string(t)
		}
		s.fail(w, http.StatusNotFound, api.Problem{
			Code:    api.CodeUnknownTarget,
			Message: "there is no target " + string(name),
			Near:    api.Near(string(name), known),
		})
		return
	}
	began := time.Now()
	answer, err := s.opts.Test(r.Context(), name)
	if err != nil {
		s.fail(w, http.StatusBadGateway, api.Problem{
			Code:    api.CodeTarget,
			Message: string(name) + " did not take the message: " + notify.Why(err),
		})
		return
	}
	s.answer(w, http.StatusOK, api.TestAnswer{
		Target: string(name),
		Answer: answer.Said,
		Took:   api.Duration(time.Since(began)),
	})
}
