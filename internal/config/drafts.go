package config

import (
	"net/netip"
	"time"

	"hale/internal/fleet"
)

// Drafts are what the files say, key by key, with the places, before it is judged as a whole.

type document struct {
	limits    at[sharedDraft]
	providers at[[]named[providerDraft]]
	fleets    at[[]named[fleetDraft]]
	vantage   at[vantageDraft]
	notify    at[[]named[targetDraft]]
	fences    at[[]named[methodDraft]]

	heartbeats at[heartbeatsDraft]
}

type providerDraft struct {
	kind     at[ProviderType]
	uri      at[string]
	hosts    at[[]at[hostDraft]]
	stateDir at[string]
	poll     at[time.Duration]
	within   at[time.Duration]
	boot     at[time.Duration]
	latency  at[time.Duration]
	limits   at[sharedDraft]
	machines at[[]at[string]]
	cloud    at[cloudDraft]
	vcenter  at[vcenterDraft]
	program  programDraft
	events   at[eventsDraft]
	weights  at[[]named[time.Duration]]
	tls      at[filesDraft]
	ssh      at[loginDraft]
	sasl     at[saslDraft]
	insecure at[bool]
}

// sharedDraft bounds what fleets do together.
type sharedDraft struct {
	inRepair, perHost, perRack, perRoom, perZone at[int]
	brake                                        at[brakeDraft]
}

type hostDraft struct {
	name, uri                 at[string]
	rack, room, zone, storage at[string]
	address                   at[netip.Addr]
	fence                     at[[]at[string]]
	fenceDelay                at[time.Duration]
}

// place is where the host stands, as far as it says.
func (h hostDraft) place() fleet.Place {
	return fleet.Place{Rack: h.rack.value, Room: h.room.value, Zone: h.zone.value, Storage: h.storage.value}
}

type fleetDraft struct {
	provider       at[string]
	size           at[int]
	selects        at[selectDraft]
	adopt          at[adoptDraft]
	template       at[templateDraft]
	checks         at[[]named[checkDraft]]
	unhealthyWhen  at[conditionDraft]
	repair         at[repairDraft]
	protect        at[[]at[string]]
	limits         at[limitsDraft]
	update         at[updateDraft]
	sharedFate     at[sharedFateDraft]
	placement      at[placementDraft]
	onExternalStop at[stopDraft]
	onHostDisabled at[fleet.HostDisabled]
	silence        at[fleet.SilencePolicy]
	mode           at[fleet.Mode]
	grace          at[time.Duration]
	buildWithin    at[time.Duration]
	blindAfter     at[time.Duration]
	history        at[time.Duration]
	notify         at[notifyDraft]
	evidence       at[evidenceDraft]
}

// selectDraft says which machines that exist already are meant.
type selectDraft struct {
	name     at[string]
	except   at[[]at[string]]
	metadata at[[]named[string]]
	tags     at[[]at[string]]
}

type adoptDraft struct{ replaceable at[bool] }

type templateDraft struct {
	image, kernel, initrd, cmdline at[string]
	memory                         at[uint64]
	cpus                           at[int]
	network                        at[string]
	disks                          at[[]named[diskDraft]]
	userData                       at[textDraft]
	seed                           at[bool]
	xml                            at[textDraft]
	accel                          at[fleet.Accel]
	metadata                       at[[]named[string]]
	server                         at[serverDraft]
	options                        at[[]named[string]]
}

// diskDraft is one disk: a word for one that the template brings along, or the size of one to be made.
type diskDraft struct {
	kind at[diskKind]
	size at[uint64]
	keep at[bool]
	made at[string] // the type of volume
}

// diskKind says what becomes of a disk in a recreate.
type diskKind string

const (
	diskEphemeral diskKind = "ephemeral"
	diskKeep      diskKind = "keep"
)

// textDraft is a longer text: written here, or in a file of its own.
type textDraft struct {
	inline at[string]
	file   at[string]
}

// conditionDraft is one term, or a list of conditions under one of three words.
type conditionDraft struct {
	term    at[string]
	all     at[[]at[conditionDraft]]
	any     at[[]at[conditionDraft]]
	atLeast at[int]
	of      at[[]at[conditionDraft]]
}

type repairDraft struct {
	steps    at[[]at[stepDraft]]
	fence    at[fenceDraft]
	attempts at[rate]
	backoff  at[time.Duration]
	windows  at[[]at[windowDraft]]
	notEvery at[[]at[windowDraft]]
}

// windowDraft is a time that comes again and again.
type windowDraft struct {
	at    at[string]
	lasts at[time.Duration]
	zone  at[string]
}

type fenceDraft struct {
	proof at[fleet.Proof]
	hosts at[hostsWord]
	word  at[wordWord]
}

type stepDraft struct {
	kind            fleet.StepKind
	timeout         at[time.Duration]
	verifyWithin    at[time.Duration]
	mode            at[fleet.RebootMode]
	onDeleteFailure at[fleet.OnDeleteFailure]
	keepOld         at[time.Duration]
	keep            at[int]
	keepFor         at[time.Duration]
	onFailure       at[fleet.OnFailure]
	only            at[[]at[string]]
	command         at[[]at[string]]
	env             at[[]named[valueDraft]]
	idempotent      at[bool]
}

type limitsDraft struct {
	inRepair at[portion]
	repairs  at[rate]
	inBuild  at[int]
	brake    at[brakeDraft]
}

// evidenceDraft says what is kept of a machine before something is done to it.
type evidenceDraft struct {
	gather, screenshot at[bool]
	console            at[uint64]
	wait               at[time.Duration]
}

type updateDraft struct {
	canary at[int]
	soak   at[time.Duration]
}

type brakeDraft struct {
	percent      at[int]
	atLeast      at[int]
	releaseAfter at[time.Duration]
}

type sharedFateDraft struct {
	then    at[fleet.FateAnswer]
	atLeast at[int]
	wait    at[time.Duration]
}

type vantageDraft struct {
	canaries at[[]at[netip.Addr]]
	gateway  at[bool]
	every    at[time.Duration]
	timeout  at[time.Duration]
}

// stopDraft is what a stop by somebody else means: a word, or for how long to hold.
type stopDraft struct {
	word at[fleet.ExternalStop]
	hold at[time.Duration]
}
