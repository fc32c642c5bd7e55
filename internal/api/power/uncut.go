package power

import (
	"context"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/state/once"
)

// Uncut gives a host its access back when nothing relies on its being cut any more.
func (s *Hosts) Uncut(ctx context.Context, in *rest.Asked[api.FenceUncutRequest]) (api.FenceUncut, error) {
	var was noteStage[[]api.FenceTry]
	if _, err := once.Stage(ctx, &was); err != nil {
		return api.FenceUncut{}, err
	}
	h, err := s.namedHost(ctx, in.Body.Subject)
	out := api.FenceUncut{Provider: h.Provider, Host: h.Host, Tries: []api.FenceTry{}}
	if err != nil {
		return out, err
	}
	if !slices.ContainsFunc(h.Methods, func(m api.FenceMethod) bool { return m.Proof == string(fleet.ProofAccessCut) }) {
		return out, rest.Refused("host " + h.Host + " has no method that cuts its access")
	}
	if was.Result != nil {
		out.Tries = was.result()
		return out, nil
	}
	if in.Dry {
		if against := s.restsOn(h); len(against) > 0 {
			return out, staysCut(h, against)
		}
		return out, nil
	}
	tries, against, err := s.uncut(ctx, h, in.Body)
	switch {
	case err != nil:
		return out, api.NewProblem(api.CodeStore, "nothing was undone: "+api.Cause(err).Error())
	case len(against) > 0:
		return out, staysCut(h, against)
	}
	out.Tries = append(out.Tries, tries...)
	return out, nil
}

func staysCut(h api.FencedHost, against []string) api.Problem {
	p := rest.Refused("host " + h.Host + " stays cut: " + strings.Join(against, "; "))
	p.Lines = against
	return p
}

// uncut has the cut undone, once it is written down who wants that, and writes down how it ended. Against is what rests
// on the cut: then it stays.
func (s *Hosts) uncut(ctx context.Context, h api.FencedHost,
	q api.FenceUncutRequest) (tries []api.FenceTry, against []string, err error) {
	free := func() []string { return s.restsOn(h) }
	if against = free(); len(against) > 0 {
		return nil, against, nil
	}
	n, err := s.begin(ctx, fleet.OrderUncut, h.Provider, h.Host, rest.SpokenFor(ctx, q.As), q.Reason)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	tries, against = s.Fencing.Uncut(ctx, fleet.ProviderName(h.Provider), fleet.HostName(h.Host), free)
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
	if len(against) > 0 { // asked again, it looks again
		endNote(ctx, s, n, end, []api.FenceTry(nil))
	} else {
		endNote(ctx, s, n, end, append([]api.FenceTry{}, tries...))
	}
	return tries, against, nil
}

// restsOn says what rests, or may rest, on the host's being cut.
func (s *Hosts) restsOn(h api.FencedHost) []string {
	var out []string
	for _, f := range s.Status() {
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
