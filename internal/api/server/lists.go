package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/feed"
	"hale/internal/api/naming"
	"hale/internal/api/power"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/state/journal"
)

// listing are the calls that read resources, one or a page of them.
func (s *Server) listing() {
	rest.RegisterList(s.router, rest.Call{ID: "list-fleets", Method: http.MethodGet, Path: "/v1/fleets",
		Needs:   rest.Reads,
		Summary: "The fleets, by name"}, s.listFleets)
	rest.Serve(s.router, rest.Call{ID: "get-fleet", Method: http.MethodGet, Path: "/v1/fleets/{name}",
		Needs:   rest.Reads,
		Summary: "One fleet, without its machines", Codes: []string{api.CodeUnknownFleet}}, s.getFleet)
	rest.RegisterList(s.router, rest.Call{ID: "list-machines", Method: http.MethodGet, Path: "/v1/machines",
		Needs:   rest.Reads,
		Summary: "The machines, by name", Codes: []string{api.CodeUnknownFleet}}, s.listMachines)
	rest.RegisterList(s.router, rest.Call{ID: "list-machines-of-fleet", Method: http.MethodGet,
		Path:  "/v1/fleets/{name}/machines",
		Needs: rest.Reads, Summary: "The machines of a fleet", Codes: []string{api.CodeUnknownFleet}}, s.listMachinesOf)
	rest.Serve(s.router, rest.Call{ID: "get-machine", Method: http.MethodGet, Path: "/v1/machines/{name}",
		Needs:   rest.Reads,
		Summary: "One machine", Codes: []string{api.CodeUnknownMachine}}, s.getMachine)
	rest.RegisterList(s.router, rest.Call{ID: "list-instances", Method: http.MethodGet, Path: "/v1/instances",
		Needs:   rest.Reads,
		Summary: "The virtual machines at the providers, as far as they bear on machines of hale's",
		Codes:   []string{api.CodeUnknownFleet}}, still(s.listInstances))
	rest.RegisterList(s.router, rest.Call{ID: "list-incidents", Method: http.MethodGet, Path: "/v1/incidents",
		Needs:   rest.Reads,
		Summary: "The incidents, newest first", Codes: []string{api.CodeUnknownFleet}}, still(s.listIncidents))
	rest.Serve(s.router, rest.Call{ID: "get-incident", Method: http.MethodGet, Path: "/v1/incidents/{id}",
		Needs:   rest.Reads,
		Summary: "One incident, and what happened", Codes: []string{api.CodeUnknownIncident}}, s.getIncident)
	rest.RegisterList(s.router, rest.Call{ID: "list-repairs", Method: http.MethodGet, Path: "/v1/repairs",
		Needs:   rest.Reads,
		Summary: "The repairs, newest first", Codes: []string{api.CodeUnknownFleet}}, still(s.listRepairs))
	rest.RegisterList(s.router, rest.Call{ID: "list-hosts", Method: http.MethodGet, Path: "/v1/hosts",
		Needs:   rest.Reads,
		Summary: "The hypervisor hosts"}, still(s.listHosts))
	rest.RegisterList(s.router, rest.Call{ID: "list-providers", Method: http.MethodGet, Path: "/v1/providers",
		Needs:   rest.Reads,
		Summary: "The providers"}, still(s.listProviders))
	rest.RegisterList(s.router, rest.Call{ID: "list-brakes", Method: http.MethodGet, Path: "/v1/brakes",
		Needs:   rest.Reads,
		Summary: "The brake under which each fleet stands"}, still(s.listBrakes))
	rest.Serve(s.router, rest.Call{ID: "discovery-prometheus", Method: http.MethodGet,
		Path: "/v1/discovery/prometheus", Needs: rest.Reads,
		Summary: "The machines as targets for Prometheus's http_sd_configs",
		Codes:   []string{api.CodeUnknownFleet, api.CodeBusy}}, s.targets)
	rest.Serve(s.router, rest.Call{ID: "list-servers", Method: http.MethodGet, Path: "/v1/servers", Needs: rest.Reads,
		Summary: "The servers that share the state", Codes: []string{api.CodeStore}}, s.listServers)
	rest.Serve(s.router, rest.Call{ID: "whoami", Method: http.MethodGet, Path: "/v1/whoami", Needs: rest.Reads,
		Summary: "The caller, as hale knows it"}, s.whoAmI)
}

func (s *Server) whoAmI(ctx context.Context, _ *rest.Nothing) (api.WhoAmI, error) {
	return view.WhoAmI(access.Of(ctx)), nil
}

// still is a list that cannot be watched.
func still[I, T any](list func(context.Context, *I) (*rest.Listed[T], error)) func(context.Context, *I) (
	*rest.Listed[T], rest.Watch, error) {
	return func(ctx context.Context, in *I) (*rest.Listed[T], rest.Watch, error) {
		l, err := list(ctx, in)
		return l, nil, err
	}
}

// pageIn lists what belongs to no single fleet.
type pageIn struct{ rest.Page }

// fleetsIn lists the fleets themselves.
type fleetsIn struct {
	rest.Page
	rest.Watching
}

func (s *Server) listFleets(ctx context.Context, in *fleetsIn) (*rest.Listed[api.FleetSummary], rest.Watch, error) {
	if in.Watch {
		w, err := s.watchFleets(ctx, in.Place())
		return nil, w, err
	}
	fleets, at, err := s.snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := rest.Paged(in.Page, at.String(), byFleet(fleets), view.FleetSummary)
	return l, nil, err
}

// byFleet gives each fleet its place by its name.
func byFleet(fleets []published.Fleet) []rest.Keyed[published.Fleet] {
	all := make([]rest.Keyed[published.Fleet], 0, len(fleets))
	for _, f := range fleets {
		all = append(all, rest.At(rest.Natural(string(f.Spec.Name)), f))
	}
	return all
}

func (s *Server) getFleet(ctx context.Context, in *byName) (api.Fleet, error) {
	f, err := fleetNamed(in.Name, s.seen(ctx, access.Viewer))
	if err != nil {
		return api.Fleet{}, err
	}
	out := view.FleetAlone(f)
	out.Fencing = power.Problems(string(f.Spec.Provider), s.hosts.All(ctx))
	return out, nil
}

// Narrowing says which machines are asked for. It is exported for huma.
type Narrowing struct {
	Verdict    string `query:"verdict" enum:"unknown,starting,healthy,suspect,unhealthy" doc:"With this verdict only."`
	Host       string `query:"host" maxLength:"253" doc:"On this host only."`
	Text       string `query:"q" maxLength:"253" doc:"With this in name, alias, instance, address, host or incident only."`
	NeedPerson bool   `query:"need_person" doc:"For which a person was paged only."`
}

// lets reports whether the machine is asked for.
func (n *Narrowing) lets(m *belief.Machine) bool {
	switch {
	case n.Verdict != "" && string(m.Health.Verdict) != n.Verdict, n.Host != "" && string(m.Current.Host) != n.Host:
		return false
	case n.NeedPerson && m.Quarantine == nil && (m.Incident == nil || !m.Incident.Paged):
		return false
	}
	return n.Text == "" || strings.Contains(string(m.Name), n.Text) || strings.Contains(m.Alias, n.Text) ||
		strings.Contains(string(m.Current.ID), n.Text) || strings.Contains(string(m.Current.Host), n.Text) ||
		m.Address.IsValid() && strings.Contains(m.Address.String(), n.Text) ||
		m.Incident != nil && strings.Contains(m.Incident.ID, n.Text)
}

// machinesIn lists machines of all fleets, or of one.
type machinesIn struct {
	rest.Page
	rest.Watching
	Narrowing
	Fleet string `query:"fleet" maxLength:"253" doc:"Of this fleet only."`
}

// machinesOfIn lists the machines of a fleet.
type machinesOfIn struct {
	rest.Page
	rest.Watching
	Narrowing
	Name string `path:"name" maxLength:"253"`
}

func (s *Server) listMachinesOf(ctx context.Context, in *machinesOfIn) (
	*rest.Listed[api.Machine], rest.Watch, error) {
	return s.listMachines(ctx, &machinesIn{
		Page: in.Page, Watching: in.Watching, Narrowing: in.Narrowing, Fleet: in.Name,
	})
}

func (s *Server) listMachines(ctx context.Context, in *machinesIn) (*rest.Listed[api.Machine], rest.Watch, error) {
	fleets, at, err := s.of(ctx, in.Fleet)
	if err != nil {
		return nil, nil, err
	}
	if in.Watch {
		if in.Narrowing != (Narrowing{}) {
			return nil, nil,
				rest.BadRequest("watch: goes with a fleet only, and with nothing else that narrows the list")
		}
		w, err := s.watchMachines(ctx, fleet.Name(in.Fleet), in.Place())
		return nil, w, err
	}
	type one struct {
		fleet *published.Fleet
		view  *situation.View
	}
	var all []rest.Keyed[one]
	for i := range fleets {
		for _, v := range view.Machines(fleets[i]) {
			if in.lets(&v.Machine) {
				all = append(all, rest.At(rest.Natural(string(v.Machine.Name)), one{&fleets[i], v}))
			}
		}
	}
	l, err := rest.Paged(in.Page, at.String(), all, func(o one) api.Machine {
		return view.Machine(*o.fleet, *o.view)
	})
	return l, nil, err
}

// of returns the fleet of the name, or all where it is empty.
func (s *Server) of(ctx context.Context, name string) ([]published.Fleet, feed.Cursor, error) {
	fleets, at, err := s.snapshot(ctx)
	if err != nil || name == "" {
		return fleets, at, err
	}
	f, err := fleetNamed(name, fleets)
	return []published.Fleet{f}, at, err
}

func (s *Server) getMachine(ctx context.Context, in *byName) (api.Machine, error) {
	status := s.seen(ctx, access.Viewer)
	name, err := naming.Meant(in.Name, status)
	if err != nil {
		return api.Machine{}, err
	}
	var known []string
	for i := range status {
		for _, v := range view.Machines(status[i]) {
			if string(v.Machine.Name) == name {
				return view.Machine(status[i], *v), nil
			}
			known = append(known, string(v.Machine.Name))
		}
		known = append(known, naming.Aliases(status[i])...)
	}
	return api.Machine{}, naming.UnknownMachine(fleet.MachineName(name), known)
}

// ofFleetIn lists what belongs to all fleets, or to one.
type ofFleetIn struct {
	rest.Page
	Fleet string `query:"fleet" maxLength:"253" doc:"Of this fleet only."`
}

func (s *Server) listInstances(ctx context.Context, in *ofFleetIn) (*rest.Listed[api.Instance], error) {
	fleets, at, err := s.of(ctx, in.Fleet)
	if err != nil {
		return nil, err
	}
	var found []api.Instance
	for i := range fleets {
		found = append(found, view.Instances(fleets[i])...)
	}
	if s.opts.Unowned != nil && in.Fleet == "" && access.Of(ctx).May(access.Viewer, "") {
		found = append(found, view.UnownedInstances(s.opts.Unowned())...)
	}
	all := make([]rest.Keyed[api.Instance], 0, len(found))
	for _, i := range found {
		all = append(all, rest.At(rest.Natural(i.Machine)+"\x00"+i.Provider+"\x00"+i.ID, i))
	}
	return rest.Paged(in.Page, at.String(), all, rest.Same)
}

// workIn lists incidents or repairs.
type workIn struct {
	rest.Page
	Fleet string `query:"fleet" maxLength:"253" doc:"Of this fleet only."`
	Open  bool   `query:"open" doc:"Only those that are open, or under way."`
}

func (s *Server) listIncidents(ctx context.Context, in *workIn) (*rest.Listed[api.IncidentItem], error) {
	fleets, at, err := s.of(ctx, in.Fleet)
	if err != nil {
		return nil, err
	}
	var all []rest.Keyed[api.IncidentItem]
	for i := range fleets {
		found := view.OpenIncidents(fleets[i])
		if !in.Open {
			records, _, err := journal.Read(ctx, s.opts.Store, fleets[i].Spec.Name)
			if err != nil {
				return nil, err
			}
			found = append(found, view.ClosedIncidents(records, found)...)
		}
		for _, item := range found {
			all = append(all, rest.At(rest.NewestFirst(item.Opened, item.ID), item))
		}
	}
	return rest.Paged(in.Page, at.String(), all, rest.Same)
}

// byID is what is asked by its id in the path.
type byID struct {
	ID string `path:"id" maxLength:"300" doc:"With %2F for each slash in it."`
}

func (s *Server) getIncident(ctx context.Context, in *byID) (api.IncidentStory, error) {
	var known []string
	for _, f := range s.seen(ctx, access.Viewer) {
		if !strings.HasPrefix(in.ID, string(f.Spec.Name)) {
			continue
		}
		records, _, err := journal.Read(ctx, s.opts.Store, f.Spec.Name)
		if err != nil {
			return api.IncidentStory{}, err
		}
		open := view.OpenIncidents(f)
		for _, item := range append(open, view.ClosedIncidents(records, open)...) {
			if item.ID != in.ID {
				known = append(known, item.ID)
				continue
			}
			out := api.IncidentStory{IncidentItem: item, Timeline: view.IncidentTimeline(item, records)}
			for _, child := range open {
				if child.Parent == item.ID {
					out.Children = append(out.Children, child.Machine)
				}
			}
			return out, nil
		}
	}
	return api.IncidentStory{}, api.Unknown(api.CodeUnknownIncident, "incident "+in.ID, in.ID, known)
}

func (s *Server) listRepairs(ctx context.Context, in *workIn) (*rest.Listed[api.RepairItem], error) {
	fleets, at, err := s.of(ctx, in.Fleet)
	if err != nil {
		return nil, err
	}
	var all []rest.Keyed[api.RepairItem]
	for i := range fleets {
		found := view.OpenRepairs(fleets[i])
		if !in.Open {
			records, _, err := journal.Read(ctx, s.opts.Store, fleets[i].Spec.Name)
			if err != nil {
				return nil, err
			}
			found = append(found, view.EndedRepairs(records)...)
		}
		for _, item := range found {
			all = append(all, rest.At(rest.NewestFirst(item.Started, item.ID), item))
		}
	}
	return rest.Paged(in.Page, at.String(), all, rest.Same)
}

func (s *Server) listHosts(ctx context.Context, in *pageIn) (*rest.Listed[api.HostItem], error) {
	fleets, at, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	joined := map[string]*api.HostItem{}
	for i := range fleets {
		for _, h := range view.Hosts(fleets[i]) {
			key := h.Provider + "\x00" + rest.Natural(h.Name)
			if was := joined[key]; was != nil {
				was.Machines, was.Held, was.Up = was.Machines+h.Machines, was.Held || h.Held, was.Up || h.Up
				continue
			}
			joined[key] = &h
		}
	}
	fenced := s.hosts.All(ctx)
	all := make([]rest.Keyed[api.HostItem], 0, len(joined))
	for key, h := range joined {
		h.Fenced = slices.ContainsFunc(fenced, func(k api.FencedHost) bool {
			return k.Provider == h.Provider && k.Host == h.Name
		})
		all = append(all, rest.At(key, *h))
	}
	return rest.Paged(in.Page, at.String(), all, rest.Same)
}

func (s *Server) listProviders(ctx context.Context, in *pageIn) (*rest.Listed[api.ProviderItem], error) {
	fleets, at, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	joined := map[string]*api.ProviderItem{}
	for i := range fleets {
		p := view.Provider(fleets[i])
		item := joined[p.Name]
		if item == nil {
			item = &api.ProviderItem{Provider: p}
			joined[p.Name] = item
		}
		item.Fleets = append(item.Fleets, string(fleets[i].Spec.Name))
		item.Hosts, item.Machines = max(item.Hosts, len(fleets[i].Hosts)), item.Machines+len(fleets[i].Machines)
	}
	all := make([]rest.Keyed[api.ProviderItem], 0, len(joined))
	for name, p := range joined {
		all = append(all, rest.At(rest.Natural(name), *p))
	}
	return rest.Paged(in.Page, at.String(), all, rest.Same)
}

func (s *Server) listBrakes(ctx context.Context, in *pageIn) (*rest.Listed[api.BrakeItem], error) {
	fleets, at, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return rest.Paged(in.Page, at.String(), byFleet(fleets), func(f published.Fleet) api.BrakeItem {
		return api.BrakeItem{Fleet: string(f.Spec.Name), Brake: view.Brake(f)}
	})
}
