package server

import (
	"context"
	"os"
	"slices"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/naming"
	"hale/internal/api/power"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/prose/explain"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/starts"
)

// seen are the fleets in which the caller has the role.
func (s *Server) seen(ctx context.Context, r access.Role) []published.Fleet {
	p := access.Of(ctx)
	all := s.opts.Status()
	if p.May(r, "") {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f published.Fleet) bool { return !p.May(r, f.Spec.Name) })
}

// countWithin is how long is waited for all fleets' counts of good answers.
const countWithin = 300 * time.Millisecond

// status is filtered for callers who may not see the whole installation.
func (s *Server) status(ctx context.Context, _ *rest.Nothing) (api.Status, error) {
	out := api.Status{
		Version: s.opts.Version, Server: s.opts.Server, PID: os.Getpid(), Started: s.started, Now: time.Now(),
		Fleets: []api.Fleet{},
	}
	out.Stopping = s.opts.Stopping != nil && s.opts.Stopping()
	fenced := s.hosts.All(ctx)
	counting, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	for _, f := range s.seen(ctx, access.Viewer) {
		if s.opts.Count != nil {
			s.opts.Count(counting, &f)
		}
		v := view.Fleet(f)
		v.Fencing = power.Problems(string(f.Spec.Provider), fenced)
		out.Fleets = append(out.Fleets, v)
	}
	if access.Of(ctx).May(access.Viewer, "") {
		s.installation(ctx, &out)
	}
	return out, nil
}

// installation adds what belongs to no fleet.
func (s *Server) installation(ctx context.Context, out *api.Status) {
	if s.opts.Probes != nil {
		out.Probes = s.opts.Probes(ctx)
	}
	if s.opts.Plans != nil {
		out.Plans = s.opts.Plans()
	}
	if s.opts.Troubles != nil {
		out.Troubles = s.opts.Troubles()
	}
	out.Defects = view.Defects(s.opts.Defects.All())
	if s.opts.Unowned != nil {
		out.Unowned = view.Unowned(s.opts.Unowned())
	}
	if s.opts.Stored != nil {
		out.Store = view.Store(s.opts.Stored())
	}
}

// byName is what is asked by a name in the path.
type byName struct {
	Name string `path:"name" maxLength:"253" doc:"A name, or what the provider calls the machine."`
}

func (s *Server) why(ctx context.Context, in *byName) (api.Why, error) {
	status := s.seen(ctx, access.Viewer)
	text, err := naming.Meant(in.Name, status)
	if err != nil {
		return api.Why{}, err
	}
	name := fleet.MachineName(text)
	var known, fleets []string
	for _, f := range status {
		fleets = append(fleets, string(f.Spec.Name))
		known = append(known, naming.Aliases(f)...)
		for _, v := range f.Machines {
			known = append(known, string(v.Machine.Name))
			if v.Machine.Name != name {
				continue
			}
			records, _, err := journal.Read(ctx, s.opts.Store, f.Spec.Name)
			if err != nil {
				return api.Why{}, err
			}
			if s.opts.Count != nil {
				s.opts.Count(ctx, &f)
			}
			return view.Why(f, v, records), nil
		}
	}
	if gone, is, err := s.releasedWith(ctx, text); err == nil && is {
		return api.Why{}, gone.problem(text)
	}
	return api.Why{}, api.Unknown(api.CodeUnknownMachine, "machine or fleet "+text, text, append(known, fleets...))
}

// whyFleet says what holds a fleet as a whole.
func (s *Server) whyFleet(ctx context.Context, in *byName) (api.FleetWhy, error) {
	f, err := fleetNamed(in.Name, s.seen(ctx, access.Viewer))
	if err != nil {
		return api.FleetWhy{}, err
	}
	e := explain.Fleet(f)
	out := api.FleetWhy{
		Now:     f.Now.Wall,
		Fleet:   view.Fleet(f),
		Holding: append([]string{}, e.Now...),
		Person:  []string{},
	}
	for _, advice := range e.Person {
		if !slices.Contains(out.Person, advice) {
			out.Person = append(out.Person, advice)
		}
	}
	return out, nil
}

// fleetSize says what moves a fleet's size, and where it would.
func (s *Server) fleetSize(ctx context.Context, in *byName) (api.FleetSize, error) {
	f, err := fleetNamed(in.Name, s.seen(ctx, access.Viewer))
	if err != nil {
		return api.FleetSize{}, err
	}
	return view.Size(f), nil
}

// fleetRollout says how another template goes through a fleet.
func (s *Server) fleetRollout(ctx context.Context, in *byName) (api.Rollout, error) {
	f, err := fleetNamed(in.Name, s.seen(ctx, access.Viewer))
	if err != nil {
		return api.Rollout{}, err
	}
	return view.Rollout(f), nil
}

// statePrefixes are the parts of the store that a plan needs. Without the starts that were noted, those of this very
// hale would prove to it that the store is older than the world.
var statePrefixes = []string{"installation", "fleets/", "providers/", starts.NotedPrefix}

func (s *Server) state(ctx context.Context, _ *rest.Nothing) (api.State, error) {
	return Dump(ctx, s.opts.Store)
}

// Dump reads what a plan needs from a store: no journal, and nothing that lives by a lease.
func Dump(ctx context.Context, store state.Store) (api.State, error) {
	dump := api.State{Entries: []api.Entry{}}
	for _, prefix := range statePrefixes {
		entries, _, err := store.List(ctx, prefix)
		if err != nil {
			return api.State{}, err
		}
		for _, e := range entries {
			if e.Lease == 0 {
				dump.Entries = append(dump.Entries, api.Entry{Key: e.Key, Value: append([]byte{}, e.Value...)})
			}
		}
	}
	return dump, nil
}
