// Package power is what people ask of the power controllers of hosts: which there are, how they stand, and that they
// turn a host off or give it its access back.
//
// It promises that a host on which a machine may be well is turned off by force only, and one that anything rests on
// stays cut; that who wants what of a host is written down before a controller is asked, and how it ended after that;
// and that a call which is asked again with its key goes on from there.
package power

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/near"
	"hale/internal/owner/published"
	"hale/internal/state"
)

// Fencing knows how the power of hosts is cut.
type Fencing interface {
	// Fences returns the hosts that have methods, with what their last tests said.
	Fences() []api.FencedHost
	// Test asks every method of the host how the host stands, and changes nothing. Fences has the answers.
	Test(ctx context.Context, provider fleet.ProviderName, host fleet.HostName)
	// Off has the host turned off: its methods in their order, each as often as it may, until one proves it. It returns
	// the tries, as they ended.
	Off(ctx context.Context, provider fleet.ProviderName, host fleet.HostName) []api.FenceTry
	// Uncut gives the host its access back, by each of its methods that cut it, unless free returns objections. It
	// keeps fencing of the host out meanwhile.
	Uncut(ctx context.Context, provider fleet.ProviderName, host fleet.HostName, free func() []string) (
		tries []api.FenceTry, against []string)
}

// Hosts are those that have a fence.
type Hosts struct {
	Fencing Fencing // nil: no host has one
	Status  func() []published.Fleet
	Seen    func(ctx context.Context, r access.Role) []published.Fleet // in which the caller has the role
	// Hold keeps a call that takes a second person: its error says so.
	Hold    func(ctx context.Context, risk access.Risk, about ...string) error
	Store   state.Store
	Log     *slog.Logger
	Defects *defect.Register
}

// List returns the hosts.
func (s *Hosts) List(ctx context.Context, _ *rest.Nothing) (api.Fences, error) {
	return api.Fences{Hosts: s.All(ctx)}, nil
}

// All returns the hosts that have methods, with what lies on them of the fleets that the caller may see.
func (s *Hosts) All(ctx context.Context) []api.FencedHost {
	if s.Fencing == nil {
		return []api.FencedHost{}
	}
	hosts := s.Fencing.Fences()
	status := s.Seen(ctx, access.Viewer)
	for i := range hosts {
		h := &hosts[i]
		h.Machines = []string{}
		for _, f := range status {
			if string(f.Spec.Provider) != h.Provider {
				continue
			}
			h.Up = h.Up ||
				slices.ContainsFunc(f.Hosts, func(k fleet.Host) bool { return string(k.Name) == h.Host && k.Up })
			for j := range f.Machines {
				if m := &f.Machines[j].Machine; string(m.Lies().Host) == h.Host && !m.Lies().None() {
					h.Machines = append(h.Machines, string(m.Name))
				}
			}
		}
	}
	return hosts
}

// Test asks the controllers of the hosts that are named, side by side.
func (s *Hosts) Test(ctx context.Context, in *rest.Asked[api.FenceRequest]) (api.Fences, error) {
	out := api.Fences{Hosts: []api.FencedHost{}}
	wanted, err := meantHosts(in.Body.Subjects, s.All(ctx))
	if err != nil {
		return out, err
	}
	var asking sync.WaitGroup
	for _, h := range wanted {
		if in.Dry {
			break
		}
		asking.Go(func() {
			defer s.Defects.Catch(defect.Place{Part: defect.Fence, Of: h.Provider}, "a test", nil)
			s.Fencing.Test(ctx, fleet.ProviderName(h.Provider), fleet.HostName(h.Host))
		})
	}
	asking.Wait()
	for _, h := range s.All(ctx) {
		if slices.ContainsFunc(wanted, func(k api.FencedHost) bool {
			return k.Provider == h.Provider && k.Host == h.Host
		}) {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return out, nil
}

// meantHosts finds the hosts that the subjects name: h1, host:h1, host:lab/h1, or a machine that lies on one. None
// names all.
func meantHosts(subjects []string, hosts []api.FencedHost) ([]api.FencedHost, error) {
	if len(subjects) == 0 {
		return hosts, nil
	}
	var out []api.FencedHost
	for _, subject := range subjects {
		name := strings.TrimPrefix(subject, api.HostWord)
		provider, host, named := strings.Cut(name, "/")
		if !named {
			provider, host = "", name
		}
		var found []api.FencedHost
		var known []string
		for _, h := range hosts {
			known = append(append(known, h.Host), h.Machines...)
			if h.Host == host && (provider == "" || h.Provider == provider) ||
				!named && slices.Contains(h.Machines, name) {
				found = append(found, h)
			}
		}
		switch {
		case len(found) == 0:
			p := api.NewProblem(api.CodeUnknownHost, "no host "+name+
				" has a method that cuts its power, and no machine of that name lies on one")
			p.Near = near.Names(name, known)
			return nil, p
		case len(found) > 1:
			return nil, rest.BadRequest(subject +
				": several providers have a host of that name: write host:PROVIDER/" + host)
		}
		out = append(out, found...)
	}
	return out, nil
}

// Problems are those of the hosts of a provider.
func Problems(provider string, hosts []api.FencedHost) []api.FenceProblem {
	out := []api.FenceProblem{}
	for _, h := range hosts {
		for _, m := range h.Methods {
			switch {
			case h.Provider != provider:
			case m.Test == nil:
				out = append(out, api.FenceProblem{Host: h.Host, Method: m.Name, Untested: true})
			case !m.Test.OK:
				out = append(out, api.FenceProblem{Host: h.Host, Method: m.Name, Detail: m.Test.Detail})
			case m.Unverified:
				out = append(out, api.FenceProblem{Host: h.Host, Method: m.Name, Unverified: true})
			}
		}
	}
	return out
}
