package config

import (
	"net/netip"
	"time"

	"hale/internal/config/fleets"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// The tables: every key with its shape, its default and its meaning. The reader, the schema and the reference page are
// made from them. They are functions because a condition contains conditions.

func documentShape(all kinds.All) keys.Object[document] {
	return keys.Object[document]{
		Fields: append([]keys.Field[document]{
			keys.May("providers", "The hypervisors, by name.", keys.Mapping[providerDraft]{Key: "PROVIDER",
				Each: providerShape(all)},
				func(d *document) *keys.At[[]keys.Named[providerDraft]] { return &d.providers }),
			keys.May("fleets",
				"The fleets, by name. A fleet's machines are called after it: `web-1`, `web-2` and so on.",
				keys.Mapping[fleets.Draft]{Key: "FLEET", Each: fleets.Shape(all)},
				func(d *document) *keys.At[[]keys.Named[fleets.Draft]] { return &d.fleets }),
			keys.Part("limits", "How much may be done at once in all fleets together. "+
				"What a fleet may do by itself is in fleets.FLEET.limits.",
				keys.Object[sharedDraft]{Fields: []keys.Field[sharedDraft]{
					keys.Or("in_repair", defaultSharedInRepair, "Machines in repair at once, of all fleets.",
						keys.Integer(1, maxSize),
						func(l *sharedDraft) *keys.At[int] { return &l.inRepair }),
					sharedBrake("all fleets together"),
				}}, func(d *document) *keys.At[sharedDraft] { return &d.limits }),
			keys.May("vantage", "How hale finds out whether the fault is on its own side. Without it, only the "+
				"provider's word helps: when more than half of a fleet, and at least three machines, fall silent at "+
				"once although they run, hale holds and pages.", vantageShape(),
				func(d *document) *keys.At[vantageDraft] { return &d.vantage }),
			keys.May("notify", "Whom hale tells, by name, when a person must look. Without it, pages are in the log, "+
				"in `hale status` and in `hale events`.",
				keys.Mapping[targetDraft]{Key: "TARGET", Each: targetShape(all)},
				func(d *document) *keys.At[[]keys.Named[targetDraft]] { return &d.notify }),
			keys.May("fences", "How the power of hosts is cut from outside, by name. Which host has which is in "+
				"providers.PROVIDER.hosts[].fence.",
				keys.Mapping[methodDraft]{Key: "METHOD", Each: methodShape(all)},
				func(d *document) *keys.At[[]keys.Named[methodDraft]] { return &d.fences }),
			keys.May("balancers",
				"The pools of load balancers in front of the machines, by name. Which fleet is in which "+
					"is in fleets.FLEET.balancers. See docs/guide/balancers.md.",
				keys.Mapping[balancerDraft]{Key: "BALANCER", Each: balancerShape(all)},
				func(d *document) *keys.At[[]keys.Named[balancerDraft]] { return &d.balancers }),
		}, surfaces(all)...),
		Later: map[string]string{
			"alarms":    "take it out",
			"workflows": "take it out",
			"vantages":  "checks run where hale runs; for its own network see vantage",
		},
	}
}

// surfaces are the keys of how hale is reached, and of what it says by itself.
func surfaces(all kinds.All) []keys.Field[document] {
	return []keys.Field[document]{
		keys.May("heartbeats", "Where machines report by themselves, for heartbeat checks: by `POST "+
			"/heartbeat/FLEET/MACHINE/CHECK`.", heartbeatsShape(),
			func(d *document) *keys.At[heartbeatsDraft] { return &d.heartbeats }),
		keys.May("satellites", "Probes in other networks, which report here, for checks with vantages. See "+
			"docs/guide/vantages.md.", satellitesShape(),
			func(d *document) *keys.At[satellitesDraft] { return &d.satellites }),
		keys.May("api", "Where programs, and people at other machines, reach hale's API over the network, and what "+
			"they may do. Without it, hale answers on its socket only. See docs/guide/access.md.", apiShape(),
			func(d *document) *keys.At[apiDraft] { return &d.api }),
		keys.May("metrics", "What monitoring is told. It reads hale's metrics at `/metrics` of the API. See the guide "+
			"to monitoring.", metricsShape(),
			func(d *document) *keys.At[metricsDraft] { return &d.metrics }),
		keys.May("discovery", "Files that tell other programs which machines there are, by name. See "+
			"docs/guide/discovery.md.", discoveryShape(),
			func(d *document) *keys.At[[]keys.Named[listDraft]] { return &d.discovery }),
		keys.May("state", "Where hale keeps its state. Without it, in its data folder, in an etcd server inside "+
			"itself. A change counts from the next start. See docs/guide/shared-state.md.", stateShape(),
			func(d *document) *keys.At[stateDraft] { return &d.state }),
		keys.May("telemetry", "What leaves hale for those who look at many systems at once: traces, and the journal.",
			telemetryShape(all), func(d *document) *keys.At[telemetryDraft] { return &d.telemetry }),
	}
}

func vantageShape() keys.Object[vantageDraft] {
	return keys.Object[vantageDraft]{Fields: []keys.Field[vantageDraft]{
		keys.May("canaries", "Addresses that answer pings as long as hale's own network works. When none does, hale "+
			"takes itself to be cut off: checks count for nothing, nothing begins, and a person is paged once.",
			keys.List[netip.Addr]{Noun: "one address", Each: keys.Address()},
			func(v *vantageDraft) *keys.At[[]keys.At[netip.Addr]] { return &v.canaries }),
		keys.Or("gateway", false, "Take the default gateway of hale's server for a canary, too, as the system names "+
			"it when hale starts.", keys.Boolean(),
			func(v *vantageDraft) *keys.At[bool] { return &v.gateway }),
		keys.Or("every", defaultCanaryEvery, "The time from one ping to the next. No longer than that of the fastest "+
			"check, or a machine is down before the canaries are.", keys.Duration(100*time.Millisecond, time.Hour),
			func(v *vantageDraft) *keys.At[time.Duration] { return &v.every }),
		keys.Or("timeout", defaultCanaryTimeout, "When no answer is a failure; shorter than every.",
			keys.Duration(10*time.Millisecond, time.Minute),
			func(v *vantageDraft) *keys.At[time.Duration] { return &v.timeout }),
	}}
}
