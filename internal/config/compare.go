package config

import (
	"reflect"
	"slices"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/kinds"
)

// Compare says what differs between two configurations: providers first, then fleets, each in order of their names,
// then what all of them share.
func Compare(was, is *Config) []change.Difference {
	var out []change.Difference
	for _, p := range is.Providers {
		switch old, known := find(was.Providers, p); {
		case !known:
			out = append(out, change.Difference{Kind: change.ProviderAdded, Subject: string(p.Name)})
		case !p.SameAddress(old):
			out = append(out, change.Difference{Kind: change.AddressChanged, Subject: string(p.Name)})
		case !reflect.DeepEqual(p.unfenced(), old.unfenced()):
			out = append(out, change.Difference{Kind: change.ProviderReconnected, Subject: string(p.Name)})
		}
	}
	for _, p := range was.Providers {
		if _, kept := find(is.Providers, p); !kept {
			out = append(out, change.Difference{Kind: change.ProviderRemoved, Subject: string(p.Name)})
		}
	}
	return append(append(out, change.Fleets(was.Fleets, is.Fleets)...), compareShared(was, is)...)
}

// compareShared says what differs beside providers and fleets.
func compareShared(was, is *Config) []change.Difference {
	var out []change.Difference
	for _, part := range []struct {
		kind change.Kind
		same bool
	}{
		{change.VantageChanged, reflect.DeepEqual(was.Vantage, is.Vantage)},
		{change.FencesChanged, reflect.DeepEqual(was.Fences, is.Fences) &&
			reflect.DeepEqual(was.assignments(), is.assignments())},
		{change.TargetsChanged, reflect.DeepEqual(was.Targets, is.Targets)},
		{change.BalancersChanged, reflect.DeepEqual(was.Balancers, is.Balancers) &&
			reflect.DeepEqual(was.Pools, is.Pools)},
		{change.DiscoveryChanged, reflect.DeepEqual(was.Discovery, is.Discovery)},
		{change.HeartbeatsChanged, was.Heartbeats == is.Heartbeats},
		{change.SatellitesChanged, reflect.DeepEqual(was.Satellites, is.Satellites)},
		{change.AccessChanged, reflect.DeepEqual(was.API, is.API)},
		{change.MetricsChanged, was.Metrics == is.Metrics},
		{change.StateChanged, reflect.DeepEqual(was.Etcd, is.Etcd) && was.Cluster == is.Cluster},
		{change.TelemetryChanged, reflect.DeepEqual(was.Telemetry, is.Telemetry)},
	} {
		if !part.same {
			out = append(out, change.Difference{Kind: part.kind})
		}
	}
	return out
}

// unfenced returns the provider without what cuts its hosts' power: that is no part of the connection.
func (p Provider) unfenced() Provider {
	p.Hosts, p.FencePriority = slices.Clone(p.Hosts), nil
	for i := range p.Hosts {
		p.Hosts[i].Fence, p.Hosts[i].FenceDelay = nil, 0
	}
	return p
}

// assignment is how a host is fenced, and when.
type assignment struct {
	methods []string
	delay   time.Duration
	later   map[fleet.Name]time.Duration
}

// assignments says it of each host.
func (c *Config) assignments() map[[2]string]assignment {
	out := map[[2]string]assignment{}
	for _, p := range c.Providers {
		for _, h := range p.Hosts {
			if len(h.Fence) > 0 {
				out[[2]string{string(p.Name), string(h.Name)}] = assignment{h.Fence, h.FenceDelay, p.FencePriority}
			}
		}
	}
	return out
}

func find(all []Provider, like Provider) (Provider, bool) {
	i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == like.Name })
	if i < 0 {
		return Provider{}, false
	}
	return all[i], true
}

// SameAddress reports whether whatever answered at the other one's addresses is asked at this one's, too: it may have
// more hosts, and other options. Another address may be another hypervisor with other machines; a host that is
// left out may still run some.
func (p Provider) SameAddress(other Provider) bool {
	return p.Type == other.Type && (p.Settings == nil ||
		p.Settings.SameAddress(other.Settings, kinds.Hosts{Are: p.Hosts, Were: other.Hosts}))
}

// SameConnection reports whether a connection made for the one serves the other, too.
func (p Provider) SameConnection(other Provider) bool {
	p.Poll, other.Poll, p.ListWithin, other.ListWithin = 0, 0, 0, 0
	return reflect.DeepEqual(p.unfenced(), other.unfenced())
}
