package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/engine"
)

// FenceOffRequest asks for a host to be turned off.
type FenceOffRequest struct {
	// Subject is a host, or a machine that lies on it, as in FenceRequest.
	Subject string `json:"subject"`
	// Confirm has it done; without that the answer only says what would be.
	Confirm bool `json:"confirm"`
	// Force turns the host off although a machine on it is not known to fail.
	Force  bool   `json:"force"`
	Reason string `json:"reason,omitempty"`
	As     string `json:"as,omitempty"`
}

// FenceOff is what turning a host off means, and, where that was confirmed, how it ended.
type FenceOff struct {
	Provider string `json:"provider"`
	Host     string `json:"host"`
	// Up says whether the host answers its provider.
	Up       bool           `json:"up"`
	Methods  []FenceMethod  `json:"methods"` // in the order in which they are tried
	Machines []FenceMachine `json:"machines"`
	// Unseen are the fleets of the provider that another server looks after: their machines on the host are not known
	// here.
	Unseen  []string      `json:"unseen"`
	Follows []FenceFollow `json:"follows"`
	// Needs says that a machine on the host is not known to fail, or not known at all: only force turns the host off.
	Needs bool `json:"needs_force"`

	// Done says that the controllers were asked, and Tries how they answered. Off: one of them proved the host off;
	// Method and Proof are that one's.
	Done   bool       `json:"done"`
	Tries  []FenceTry `json:"tries,omitempty"`
	Off    bool       `json:"off"`
	Method string     `json:"method,omitempty"`
	Proof  string     `json:"proof,omitempty"`
	TookNS int64      `json:"took_ns,omitempty"` // of all tries
}

// FenceMachine is a machine on the host.
type FenceMachine struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	// Fails says that it is known to fail.
	Fails bool `json:"fails"`
}

// What a fleet makes of it that the host is off.
const (
	// FollowsElsewhere: what fails there is built anew on another host, once hale proved for itself that it is off.
	FollowsElsewhere = "elsewhere"
	FollowsWord      = "word"    // nothing, until a person gives their word
	FollowsNothing   = "nothing" // nothing is built in the place of what is there
)

// FenceFollow is what would follow in a fleet that has machines on the host.
type FenceFollow struct {
	Fleet   string `json:"fleet"`
	Follows string `json:"follows"` // one of the constants Follows…
}

// FenceTry is one try to turn a host off, as it ended.
type FenceTry struct {
	Method  string `json:"method"`
	Number  int    `json:"number"` // of the method's attempts, from 1
	OK      bool   `json:"ok"`     // the host is proven off
	Already bool   `json:"already,omitempty"`
	Orders  int    `json:"orders"`
	Proof   string `json:"proof,omitempty"`
	TookNS  int64  `json:"took_ns"`
	Detail  string `json:"detail,omitempty"` // what is wrong
}

// fenceOff turns a host off, or says what that would mean. It builds no machine anew. It keeps no proof: a repair asks
// the controller itself, and that answer is the stronger proof.
func (s *Server) fenceOff(w http.ResponseWriter, r *http.Request) {
	var q FenceOffRequest
	h, known := s.namedHost(w, r, &q, &q.Subject)
	if !known {
		return
	}
	out := meaning(h, s.opts.Status())
	switch {
	case !q.Confirm:
	case out.Needs && !q.Force:
		s.fail(w, http.StatusConflict, Problem{
			Code:    CodeRefused,
			Message: "host " + out.Host + " is left on: " + strings.Join(out.Against(), "; "),
			Lines:   out.Against(),
		})
		return
	default:
		if err := s.cut(r.Context(), q, &out); err != nil {
			s.fail(w, http.StatusServiceUnavailable, Problem{
				Code:    CodeStore,
				Message: "the controllers were not asked: " + cause(err).Error(),
			})
			return
		}
	}
	s.answer(w, http.StatusOK, out)
}

// namedHost reads the request, and returns the one host that its subject means. False: there is none, and that was
// answered.
func (s *Server) namedHost(w http.ResponseWriter, r *http.Request, q any, subject *string) (FencedHost, bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes)).Decode(q)
	if err == nil && *subject == "" {
		err = errors.New("no host is named") // none would be all of them
	}
	if err != nil {
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: err.Error()})
		return FencedHost{}, false
	}
	hosts, problem := meantHosts([]string{*subject}, s.fenced())
	if problem != nil {
		s.fail(w, http.StatusNotFound, *problem)
		return FencedHost{}, false
	}
	return hosts[0], true
}

// meaning says what lies on the host, and what would follow.
func meaning(h FencedHost, status []engine.FleetStatus) FenceOff {
	power := slices.DeleteFunc(slices.Clone(h.Methods), func(m FenceMethod) bool {
		return m.Proof == string(fleet.ProofAccessCut)
	})
	out := FenceOff{
		Provider: h.Provider, Host: h.Host, Up: h.Up, Methods: power, Machines: []FenceMachine{}, Unseen: []string{},
		Follows: []FenceFollow{},
	}
	for _, f := range status {
		if string(f.Spec.Provider) != h.Provider {
			continue
		}
		if f.Acting == fleet.ReasonNotOwner {
			out.Unseen = append(out.Unseen, string(f.Spec.Name))
			continue
		}
		before := len(out.Machines)
		for i := range f.Machines {
			m := &f.Machines[i].Machine
			if lies := m.Lies(); !lies.None() && string(lies.Host) == h.Host {
				out.Machines = append(out.Machines, FenceMachine{
					Name:    string(m.Name),
					Verdict: string(m.Health.Verdict),
					Fails:   m.Health.Verdict == fleet.VerdictUnhealthy,
				})
			}
		}
		if len(out.Machines) > before {
			out.Follows = append(out.Follows, FenceFollow{
				Fleet:   string(f.Spec.Name),
				Follows: followsIn(f.Spec.Repair.Fence),
			})
		}
	}
	out.Needs = len(out.Against()) > 0
	return out
}

// Against says what speaks against turning the host off.
func (o *FenceOff) Against() []string {
	var out []string
	for _, m := range o.Machines {
		if !m.Fails {
			out = append(out, m.Name+" on it is not known to fail")
		}
	}
	for _, f := range o.Unseen {
		out = append(out, "another server looks after fleet "+f+", which may have machines on it")
	}
	return out
}

// followsIn says what the policy makes of a host that is off.
func followsIn(p fleet.Fence) string {
	switch {
	case p.Hosts && p.Enough(fleet.ProofHostOff):
		return FollowsElsewhere
	case p.Enough(fleet.ProofWord):
		return FollowsWord
	}
	return FollowsNothing
}

// cut notes who asks for it, and then asks the controllers. After an error, which means that the note could not be
// stored, no controller was asked.
func (s *Server) cut(ctx context.Context, q FenceOffRequest, out *FenceOff) error {
	n, err := s.begin(ctx, fleet.OrderCut, out.Provider, out.Host, spokenFor(ctx, q.As), q.Reason)
	if err != nil {
		return err
	}
	began := time.Now()
	out.Done, out.Tries = true, s.opts.Fencing.Off(ctx, fleet.ProviderName(out.Provider), fleet.HostName(out.Host))
	out.TookNS = int64(time.Since(began))
	end := fleet.Order{Proof: fleet.ProofNone, For: time.Since(began)}
	for _, t := range out.Tries {
		end.Reason = t.Method + ": " + t.Detail
		if t.OK {
			out.Off, out.Method, out.Proof = true, t.Method, t.Proof
			end.Proof, end.Reason = fleet.Proof(t.Proof), t.Method
		}
	}
	s.end(ctx, n, end)
	return nil
}

// FenceOff asks for a host to be turned off, or what that would mean. It takes as long as the controllers do.
func (c *Client) FenceOff(ctx context.Context, q FenceOffRequest) (FenceOff, error) {
	return post[FenceOff](ctx, c, "/v1/fences/off", q)
}
