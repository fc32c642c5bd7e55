package fleets

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/state/journal"
)

// The defaults, in one place: the reader fills them in, the schema and the reference page state them.
const (
	defaultMemory  = uint64(512 << 20)
	defaultCPUs    = 1
	defaultNetwork = "default"
	defaultAccel   = policy.AccelAuto

	defaultEvery     = 5 * time.Second
	defaultTimeout   = time.Second // or half of every, when that is shorter
	defaultDownAfter = 3
	defaultUpAfter   = 2

	defaultCallTimeout     = 30 * time.Second
	defaultRecreateTimeout = 2 * time.Minute
	defaultVerifyWithin    = time.Minute
	defaultRunTimeout      = 10 * time.Minute
	defaultRebootMode      = policy.RebootHard
	defaultOnDeleteFailure = policy.DeleteFailureStop

	defaultSnapshotKeep      = 2
	defaultSnapshotKeepFor   = 7 * 24 * time.Hour
	defaultSnapshotOnFailure = policy.OnFailureStop
	defaultSnapshotTimeout   = 30 * time.Minute

	defaultProof    = fleet.ProofConfirmedOff
	defaultBackoff  = 10 * time.Second
	defaultStopHold = 15 * time.Minute
	// defaultDisabledHold is longer than most maintenance takes, and shorter than it is forgotten.
	defaultDisabledHold = 24 * time.Hour

	defaultInRepair          = 1
	defaultInBuild           = 3
	defaultBrakePercent      = 20
	defaultBrakeAtLeast      = 2
	defaultBrakeReleaseAfter = 30 * time.Second

	defaultFateThen    = policy.FatePage
	defaultFateAtLeast = 3
	defaultFateWait    = 10 * time.Minute

	defaultMode        = policy.ModeAct
	defaultGrace       = time.Minute
	defaultBuildWithin = 5 * time.Minute
	defaultBlindAfter  = 5 * time.Minute
	defaultHistory     = journal.KeepFor
)

// defaultAttempts are the repairs that a machine gets before it goes into quarantine.
var defaultAttempts = keys.Rate{Times: 3, Within: time.Hour}

// The bounds that are not plain from the key's own table entry.
const maxSize = fleet.LargestSize
