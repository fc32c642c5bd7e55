package config

import (
	"net/netip"
	"time"

	"hale/internal/config/fleets"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Drafts are what the files say, key by key, with the places, before it is judged as a whole.

type document struct {
	limits    keys.At[sharedDraft]
	providers keys.At[[]keys.Named[providerDraft]]
	fleets    keys.At[[]keys.Named[fleets.Draft]]
	vantage   keys.At[vantageDraft]
	notify    keys.At[[]keys.Named[targetDraft]]
	fences    keys.At[[]keys.Named[methodDraft]]
	balancers keys.At[[]keys.Named[balancerDraft]]
	discovery keys.At[[]keys.Named[listDraft]]

	heartbeats keys.At[heartbeatsDraft]
	satellites keys.At[satellitesDraft]
	api        keys.At[apiDraft]
	metrics    keys.At[metricsDraft]
	telemetry  keys.At[telemetryDraft]
	state      keys.At[stateDraft]
}

type providerDraft struct {
	keys.Seen
	own     keys.Own // what the types bring
	kind    keys.At[string]
	hosts   keys.At[[]keys.At[kinds.HostDraft]]
	poll    keys.At[time.Duration]
	within  keys.At[time.Duration]
	limits  keys.At[sharedDraft]
	weights keys.At[[]keys.Named[time.Duration]]
}

// sharedDraft bounds what fleets do together.
type sharedDraft struct {
	inRepair, perHost, perRack, perRoom, perZone keys.At[int]
	brake                                        keys.At[fleets.Brake]
}

type vantageDraft struct {
	canaries keys.At[[]keys.At[netip.Addr]]
	gateway  keys.At[bool]
	every    keys.At[time.Duration]
	timeout  keys.At[time.Duration]
}
