package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/notify"
	"hale/internal/prose"
	"hale/internal/state/outbox"
)

// Codes of Problem that are about messages.
const (
	CodeUnknownTarget = "unknown_target"
	CodeUnknownLetter = "unknown_letter"
	CodeTarget        = "target" // it did not take the message
)

// DeadLetters are the messages that were given up, oldest first within each fleet.
type DeadLetters struct {
	Letters []DeadLetter `json:"letters"`
}

// DeadLetter is a message that a target did not take.
type DeadLetter struct {
	Key     string    `json:"key"`
	Target  string    `json:"target"`
	Message string    `json:"message"` // what kind of message it is
	Event   Event     `json:"event"`   // what it tells of
	Tries   int       `json:"tries"`
	At      time.Time `json:"at"` // when it was given up
	Reason  Reason    `json:"reason"`
}

// TestAnswer is what a target answered to a test message.
type TestAnswer struct {
	Target string `json:"target"`
	Answer string `json:"answer"`
	TookNS int64  `json:"took_ns"`
}

// RetryOrder says which dead letters are to be tried again: those with the key, or all.
type RetryOrder struct {
	Key string `json:"key"` // of one message
	All bool   `json:"all"`
}

// Retried is how many dead letters wait again.
type Retried struct {
	Letters int `json:"letters"`
}

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
		s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
		return
	}
	out := DeadLetters{Letters: make([]DeadLetter, 0, len(dead))}
	for _, k := range dead {
		d := k.Value
		out.Letters = append(out.Letters, DeadLetter{
			Key: d.Key, Target: string(d.Target), Message: prose.MessageKind(d.Event), Event: ViewEvent(d.Record),
			Tries: d.Tries, At: d.At, Reason: ViewReason(d.Reason, d.Detail),
		})
	}
	s.answer(w, http.StatusOK, out)
}

// retryDead takes dead letters back among those that wait. It is done once for each, however often it is asked.
func (s *Server) retryDead(w http.ResponseWriter, r *http.Request) {
	var order RetryOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestOrder)).Decode(&order); err != nil ||
		order.All == (order.Key != "") {
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: "say which: a key, or all"})
		return
	}
	dead, err := s.dead(r.Context())
	var out Retried
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
		s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
	case out.Letters == 0 && !order.All:
		s.fail(w, http.StatusNotFound, Problem{
			Code:    CodeUnknownLetter,
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
	return near(key, keys)
}

func (s *Server) testTarget(w http.ResponseWriter, r *http.Request) {
	name := fleet.TargetName(r.PathValue("name"))
	if targets := s.opts.Targets(); !slices.Contains(targets, name) {
		known := make([]string, len(targets))
		for i, t := range targets {
			known[i] = string(t)
		}
		s.fail(w, http.StatusNotFound, Problem{
			Code:    CodeUnknownTarget,
			Message: "there is no target " + string(name),
			Near:    near(string(name), known),
		})
		return
	}
	began := time.Now()
	answer, err := s.opts.Test(r.Context(), name)
	if err != nil {
		s.fail(w, http.StatusBadGateway, Problem{
			Code:    CodeTarget,
			Message: string(name) + " did not take the message: " + notify.Why(err),
		})
		return
	}
	s.answer(w, http.StatusOK, TestAnswer{
		Target: string(name),
		Answer: answer.Said,
		TookNS: time.Since(began).Nanoseconds(),
	})
}

// DeadLetters returns the messages that were given up.
func (c *Client) DeadLetters(ctx context.Context) (DeadLetters, error) {
	return get[DeadLetters](ctx, c, "/v1/notify/dead")
}

// Retry lets dead letters be tried again.
func (c *Client) Retry(ctx context.Context, o RetryOrder) (Retried, error) {
	return post[Retried](ctx, c, "/v1/notify/dead/retry", o)
}

// Test sends a target a test message.
func (c *Client) Test(ctx context.Context, target string) (TestAnswer, error) {
	return post[TestAnswer](ctx, c, "/v1/notify/targets/"+url.PathEscape(target)+"/test", struct{}{})
}
