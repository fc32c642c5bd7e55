package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
)

// compile judges the drafts as a whole and makes the result. What it returns counts only when f found nothing.
func compile(doc document, f *finder) *Config {
	c := &Config{}
	c.Fences = compileFences(doc.fences.value, f)
	known, taken := map[string]at[ProviderType]{}, map[string]string{}
	for _, n := range doc.providers.value {
		known[n.name] = n.value.kind
		p := compileProvider(n, f)
		assignFences(n, p.Hosts, c.Fences, taken, f)
		c.Providers = append(c.Providers, p)
	}
	c.Vantage = compileVantage(doc.vantage, f)
	c.Heartbeats = compileHeartbeats(doc.heartbeats, f)
	c.Targets = compileTargets(doc.notify.value, f)
	targets := map[string]targetDraft{}
	for _, n := range doc.notify.value {
		targets[n.name] = n.value
	}
	fleets := map[string]bool{}
	for _, n := range doc.fleets.value {
		fleets[n.name] = true
	}
	for _, n := range doc.fleets.value {
		mistaken(n, fleets, f)
		fc := fleetCompiler{finder: f, draft: n.value, name: n.name, spot: n.under("size"), providers: known,
			drafts: doc.providers.value, targets: targets, listens: doc.heartbeats.how != absent}
		spec := fc.compile()
		fc.cutsEnough(&spec, c)
		shareLimits(&spec.Limits, doc, n.value.provider.value)
		c.Fleets = append(c.Fleets, spec)
	}
	slices.SortFunc(c.Providers, func(a, b Provider) int { return strings.Compare(string(a.Name), string(b.Name)) })
	slices.SortFunc(c.Fleets, func(a, b fleet.Spec) int { return strings.Compare(string(a.Name), string(b.Name)) })
	rivals(c, doc.fleets.value, f)
	return c
}

// mistaken reports a fleet with the name of another fleet's machine.
func mistaken(n named[fleetDraft], fleets map[string]bool, f *finder) {
	m := fleet.MachineName(n.name)
	ordinal, ok := m.Ordinal()
	other := m.Fleet()
	if ok && ordinal <= maxSize && fleets[string(other)] && other.Machine(ordinal) == m {
		f.add(n.spot, fmt.Sprintf("is also the name of a machine of fleet %s", other), "choose another name")
	}
}

func compileProvider(n named[providerDraft], f *finder) Provider {
	d := n.value
	p := Provider{Name: fleet.ProviderName(n.name), Type: d.kind.value, Poll: d.poll.value, ListWithin: listWithin(d),
		FencePriority: weights(d, f)}
	switch {
	case !d.kind.known():
	case p.Type == ProviderLibvirt:
		p.Hosts = compileHosts(n, f)
		p.StateDir = stateDir(d.stateDir, f)
		p.Proof, p.Insecure = compileProof(n, f), d.insecure.value
		foreign(f, p.Type, d.boot, d.latency)
		foreign(f, p.Type, d.machines)
		foreign(f, p.Type, d.cloud)
	case p.Type == ProviderOpenStack:
		p.Cloud = compileCloud(n, f)
		p.Events = compileEvents(d.events, f)
		foreign(f, p.Type, d.boot, d.latency)
		foreign(f, p.Type, d.machines)
		p.Hosts = compilePlaces(d.hosts.value, p.Type, f)
		foreign(f, p.Type, d.uri, d.stateDir)
	case p.Type == ProviderVSphere:
		p.VCenter, p.Hosts = compileVCenter(n, f)
		foreign(f, p.Type, d.uri, d.stateDir)
		foreign(f, p.Type, d.hosts)
		foreign(f, p.Type, d.boot, d.latency)
		foreign(f, p.Type, d.machines)
	case p.Type == ProviderSimulated:
		p.Simulated = Simulated{Boot: d.boot.value, Latency: d.latency.value}
		for _, m := range d.machines.value {
			if m.known() && slices.Contains(p.Simulated.Machines, m.value) {
				f.add(m.spot, fmt.Sprintf("there is a machine %s already", m.value), "give each its own name")
			}
			p.Simulated.Machines = append(p.Simulated.Machines, m.value)
		}
		p.Hosts = compilePlaces(d.hosts.value, p.Type, f)
		for _, h := range d.hosts.value { // its hosts have addresses of their own
			foreign(f, p.Type, h.value.address)
		}
		foreign(f, p.Type, d.uri, d.stateDir)
		foreign(f, p.Type, d.cloud)
	case p.Type == ProviderExec:
		p.Exec = compileExec(n, f)
		foreign(f, p.Type, d.uri, d.stateDir)
		foreign(f, p.Type, d.boot, d.latency)
		foreign(f, p.Type, d.machines)
		foreign(f, p.Type, d.hosts)
		foreign(f, p.Type, d.cloud)
	}
	if p.Type != ProviderExec {
		foreign(f, p.Type, d.program.command)
		foreign(f, p.Type, d.program.env)
		foreign(f, p.Type, d.program.timeout)
		foreign(f, p.Type, d.program.parallel)
	}
	if p.Type != ProviderOpenStack {
		foreign(f, p.Type, d.events)
	}
	if p.Type != ProviderLibvirt {
		foreign(f, p.Type, d.tls)
		foreign(f, p.Type, d.ssh)
		foreign(f, p.Type, d.sasl)
		foreign(f, p.Type, d.insecure)
	}
	if p.Type != ProviderVSphere {
		foreign(f, p.Type, d.vcenter)
	}
	return p
}

func stateDir(v at[string], f *finder) string {
	if v.known() && !path.IsAbs(v.value) {
		f.add(v.spot, fmt.Sprintf("%q is not an absolute path", v.value), "write for example "+defaultStateDir)
	}
	return path.Clean(v.value)
}

// foreign reports keys that another type of provider has.
func foreign[V any](f *finder, kind ProviderType, keys ...at[V]) {
	for _, k := range keys {
		if k.written() {
			f.add(k.spot, fmt.Sprintf("does not belong to a provider of type %s", kind),
				"take it out, or choose another type")
		}
	}
}

func compileHosts(n named[providerDraft], f *finder) []Host {
	d := n.value
	switch {
	case d.uri.written() && d.hosts.written():
		f.add(d.hosts.spot, "comes besides uri", "write either uri or hosts")
		return nil
	case d.uri.written():
		checkURI(d.uri, d.insecure.value, f)
		return []Host{{URI: d.uri.value}}
	case !d.hosts.written():
		f.add(n.under("uri"), "is missing", "add uri: qemu:///system, or hosts")
		return nil
	}
	for _, h := range d.hosts.value {
		if h.value.uri.how == absent && h.how == given {
			f.add(h.under("uri"), "is missing", "add uri: qemu+tls://h1/system")
		}
		checkURI(h.value.uri, d.insecure.value, f)
	}
	return hostsOf(d.hosts.value, f)
}

// compilePlaces reads the hosts of a provider that has no daemons.
func compilePlaces(hosts []at[hostDraft], kind ProviderType, f *finder) []Host {
	for _, h := range hosts {
		foreign(f, kind, h.value.uri)
	}
	return hostsOf(hosts, f)
}

func hostsOf(drafts []at[hostDraft], f *finder) []Host {
	var hosts []Host
	for _, h := range drafts {
		d := h.value
		once(hosts, d, f)
		hosts = append(hosts, Host{Name: fleet.HostName(d.name.value), URI: d.uri.value, Place: d.place(),
			Address: d.address.value, FenceDelay: d.fenceDelay.value})
	}
	slices.SortFunc(hosts, func(a, b Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return hosts
}

func compileVantage(v at[vantageDraft], f *finder) Vantage {
	if !v.known() {
		return Vantage{}
	}
	d := v.value
	out := Vantage{Gateway: d.gateway.value, Every: d.every.value, Timeout: d.timeout.value}
	for _, a := range d.canaries.value {
		if a.known() && slices.Contains(out.Canaries, a.value) {
			f.add(a.spot, fmt.Sprintf("%s is named twice", a.value), "name each canary once")
		}
		out.Canaries = append(out.Canaries, a.value)
	}
	switch {
	case d.timeout.known() && d.every.known() && d.timeout.value >= d.every.value:
		f.add(d.timeout.spot, fmt.Sprintf("%s is not shorter than every, %s", formatDuration(d.timeout.value),
			formatDuration(d.every.value)),
			"raise every or lower timeout")
	case !out.Watched() && !d.canaries.written():
		f.add(v.spot, "names nobody to ask", "add canaries: [10.0.0.1], or gateway: true")
	}
	return out
}

// once reports a name or an address that an earlier host has: one host under two names would be judged twice.
func once(earlier []Host, h hostDraft, f *finder) {
	for _, e := range earlier {
		if h.name.known() && string(e.Name) == h.name.value {
			f.add(h.name.spot, fmt.Sprintf("there is a host %s already", e.Name), "give each host its own name")
		}
		if h.uri.known() && e.URI == h.uri.value {
			f.add(h.uri.spot, fmt.Sprintf("is the address of host %s already", e.Name), "name each host once")
		}
	}
}

// cloudListWithin is how long the listing of a cloud may take where nobody says otherwise: they list slower than the
// daemon of one host.
const cloudListWithin = 30 * time.Second

// listWithin is how long a listing may take; 0: as long as is usual.
func listWithin(d providerDraft) time.Duration {
	switch kind := d.kind.value; {
	case d.within.written():
		return d.within.value
	case kind == ProviderOpenStack, kind == ProviderVSphere:
		return cloudListWithin
	}
	return 0
}
