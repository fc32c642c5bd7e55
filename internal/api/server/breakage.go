package server

import (
	"context"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/naming"
	"hale/internal/api/rest"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/near"
)

// Breaking has machines of simulated providers fail, and no others.
type Breaking interface {
	// Break has the machine's instance at the provider fail in the way, and returns what happens to it. fault.NotFound:
	// there is no such way. fault.Invalid: the provider is a real one. fault.Conflict: the instance has gone.
	Break(p fleet.ProviderName, id fleet.InstanceID, way string) (does string, err error)
	// Foretell says what would happen, and has nothing happen. Its errors are those of Break.
	Foretell(p fleet.ProviderName, id fleet.InstanceID, way string) (does string, err error)
	// Ways are the ways, a line each.
	Ways() []api.Breakage
}

func (s *Server) breakages(context.Context, *rest.Nothing) (api.Breakages, error) {
	return api.Breakages{Breakages: s.opts.Breaking.Ways()}, nil
}

// breakMachine has a simulated machine fail.
func (s *Server) breakMachine(ctx context.Context, in *rest.Asked[api.BreakOrder]) (api.Broken, error) {
	status := s.seen(ctx, access.Admin)
	name, err := naming.Meant(in.Body.Machine, status)
	if err != nil {
		return api.Broken{}, err
	}
	var names []string
	for _, f := range status {
		names = append(names, naming.Aliases(f)...)
		for i := range f.Machines {
			m := &f.Machines[i].Machine
			if string(m.Name) == name {
				return s.breaks(f.Spec.Provider, m, in)
			}
			names = append(names, string(m.Name))
		}
	}
	return api.Broken{}, api.Unknown(api.CodeUnknownMachine, "machine "+name, name, names)
}

func (s *Server) breaks(p fleet.ProviderName, m *belief.Machine, in *rest.Asked[api.BreakOrder]) (api.Broken, error) {
	name := string(m.Name)
	if m.Current.None() {
		return api.Broken{}, rest.Refused(name + " has no instance yet")
	}
	do := s.opts.Breaking.Break
	if in.Dry {
		do = s.opts.Breaking.Foretell
	}
	does, err := do(p, m.Current.ID, in.Body.Way)
	switch {
	case err == nil:
		return api.Broken{Machine: name, Does: does}, nil
	case fault.Is(err, fault.NotFound):
		var known []string
		for _, b := range s.opts.Breaking.Ways() {
			known = append(known, b.Name)
		}
		p := rest.BadRequest(rest.Because(err))
		p.Near = near.Names(in.Body.Way, known)
		return api.Broken{}, p
	}
	return api.Broken{}, rest.Refused(name + " " + rest.Because(err))
}
