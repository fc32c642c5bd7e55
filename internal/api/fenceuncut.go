package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// FenceUncutRequest asks for a cut to be undone.
type FenceUncutRequest struct {
	// Subject is a host, or a machine that lies on it, as in FenceRequest.
	Subject string `json:"subject"`
	Reason  string `json:"reason,omitempty"`
	As      string `json:"as,omitempty"`
}

// FenceUncut is how it ended that a host was to get its access to storage and network back.
type FenceUncut struct {
	Provider string `json:"provider"`
	Host     string `json:"host"`
	// Tries are the methods that cut it, one each. OK: that one says that the host has its access; Already: it had it
	// before.
	Tries []FenceTry `json:"tries"`
}

// fenceUncut gives a host its access back when nothing relies on its being cut any more.
func (s *Server) fenceUncut(w http.ResponseWriter, r *http.Request) {
	var q FenceUncutRequest
	h, known := s.namedHost(w, r, &q, &q.Subject)
	if !known {
		return
	}
	if !slices.ContainsFunc(h.Methods, func(m FenceMethod) bool { return m.Proof == string(fleet.ProofAccessCut) }) {
		s.fail(w, http.StatusConflict, Problem{
			Code:    CodeRefused,
			Message: "host " + h.Host + " has no method that cuts its access",
		})
		return
	}
	tries, against, err := s.uncut(r.Context(), h, q)
	switch {
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, Problem{
			Code:    CodeStore,
			Message: "nothing was undone: " + cause(err).Error(),
		})
	case len(against) > 0:
		s.fail(w, http.StatusConflict, Problem{
			Code:    CodeRefused,
			Message: "host " + h.Host + " stays cut: " + strings.Join(against, "; "),
			Lines:   against,
		})
	default:
		s.answer(w, http.StatusOK, FenceUncut{Provider: h.Provider, Host: h.Host, Tries: tries})
	}
}

// uncut has the cut undone, once it is written down who wants that, and writes down how it ended. Against is what rests
// on the cut: then it stays.
func (s *Server) uncut(ctx context.Context, h FencedHost,
	q FenceUncutRequest) (tries []FenceTry, against []string, err error) {
	free := func() []string { return s.restsOn(h) }
	if against = free(); len(against) > 0 {
		return nil, against, nil
	}
	n, err := s.begin(ctx, fleet.OrderUncut, h.Provider, h.Host, spokenFor(ctx, q.As), q.Reason)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	tries, against = s.opts.Fencing.Uncut(ctx, fleet.ProviderName(h.Provider), fleet.HostName(h.Host), free)
	end := fleet.Order{Proof: fleet.ProofNone, Reason: strings.Join(against, "; "), For: time.Since(began)}
	open := len(tries) > 0
	for _, t := range tries {
		if open = open && t.OK; !t.OK {
			end.Reason = t.Method + ": " + t.Detail
		}
	}
	if !open {
		end.Proof = fleet.ProofAccessCut
	}
	s.end(ctx, n, end)
	return tries, against, nil
}

// restsOn says what rests, or may rest, on the host's being cut.
func (s *Server) restsOn(h FencedHost) []string {
	var out []string
	for _, f := range s.opts.Status() {
		if string(f.Spec.Provider) != h.Provider {
			continue
		}
		if f.Acting == fleet.ReasonNotOwner {
			out = append(out, "another server looks after fleet "+string(f.Spec.Name)+", which may rest on it")
			continue
		}
		for i := range f.Machines {
			if m := &f.Machines[i].Machine; slices.Contains(m.RestsOn(nil), fleet.HostName(h.Host)) {
				out = append(out, "an old instance of "+string(m.Name)+" may run there, and must not write")
			}
		}
	}
	return out
}

// FenceUncut has a cut undone. It takes as long as those do who cut.
func (c *Client) FenceUncut(ctx context.Context, q FenceUncutRequest) (FenceUncut, error) {
	return post[FenceUncut](ctx, c, "/v1/fences/uncut", q)
}
