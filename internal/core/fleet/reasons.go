package fleet

import (
	"fmt"
	"slices"
)

// Valid reports what is wrong with the record: its kind cannot have its reason.
func (r *Record) Valid() error {
	if slices.Contains(reasons[r.Kind], r.Reason) {
		return nil
	}
	return fmt.Errorf("a record %q cannot have the reason %q", r.Kind, r.Reason)
}

// none stands for a record that needs no reason: what it says is one.
const none = ""

// reasons are those that a record of each kind can have.
var reasons = map[RecordKind][]Reason{
	RecordVerdict:      {none},
	RecordAddress:      {ReasonNewAddress},
	RecordIncidentOpen: {none},
	RecordIncidentClosed: slices.Concat(lettingGo, []Reason{ReasonHealed, ReasonRecovered, ReasonRemoved,
		ReasonBelieved}),
	RecordParentOpen:   {none},
	RecordParentClosed: {ReasonReleased, ReasonSuperseded},
	RecordChildJoined:  {none},
	RecordContest:      {ReasonTwoHosts, ReasonReleased},
	RecordStore: {ReasonStoreOlder, ReasonInstallation, ReasonTakenOver, ReasonRestored, ReasonBelieved,
		ReasonStoreTakes, ReasonStoreRoom},
	RecordChildReleased: {none},
	RecordHeld:          held,
	RecordRepairStarted: {Reason(RepairHeal), Reason(RepairBuild), Reason(RepairRemnant), Reason(RepairRemove),
		Reason(RepairUpdate), Reason(RepairUndo), Reason(RepairTidy), ReasonHostBack, ReasonKeepOver},
	RecordRepairEnded: slices.Concat(held, failures, passedOver, []Reason{ReasonHealed, ReasonBuilt, ReasonUpdated,
		ReasonUndone, ReasonRemoved, ReasonRefuted, ReasonVanished, ReasonPutOff, ReasonOverruled, ReasonWithdrawn}),
	RecordStepChosen:  {none},
	RecordStepSkipped: passedOver,
	RecordStepFailed:  slices.Concat(failures, passedOver),
	RecordLook:        {ReasonConfirmed, ReasonOrdered, ReasonRefuted, ReasonLookUnclear},
	RecordEvidence:    {ReasonGathered, ReasonNotGathered},
	RecordSnapshot:    {ReasonTaken, ReasonRemoved},
	RecordIntent:      {none},
	RecordOutcome:     {none},
	RecordOutput:      {none},
	RecordProof:       {none},
	RecordVerified:    {none},
	RecordCertified:   {none},
	RecordQuarantined: failures,

	RecordQuarantineOver: {ReasonWorsened},
	RecordPaged:          told,
	RecordReminded:       told,
	RecordJointOver:      slices.Concat(told, []Reason{ReasonReleased, ReasonSuperseded}),
	RecordNotified:       {none},
	RecordUndelivered:    {ReasonTriesSpent, ReasonTargetRefuses, ReasonTargetGone, ReasonOutboxFull},
	RecordRemnant:        {none, ReasonFound, ReasonSecondRunning},
	RecordHostStands:     {ReasonHostReboots},
	RecordSummary:        {none},
	RecordWarning:        {none},
	RecordWarningOver:    {ReasonRecovered, ReasonRemoved},
	RecordCheck:          {ReasonRecovered, ReasonRemoved},
	RecordBrake:          {ReasonEngaged, ReasonReleased},
	RecordProvider:       {ReasonUp, ReasonDown, ReasonProviderDoubtful},
	RecordVantage:        {ReasonUp, ReasonVantageIsolated, ReasonVantageDoubtful},
	RecordOwner:          {ReasonTookOver, ReasonActing, ReasonClockStep, ReasonFleetLeft},
	RecordOrder:          slices.Concat([]Reason{none}, refusals),
	RecordFound:          slices.Concat([]Reason{none, ReasonNotUnhealthy}, refusals),
	RecordAdoption: slices.Concat(lettingGo, []Reason{ReasonCandidate, ReasonAdopted, ReasonRenamed,
		ReasonElsewhere, ReasonClaimOver, ReasonShort}),
	RecordHoldEnded:  {ReasonExpired, ReasonReleased, ReasonSuperseded},
	RecordHostProof:  {none, ReasonExpired, ReasonHostUp},
	RecordHostCut:    {none},
	RecordHostUncut:  {none},
	RecordLeftBehind: {none},
	RecordChange: {ReasonReloaded, ReasonAwaitsWord, ReasonTakenBack, ReasonConfirmedPlan, ReasonWithdrawn,
		ReasonSizeUp, ReasonSizeDown, ReasonSizeOrdered, ReasonSizeFromFile, ReasonAlready, ReasonNamed,
		ReasonDisksStay, ReasonKeptStays, ReasonUpdated, ReasonProven, ReasonUpdateStopped, ReasonGivenUp},
	RecordSize: slices.Concat(halts, []Reason{ReasonOpinion, ReasonForecast, ReasonCooldown, ReasonPinned, ReasonBounds,
		ReasonNoOpinion, ReasonUpdating, ReasonNoneMayGo}),
	RecordMetric:     append([]Reason{ReasonUp, ReasonRemoved}, muteMetric...),
	RecordDefect:     panicked,
	RecordDefectOver: panicked,
}

// held are the reasons for which nothing is done to a machine, or nothing more, until they are over.
var held = []Reason{
	ReasonAmnesty, ReasonBrake, ReasonSharedFate, ReasonVantageIsolated, ReasonVantageDoubtful, ReasonUnclear,
	ReasonUndecided, ReasonBudget, ReasonNoWitness, ReasonStarts, ReasonRepairRate, ReasonBuildBudget, ReasonBackoff,
	ReasonStoppedByPerson, ReasonShutDown, ReasonPaused, ReasonSuspended, ReasonRescued, ReasonIOError,
	ReasonQuarantined, ReasonRecovering, ReasonNotEvery, ReasonUnproven, ReasonBlind, ReasonProviderDown,
	ReasonProviderDoubtful, ReasonHostDown, ReasonTwoHosts, ReasonElsewhere, ReasonHostUnasked, ReasonRival,
	ReasonStoreOlder, ReasonPlaceSilent, ReasonInstallation, ReasonObserve, ReasonSurplus, ReasonHold, ReasonLateCall,
	ReasonWindow, ReasonProtected, ReasonStoreFull, ReasonCandidate, ReasonLookUnclear, ReasonNoHost, ReasonNoPlace,
	ReasonDiskElsewhere, ReasonFenceDelay, ReasonFenceFailed, ReasonLocked, ReasonLawBroken, ReasonAccessBack,
	ReasonSharedToken, ReasonIrreplaceable, ReasonDiskKept,
}

// halts are those for which no machine goes by an opinion, whatever it wants.
var halts = []Reason{
	ReasonAmnesty, ReasonBrake, ReasonSharedFate, ReasonVantageIsolated, ReasonVantageDoubtful, ReasonProviderDown,
	ReasonProviderDoubtful, ReasonStoreOlder, ReasonPlaceSilent, ReasonInstallation, ReasonObserve, ReasonHold,
}

// muteMetric are what a metric can be that says nothing.
var muteMetric = []Reason{ReasonMetricSilent, ReasonMetricAbsurd, ReasonMetricMany}

// passedOver are those for which a step of the ladder is not taken.
var passedOver = []Reason{
	ReasonNotOff, ReasonNotRunning, ReasonNotPaused, ReasonHalted, ReasonIOError, ReasonRescued, ReasonNoInstance,
	ReasonUnsupported, ReasonNoMetadata, ReasonUnfit, ReasonSharedToken, ReasonSnapshotThere, ReasonNothingAfter,
	ReasonNotFor, ReasonDiskKept, ReasonTooManyKept, ReasonNotCertified, ReasonIrreplaceable, ReasonProtected,
	ReasonHostDown, ReasonHostUp, ReasonHostEnabled, ReasonHostDisabled, ReasonSharedFate,
}

// failures are those for which a step, an attempt or all of them failed.
var failures = []Reason{
	ReasonCallFailed, ReasonLocked, ReasonRefusedBy, ReasonNotVerified, ReasonNoInstance, ReasonMarkChanged,
	ReasonNoAddress, ReasonNoMetadata, ReasonUnfit, ReasonNoProgram, ReasonNoSecret, ReasonRunFailed, ReasonRunUnclear,
	ReasonUnsupported, ReasonSnapshotFailed, ReasonDeleteFailed, ReasonKeepFailed, ReasonNoProof, ReasonAnswers,
	ReasonStillRunning, ReasonNameTaken, ReasonDiskInUse, ReasonRival, ReasonSecondRunning, ReasonNoStep,
	ReasonExhausted, ReasonAttempts, ReasonPilotFailed, ReasonUpdateStopped, ReasonStepLeave,
}

// told are those for which a person must look.
var told = slices.Concat(held, failures, panicked, muteMetric, []Reason{
	ReasonStepPage, ReasonHoldExpired, ReasonHostFenced, ReasonHostCut, ReasonSnapshotStays, ReasonGivenUp,
	ReasonNotSelected, ReasonShort, ReasonDown, ReasonStoreLow, ReasonStoreDown, ReasonStoreLost, ReasonHostReboots,
})

// refusals are those for which an order is not taken up, or not followed any more.
var refusals = []Reason{
	ReasonMalformed, ReasonExpired, ReasonUnknownSubject, ReasonNotHeld, ReasonHeldByOthers, ReasonTooMany,
	ReasonNothingKept, ReasonNotQuarantined, ReasonHealthy, ReasonInRepair, ReasonNotBraked, ReasonSelects,
	ReasonNotOlder, ReasonLastMachine, ReasonOwnBuild, ReasonNothingWaits, ReasonStalePlan, ReasonOverruled,
	ReasonHostUp, ReasonWordRefused, ReasonQuarantined, ReasonNoInstance, ReasonObserve, ReasonCandidate,
	ReasonSurplus, ReasonHold, ReasonProtected, ReasonBrake, ReasonProviderDown, ReasonStoreOlder, ReasonInstallation,
	ReasonNotCertified, ReasonIrreplaceable, ReasonDiskKept, ReasonUnsupported, ReasonLawBroken, ReasonStoppedByPerson,
	ReasonCooldown, ReasonPinned, ReasonBounds, ReasonPlainSize,
}

// lettingGo are those for which an instance is taken out of hale's care.
var lettingGo = []Reason{
	ReasonNotSelected, ReasonContested, ReasonSucceeded, ReasonVanished, ReasonMarkChanged, ReasonLetGo,
}

// panicked are the parts of hale that can.
var panicked = []Reason{
	ReasonProviderPanicked, ReasonCommandPanicked, ReasonFencePanicked, ReasonTargetPanicked, ReasonCheckPanicked,
	ReasonProbesPanicked, ReasonHeartbeatsPanicked, ReasonMetricPanicked, ReasonOwnerPanicked,
}
