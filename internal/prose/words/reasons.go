package words

import (
	"maps"
	"slices"
	"strings"

	"hale/internal/core/fleet"
)

// reason is what there is to say about one fleet.Reason: a clause that says why, and what a person can do about it.
type reason struct {
	clause string
	advice string // empty: nothing needs to be done, or nothing can be
}

const toReport = "the rest of hale goes on; hale's log has the place (search it for panicked): report it with the " +
	"version of hale"

const byHand = "mend it by hand at the provider; hale takes the machine back as soon as it is healthy"

var reasons = map[fleet.Reason]reason{
	fleet.ReasonAmnesty: {"hale has only just begun to look, and judges everything afresh before it acts", ""},
	fleet.ReasonBrake: {"too many machines fail at once, so the brake is on",
		"look for one cause behind all of them (network, storage, host, a bad image); the brake releases by itself " +
			"when enough are healthy again, or with hale brake off"},
	fleet.ReasonSharedFate: {"it failed together with others of its domain, so the common cause comes first",
		"look at what they share (the host, the rack's switch, the network, the storage); hale judges each machine " +
			"afresh when it is mended"},
	fleet.ReasonVantageIsolated: {"hale itself is cut off: no canary answers it",
		"see whether this server's own network works; what the checks say counts again when a canary answers"},
	fleet.ReasonVantageDoubtful: {"the fault may be on hale's own side",
		"see whether this server reaches the machines' network; canaries (vantage.canaries) would let hale tell"},
	fleet.ReasonUnclear: {"other machines are suspect too, so it must first be clear whether they fail together", ""},
	fleet.ReasonUndecided: {"the next step depends on which of its checks fail, and not all of them have a result yet",
		""},
	fleet.ReasonBudget: {"as many machines are in repair as the fleet allows",
		"wait, or see what those in repair wait for, or raise limits.in_repair"},
	fleet.ReasonNoWitness: {
		"it does not answer, and neither does anything near it, so only the way there may be broken",
		"see whether it serves its users, and whether this server reaches its host; hale heal has it repaired " +
			"all the same; a check of the guest's agent would tell, and silence: act does without"},
	fleet.ReasonStandsStill: {"its processors stand still, as its provider counts", ""},
	fleet.ReasonStarts:      {"as many machines are being started at once as may be, lest all boot in one moment", ""},
	fleet.ReasonRepairRate: {"as many repairs began of late as the fleet allows",
		"see why so many fail; limits.repairs says how many may begin"},
	fleet.ReasonBuildBudget:  {"as many first builds run as the fleet allows", "wait, or raise limits.in_build"},
	fleet.ReasonBackoff:      {"the last attempt failed, and the next one follows after a pause", ""},
	fleet.ReasonNotUnhealthy: {"it is suspect, starting or unknown, and that is no failure yet", ""},
	fleet.ReasonStoppedByPerson: {"a person, or a program other than hale, stopped it, and that is no failure",
		"start it at the provider when it shall run again; on_external_stop: heal would make hale start it"},
	fleet.ReasonSpareOff: {"it stands by as a spare, turned off", "hale starts it as soon as a machine cannot serve"},
	fleet.ReasonParked:   {"a person had hale turn it off, and it stays off", "hale start turns it on again"},
	fleet.ReasonShutDown: {"it shut down in order, which is taken for a person's doing and is no failure",
		"start it at the provider when it shall run again; on_external_stop: heal would make hale start it"},
	fleet.ReasonPaused: {"a person, or a program other than hale, paused it, and that is no failure",
		"resume it at the provider when it shall go on; on_external_stop: heal and the step resume would make hale do it"},
	fleet.ReasonSuspended: {"it suspended itself, and the ladder has no step to resume it",
		"resume it at the provider; the step resume would make hale do it"},
	fleet.ReasonRescued: {"another system runs in its place, for a person to repair it",
		"repair what is on its disk, and end the rescue at the provider (openstack server unrescue); nothing touches " +
			"it until then"},
	fleet.ReasonIOError: {"a write to its disk failed, so the provider paused it, and to resume it blindly would be in vain",
		"free space on the host's storage, or mend it, then resume the machine at the provider"},
	fleet.ReasonQuarantined: {"hale could not heal it and leaves it to a person",
		byHand + "; or have hale try again with hale retry"},
	fleet.ReasonRecovering: {"it is not unhealthy any more, and is healthy after enough good answers", ""},
	fleet.ReasonNotEvery: {"what its checks say is not heeded at this time of the day",
		"wait, or change not_every of the check"},
	fleet.ReasonUnproven: {"a check that fails has succeeded on no machine of the fleet since it was made or edited, " +
		"so it may be wrong itself",
		"see whether the check asks the right thing, and edit it and reload; as soon as it succeeds on one machine " +
			"it counts"},
	fleet.ReasonBlind: {"nothing certain is known of it, and unknown is not dead",
		"see whether this server reaches the machine and its provider"},
	fleet.ReasonProviderDown: {"the provider does not answer",
		"bring the provider back; until then its machines are only probed"},
	fleet.ReasonProviderDoubtful: {"another provider answers behind this address than before, so nothing is touched",
		"see whether the address leads to the right host; if it does, give the provider another name or hale a new " +
			"data folder"},
	fleet.ReasonHostDown: {"its host does not answer, so hale cannot know whether the instance still runs",
		"bring the host back, or make sure that it is off and remove its instances"},
	fleet.ReasonTwoHosts: {"two hosts show its instance, as after a live migration that left its definition on the " +
		"first host",
		"see on which of the two it runs, and undefine it on the other: virsh undefine, without removing its disks; " +
			"hale goes on when one host shows it"},
	fleet.ReasonElsewhere: {"it is looked after by another hale, which claimed it first, so this one leaves it alone",
		"remove it from one of the two: from select of a fleet here, or there; a hale that is gone for good loses " +
			"its claims a day after it renewed them last"},
	fleet.ReasonHostUnasked: {"a host that does not answer may have it, too",
		"bring that host back, or make sure that it is off and say so with hale fence confirm HOST"},
	fleet.ReasonRival: {"another instance bears its mark and may run, and no second one is built or started beside it",
		"decide which of the two is the right one and remove the other at the provider"},
	fleet.ReasonStoreOlder: {"the provider shows a mark or a start of this hale that is not in its store, so the " +
		"store is older than the world: " +
		"it was restored from a backup, it lost its last writes, or it is one of two copies in use",
		"make sure that no other hale runs on a copy of this store; then: hale recover FLEET --believe-the-world"},
	fleet.ReasonPlaceSilent: {"the place at the provider where hale notes its starts does not answer, so hale would " +
		"not notice another hale on a copy of its store",
		"make the provider answer and take hale's note: 'hale status' says what it said; docs/safety.md says where " +
			"the notes are"},
	fleet.ReasonInstallation: {"another installation of hale has marked instances of this fleet",
		"if that hale is gone for good: hale take-over INSTALLATION; if it runs, end one of the two; if its " +
			"instances are gone: hale recover FLEET --believe-the-world"},
	fleet.ReasonObserve: {"the fleet is only watched (mode: observe)", "set mode: act when hale shall repair"},
	fleet.ReasonSurplus: {"it is beyond the fleet's size, and hale destroys nothing by itself",
		"raise size, or remove the instance at the provider"},
	fleet.ReasonNoStep: {"no step of the fleet's ladder applies to it",
		byHand + "; a ladder with a recreate step would have had a way"},
	fleet.ReasonLeaseShort: {"the time left as owner would not surely cover the call", ""},
	fleet.ReasonNotOwner: {"this server does not own the fleet now",
		"see whether another hale server looks after it"},
	fleet.ReasonHold: {"a hold covers it",
		"hale goes on by itself when the hold is over; hale release ends it now, hale holds lists all of them"},
	fleet.ReasonWindow: {"repairs begin at other times (repair.windows, repair.not_every)",
		"wait, or repair it now with hale heal"},
	fleet.ReasonProtected: {"it is protected, so hale does not disrupt it",
		"mend it by hand; hale only watches it, and starts it when it is off"},
	fleet.ReasonStoreFull: {"the data folder's disk is full, so nothing can be written down first",
		"free space on the disk of the data folder; hale goes on by itself"},
	fleet.ReasonStoreLow: {"hale's store is nearly full; when it is, hale does nothing more",
		"make room on the file system of the data folder, or give it a larger one; in etcd servers of yours, " +
			"compact and defragment, or raise their quota"},
	fleet.ReasonStoreTakes: {"hale's store takes what is written again", ""},
	fleet.ReasonStoreRoom:  {"hale's store has enough room again", ""},
	fleet.ReasonStoreDown: {
		"hale's store does not answer, so nothing can be written down first",
		"see hale's log; restart it if it says so",
	},
	fleet.ReasonStoreLost: {
		"hale's store cannot go on, so hale has ended",
		"put right what the detail names, then start hale again",
	},
	fleet.ReasonLateCall: {"a call to build it was sent, and the provider may still carry it out",
		"nothing needs to be done: hale goes on when the order can no longer be carried out: after the timeout of " +
			"recreate, or two minutes"},
	fleet.ReasonClockStep: {"this server's clock was set, so everything is judged afresh", ""},

	fleet.ReasonProviderPanicked: {"a defect in what speaks with the provider: its questions have no answer, and " +
		"what was asked for is looked for before anything else is done", toReport},
	fleet.ReasonCommandPanicked: {"a defect in what runs the commands of run steps: it is unknown how far such a " +
		"command ran", toReport},
	fleet.ReasonFencePanicked: {"a defect in what cuts the power of hosts: nothing counts as off by it", toReport},
	fleet.ReasonTargetPanicked: {"a defect in what tells the target: each such message counts as not taken, and is " +
		"tried again", toReport},
	fleet.ReasonCheckPanicked: {"a defect in what asks for the check: it is unknown, and unknown is not dead",
		toReport},
	fleet.ReasonProbesPanicked: {"a defect in what runs the checks: what was being asked is unknown",
		toReport + "; when the checks stay unknown, restart hale: its machines are not touched by that"},
	fleet.ReasonHeartbeatsPanicked: {"a defect in what hears heartbeats: silence means nothing until it hears again",
		toReport},
	fleet.ReasonMetricPanicked: {"a defect in what reads the metric: it has no value, and nothing is scaled in by it",
		toReport},
	fleet.ReasonOwnerPanicked: {"a defect in what looks after the fleet: hale begins to look after it anew, and " +
		"judges everything afresh", toReport},

	fleet.ReasonMalformed: {"it cannot be read", ""},
	fleet.ReasonExpired:   {"its time is over", ""},
	fleet.ReasonUnknownSubject: {"the fleet knows no such machine or host",
		"see hale status for the names of machines and hosts"},
	fleet.ReasonNotHeld:      {"there is no hold of exactly that", "hale holds lists what is held, and how"},
	fleet.ReasonHeldByOthers: {"others hold it", "ask them, or release with --all"},
	fleet.ReasonTooMany:      {"there are as many holds as can be kept", "release some, or hold the whole fleet"},
	fleet.ReasonHealthy:      {"it is healthy, so there is nothing to heal", ""},
	fleet.ReasonInRepair:     {"it is being repaired already", ""},
	fleet.ReasonOccupied: {"something else is under way on it, or waits for it",
		"wait until that is done, or take it back with hale cancel; hale delete removes the machine all the same"},
	fleet.ReasonNoCopy: {"no such copy of its disks lies where its instance is",
		"hale evidence lists the copies; the step snapshot makes them"},
	fleet.ReasonNotMarked:   {"no word from outside says that it fails", ""},
	fleet.ReasonHasBegun:    {"what it ordered has gone too far to be taken back", "hale why says how far it came"},
	fleet.ReasonNothingOfIt: {"nothing of it waits or is under way any more", "hale orders lists what does"},
	fleet.ReasonSelects: {"the fleet takes machines that exist already, and builds none",
		"change what it selects in the configuration, or build machines in a fleet with a template"},
	fleet.ReasonLastMachine: {"a fleet has at least one machine",
		"to give up all of it, take the fleet out of the configuration: hale lets it go, and you remove the machine " +
			"at the provider"},
	fleet.ReasonOwnBuild: {"hale built it in the place of one that it had adopted, so there is nothing to let go",
		"leave its name out of what the fleet selects, and remove it at the provider"},
	fleet.ReasonNotAwaited: {"nothing of it waits for this word", "see hale why for what hale waits for"},
	fleet.ReasonAnswered:   {"that hook was given its word already", ""},
	fleet.ReasonDraining:   {"its connections have yet to end", ""},
	fleet.ReasonHookFailed: {"the hook failed", "see what it says: hale events shows it; then hale retry the machine"},
	fleet.ReasonHookLate:   {"the hook was not done in time", "see what became of it, then hale retry the machine"},
	fleet.ReasonHookUnclear: {"hale did not hear how the hook ended, so it is unknown how far it came",
		"see what it left undone, then hale retry the machine; a hook that may be run again at any time can be " +
			"declared idempotent"},
	fleet.ReasonHookRefused: {"what the hook asks for was refused",
		"see what it says: hale events shows it; put that right, then hale retry the machine"},
	fleet.ReasonIdle: {"it is a spare, and serves no one", ""},
	fleet.ReasonAfter: {"a fleet that comes first does not serve",
		"see that fleet; hale heal heals the machine all the same; to end the waiting, take the fleet out of after"},
	fleet.ReasonApproval: {"a person is asked whether the next step may be done",
		"hale approve the machine, or hale deny it; hale why says which step it is, and what follows without a word"},
	fleet.ReasonDenied: {"a person said that the step may not be done",
		"mend it by hand; hale retry begins its repair again, and asks again"},
	fleet.ReasonUnapproved: {"no person said in time whether the step may be done",
		"hale retry begins its repair again, and asks again; otherwise: go-on would do the step unapproved"},
	fleet.ReasonOut:            {"the pool sends nothing to it any more", ""},
	fleet.ReasonWaitOver:       {"the time for its connections to end is over", ""},
	fleet.ReasonPoolSilent:     {"the pool does not answer", ""},
	fleet.ReasonPoolFailed:     {"the pool could not do what it was told, and may send to it as before", ""},
	fleet.ReasonLastServing:    {"nothing else in the pool serves, so it serves on", ""},
	fleet.ReasonNotBraked:      {"the brake is not on", ""},
	fleet.ReasonNothingKept:    {"no old instance of it is kept", "recreate keeps one with keep_old: 24h"},
	fleet.ReasonNotQuarantined: {"it is not in quarantine", "see hale why for what hale waits for"},

	fleet.ReasonConfirmed:   {"one more look confirms the failure", ""},
	fleet.ReasonOrdered:     {"one more look was not clear, and hale acts because a person ordered it", ""},
	fleet.ReasonGathered:    {"it is kept", ""},
	fleet.ReasonNotGathered: {"nothing could be kept", ""},
	fleet.ReasonTooLate:     {"it did not come within its time", ""},
	fleet.ReasonTooLarge:    {"it is larger than what hale keeps", ""},
	fleet.ReasonNothing:     {"there is nothing", ""},
	fleet.ReasonInterrupted: {"hale began afresh while it was gathered", ""},
	fleet.ReasonRefuted:     {"one more look finds it alive", ""},
	fleet.ReasonLookUnclear: {"one more look was not clear, so hale looks again", ""},

	fleet.ReasonNotOff:     {"it is not off", ""},
	fleet.ReasonNotRunning: {"it does not run", ""},
	fleet.ReasonNotPaused:  {"it is not paused", ""},
	fleet.ReasonHalted:     {"it is paused, and can go on where it was", ""},
	fleet.ReasonNoAddress:  {"its address is unknown, and the command needs it", ""},
	fleet.ReasonNoMetadata: {"the command needs metadata that the provider does not name", ""},
	fleet.ReasonSharedToken: {"only heartbeats say that it fails, and all machines of the fleet share their token, so " +
		"another machine may have sent them: for that alone hale destroys nothing",
		"give the check a secret in place of the token, or the fleet a check of another kind"},
	fleet.ReasonUnfit: {"the value that the command takes from the instance begins with \"-\" or has a control " +
		"character, and the command could read it as an option",
		"set it right at the provider, or write the placeholder behind the option's name, as --name={meta.KEY}"},
	fleet.ReasonNoProgram: {"there is no such program, or hale may not run it",
		"put the program of the step run in its place, then hale retry the machine"},
	fleet.ReasonNoSecret: {"a secret that the command needs cannot be read",
		"put it where the configuration says, so that hale may read it, then hale retry the machine"},
	fleet.ReasonRunFailed: {"the command failed", ""},
	fleet.ReasonRunUnclear: {"hale was stopped while the command ran, so it is unknown how far the command came",
		"see what the command left undone, then hale retry the machine; " +
			"a command that may be run again at any time can be declared idempotent"},
	fleet.ReasonNotFor:      {"it is for other checks than those that are down", ""},
	fleet.ReasonStepPage:    {"the ladder asks for a person now", byHand},
	fleet.ReasonStepLeave:   {"the ladder leaves it to a person", byHand},
	fleet.ReasonWorsened:    {"more fails now than what it was put into quarantine for", ""},
	fleet.ReasonUnsupported: {"the provider cannot do that", ""},
	fleet.ReasonNoInstance:  {"there is no instance to act on", ""},
	fleet.ReasonSnapshotFailed: {"its disks could not be copied, and nothing that would lose them may follow",
		"read the provider's message and make room, then 'hale retry'; on_failure: continue would go on without a copy"},
	fleet.ReasonNotWanted:     {"the configuration leaves it out", ""},
	fleet.ReasonSnapshotThere: {"its disks were copied in this incident", ""},
	fleet.ReasonSnapshotStays: {"a copy of its disks cannot be removed",
		"read the provider's message, and remove the copy at the provider; hale tries again"},
	fleet.ReasonNothingAfter: {"no later step that applies would lose its disks", ""},
	fleet.ReasonTaken:        {"the copy is whole", ""},
	fleet.ReasonDiskKept: {"a disk that is to be kept would be lost",
		"declare the disk ephemeral if it may be lost, or " + byHand},
	fleet.ReasonTooManyKept: {"as many old instances of it are kept as may be",
		"look why it is replaced again and again; 'hale undo' brings the last one back, and each goes when its time is over"},
	fleet.ReasonKeepFailed: {"the old instance could not be put aside, so nothing may take its place",
		"read the provider's message; rename the old instance, or take keep_old out, then 'hale retry'"},
	fleet.ReasonDiskInUse: {"another instance may still have the machine's kept disks, and two must never write to one",
		"see at the provider which instance has them, and power it off or remove it"},
	fleet.ReasonDiskElsewhere: {"its kept disks are on a host that cannot be built on now",
		"bring that host back; the disks are bound to it unless its storage is shared with another host (hosts: " +
			"storage)"},
	fleet.ReasonNoHost: {"no host that could take it answers", "bring a host back"},
	fleet.ReasonNoPlace: {"the fleet's placement lets it be built on no host that answers",
		"bring a host back where it may be built, or change placement"},
	fleet.ReasonBeingBuilt: {"a machine in it is still being built",
		"confirm it once that is built (hale status); a machine that is to go at once can be named: hale delete MACHINE"},
	fleet.ReasonNotCertified: {"hale did not finish building the instance, so it may not destroy it", byHand},
	fleet.ReasonIrreplaceable: {"it existed before hale and is not to be replaced",
		byHand + "; adopt: {replaceable: true} and a template would let hale replace it"},
	fleet.ReasonHostCut: {"its host did not answer, and hale had the host's access to storage or network cut",
		"see what is wrong with the host; hale fence uncut gives it its access back when nothing rests on that any more"},
	fleet.ReasonAccessBack: {"its old instance has its storage or network back, so two instances may write; hale " +
		"leaves both alone",
		"turn off the one that is wrong, or have the access cut again"},
	fleet.ReasonHostFenced: {"its host did not answer, and hale cut the host's power",
		"see what is wrong with the host before you turn it on again"},
	fleet.ReasonHostReboots: {"it took its machines along again and again, and hale started them each time",
		"see what is wrong with the host; hale goes on to start its machines, unless you hold it (hale hold host:HOST)"},
	fleet.ReasonHostBack: {"its old host is back, on which it left an instance", ""},
	fleet.ReasonFenceDelay: {"hale waits before it cuts the power of its host, so that another hale can be first",
		"nothing needs to be done: hale looks once more when fence_delay is over"},
	fleet.ReasonFenceFailed: {"nothing proved its host off: no power controller did, however often it was tried",
		"make sure that the host is off, and say so: hale fence confirm HOST; hale fence test says what is wrong " +
			"with the controllers"},
	fleet.ReasonAnswers: {"its host is said to be off, and the machine answers",
		"see which host the power controller really cuts; it may be another one than the configuration says"},
	fleet.ReasonWordRefused: {"the policy takes no person's word that a host is off",
		"set word: take in repair.fence and reload, if you are sure"},
	fleet.ReasonHostEnabled:  {"its host is not disabled", ""},
	fleet.ReasonHostDisabled: {"its host is disabled, and only elsewhere it would be well", ""},
	fleet.ReasonHostUp:       {"the host answers", "ask its provider what is on it"},
	fleet.ReasonNoProof: {"the old instance could not be proven off, and two must never run",
		"make sure at the provider that the old instance is off; hale takes the machine back when it is healthy"},
	fleet.ReasonDeleteFailed: {"the old instance is off but cannot be deleted",
		"remove it at the provider, or set on_delete_failure: continue"},
	fleet.ReasonLocked: {"its instance is locked at the provider, which refuses whatever would change it",
		"unlock it at the provider; hale tries again every two minutes, and builds nothing in its place"},
	fleet.ReasonCallFailed: {"the provider failed to do what it was asked", "read the provider's message; " + byHand},
	fleet.ReasonNameTaken: {"another instance at the provider has the machine's name",
		"rename or remove the instance that has the name"},
	fleet.ReasonRefusedBy: {"the provider refused (quota, permission or configuration)",
		"read the provider's message and lift what it names; " + byHand},
	fleet.ReasonNotVerified:  {"it did not become healthy in time", ""},
	fleet.ReasonStillRunning: {"it was told to power off and still runs", "power it off at the provider"},
	fleet.ReasonMarkChanged: {"the instance no longer bears the mark that hale believes in",
		"see who changed the instance; hale does not touch what it does not recognise"},
	fleet.ReasonLawBroken: {"hale's own belief about it is inconsistent, so hale stops touching it",
		"keep the output of 'hale why' and 'hale events' and report it: this is a fault of hale"},
	fleet.ReasonSecondRunning: {"two certified instances of the machine exist",
		"decide which of the two is the right one and remove the other at the provider"},
	fleet.ReasonExhausted: {"every step of the ladder was tried", byHand},
	fleet.ReasonAttempts: {"as many repairs as the policy allows did not heal it for good",
		"look at the machine's console and image; " + byHand},

	fleet.ReasonCandidate: {"the fleet selects it, and it was not seen healthy yet: until then hale only watches it",
		"bring it to health; hale adopts it as soon as all of its checks succeed"},
	fleet.ReasonBelieved:  {"hale believes what the provider shows", ""},
	fleet.ReasonTakenOver: {"this hale took over another installation", ""},
	fleet.ReasonRestored:  {"the state was restored from a backup", ""},
	fleet.ReasonNotOlder:  {"nothing shows that the store is older than the world", ""},
	fleet.ReasonAdopted:   {"it was seen healthy, and hale looks after it", ""},
	fleet.ReasonRenamed:   {"its provider calls it otherwise now", ""},
	fleet.ReasonContested: {"another fleet selects it, too, so neither adopts it",
		"let one fleet's select leave it out, by except"},
	fleet.ReasonClaimOver:   {"no other hale claims it any more", ""},
	fleet.ReasonNotSelected: {"the fleet does not select it any more", "let select mean its name, or leave it alone"},
	fleet.ReasonShort: {"the fleet has another number of machines than its size says",
		"see which one is missing, or too many; size may be left out"},
	fleet.ReasonSucceeded: {"another instance has its name by now", ""},

	fleet.ReasonHealed:     {"healed by hale", ""},
	fleet.ReasonRecovered:  {"recovered by itself", ""},
	fleet.ReasonUndone:     {"the old instance is back", ""},
	fleet.ReasonReplaced:   {"a new instance is in its place, as a person ordered", ""},
	fleet.ReasonCarriedOut: {"it is as ordered", ""},
	fleet.ReasonKeepOver:   {"the time for which the old instance was kept is over", ""},
	fleet.ReasonBuilt:      {"built", ""},
	fleet.ReasonRemoved:    {"removed", ""},
	fleet.ReasonFound:      {"a call without an answer had built it after all, so it is taken", ""},
	fleet.ReasonVanished:   {"it went by itself", ""},
	fleet.ReasonPutOff:     {"put off, the machine itself comes first", ""},
	fleet.ReasonEngaged:    {"the brake engages", "look for one cause behind all of the failures"},
	fleet.ReasonReleased:   {"what was held is released", ""},
	fleet.ReasonInUse:      {"the host is in use again", ""},
	fleet.ReasonSuperseded: {"more fails than that, so a wider incident takes its place", ""},
	fleet.ReasonUp:         {"it answers again", ""},
	fleet.ReasonDown:       {"it does not answer", "bring it back; until then its machines are only probed"},
	fleet.ReasonTookOver:   {"this server looks after the fleet from now on", ""},
	fleet.ReasonActing:     {"what kept hale from acting is over", ""},
	fleet.ReasonNewAddress: {"it has a new address", ""},
	fleet.ReasonFleetLeft:  {"the fleet is no longer in the configuration; nothing was destroyed", ""},

	fleet.ReasonReloaded: {"an edited configuration is in force", ""},
	fleet.ReasonAwaitsWord: {"a part of the edited configuration would destroy something, so it waits for a person's word",
		"read the plan with 'hale apply', and confirm it with 'hale apply --confirm PLAN', or take the edit back"},
	fleet.ReasonSizeUp:        {"the fleet grows", ""},
	fleet.ReasonFailing:       {"of those that could go, it fails", ""},
	fleet.ReasonHighestNumber: {"of those that could go, it has the highest number", ""},
	fleet.ReasonConfirmedPlan: {"a person confirmed the plan", ""},
	fleet.ReasonUpdated:       {"it has the other template", ""},
	fleet.ReasonInForce:       {"it has the template in force", ""},
	fleet.ReasonProven:        {"the first machines of the other template stay healthy, so the others follow", ""},
	fleet.ReasonProving:       {"the first machines of the other template are to stay healthy first", ""},
	fleet.ReasonPilotFailed: {"it was the first of another template, and did not become healthy",
		"look at its console; then mend the template, or write the former one, reload, and confirm the plan: it is " +
			"replaced first"},
	fleet.ReasonUpdateStopped: {"a machine of the other template failed, so the others keep theirs",
		"mend the template, or write the former one, reload, and confirm the plan"},
	fleet.ReasonQueryBeyond: {"the metric by which the other template is judged is beyond its bound",
		"see 'hale rollout status FLEET'; mend the template, or write the former one, reload, and confirm the plan; " +
			"'hale rollout undo FLEET' takes back what was changed"},
	fleet.ReasonBatchDone:    {"the machines of a batch are well", ""},
	fleet.ReasonInService:    {"with it, fewer machines would serve than are to at least", ""},
	fleet.ReasonSurge:        {"it comes beyond the size, to serve while others are changed", ""},
	fleet.ReasonSurgeFirst:   {"first the machine beyond the size is to serve", ""},
	fleet.ReasonSurgeOver:    {"it was beyond the size, and what it came for is over", ""},
	fleet.ReasonRolloutWaits: {"no further machine is changed", ""},
	fleet.ReasonRolloutHeld: {"the metric by which the other template is judged holds the rollout for long",
		"see 'hale rollout status FLEET' and mend the metric's source, or go back with 'hale rollout undo FLEET'"},
	fleet.ReasonRolloutPaused:  {"a person paused the rollout", "'hale rollout resume FLEET' has it go on"},
	fleet.ReasonRolloutResumed: {"a person has the rollout go on", ""},
	fleet.ReasonRollsBack:      {"what was changed goes back to the template in force", ""},
	fleet.ReasonRolledBack:     {"everything is as before", ""},
	fleet.ReasonUndoStopped: {"a machine that was to go back to the template in force failed, so no other one does",
		"see with 'hale why' what failed, mend it, and order 'hale rollout undo FLEET' again"},
	fleet.ReasonUndoSlow: {"what was changed did not go back to the template in force in the time for it",
		"see with 'hale rollout status FLEET' what it waits for"},
	fleet.ReasonMends:     {"what differs from the template in force is mended", ""},
	fleet.ReasonMended:    {"all machines are as the template in force says", ""},
	fleet.ReasonNoRollout: {"no other template is on its way through the fleet", ""},
	fleet.ReasonNothingToUndo: {"the rollout only brings machines to the template in force, so that nothing can be " +
		"undone", "to have another template, write it, reload, and confirm the plan"},
	fleet.ReasonNoDrift:    {"all machines are as the template in force says", ""},
	fleet.ReasonSizeDown:   {"the fleet shrinks", ""},
	fleet.ReasonTakesPlace: {"a spare, it takes a place among those that serve", ""},
	fleet.ReasonStandsBy:   {"it is a spare from now on: as many serve as are asked for", ""},
	fleet.ReasonSparesUp:   {"the fleet is to have more spares", ""},
	fleet.ReasonSpare: {"it is a spare that is well: hale would build another one in its place",
		"write fewer spares in the configuration, or remove a machine that serves"},
	fleet.ReasonGivenUp: {"the change failed, so it was given up, and the machine is healed as before",
		"see with 'hale why' what failed, mend it, and confirm the plan that waits again"},
	fleet.ReasonTakenBack: {"the edit that waited for a person's word was taken back, so nothing of it waits any more",
		""},
	fleet.ReasonWithdrawn: {"the order was taken back", ""},
	fleet.ReasonStalePlan: {"it is not the plan that waits: what would be destroyed has changed since",
		"read the present plan with 'hale apply', and confirm that"},
	fleet.ReasonNothingWaits: {"nothing waits to be confirmed", ""},
	fleet.ReasonSizeOrdered:  {"a person ordered another size", ""},
	fleet.ReasonSizeFromFile: {"the configuration asks for another size, and its word is the later one", ""},
	fleet.ReasonNamed:        {"a person named it", ""},
	fleet.ReasonAlready:      {"it is so already", ""},
	fleet.ReasonLetGo:        {"a person wants it out of hale's care", ""},
	fleet.ReasonOverruled:    {"another order takes its place", ""},
	fleet.ReasonDisksStay:    {"its kept disks stay at the provider", ""},
	fleet.ReasonKeptStays:    {"an old instance of it is kept for the rest of its time", ""},
	fleet.ReasonRestStays: {"its instance is gone, and what that left at the provider cannot be removed",
		"read the provider's message, and remove disks and files of that instance at the provider"},

	fleet.ReasonOpinion:  {"an opinion on the size wants it", ""},
	fleet.ReasonForecast: {"so history foretold it", ""},
	fleet.ReasonCooldown: {"the size moved a while ago, and rests before it moves again", ""},
	fleet.ReasonPinned: {"a person pinned the size",
		"wait, or order another size with hale scale, which ends the pin"},
	fleet.ReasonBounds: {"it is beyond the fleet's bounds", "change size.min or size.max"},
	fleet.ReasonNoOpinion: {"an opinion on the size has none, and until all have one nothing is scaled in",
		"see with 'hale why FLEET --size' which one, and why"},
	fleet.ReasonUpdating:      {"another template is on its way through the fleet", ""},
	fleet.ReasonNoneMayGo:     {"no machine may go: each is protected, held, or the last one in its domain", ""},
	fleet.ReasonLeaves:        {"it is to go, since fewer machines are asked for", ""},
	fleet.ReasonTooManySpares: {"it is a spare, and there are to be fewer of them", ""},
	fleet.ReasonPlainSize: {"nothing moves the fleet's size but its configuration and people",
		"give it bounds (size.min and size.max), or order a size for good"},
	fleet.ReasonUnread: {"it was not read for long enough yet", ""},
	fleet.ReasonNoSay:  {"it has no say now", ""},
	fleet.ReasonMetricSilent: {"its source does not answer, or has no number that is new enough",
		"see whether the source answers this server; until then nothing is scaled in"},
	fleet.ReasonMetricAbsurd: {"what its source says is no number, or beyond what is believed",
		"see what the source says; between bounds what is believed"},
	fleet.ReasonMetricMany: {"its source says many numbers, and not whose they are",
		"write the query so that it has one result, or name the label that says whose each is"},
	fleet.ReasonEven:        {"its domain has the most machines", ""},
	fleet.ReasonOldTemplate: {"it is built from the oldest template", ""},
	fleet.ReasonOldest:      {"it is the oldest", ""},
	fleet.ReasonNewest:      {"it is the newest", ""},
	fleet.ReasonRandom:      {"it was chosen at random", ""},
	fleet.ReasonLeastBusy:   {"it is the least busy", ""},

	fleet.ReasonTriesSpent: {"it was tried as often, or as long, as the target's policy says", tellAgain},
	fleet.ReasonTargetRefuses: {"the target says again and again that the message, or how it is sent, is wrong",
		tellAgain},
	fleet.ReasonTargetGone: {"the fleet has no such target any more", ""},
	fleet.ReasonOutboxFull: {"more messages wait than are kept", tellAgain},

	fleet.ReasonHoldExpired: {"it was left alone as long as on_external_stop says, and it still does not run",
		"start it at the provider, or take it out of the fleet"},
}

// tellAgain is the advice for a dead letter.
const tellAgain = "see what the target answers with 'hale notify test TARGET', then 'hale notify dead --retry all'"

// Reasons are those that have words, in the order of the alphabet.
func Reasons() []fleet.Reason { return slices.Sorted(maps.Keys(reasons)) }

// Reason says in a clause why something was done, or not done; empty for the empty reason.
func Reason(r fleet.Reason) string {
	if known, ok := reasons[r]; ok {
		return known.clause
	}
	return string(r)
}

// Advice says what a person can do about the reason; empty when there is nothing to do.
func Advice(r fleet.Reason) string { return reasons[r].advice }

// AdviceFor returns the advice with the names that it is about, as far as they are known: to be typed as it stands.
func AdviceFor(r fleet.Reason, f fleet.Name, i fleet.Installation) string {
	said := Advice(r)
	if f != "" {
		said = strings.ReplaceAll(said, "recover FLEET", "recover "+string(f))
	}
	if i != "" {
		said = strings.ReplaceAll(said, "take-over INSTALLATION", "take-over "+string(i))
	}
	return said
}
