package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/keys"
)

// compile judges the drafts as a whole and makes the result. What it returns counts only when f found nothing.
func compile(doc document, f *keys.Finder) *Config {
	c := &Config{}
	c.Fences = compileFences(doc.fences.Value, f)
	known, taken := map[string]keys.At[ProviderType]{}, map[string]string{}
	for _, n := range doc.providers.Value {
		known[n.Name] = n.Value.kind
		p := compileProvider(n, f)
		assignFences(n, p.Hosts, c.Fences, taken, f)
		c.Providers = append(c.Providers, p)
	}
	c.Vantage = compileVantage(doc.vantage, f)
	c.Heartbeats = compileHeartbeats(doc.heartbeats, f)
	c.Targets = compileTargets(doc.notify.Value, f)
	targets := map[string]targetDraft{}
	for _, n := range doc.notify.Value {
		targets[n.Name] = n.Value
	}
	fleets := map[string]bool{}
	for _, n := range doc.fleets.Value {
		fleets[n.Name] = true
	}
	for _, n := range doc.fleets.Value {
		mistaken(n, fleets, f)
		fc := fleetCompiler{Finder: f, draft: n.Value, name: n.Name, spot: n.Under("size"), providers: known,
			drafts: doc.providers.Value, targets: targets, listens: doc.heartbeats.How != keys.Absent}
		spec := fc.compile()
		fc.cutsEnough(&spec, c)
		shareLimits(&spec.Limits, doc, n.Value.provider.Value)
		c.Fleets = append(c.Fleets, spec)
	}
	slices.SortFunc(c.Providers, func(a, b Provider) int { return strings.Compare(string(a.Name), string(b.Name)) })
	slices.SortFunc(c.Fleets, func(a, b fleet.Spec) int { return strings.Compare(string(a.Name), string(b.Name)) })
	rivals(c, doc.fleets.Value, f)
	return c
}

// mistaken reports a fleet with the name of another fleet's machine.
func mistaken(n keys.Named[fleetDraft], fleets map[string]bool, f *keys.Finder) {
	m := fleet.MachineName(n.Name)
	ordinal, ok := m.Ordinal()
	other := m.Fleet()
	if ok && ordinal <= maxSize && fleets[string(other)] && other.Machine(ordinal) == m {
		f.Add(n.Spot, fmt.Sprintf("is also the name of a machine of fleet %s", other), "choose another name")
	}
}

func compileProvider(n keys.Named[providerDraft], f *keys.Finder) Provider {
	d := n.Value
	p := Provider{Name: fleet.ProviderName(n.Name), Type: d.kind.Value, Poll: d.poll.Value, ListWithin: listWithin(d),
		FencePriority: weights(d, f)}
	if !d.kind.Known() {
		return p
	}
	switch p.Type {
	case ProviderLibvirt:
		p.Hosts = compileHosts(n, f)
		p.StateDir = stateDir(d.stateDir, f)
		p.Proof, p.Insecure = compileProof(n, f), d.insecure.Value
	case ProviderOpenStack:
		p.Cloud = compileCloud(n, f)
		p.Events = compileEvents(d.events, f)
		p.Hosts = compilePlaces(d.hosts.Value, p.Type, f)
	case ProviderVSphere:
		p.VCenter, p.Hosts = compileVCenter(n, f)
	case ProviderSimulated:
		p.Simulated = compileSimulated(d, f)
		p.Hosts = compilePlaces(d.hosts.Value, p.Type, f)
		for _, h := range d.hosts.Value { // its hosts have addresses of their own
			foreign(f, p.Type, h.Value.address)
		}
	case ProviderExec:
		p.Exec = compileExec(n, f)
	}
	for _, k := range ownKeys(&d) {
		if !slices.Contains(k.of, p.Type) {
			foreign(f, p.Type, k.key)
		}
	}
	return p
}

func compileSimulated(d providerDraft, f *keys.Finder) Simulated {
	out := Simulated{Boot: d.boot.Value, Latency: d.latency.Value}
	for _, m := range d.machines.Value {
		if m.Known() && slices.Contains(out.Machines, m.Value) {
			f.Add(m.Spot, fmt.Sprintf("there is a machine %s already", m.Value), "give each its own name")
		}
		out.Machines = append(out.Machines, m.Value)
	}
	return out
}

// ownKey is a key that only some types of provider have.
type ownKey struct {
	key keys.At[struct{}]
	of  []ProviderType
}

func own[V any](key keys.At[V], of ...ProviderType) ownKey {
	return ownKey{keys.At[struct{}]{Spot: key.Spot, How: key.How}, of}
}

func ownKeys(d *providerDraft) []ownKey {
	return []ownKey{
		own(d.uri, ProviderLibvirt), own(d.stateDir, ProviderLibvirt), own(d.tls, ProviderLibvirt),
		own(d.ssh, ProviderLibvirt), own(d.sasl, ProviderLibvirt), own(d.insecure, ProviderLibvirt),
		own(d.cloud, ProviderOpenStack), own(d.events, ProviderOpenStack), own(d.vcenter, ProviderVSphere),
		own(d.hosts, ProviderLibvirt, ProviderOpenStack, ProviderSimulated),
		own(d.boot, ProviderSimulated), own(d.latency, ProviderSimulated), own(d.machines, ProviderSimulated),
		own(d.program.command, ProviderExec), own(d.program.env, ProviderExec),
		own(d.program.timeout, ProviderExec), own(d.program.parallel, ProviderExec),
	}
}

func stateDir(v keys.At[string], f *keys.Finder) string {
	if v.Known() && !path.IsAbs(v.Value) {
		f.Add(v.Spot, fmt.Sprintf("%q is not an absolute path", v.Value), "write for example "+defaultStateDir)
	}
	return path.Clean(v.Value)
}

// foreign reports a key that another type of provider has.
func foreign[V any](f *keys.Finder, kind ProviderType, key keys.At[V]) {
	if key.Written() {
		f.Add(key.Spot, fmt.Sprintf("does not belong to a provider of type %s", kind),
			"take it out, or choose another type")
	}
}

func compileHosts(n keys.Named[providerDraft], f *keys.Finder) []Host {
	d := n.Value
	switch {
	case d.uri.Written() && d.hosts.Written():
		f.Add(d.hosts.Spot, "comes besides uri", "write either uri or hosts")
		return nil
	case d.uri.Written():
		checkURI(d.uri, d.insecure.Value, f)
		return []Host{{URI: d.uri.Value}}
	case !d.hosts.Written():
		f.Add(n.Under("uri"), "is missing", "add uri: qemu:///system, or hosts")
		return nil
	}
	for _, h := range d.hosts.Value {
		if h.Value.uri.How == keys.Absent && h.How == keys.Given {
			f.Add(h.Under("uri"), "is missing", "add uri: qemu+tls://h1/system")
		}
		checkURI(h.Value.uri, d.insecure.Value, f)
	}
	return hostsOf(d.hosts.Value, f)
}

// compilePlaces reads the hosts of a provider that has no daemons.
func compilePlaces(hosts []keys.At[hostDraft], kind ProviderType, f *keys.Finder) []Host {
	for _, h := range hosts {
		foreign(f, kind, h.Value.uri)
	}
	return hostsOf(hosts, f)
}

func hostsOf(drafts []keys.At[hostDraft], f *keys.Finder) []Host {
	var hosts []Host
	for _, h := range drafts {
		d := h.Value
		once(hosts, d, f)
		hosts = append(hosts, Host{Name: fleet.HostName(d.name.Value), URI: d.uri.Value, Place: d.place(),
			Address: d.address.Value, FenceDelay: d.fenceDelay.Value})
	}
	slices.SortFunc(hosts, func(a, b Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
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
func once(earlier []Host, h hostDraft, f *keys.Finder) {
	for _, e := range earlier {
		if h.name.Known() && string(e.Name) == h.name.Value {
			f.Add(h.name.Spot, fmt.Sprintf("there is a host %s already", e.Name), "give each host its own name")
		}
		if h.uri.Known() && e.URI == h.uri.Value {
			f.Add(h.uri.Spot, fmt.Sprintf("is the address of host %s already", e.Name), "name each host once")
		}
	}
}

// cloudListWithin is how long the listing of a cloud may take by default: they list slower than the
// daemon of one host.
const cloudListWithin = 30 * time.Second

// listWithin is how long a listing may take; 0: as long as is usual.
func listWithin(d providerDraft) time.Duration {
	switch kind := d.kind.Value; {
	case d.within.Written():
		return d.within.Value
	case kind == ProviderOpenStack, kind == ProviderVSphere:
		return cloudListWithin
	}
	return 0
}
