package fleets

import (
	"time"

	"hale/internal/config/hooks"
	"hale/internal/config/sizes"
	"hale/internal/config/times"
	"hale/internal/config/updates"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Draft is what the file says of a fleet, key by key.
type Draft struct {
	provider       keys.At[string]
	size           keys.At[sizes.Draft]
	selects        keys.At[selectDraft]
	adopt          keys.At[adoptDraft]
	template       keys.At[kinds.TemplateDraft]
	checks         keys.At[[]keys.Named[checkDraft]]
	unhealthyWhen  keys.At[conditionDraft]
	repair         keys.At[repairDraft]
	protect        keys.At[[]keys.At[string]]
	limits         keys.At[limitsDraft]
	update         keys.At[updates.Draft]
	spares         keys.At[sparesDraft]
	sharedFate     keys.At[sharedFateDraft]
	placement      keys.At[placementDraft]
	onExternalStop keys.At[stopDraft]
	onHostDisabled keys.At[disabledDraft]
	silence        keys.At[policy.Silence]
	mode           keys.At[policy.Mode]
	grace          keys.At[time.Duration]
	buildWithin    keys.At[time.Duration]
	blindAfter     keys.At[time.Duration]
	history        keys.At[time.Duration]
	notify         keys.At[notifyDraft]
	evidence       keys.At[evidenceDraft]
	pools          keys.At[[]keys.Named[PoolDraft]]
	hooks          keys.At[hooks.Draft]
	provision      keys.At[[]keys.Named[hooks.Hook]]
	after          keys.At[[]keys.At[string]]
}

// After are the fleets that come before this one, as they are written.
func (d *Draft) After() []keys.At[string] { return d.after.Value }

// selectDraft says which machines that exist already are meant.
type selectDraft struct {
	name     keys.At[string]
	except   keys.At[[]keys.At[string]]
	ids      keys.At[[]keys.At[string]]
	metadata keys.At[[]keys.Named[string]]
	tags     keys.At[[]keys.At[string]]
}

type adoptDraft struct{ replaceable keys.At[bool] }

// conditionDraft is one term, or a list of conditions under one of three words.
type conditionDraft struct {
	term    keys.At[string]
	all     keys.At[[]keys.At[conditionDraft]]
	any     keys.At[[]keys.At[conditionDraft]]
	atLeast keys.At[int]
	of      keys.At[[]keys.At[conditionDraft]]
}

type repairDraft struct {
	steps    keys.At[[]keys.At[stepDraft]]
	fence    keys.At[fenceDraft]
	attempts keys.At[keys.Rate]
	backoff  keys.At[time.Duration]
	windows  keys.At[[]keys.At[times.Draft]]
	notEvery keys.At[[]keys.At[times.Draft]]
}

type fenceDraft struct {
	proof keys.At[fleet.Proof]
	hosts keys.At[hostsWord]
	word  keys.At[wordWord]
}

type stepDraft struct {
	kind            fleet.StepKind
	timeout         keys.At[time.Duration]
	verifyWithin    keys.At[time.Duration]
	mode            keys.At[policy.RebootMode]
	onDeleteFailure keys.At[policy.OnDeleteFailure]
	keepOld         keys.At[time.Duration]
	keep            keys.At[int]
	keepFor         keys.At[time.Duration]
	onFailure       keys.At[policy.OnFailure]
	only            keys.At[[]keys.At[string]]
	command         keys.At[[]keys.At[string]]
	env             keys.At[[]keys.Named[keys.TextDraft]]
	idempotent      keys.At[bool]
	approve         keys.At[hooks.Approve]
}

type limitsDraft struct {
	inRepair keys.At[policy.Portion]
	repairs  keys.At[keys.Rate]
	inBuild  keys.At[int]
	brake    keys.At[Brake]
}

// evidenceDraft says what is kept of a machine before something is done to it.
type evidenceDraft struct {
	gather, screenshot keys.At[bool]
	console            keys.At[uint64]
	wait               keys.At[time.Duration]
}

// Brake is what the file says of a brake.
type Brake struct {
	percent      keys.At[int]
	atLeast      keys.At[int]
	releaseAfter keys.At[time.Duration]
}

type sharedFateDraft struct {
	then    keys.At[policy.FateAnswer]
	atLeast keys.At[int]
	wait    keys.At[time.Duration]
}

// disabledDraft is what a disabled host means: a word, or for how long to hold at most.
type disabledDraft struct {
	word keys.At[policy.HostDisabled]
	hold keys.At[time.Duration]
}

// stopDraft is what a stop from outside means: a word, or for how long to hold.
type stopDraft struct {
	word keys.At[policy.ExternalStop]
	hold keys.At[time.Duration]
}
