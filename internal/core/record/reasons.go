package record

import (
	"fmt"
	"maps"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// Valid reports what is wrong with the record: its kind cannot have its reason.
func (r *Record) Valid() error {
	if slices.Contains(reasons[r.Kind], r.Reason) {
		return nil
	}
	return fmt.Errorf("a record %q cannot have the reason %q", r.Kind, r.Reason)
}

// Kinds are the kinds of record that there are, in the order of the alphabet.
func Kinds() []Kind { return slices.Sorted(maps.Keys(reasons)) }

// Known reports whether there is such a kind of record.
func (k Kind) Known() bool { _, known := reasons[k]; return known }

// none stands for a record that needs no reason: what it says is one.
const none = ""

// reasons are those that a record of each kind can have.
var reasons = map[Kind][]fleet.Reason{
	Verdict:      {none},
	Address:      {fleet.ReasonNewAddress},
	IncidentOpen: {none},
	IncidentClosed: slices.Concat(lettingGo, []fleet.Reason{fleet.ReasonHealed, fleet.ReasonRecovered,
		fleet.ReasonRemoved, fleet.ReasonParked, fleet.ReasonSpareOff,
		fleet.ReasonBelieved}),
	ParentOpen:   {none},
	ParentClosed: {fleet.ReasonReleased, fleet.ReasonSuperseded},
	ChildJoined:  {none},
	Contest:      {fleet.ReasonTwoHosts, fleet.ReasonReleased},
	Store: {fleet.ReasonStoreOlder, fleet.ReasonInstallation, fleet.ReasonTakenOver, fleet.ReasonRestored,
		fleet.ReasonBelieved,
		fleet.ReasonStoreTakes, fleet.ReasonStoreRoom},
	ChildReleased: {none},
	Held:          held,
	RepairStarted: {fleet.Reason(belief.RepairHeal), fleet.Reason(belief.RepairBuild),
		fleet.Reason(belief.RepairRemnant), fleet.Reason(belief.RepairRemove),
		fleet.Reason(belief.RepairUpdate), fleet.Reason(belief.RepairUndo), fleet.Reason(belief.RepairTidy),
		fleet.Reason(belief.RepairReplace), fleet.Reason(belief.RepairOperate),
		fleet.ReasonHostBack, fleet.ReasonKeepOver},
	RepairEnded: slices.Concat(held, failures, passedOver, []fleet.Reason{fleet.ReasonHealed, fleet.ReasonBuilt,
		fleet.ReasonUpdated, fleet.ReasonInForce, fleet.ReasonReplaced, fleet.ReasonCarriedOut,
		fleet.ReasonUndone, fleet.ReasonRemoved, fleet.ReasonRefuted, fleet.ReasonVanished, fleet.ReasonPutOff,
		fleet.ReasonOverruled, fleet.ReasonWithdrawn}),
	StepChosen:  {none},
	StepSkipped: passedOver,
	StepFailed:  slices.Concat(failures, passedOver, homeless),
	Look:        {fleet.ReasonConfirmed, fleet.ReasonOrdered, fleet.ReasonRefuted, fleet.ReasonLookUnclear},
	Evidence:    {fleet.ReasonGathered, fleet.ReasonNotGathered},
	Snapshot:    {fleet.ReasonTaken, fleet.ReasonRemoved},
	Intent:      {none},
	Outcome:     {none},
	Output:      {none},
	HookBegun:   {none},
	HookOver:    append([]fleet.Reason{none}, hooked...),
	PoolLeft: {fleet.ReasonOut, fleet.ReasonWaitOver, fleet.ReasonPoolSilent, fleet.ReasonPoolFailed,
		fleet.ReasonLastServing, fleet.ReasonNotRunning, fleet.ReasonHostDown},
	Proof:       {none},
	Verified:    {none},
	Certified:   {none},
	Quarantined: failures,

	QuarantineOver: {fleet.ReasonWorsened},
	Paged:          told,
	Reminded:       told,
	JointOver:      slices.Concat(told, []fleet.Reason{fleet.ReasonReleased, fleet.ReasonSuperseded}),
	Notified:       {none},
	Undelivered:    {fleet.ReasonTriesSpent, fleet.ReasonTargetRefuses, fleet.ReasonTargetGone, fleet.ReasonOutboxFull},
	Remnant:        {none, fleet.ReasonFound, fleet.ReasonSecondRunning},
	HostStands:     {fleet.ReasonHostReboots},
	Summary:        {none},
	Warning:        {none},
	WarningOver:    {fleet.ReasonRecovered, fleet.ReasonRemoved},
	Check:          {fleet.ReasonRecovered, fleet.ReasonRemoved},
	Brake:          {fleet.ReasonEngaged, fleet.ReasonReleased},
	Provider:       {fleet.ReasonUp, fleet.ReasonDown, fleet.ReasonProviderDoubtful},
	Vantage:        {fleet.ReasonUp, fleet.ReasonVantageIsolated, fleet.ReasonVantageDoubtful},
	Owner:          {fleet.ReasonTookOver, fleet.ReasonActing, fleet.ReasonClockStep, fleet.ReasonFleetLeft},
	Order:          slices.Concat([]fleet.Reason{none}, refusals),
	Found:          slices.Concat([]fleet.Reason{none, fleet.ReasonNotUnhealthy}, refusals),
	Adoption: slices.Concat(lettingGo, []fleet.Reason{fleet.ReasonCandidate, fleet.ReasonAdopted, fleet.ReasonRenamed,
		fleet.ReasonElsewhere, fleet.ReasonClaimOver, fleet.ReasonShort}),
	HoldBegun:  {none},
	HoldEnded:  {fleet.ReasonExpired, fleet.ReasonReleased, fleet.ReasonSuperseded, fleet.ReasonInUse},
	HostProof:  {none, fleet.ReasonExpired, fleet.ReasonHostUp},
	HostCut:    {none},
	HostUncut:  {none},
	LeftBehind: {none},
	Change: {fleet.ReasonReloaded, fleet.ReasonAwaitsWord, fleet.ReasonTakenBack, fleet.ReasonConfirmedPlan,
		fleet.ReasonWithdrawn,
		fleet.ReasonSizeUp, fleet.ReasonSizeDown, fleet.ReasonLeaves, fleet.ReasonSizeOrdered, fleet.ReasonSizeFromFile,
		fleet.ReasonTakesPlace, fleet.ReasonStandsBy, fleet.ReasonSparesUp,
		fleet.ReasonAlready, fleet.ReasonNamed,
		fleet.ReasonDisksStay, fleet.ReasonKeptStays, fleet.ReasonUpdated, fleet.ReasonProven,
		fleet.ReasonUpdateStopped, fleet.ReasonGivenUp, fleet.ReasonQueryBeyond, fleet.ReasonBatchDone,
		fleet.ReasonRolloutWaits, fleet.ReasonRolloutPaused, fleet.ReasonRolloutResumed, fleet.ReasonRollsBack,
		fleet.ReasonRolledBack, fleet.ReasonUndoStopped, fleet.ReasonMends, fleet.ReasonMended,
		fleet.ReasonBelieved, fleet.ReasonSurge, fleet.ReasonSurgeOver},
	Size: slices.Concat(halts, []fleet.Reason{fleet.ReasonOpinion, fleet.ReasonForecast, fleet.ReasonCooldown,
		fleet.ReasonPinned, fleet.ReasonBounds,
		fleet.ReasonNoOpinion, fleet.ReasonUpdating, fleet.ReasonNoneMayGo, fleet.ReasonAfter}),
	Metric:     append([]fleet.Reason{fleet.ReasonUp, fleet.ReasonRemoved}, muteMetric...),
	Defect:     panicked,
	DefectOver: panicked,
}

// held are the reasons for which nothing is done to a machine, or nothing more, until they are over.
var held = []fleet.Reason{
	fleet.ReasonAmnesty, fleet.ReasonBrake, fleet.ReasonSharedFate, fleet.ReasonVantageIsolated,
	fleet.ReasonVantageDoubtful, fleet.ReasonUnclear,
	fleet.ReasonUndecided, fleet.ReasonBudget, fleet.ReasonNoWitness, fleet.ReasonStarts, fleet.ReasonRepairRate,
	fleet.ReasonBuildBudget, fleet.ReasonBackoff,
	fleet.ReasonStoppedByPerson, fleet.ReasonParked, fleet.ReasonSpareOff, fleet.ReasonShutDown, fleet.ReasonPaused,
	fleet.ReasonSuspended,
	fleet.ReasonRescued, fleet.ReasonIOError,
	fleet.ReasonQuarantined, fleet.ReasonRecovering, fleet.ReasonNotEvery, fleet.ReasonUnproven, fleet.ReasonBlind,
	fleet.ReasonProviderDown,
	fleet.ReasonProviderDoubtful, fleet.ReasonHostDown, fleet.ReasonTwoHosts, fleet.ReasonElsewhere,
	fleet.ReasonHostUnasked, fleet.ReasonRival,
	fleet.ReasonStoreOlder, fleet.ReasonPlaceSilent, fleet.ReasonInstallation, fleet.ReasonObserve, fleet.ReasonSurplus,
	fleet.ReasonHold, fleet.ReasonLateCall,
	fleet.ReasonWindow, fleet.ReasonProtected, fleet.ReasonStoreFull, fleet.ReasonCandidate, fleet.ReasonLookUnclear,
	fleet.ReasonNoHost, fleet.ReasonNoPlace,
	fleet.ReasonDiskElsewhere, fleet.ReasonFenceDelay, fleet.ReasonFenceFailed, fleet.ReasonLocked,
	fleet.ReasonLawBroken, fleet.ReasonAccessBack,
	fleet.ReasonSharedToken, fleet.ReasonIrreplaceable, fleet.ReasonDiskKept, fleet.ReasonDraining,
	fleet.ReasonInService, fleet.ReasonApproval, fleet.ReasonUpdating, fleet.ReasonAfter,
}

// hooked are the ends of a hook that is not done.
var hooked = []fleet.Reason{
	fleet.ReasonHookFailed, fleet.ReasonHookLate, fleet.ReasonHookUnclear, fleet.ReasonNotRunning, fleet.ReasonHostDown,
	fleet.ReasonNoProgram,
	fleet.ReasonNoSecret, fleet.ReasonNoMetadata, fleet.ReasonUnfit, fleet.ReasonNoAddress, fleet.ReasonUnsupported,
	fleet.ReasonHookRefused, fleet.ReasonIdle,
	fleet.ReasonDenied, fleet.ReasonUnapproved,
}

// halts are those for which no machine goes by an opinion, whatever it wants.
var halts = []fleet.Reason{
	fleet.ReasonAmnesty, fleet.ReasonBrake, fleet.ReasonSharedFate, fleet.ReasonVantageIsolated,
	fleet.ReasonVantageDoubtful, fleet.ReasonProviderDown,
	fleet.ReasonProviderDoubtful, fleet.ReasonStoreOlder, fleet.ReasonPlaceSilent, fleet.ReasonInstallation,
	fleet.ReasonObserve, fleet.ReasonHold,
}

// muteMetric are what a metric can be that says nothing.
var muteMetric = []fleet.Reason{fleet.ReasonMetricSilent, fleet.ReasonMetricAbsurd, fleet.ReasonMetricMany}

// passedOver are those for which a step of the ladder is not taken.
var passedOver = []fleet.Reason{
	fleet.ReasonNotOff, fleet.ReasonNotRunning, fleet.ReasonNotPaused, fleet.ReasonHalted, fleet.ReasonIOError,
	fleet.ReasonRescued, fleet.ReasonNoInstance,
	fleet.ReasonUnsupported, fleet.ReasonNoMetadata, fleet.ReasonUnfit, fleet.ReasonSharedToken,
	fleet.ReasonSnapshotThere, fleet.ReasonNothingAfter,
	fleet.ReasonNotFor, fleet.ReasonDiskKept, fleet.ReasonTooManyKept, fleet.ReasonNotCertified,
	fleet.ReasonIrreplaceable, fleet.ReasonProtected,
	fleet.ReasonHostDown, fleet.ReasonHostUp, fleet.ReasonHostEnabled, fleet.ReasonHostDisabled, fleet.ReasonSharedFate,
}

// homeless are those for which no host takes a new instance.
var homeless = []fleet.Reason{fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere, fleet.ReasonHold}

// failures are those for which a step, an attempt or all of them failed.
var failures = []fleet.Reason{
	fleet.ReasonCallFailed, fleet.ReasonLocked, fleet.ReasonRefusedBy, fleet.ReasonNotVerified, fleet.ReasonNoInstance,
	fleet.ReasonNoCopy,
	fleet.ReasonMarkChanged,
	fleet.ReasonNoAddress, fleet.ReasonNoMetadata, fleet.ReasonUnfit, fleet.ReasonNoProgram, fleet.ReasonNoSecret,
	fleet.ReasonRunFailed, fleet.ReasonRunUnclear,
	fleet.ReasonUnsupported, fleet.ReasonSnapshotFailed, fleet.ReasonDeleteFailed, fleet.ReasonKeepFailed,
	fleet.ReasonNoProof, fleet.ReasonAnswers,
	fleet.ReasonStillRunning, fleet.ReasonNameTaken, fleet.ReasonDiskInUse, fleet.ReasonRival,
	fleet.ReasonSecondRunning, fleet.ReasonNoStep,
	fleet.ReasonExhausted, fleet.ReasonAttempts, fleet.ReasonPilotFailed, fleet.ReasonUpdateStopped,
	fleet.ReasonStepLeave, fleet.ReasonHookFailed, fleet.ReasonHookLate, fleet.ReasonHookUnclear,
	fleet.ReasonHookRefused,
	fleet.ReasonDenied, fleet.ReasonUnapproved,
}

// told are those for which a person must look.
var told = slices.Concat(held, failures, panicked, muteMetric, []fleet.Reason{
	fleet.ReasonStepPage, fleet.ReasonHoldExpired, fleet.ReasonHostFenced, fleet.ReasonHostCut,
	fleet.ReasonSnapshotStays, fleet.ReasonGivenUp, fleet.ReasonRestStays,
	fleet.ReasonNotSelected, fleet.ReasonShort, fleet.ReasonDown, fleet.ReasonStoreLow, fleet.ReasonStoreDown,
	fleet.ReasonStoreLost, fleet.ReasonHostReboots, fleet.ReasonQueryBeyond, fleet.ReasonUndoStopped,
	fleet.ReasonUndoSlow,
	fleet.ReasonRolloutHeld,
})

// refusals are those for which an order is not taken up, or not followed any more.
var refusals = []fleet.Reason{
	fleet.ReasonMalformed, fleet.ReasonExpired, fleet.ReasonUnknownSubject, fleet.ReasonNotHeld,
	fleet.ReasonHeldByOthers, fleet.ReasonTooMany,
	fleet.ReasonNothingKept, fleet.ReasonNotQuarantined, fleet.ReasonHealthy, fleet.ReasonInRepair,
	fleet.ReasonNotBraked, fleet.ReasonSelects,
	fleet.ReasonNotOlder, fleet.ReasonNotAwaited, fleet.ReasonAnswered, fleet.ReasonHookLate,
	fleet.ReasonLastMachine, fleet.ReasonSpare, fleet.ReasonOwnBuild, fleet.ReasonNothingWaits,
	fleet.ReasonStalePlan, fleet.ReasonOverruled,
	fleet.ReasonHostUp, fleet.ReasonWordRefused, fleet.ReasonQuarantined, fleet.ReasonNoInstance, fleet.ReasonObserve,
	fleet.ReasonCandidate,
	fleet.ReasonSurplus, fleet.ReasonHold, fleet.ReasonProtected, fleet.ReasonBrake, fleet.ReasonProviderDown,
	fleet.ReasonStoreOlder, fleet.ReasonInstallation,
	fleet.ReasonNotCertified, fleet.ReasonIrreplaceable, fleet.ReasonDiskKept, fleet.ReasonUnsupported,
	fleet.ReasonLawBroken, fleet.ReasonStoppedByPerson,
	fleet.ReasonCooldown, fleet.ReasonPinned, fleet.ReasonBounds, fleet.ReasonPlainSize, fleet.ReasonBeingBuilt,
	fleet.ReasonUpdating, fleet.ReasonNoRollout, fleet.ReasonNotPaused, fleet.ReasonNothingToUndo, fleet.ReasonNoDrift,
	fleet.ReasonOccupied, fleet.ReasonNotMarked, fleet.ReasonNoCopy, fleet.ReasonHasBegun, fleet.ReasonNothingOfIt,
	fleet.ReasonWithdrawn,
	fleet.ReasonHalted, fleet.ReasonNotOff, fleet.ReasonNotRunning, fleet.ReasonIOError, fleet.ReasonRescued,
	fleet.ReasonAlready, fleet.ReasonTooManyKept, fleet.ReasonHostDown,
}

// lettingGo are those for which an instance is taken out of hale's care.
var lettingGo = []fleet.Reason{
	fleet.ReasonNotSelected, fleet.ReasonContested, fleet.ReasonSucceeded, fleet.ReasonVanished,
	fleet.ReasonMarkChanged, fleet.ReasonLetGo,
}

// panicked are the parts of hale that can.
var panicked = []fleet.Reason{
	fleet.ReasonProviderPanicked, fleet.ReasonCommandPanicked, fleet.ReasonFencePanicked, fleet.ReasonTargetPanicked,
	fleet.ReasonCheckPanicked,
	fleet.ReasonProbesPanicked, fleet.ReasonHeartbeatsPanicked, fleet.ReasonMetricPanicked, fleet.ReasonOwnerPanicked,
}
