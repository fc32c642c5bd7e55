package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/config/fleets"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// compile judges the drafts as a whole and makes the result. What it returns counts only when f found nothing.
func compile(doc document, all kinds.All, f *keys.Finder) *Config {
	c := &Config{}
	c.Fences = compileFences(doc.fences.Value, all, f)
	taken := map[string]string{}
	for _, n := range doc.providers.Value {
		p := compileProvider(n, all, f)
		assignFences(n, p.Hosts, c.Fences, taken, f)
		c.Providers = append(c.Providers, p)
	}
	c.Balancers, c.Pools = compileBalancers(doc, all, f)
	c.Discovery = compileDiscovery(doc.discovery.Value, fleetNames(doc.fleets.Value), f)
	c.Vantage = compileVantage(doc.vantage, f)
	c.surround(doc, all, f)
	c.Targets = compileTargets(doc.notify.Value, all, f)
	recipients := map[string]policy.Recipient{}
	for _, n := range doc.notify.Value {
		recipients[n.Name] = recipient(n.Name, n.Value)
	}
	named := map[string]bool{}
	for _, n := range doc.fleets.Value {
		named[n.Name] = true
	}
	looks := map[string]time.Duration{}
	for _, b := range c.Balancers {
		looks[b.Name] = b.Every
	}
	for _, n := range doc.fleets.Value {
		mistaken(n, named, f)
		around := fleets.Around{Finder: f, All: all, Targets: recipients, Receives: doc.heartbeats.How != keys.Absent,
			Balancers: looks, Satellites: len(c.Satellites.Tokens), SatellitesStale: c.Satellites.Stale(),
			Shared: c.Cluster.Used() || c.Etcd.Used(), StandbysLook: c.Cluster.Used() || c.Etcd.Listen != ""}
		for i, p := range doc.providers.Value {
			around.Providers = append(around.Providers, p.Name)
			if p.Name == n.Value.Provider() { // the compiled ones are in the order of the drafts yet
				around.Type, around.Settings, around.Hosts = c.Providers[i].Type, c.Providers[i].Settings, p.Value.hosts
				around.Cuts = c.cutting(c.Providers[i])
			}
		}
		spec := fleets.Compile(n, around)
		shareLimits(&spec.Limits, doc, n.Value.Provider())
		c.Fleets = append(c.Fleets, spec)
	}
	slices.SortFunc(c.Providers, func(a, b Provider) int { return strings.Compare(string(a.Name), string(b.Name)) })
	slices.SortFunc(c.Fleets, func(a, b policy.Spec) int { return strings.Compare(string(a.Name), string(b.Name)) })
	rivals(c, doc.fleets.Value, f)
	after(c, doc.fleets.Value, f)
	return c
}

// surround compiles how hale is reached, what it says by itself, and where its state is.
func (c *Config) surround(doc document, all kinds.All, f *keys.Finder) {
	c.Heartbeats = compileHeartbeats(doc.heartbeats, f)
	c.Satellites = compileSatellites(doc.satellites, f)
	c.API = compileAPI(doc.api, fleetNames(doc.fleets.Value), f)
	c.Metrics = Metrics{Machines: doc.metrics.Value.machines.Value}
	c.Etcd, c.Cluster = compileEtcd(doc.state, f), compileCluster(doc.state, f)
	c.Telemetry = compileTelemetry(doc.telemetry, all, f)
}

// mistaken reports a fleet with the name of another fleet's machine.
func mistaken(n keys.Named[fleets.Draft], named map[string]bool, f *keys.Finder) {
	m := fleet.MachineName(n.Name)
	ordinal, ok := m.Ordinal()
	other := m.Fleet()
	if ok && ordinal <= maxSize && named[string(other)] && other.Machine(ordinal) == m {
		f.Add(n.Spot, fmt.Sprintf("is also the name of a machine of fleet %s", other), "choose another name")
	}
}

func compileProvider(n keys.Named[providerDraft], all kinds.All, f *keys.Finder) Provider {
	d := n.Value
	p := Provider{Name: fleet.ProviderName(n.Name), Type: d.kind.Value, Poll: d.poll.Value, ListWithin: d.within.Value,
		FencePriority: weights(d, f)}
	kind := all.Provider(p.Type)
	if kind == nil {
		return p
	}
	if kind.Central && !d.within.Written() {
		p.ListWithin = centralListWithin
	}
	made := kind.Keys.Make(kinds.Entry{Finder: f, Name: n.Name, Spot: n.Spot, Hosts: d.hosts}, &d.own)
	p.Settings, p.Hosts = made.Settings, made.Hosts
	if kind.Hosts && p.Hosts == nil {
		p.Hosts = hostsOf(d.hosts.Value, f)
	}
	for _, other := range all.Providers {
		if other.Word != kind.Word {
			foreign(f, kind, d.Seen, keys.Names(other.Keys.Fields))
		}
	}
	if !kind.Hosts {
		foreign(f, kind, d.Seen, []string{"hosts"})
		return p
	}
	for _, h := range d.hosts.Value {
		if h.Value.URI.Written() && !kind.HostURIs {
			notOf(f, kind, h.Value.URI.Spot)
		}
		if h.Value.Address.Written() && !kind.HostAddresses { // they have addresses of their own
			notOf(f, kind, h.Value.Address.Spot)
		}
	}
	return p
}

// foreign reports keys that another type of provider has.
func foreign(f *keys.Finder, kind *kinds.Provider, written keys.Seen, names []string) {
	for _, key := range names {
		if spot, there := written[key]; there {
			notOf(f, kind, spot)
		}
	}
}

// notOf reports a key that means nothing to the type.
func notOf(f *keys.Finder, kind *kinds.Provider, at keys.Spot) {
	f.Add(at, fmt.Sprintf("does not belong to a provider of type %s", kind.Word), "take it out, or choose another type")
}

func hostsOf(drafts []keys.At[kinds.HostDraft], f *keys.Finder) []kinds.Host {
	var hosts []kinds.Host
	for _, h := range drafts {
		d := h.Value
		once(hosts, d, f)
		hosts = append(hosts, kinds.Host{Name: fleet.HostName(d.Name.Value), URI: d.URI.Value, Place: d.Place(),
			Address: d.Address.Value, FenceDelay: d.FenceDelay.Value})
	}
	slices.SortFunc(hosts, func(a, b kinds.Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return hosts
}

func compileVantage(v keys.At[vantageDraft], f *keys.Finder) Vantage {
	if !v.Known() {
		return Vantage{}
	}
	d := v.Value
	out := Vantage{Gateway: d.gateway.Value, Every: d.every.Value, Timeout: d.timeout.Value}
	for _, a := range d.canaries.Value {
		if a.Known() && slices.Contains(out.Canaries, a.Value) {
			f.Add(a.Spot, fmt.Sprintf("%s is named twice", a.Value), "name each canary once")
		}
		out.Canaries = append(out.Canaries, a.Value)
	}
	switch {
	case d.timeout.Known() && d.every.Known() && d.timeout.Value >= d.every.Value:
		f.Add(d.timeout.Spot, fmt.Sprintf("%s is not shorter than every, %s", keys.FormatDuration(d.timeout.Value),
			keys.FormatDuration(d.every.Value)),
			"raise every or lower timeout")
	case !out.Watched() && !d.canaries.Written():
		f.Add(v.Spot, "names nobody to ask", "add canaries: [10.0.0.1], or gateway: true")
	}
	return out
}

// once reports a name or an address that an earlier host has: one host under two names would be judged twice.
func once(earlier []kinds.Host, h kinds.HostDraft, f *keys.Finder) {
	for _, e := range earlier {
		if h.Name.Known() && string(e.Name) == h.Name.Value {
			f.Add(h.Name.Spot, fmt.Sprintf("there is a host %s already", e.Name), "give each host its own name")
		}
		if h.URI.Known() && e.URI == h.URI.Value {
			f.Add(h.URI.Spot, fmt.Sprintf("is the address of host %s already", e.Name), "name each host once")
		}
	}
}

// centralListWithin is how long a listing may take by default where one service speaks for many hosts: it lists slower
// than the daemon of one host.
const centralListWithin = 30 * time.Second
