package power

import (
	"context"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/state/once"
)

// Off turns a host off, or says what that would mean. It builds no machine anew. It keeps no proof: a repair asks
// the controller itself, and that answer is the stronger proof.
func (s *Hosts) Off(ctx context.Context, in *rest.Asked[api.FenceOffRequest]) (api.FenceOff, error) {
	var was noteStage[api.FenceOff]
	if _, err := once.Stage(ctx, &was); err != nil || was.Result != nil {
		return was.result(), err
	}
	h, err := s.namedHost(ctx, in.Body.Subject)
	if err != nil {
		return api.FenceOff{}, err
	}
	audit.About(ctx, "host "+h.Host)
	out := meaning(h, s.Status())
	switch {
	case in.Dry:
	case out.Needs && !in.Body.Force:
		p := rest.Refused("host " + out.Host + " is left on: " + strings.Join(out.Against(), "; "))
		p.Lines = out.Against()
		return out, p
	default:
		if err := s.Hold(ctx, access.RiskFence, "host "+out.Host); err != nil {
			return out, err
		}
		if err := s.cut(ctx, in.Body, &out); err != nil {
			return out, api.NewProblem(api.CodeStore, "the controllers were not asked: "+api.Cause(err).Error())
		}
	}
	return out, nil
}

// namedHost returns the one host that the subject means.
func (s *Hosts) namedHost(ctx context.Context, subject string) (api.FencedHost, error) {
	if subject == "" {
		return api.FencedHost{}, rest.BadRequest("no host is named") // none would be all of them
	}
	hosts, err := meantHosts([]string{subject}, s.All(ctx))
	if err != nil {
		return api.FencedHost{}, err
	}
	return hosts[0], nil
}

// meaning says what lies on the host, and what would follow.
func meaning(h api.FencedHost, status []published.Fleet) api.FenceOff {
	power := slices.DeleteFunc(slices.Clone(h.Methods), func(m api.FenceMethod) bool {
		return m.Proof == string(fleet.ProofAccessCut)
	})
	out := api.FenceOff{
		Provider: h.Provider,
		Host:     h.Host,
		Up:       h.Up,
		Methods:  power,
		Machines: []api.FenceMachine{},
		Unseen:   []string{},
		Follows:  []api.FenceFollow{},
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
				out.Machines = append(out.Machines, api.FenceMachine{
					Name:    string(m.Name),
					Verdict: string(m.Health.Verdict),
					Fails:   m.Health.Verdict == belief.VerdictUnhealthy,
				})
			}
		}
		if len(out.Machines) > before {
			out.Follows = append(out.Follows, api.FenceFollow{
				Fleet:   string(f.Spec.Name),
				Follows: followsIn(f.Spec.Repair.Fence),
			})
		}
	}
	out.Needs = len(out.Against()) > 0
	return out
}

// followsIn says what the policy makes of a host that is off.
func followsIn(p fleet.Fence) string {
	switch {
	case p.Hosts && p.Enough(fleet.ProofHostOff):
		return api.FollowsElsewhere
	case p.Enough(fleet.ProofWord):
		return api.FollowsWord
	}
	return api.FollowsNothing
}

// cut notes who asks for it, and then asks the controllers. After an error, which means that the note could not be
// stored, no controller was asked.
func (s *Hosts) cut(ctx context.Context, q api.FenceOffRequest, out *api.FenceOff) error {
	n, err := s.begin(ctx, fleet.OrderCut, out.Provider, out.Host, rest.SpokenFor(ctx, q.As), q.Reason)
	if err != nil {
		return err
	}
	began := time.Now()
	out.Done, out.Tries = true, s.Fencing.Off(ctx, fleet.ProviderName(out.Provider), fleet.HostName(out.Host))
	out.Took = api.Duration(time.Since(began))
	end := fleet.Order{Proof: fleet.ProofNone, For: time.Since(began)}
	for _, t := range out.Tries {
		end.Reason = t.Method + ": " + t.Detail
		if t.OK {
			out.Off, out.Method, out.Proof = true, t.Method, t.Proof
			end.Proof, end.Reason = fleet.Proof(t.Proof), t.Method
		}
	}
	endNote(ctx, s, n, end, *out)
	return nil
}
