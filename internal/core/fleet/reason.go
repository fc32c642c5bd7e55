package fleet

// Reason is why, from a closed set.
type Reason string

// The reasons.
const (
	// Guards: why nothing is done now.
	ReasonAmnesty         Reason = "amnesty"          // after a start or a gap everything is judged afresh first
	ReasonBrake           Reason = "brake"            // too much fails at once
	ReasonSharedFate      Reason = "shared-fate"      // a parent incident holds it
	ReasonVantageIsolated Reason = "vantage-isolated" // hale itself is cut off
	ReasonVantageDoubtful Reason = "vantage-doubtful" // the fault may be on hale's side
	ReasonUnclear         Reason = "picture-unclear"  // others are suspect too: first see whether it is one cause
	// which of its checks fail decides on the step, and they have not all spoken
	ReasonUndecided   Reason = "undecided"
	ReasonBudget      Reason = "budget"       // as many machines are in repair as may be
	ReasonNoWitness   Reason = "no-witness"   // it is silent, and so is all else on its host
	ReasonStandsStill Reason = "stands-still" // its processors do nothing, as its provider counts
	ReasonStarts      Reason = "starts"       // as many machines are being started as may be
	ReasonRepairRate  Reason = "repair-rate"  // as many repairs began of late as may
	ReasonBuildBudget Reason = "build-budget" // as many first builds run as may
	ReasonBackoff     Reason = "backoff"      // the last attempt failed a moment ago
	// it is suspect, starting or unknown: no order to the whole fleet has that repaired
	ReasonNotUnhealthy    Reason = "not-unhealthy"
	ReasonStoppedByPerson Reason = "stopped-by-person" // a stop by a person is not a failure
	// nor is a shutdown in order, which no one else may have wanted
	ReasonShutDown Reason = "shut-down"
	// a person had hale turn it off, and it stays so until a person wants it on
	ReasonParked Reason = "parked"
	// ReasonSpareOff: the machine is a spare, and hale turned it off until it is needed.
	ReasonSpareOff Reason = "spare-off"
	ReasonPaused   Reason = "paused" // a pause by a person is not a failure
	// it suspended itself, and the ladder has no step to resume it
	ReasonSuspended Reason = "suspended"
	// another system runs in its place, for a person to repair it
	ReasonRescued     Reason = "rescued"
	ReasonIOError     Reason = "io-error"    // the provider paused it since a write to its disk failed
	ReasonQuarantined Reason = "quarantined" //
	ReasonRecovering  Reason = "recovering"  // not unhealthy any more, and not healthy yet
	ReasonNotEvery    Reason = "not-every"   // its checks are not heeded at this time of the day
	// a check succeeded on no machine since it was made or edited
	ReasonUnproven         Reason = "unproven"
	ReasonBlind            Reason = "blind"             // nothing is known; unknown is not dead
	ReasonProviderDown     Reason = "provider-down"     //
	ReasonProviderDoubtful Reason = "provider-doubtful" //
	ReasonHostDown         Reason = "host-down"         //
	// two hosts show its instance: until one does, nothing is called but questions
	ReasonTwoHosts Reason = "two-hosts"
	// another installation looks after the adopted instance, too, and claimed it first
	ReasonElsewhere   Reason = "claimed-elsewhere"
	ReasonHostUnasked Reason = "host-unasked" // a host that does not answer may have it, too
	// another instance with its mark may run: none is built beside it
	ReasonRival Reason = "rival"
	// a mark that the store never allotted, or a start that it does not know: it is older than the world
	ReasonStoreOlder Reason = "store-older"
	// the place of hale's starts at the provider does not answer: nothing is built or destroyed
	ReasonPlaceSilent  Reason = "place-silent"
	ReasonInstallation Reason = "another-installation" // another installation of hale marked instances of the fleet
	ReasonObserve      Reason = "observe"              // the fleet is only watched
	// beyond the desired size; destroyed only when confirmed by a person
	ReasonSurplus    Reason = "surplus"
	ReasonNoStep     Reason = "no-step"     // no rung of the ladder applies
	ReasonLeaseShort Reason = "lease-short" // the remaining lease does not cover the call
	ReasonNotOwner   Reason = "not-owner"   // the lease is lost
	ReasonHold       Reason = "hold"        // a hold covers it
	// a call to build it went without an answer, and may yet be carried out
	ReasonLateCall  Reason = "late-order"
	ReasonWindow    Reason = "window"     // repairs begin at other times
	ReasonProtected Reason = "protected"  // it is never disrupted; a person is told
	ReasonStoreFull Reason = "store-full" // the disk is full: nothing can be written down first
	ReasonStoreLow  Reason = "store-low"  // there is soon no room in hale's store
	ReasonStoreDown Reason = "store-down" // the store does not answer
	ReasonStoreLost Reason = "store-lost" // the store cannot go on, so hale ends
	ReasonClockStep Reason = "clock-step" // wall and monotonic clock parted by more than 2 s

	// Looks.
	ReasonConfirmed   Reason = "confirmed"
	ReasonOrdered     Reason = "ordered" // a person's order stands for what it could not tell (L3)
	ReasonRefuted     Reason = "refuted"
	ReasonLookUnclear Reason = "look-unclear"

	// Evidence: whether it was kept, and why a part of it was not.
	ReasonGathered    Reason = "kept"
	ReasonNotGathered Reason = "not-kept"
	ReasonTooLate     Reason = "too-late"    // it did not come within its time
	ReasonTooLarge    Reason = "too-large"   // it is larger than what is kept
	ReasonNothing     Reason = "nothing"     // there was nothing to keep
	ReasonNotWanted   Reason = "not-wanted"  // the policy leaves it out
	ReasonInterrupted Reason = "interrupted" // hale ended while it was gathered

	// Steps.
	ReasonNotOff      Reason = "not-off"     // start: it is not off
	ReasonNotRunning  Reason = "not-running" // reboot: it does not run
	ReasonNotPaused   Reason = "not-paused"  // resume: it is not paused
	ReasonHalted      Reason = "halted"      // reboot, recreate: it is paused, and can go on where it was
	ReasonUnsupported Reason = "unsupported" // the provider cannot do it
	ReasonNoAddress   Reason = "no-address"  // run: the command needs the machine's address, which is unknown
	ReasonNoMetadata  Reason = "no-metadata" // run: the command needs something of the instance that is unknown
	// rebuild, recreate: only heartbeats that any machine of the fleet could have sent speak for it
	ReasonSharedToken Reason = "shared-token"
	// run: what the command is to be told would be an option, or has control characters
	ReasonUnfit          Reason = "unfit"
	ReasonNoProgram      Reason = "no-program"      // run: there is no such program, or it may not be run
	ReasonNoSecret       Reason = "no-secret"       // run: a secret that the command needs cannot be read
	ReasonRunFailed      Reason = "run-failed"      // run: another exit code than 0, or its time was over
	ReasonRunUnclear     Reason = "run-unclear"     // run: it is unknown whether, or how far, the command ran
	ReasonSnapshotFailed Reason = "snapshot-failed" // snapshot: the disks could not be copied
	ReasonSnapshotStays  Reason = "snapshot-stays"  // a copy of disks cannot be removed
	ReasonSnapshotThere  Reason = "snapshot-there"  // snapshot: the instance's disks were copied in this incident
	ReasonNothingAfter   Reason = "nothing-after"   // snapshot: no later step would lose anything
	ReasonNotFor         Reason = "not-for"         // the step is for other checks than those that are down
	ReasonStepPage       Reason = "step-page"       // the ladder says so
	ReasonStepLeave      Reason = "step-quarantine" // the ladder says so
	ReasonWorsened       Reason = "worsened"        // more fails now than what it was put into quarantine for
	ReasonNoInstance     Reason = "no-instance"     // start, reboot: there is nothing to act on
	ReasonDiskKept       Reason = "disk-kept"       // recreate: a kept disk would be lost
	ReasonTooManyKept    Reason = "too-many-kept"   // as many old instances are kept as may be
	ReasonKeepFailed     Reason = "keep-failed"     // the old instance could not be put aside
	ReasonDiskInUse      Reason = "disk-in-use"     // another instance may hold on to the machine's kept disks
	ReasonDiskElsewhere  Reason = "disk-elsewhere"  // no host that has the machine's kept disks can be built on
	ReasonNoHost         Reason = "no-host"         // no host that could take it answers
	// no host that answers is one where the fleet's placement lets it be built
	ReasonNoPlace      Reason = "no-place"
	ReasonBeingBuilt   Reason = "being-built"   // a plan would remove or replace what is still being built
	ReasonNotCertified Reason = "not-certified" // recreate: hale did not finish building it
	ReasonHostFenced   Reason = "host-fenced"   // hale turned the host off, which did not answer
	// hale cut the host's access to storage or network, which did not answer
	ReasonHostCut    Reason = "host-cut"
	ReasonAccessBack Reason = "access-back" // a host's access was restored while what was left on it may run
	ReasonHostBack   Reason = "host-back"   // what was left on a host that was off goes
	// it took machines along more often than one may fail, and hale started them each time
	ReasonHostReboots Reason = "host-reboots"
	// its host is left as it is for a while: another hale may be quicker
	ReasonFenceDelay    Reason = "fence-delay"
	ReasonFenceFailed   Reason = "fence-failed"     // none of its host's power controllers proved the host off
	ReasonAnswers       Reason = "answers"          // its host is said to be off, and it answers
	ReasonWordRefused   Reason = "word-refused"     // the policy takes no person's word that a host is off
	ReasonHostEnabled   Reason = "host-enabled"     // the host is not disabled
	ReasonHostDisabled  Reason = "host-disabled"    // only elsewhere it is what it should be
	ReasonHostUp        Reason = "host-up"          // the host answers: its provider says what is on it
	ReasonNoProof       Reason = "no-proof"         // the old instance could not be proven off
	ReasonDeleteFailed  Reason = "delete-failed"    //
	ReasonCallFailed    Reason = "call-failed"      //
	ReasonLocked        Reason = "locked"           // its provider's people keep everybody from the instance
	ReasonNameTaken     Reason = "name-taken"       // another instance has the machine's name
	ReasonRefusedBy     Reason = "refused"          // quota, permission or configuration: a person's business
	ReasonNotVerified   Reason = "not-verified"     // health did not come in time
	ReasonStillRunning  Reason = "still-running"    // told to power off and still running
	ReasonMarkChanged   Reason = "mark-changed"     // the instance no longer bears the mark we believe in
	ReasonLawBroken     Reason = "law-broken"       // hale's own belief is inconsistent; it stops touching the machine
	ReasonSecondRunning Reason = "second-instance"  // two certified instances of one machine
	ReasonExhausted     Reason = "ladder-exhausted" //
	ReasonAttempts      Reason = "attempts"         // as many repairs in the window as allowed
	ReasonIrreplaceable Reason = "adopted-kept"     // recreate: it was adopted, and is not replaceable

	// Adoption.
	// it is selected, and not seen healthy yet: it is watched and never touched
	ReasonCandidate Reason = "candidate"
	// a person had hale believe the world, which the store knew too little about
	ReasonBelieved    Reason = "believed"
	ReasonTakenOver   Reason = "taken-over"   // a person had this store become the installation in Detail
	ReasonRestored    Reason = "restored"     // the store came out of a backup, which was made Took before
	ReasonAdopted     Reason = "adopted"      // it was seen healthy: hale looks after it from now on
	ReasonRenamed     Reason = "renamed"      // its provider calls it otherwise now
	ReasonContested   Reason = "contested"    // another fleet selects it, too
	ReasonClaimOver   Reason = "claim-over"   // no other installation claims it any more
	ReasonNotSelected Reason = "not-selected" // the fleet does not select it any more: it is let go
	// it is gone, and another instance has its name: that one is the candidate now
	ReasonSucceeded Reason = "succeeded"
	ReasonShort     Reason = "short" // fewer, or more, machines than the fleet's size says

	// Hooks, and pools that a machine leaves: why they are waited for, and how they end that are not simply done.
	ReasonDraining    Reason = "draining"     // its connections have yet to end, as the pool says
	ReasonHookFailed  Reason = "hook-failed"  // it said so, or could not be run
	ReasonHookLate    Reason = "hook-late"    // it was not done in time
	ReasonHookUnclear Reason = "hook-unclear" // it is unknown whether, or how far, it ran
	ReasonHookRefused Reason = "hook-refused" // what it asks for was turned down
	ReasonIdle        Reason = "idle"         // it is for the users of a machine that has none
	ReasonOut         Reason = "out"          // the pool says that it is out, or has no connections
	ReasonWaitOver    Reason = "wait-over"    // the pool's wait is over
	ReasonPoolSilent  Reason = "pool-silent"  // the pool does not answer
	ReasonPoolFailed  Reason = "pool-failed"  // the pool could not do what it was told: it may send to it as before
	ReasonLastServing Reason = "last-serving" // it serves on, since nothing else in the pool does
	ReasonAfter       Reason = "after"        // a fleet that comes first does not serve
	ReasonApproval    Reason = "approval"     // a person is asked whether the step may be done
	ReasonDenied      Reason = "denied"       // a person said that it may not
	ReasonUnapproved  Reason = "unapproved"   // no person said anything in time

	// Orders: why one is refused.
	ReasonMalformed      Reason = "malformed"       // it cannot be read
	ReasonExpired        Reason = "expired"         // its time was over; also of a hold
	ReasonUnknownSubject Reason = "unknown-subject" // the fleet knows no such machine or host
	ReasonNotHeld        Reason = "not-held"        // there is nothing to release
	ReasonHeldByOthers   Reason = "held-by-others"  // a release of others' holds was not asked for
	ReasonTooMany        Reason = "too-many"        // as many holds as the fleet can have
	ReasonNothingKept    Reason = "nothing-kept"    // undo: no old instance is kept
	ReasonNotQuarantined Reason = "not-quarantined" //
	ReasonHealthy        Reason = "healthy"         // there is nothing to heal
	ReasonInRepair       Reason = "in-repair"       // it is being healed
	ReasonOccupied       Reason = "occupied"        // something else is under way on it, or waits for it
	ReasonNoCopy         Reason = "no-copy"         // revert: no such copy lies where its instance is
	ReasonNotMarked      Reason = "not-marked"      // unmark: no word from outside says that it fails
	ReasonHasBegun       Reason = "has-begun"       // cancel: what it ordered cannot be taken back any more
	ReasonNothingOfIt    Reason = "nothing-of-it"   // cancel: nothing of the order waits or is under way
	ReasonNotBraked      Reason = "not-braked"      // the brake is not on
	ReasonSelects        Reason = "selects"         // scale: the fleet takes machines that exist, and builds none
	ReasonNotOlder       Reason = "not-older"       // recover: nothing shows that the store is older than the world
	ReasonNotAwaited     Reason = "not-awaited"     // hook: no word is waited for
	ReasonAnswered       Reason = "answered"        // hook: a word was given already
	ReasonLastMachine    Reason = "last-machine"    // delete: a fleet has one at least
	ReasonOwnBuild       Reason = "own-build"       // delete: hale built it in the place of one that it had adopted

	// Ends.
	ReasonHealed      Reason = "healed"       // by hale's repair
	ReasonRecovered   Reason = "recovered"    // by itself
	ReasonUndone      Reason = "undone"       // the old instance is back
	ReasonReplaced    Reason = "replaced"     // by a new instance, as a person ordered
	ReasonCarriedOut  Reason = "carried-out"  // the step that a person ordered
	ReasonKeepOver    Reason = "keep-over"    // the time for which an old instance was kept is over
	ReasonBuilt       Reason = "built"        //
	ReasonRemoved     Reason = "removed"      //
	ReasonTaken       Reason = "taken"        // the copy is whole
	ReasonFound       Reason = "found"        // a lost call had built it after all; it is taken
	ReasonVanished    Reason = "vanished"     // the remnant went by itself
	ReasonPutOff      Reason = "put-off"      // the remnant waits while the machine itself is healed
	ReasonEngaged     Reason = "engaged"      //
	ReasonReleased    Reason = "released"     //
	ReasonInUse       Reason = "in-use"       // the provider has the host in use again
	ReasonSuperseded  Reason = "superseded"   // a wider domain's parent took its place
	ReasonUp          Reason = "up"           //
	ReasonDown        Reason = "down"         //
	ReasonTookOver    Reason = "took-over"    //
	ReasonActing      Reason = "acting"       // what kept hale from acting is over
	ReasonNewAddress  Reason = "new-address"  //
	ReasonFleetLeft   Reason = "fleet-left"   // the fleet is no longer in the file; nothing was destroyed
	ReasonHoldExpired Reason = "hold-expired" //
	ReasonStoreTakes  Reason = "store-takes"  // hale's store takes what is written again
	ReasonStoreRoom   Reason = "store-room"   // hale's store, which was nearly full, has room again

	// Wanted changes.
	ReasonReloaded Reason = "reloaded" // an edited configuration is in force, as far as it destroys nothing
	// the rest of it would destroy something: a person must confirm the plan
	ReasonAwaitsWord    Reason = "awaits-word"
	ReasonSizeUp        Reason = "size-up"        // Size machines from now on, Limit before
	ReasonFailing       Reason = "failing"        // of those that could be removed, it fails
	ReasonHighestNumber Reason = "highest-number" // it has the highest number of those that could be removed
	ReasonConfirmedPlan Reason = "confirmed-plan" // it is to be carried out
	ReasonUpdated       Reason = "updated"        // by an instance of another template
	// the first machines of another template stood the time: the others follow
	ReasonProven        Reason = "proven"
	ReasonProving       Reason = "proving"        // the first machines of another template are to stay healthy first
	ReasonPilotFailed   Reason = "canary-failed"  // it was to try another template, and did not become healthy
	ReasonUpdateStopped Reason = "update-stopped" // a machine of another template failed: the others keep theirs
	// the metric that an update goes by is beyond its bound
	ReasonQueryBeyond Reason = "query-beyond"
	ReasonBatchDone   Reason = "batch-done" // the machines of a batch are well: the next one follows after the pause
	ReasonInService   Reason = "in-service" // with it, fewer machines would serve than are to during an update
	// a machine comes beyond the size, to serve while others are changed
	ReasonSurge          Reason = "surge"
	ReasonSurgeFirst     Reason = "surge-first"     // the one beyond the size is to serve first
	ReasonSurgeOver      Reason = "surge-over"      // what it came for, beyond the size, is over
	ReasonInForce        Reason = "in-force"        // by an instance of the template in force, where it was to go back to that
	ReasonRolloutWaits   Reason = "rollout-waits"   // no further machine begins; Detail says why
	ReasonRolloutHeld    Reason = "rollout-held"    // its metric holds it for long; Detail says why
	ReasonRolloutPaused  Reason = "rollout-paused"  // a person has no further machine begin
	ReasonRolloutResumed Reason = "rollout-resumed" // and has them begin again
	ReasonRollsBack      Reason = "rolls-back"      // what was changed goes back to the template in force; Detail says why
	ReasonRolledBack     Reason = "rolled-back"     // all of it has
	ReasonUndoStopped    Reason = "undo-stopped"    // a machine that was to go back failed
	ReasonUndoSlow       Reason = "undo-slow"       // what was changed did not go back in the time for it
	ReasonMends          Reason = "mends"           // the machines that differ from the template in force are built anew from it
	ReasonMended         Reason = "mended"          // none does any more
	ReasonNoRollout      Reason = "no-rollout"      // no other template is on its way
	ReasonNothingToUndo  Reason = "nothing-to-undo" // it goes to the template in force
	ReasonNoDrift        Reason = "no-drift"        // all machines are as the template in force says
	ReasonSizeDown       Reason = "size-down"       // the machine has gone: Size are left of Limit
	ReasonGivenUp        Reason = "given-up"        // the change failed, and the machine is healed as before
	// the Machine, a spare until now, serves; Detail is the one that has its place no more: it is the spare
	ReasonTakesPlace Reason = "takes-place"
	ReasonStandsBy   Reason = "stands-by" // it is a spare from now on: as many serve as are asked for
	ReasonSparesUp   Reason = "spares-up" // Size spares from now on, Limit before
	ReasonSpare      Reason = "spare"     // it is a spare, which hale would build again
	// what waited for a person's word is not in the configuration any more
	ReasonTakenBack    Reason = "taken-back"
	ReasonWithdrawn    Reason = "withdrawn"     // the order was taken back
	ReasonStalePlan    Reason = "stale-plan"    // what it would destroy is no longer what the person was shown
	ReasonNothingWaits Reason = "nothing-waits" // there is no plan to confirm
	ReasonSizeOrdered  Reason = "size-ordered"  // Size machines are asked for by a person's order, Limit before
	// the configuration asks for another size than before: the order of Limit is over
	ReasonSizeFromFile Reason = "size-from-file"
	ReasonNamed        Reason = "named"      // a person named it
	ReasonAlready      Reason = "already"    // it is as ordered already
	ReasonLetGo        Reason = "let-go"     // a person wants it out of hale's care
	ReasonOverruled    Reason = "overruled"  // a person's order took its place
	ReasonDisksStay    Reason = "disks-stay" // its kept disks stay at the provider
	ReasonKeptStays    Reason = "kept-stays" // its kept old instance stays for the rest of its time
	ReasonRestStays    Reason = "rest-stays" // its instance is gone, and the rest of that cannot be removed

	// Sizes by opinion.
	ReasonOpinion   Reason = "opinion"     // an opinion wants it
	ReasonForecast  Reason = "forecast"    // what a forecast from history would have wanted of late
	ReasonCooldown  Reason = "cooldown"    // the size moved a while ago
	ReasonPinned    Reason = "pinned"      // a person pinned the size
	ReasonBounds    Reason = "bounds"      // it is beyond the fleet's least or greatest size
	ReasonNoOpinion Reason = "no-opinion"  // an opinion has none, and until all have one nothing is scaled in
	ReasonUpdating  Reason = "updating"    // another template is on its way through the fleet
	ReasonNoneMayGo Reason = "none-may-go" // no machine may: they are protected, held, in repair or the last of their domain
	ReasonLeaves    Reason = "leaves"      // it is to go, since fewer are asked for: Size stay, of Limit
	ReasonPlainSize Reason = "plain-size"  // only what has bounds can be pinned, or moved by a signal
	ReasonUnread    Reason = "unread"      // the metric has not been read for as long as the opinion looks back
	ReasonNoSay     Reason = "closed"      // the opinion counts at other times

	// What a metric is that says nothing.
	ReasonMetricSilent Reason = "metric-silent" // its source does not answer, or has nothing
	ReasonMetricAbsurd Reason = "metric-absurd" // it is no number, or beyond what is believed
	ReasonMetricMany   Reason = "metric-many"   // it is many numbers, and none says whose

	// Why a machine goes, of those that could.
	ReasonEven          Reason = "even" // its domain has the most
	ReasonOldTemplate   Reason = "oldest-template"
	ReasonOldest        Reason = "oldest"
	ReasonNewest        Reason = "newest"
	ReasonRandom        Reason = "random"
	ReasonLeastBusy     Reason = "least-busy"
	ReasonTooManySpares Reason = "too-many-spares" // it is a spare, and there are to be fewer

	// What panicked.
	ReasonProviderPanicked   Reason = "provider-panicked"   // the provider's adapter
	ReasonCommandPanicked    Reason = "command-panicked"    // what executes run steps
	ReasonFencePanicked      Reason = "fence-panicked"      // what cuts the power of hosts
	ReasonTargetPanicked     Reason = "target-panicked"     // what tells the Target
	ReasonCheckPanicked      Reason = "check-panicked"      // what asks for the Check
	ReasonProbesPanicked     Reason = "probes-panicked"     // what runs the checks
	ReasonHeartbeatsPanicked Reason = "heartbeats-panicked" // what hears heartbeats
	ReasonMetricPanicked     Reason = "metric-panicked"     // what reads the Metric
	// what looks after the fleet; also why hale does not act now
	ReasonOwnerPanicked Reason = "owner-panicked"

	// Why a message became a dead letter.
	ReasonTriesSpent    Reason = "tries-spent"    // it was tried as often, or as long, as the target's policy says
	ReasonTargetRefuses Reason = "target-refuses" // the target takes it to be wrong, and said so again and again
	ReasonTargetGone    Reason = "target-gone"    // the target is no longer in the file
	ReasonOutboxFull    Reason = "outbox-full"    // more messages wait than are kept
)
