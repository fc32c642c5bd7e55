package prose

import "hale/internal/fleet"

// reason is what there is to say about one fleet.Reason: a clause that says why, and what a person can do about it.
type reason struct {
	clause string
	advice string // empty: nothing needs to be done, or nothing can be
}

const byHand = "mend it by hand at the provider; hale takes the machine back as soon as it is healthy"

var reasons = map[fleet.Reason]reason{
	fleet.ReasonAmnesty: {"hale has only just begun to look, and judges everything afresh before it acts", ""},
	fleet.ReasonBrake: {"too many machines fail at once, so the brake is on",
		"look for one cause behind all of them (network, storage, host, a bad image); the brake releases by itself when enough are healthy again, or with hale brake off"},
	fleet.ReasonSharedFate: {"it failed together with others of its domain, so the common cause comes first",
		"look at what they share (the host, the rack's switch, the network, the storage); hale judges each machine afresh when it is mended"},
	fleet.ReasonVantageIsolated: {"hale itself is cut off: no canary answers it",
		"see whether this server's own network works; what the checks say counts again when a canary answers"},
	fleet.ReasonVantageDoubtful: {"the fault may be on hale's own side",
		"see whether this server reaches the machines' network; canaries (vantage.canaries) would let hale tell"},
	fleet.ReasonUnclear:   {"other machines are suspect too, so it must first be clear whether they fail together", ""},
	fleet.ReasonUndecided: {"which of its checks fail decides on the step, and they have not all spoken yet", ""},
	fleet.ReasonBudget: {"as many machines are in repair as the fleet allows",
		"wait, or raise limits.in_repair"},
	fleet.ReasonBuildBudget: {"as many first builds run as the fleet allows", "wait, or raise limits.in_build"},
	fleet.ReasonBackoff:     {"the last attempt was a moment ago, and the next one waits its turn", ""},
	fleet.ReasonStoppedByPerson: {"somebody stopped it, and a stop by a person is not a failure",
		"start it at the provider when it shall run again; on_external_stop: heal would make hale start it"},
	fleet.ReasonPaused: {"somebody paused it, and a pause by a person is not a failure",
		"resume it at the provider when it shall go on; on_external_stop: heal and the step resume would make hale do it"},
	fleet.ReasonSuspended: {"it suspended itself, and the ladder has no step to resume it",
		"resume it at the provider; the step resume would make hale do it"},
	fleet.ReasonIOError: {"a write to its disk failed, so the provider paused it, and to resume it blindly would be in vain",
		"free space on the host's storage, or mend it, then resume the machine at the provider"},
	fleet.ReasonQuarantined:  {"hale could not heal it and leaves it to a person", byHand + "; or have hale try again with hale retry"},
	fleet.ReasonRecovering:   {"it is not unhealthy any more, and not healthy yet", ""},
	fleet.ReasonNotEvery:     {"what its checks say is not heeded at this time of the day", "wait, or change not_every of the check"},
	fleet.ReasonBlind:        {"nothing certain is known of it, and unknown is not dead", "see whether this server reaches the machine and its provider"},
	fleet.ReasonProviderDown: {"the provider does not answer", "bring the provider back; until then its machines are only probed"},
	fleet.ReasonProviderDoubtful: {"another provider answers behind this address than before, so nothing is touched",
		"see whether the address leads to the right host; if it does, give the provider another name or hale a new data folder"},
	fleet.ReasonHostDown: {"its host does not answer, so nobody knows whether the instance still runs",
		"bring the host back, or make sure that it is off and remove its instances"},
	fleet.ReasonObserve: {"the fleet is only watched (mode: observe)", "set mode: act when hale shall repair"},
	fleet.ReasonSurplus: {"it is beyond the fleet's size, and hale destroys nothing by itself", "raise size, or remove the instance at the provider"},
	fleet.ReasonNoStep: {"no step of the fleet's ladder applies to it",
		byHand + "; a ladder with a recreate step would have had a way"},
	fleet.ReasonLeaseShort: {"the time left as owner would not surely cover the call", ""},
	fleet.ReasonNotOwner:   {"this server does not own the fleet now", "see whether another hale server looks after it"},
	fleet.ReasonHold: {"a person holds it",
		"hale goes on by itself when the hold is over; hale release ends it now, hale holds lists all of them"},
	fleet.ReasonWindow: {"repairs begin at other times (repair.windows, repair.not_every)",
		"wait, or repair it now with hale heal"},
	fleet.ReasonProtected: {"it is protected, so hale does not disrupt it", "mend it by hand; hale only watches it, and starts it when it is off"},
	fleet.ReasonStoreFull: {"the data folder's disk is full, so nothing can be written down first",
		"free space on the disk of the data folder; hale goes on by itself"},
	fleet.ReasonStoreDown: {"hale's store does not answer, so nothing can be written down first", "see hale's log; restart it if it says so"},
	fleet.ReasonClockStep: {"this server's clock was set, so everything is judged afresh", ""},

	fleet.ReasonMalformed:      {"it cannot be read", ""},
	fleet.ReasonExpired:        {"its time is over", ""},
	fleet.ReasonUnknownSubject: {"the fleet knows no such machine or host", "see hale status for the names of machines and hosts"},
	fleet.ReasonNotHeld:        {"nobody holds exactly that", "hale holds lists what is held, and how"},
	fleet.ReasonHeldByOthers:   {"others hold it", "ask them, or release with --all"},
	fleet.ReasonTooMany:        {"there are as many holds as can be kept", "release some, or hold the whole fleet"},
	fleet.ReasonHealthy:        {"it is healthy, so there is nothing to heal", ""},
	fleet.ReasonInRepair:       {"it is being repaired already", ""},
	fleet.ReasonNotBraked:      {"the brake is not on", ""},
	fleet.ReasonNotQuarantined: {"it is not in quarantine", "see hale why for what hale waits for"},

	fleet.ReasonConfirmed:   {"one more look confirms the failure", ""},
	fleet.ReasonOrdered:     {"one more look said nothing certain, and a person's order stands for it", ""},
	fleet.ReasonRefuted:     {"one more look finds it alive", ""},
	fleet.ReasonLookUnclear: {"one more look said nothing certain, and is taken again", ""},

	fleet.ReasonNotOff:     {"it is not off", ""},
	fleet.ReasonNotRunning: {"it does not run", ""},
	fleet.ReasonNotPaused:  {"it is not paused", ""},
	fleet.ReasonHalted:     {"it is paused, and can go on where it was", ""},
	fleet.ReasonNoAddress:  {"nobody knows its address, which the command needs", ""},
	fleet.ReasonNoProgram:  {"there is no such program, or hale may not run it", "put the program of the step run in its place, then hale retry the machine"},
	fleet.ReasonRunFailed:  {"the command failed", ""},
	fleet.ReasonRunUnclear: {"hale was stopped while the command ran, and nobody knows how far it came", "see what the command left undone, then hale retry the machine; " +
		"a command that may be run again at any time can be declared idempotent"},
	fleet.ReasonNotFor:      {"it is for other checks than those that are down", ""},
	fleet.ReasonStepPage:    {"the ladder tells a person at this step", byHand},
	fleet.ReasonStepLeave:   {"the ladder leaves it to a person at this step", byHand},
	fleet.ReasonWorsened:    {"more fails now than what it was put into quarantine for", ""},
	fleet.ReasonUnsupported: {"the provider cannot do that", ""},
	fleet.ReasonNoInstance:  {"there is no instance to act on", ""},
	fleet.ReasonDiskKept: {"a disk that is to be kept would be lost",
		"declare the disk ephemeral if it may be lost, or " + byHand},
	fleet.ReasonDiskInUse: {"another instance may still have the machine's kept disks, and two must never write to one",
		"see at the provider which instance has them, and power it off or remove it"},
	fleet.ReasonDiskElsewhere: {"its kept disks are on a host that cannot be built on now",
		"bring that host back; the disks are bound to it unless its storage is shared with another host (hosts: storage)"},
	fleet.ReasonNotCertified: {"hale did not finish building the instance, so it may not destroy it", byHand},
	fleet.ReasonNoProof: {"the old instance could not be proven off, and two must never run",
		"make sure at the provider that the old instance is off; hale takes the machine back when it is healthy"},
	fleet.ReasonDeleteFailed: {"the old instance is off but cannot be deleted",
		"remove it at the provider, or set on_delete_failure: continue"},
	fleet.ReasonCallFailed: {"the provider failed to do what it was asked", "read the provider's message; " + byHand},
	fleet.ReasonNameTaken: {"another instance at the provider has the machine's name",
		"rename or remove the instance that has the name"},
	fleet.ReasonRefusedBy: {"the provider refused (quota, permission or configuration)",
		"read the provider's message and lift what it names; " + byHand},
	fleet.ReasonNotVerified:  {"it did not become healthy in time", ""},
	fleet.ReasonStillRunning: {"it was ordered off and still runs", "power it off at the provider"},
	fleet.ReasonMarkChanged: {"the instance no longer bears the mark that hale believes in",
		"see who changed the instance; hale does not touch what it does not recognise"},
	fleet.ReasonLawBroken: {"hale's own belief about it is inconsistent, so hale stops touching it",
		"keep the output of 'hale why' and 'hale events' and report it: this is a fault of hale"},
	fleet.ReasonSecondRunning: {"two certified instances of the machine exist",
		"decide which of the two is the right one and remove the other at the provider"},
	fleet.ReasonExhausted: {"every step of the ladder was tried", byHand},
	fleet.ReasonAttempts: {"as many repairs as the policy allows did not heal it for good",
		"look at the machine's console and image; " + byHand},

	fleet.ReasonHealed:     {"healed by hale", ""},
	fleet.ReasonRecovered:  {"recovered by itself", ""},
	fleet.ReasonBuilt:      {"built", ""},
	fleet.ReasonRemoved:    {"removed", ""},
	fleet.ReasonFound:      {"an order whose answer was lost had built it after all, so it is taken", ""},
	fleet.ReasonVanished:   {"it went by itself", ""},
	fleet.ReasonPutOff:     {"put off, the machine itself comes first", ""},
	fleet.ReasonEngaged:    {"the brake engages", "look for one cause behind all of the failures"},
	fleet.ReasonReleased:   {"what was held is released", ""},
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
	fleet.ReasonUpdated:       {"it is built from the other template", ""},
	fleet.ReasonProven:        {"the first machines of the other template stay healthy, so the others follow", ""},
	fleet.ReasonCanaryFailed: {"it was the first of another template, and did not become healthy",
		"look at its console; then mend the template, or write the former one, reload, and confirm the plan: it is replaced first"},
	fleet.ReasonUpdateStopped: {"a machine of the other template failed, so the others keep theirs",
		"mend the template, or write the former one, reload, and confirm the plan"},
	fleet.ReasonSizeDown: {"the fleet shrinks", ""},
	fleet.ReasonGivenUp: {"the change failed, so it was given up, and the machine is healed as before",
		"see with 'hale why' what failed, mend it, and confirm the plan that waits again"},
	fleet.ReasonWithdrawn: {"the order was taken back", ""},
	fleet.ReasonStalePlan: {"it is not the plan that waits: what would be destroyed has changed since",
		"read the present plan with 'hale apply', and confirm that"},
	fleet.ReasonNothingWaits: {"nothing waits to be confirmed", ""},

	fleet.ReasonTriesSpent:    {"it was tried as often, or as long, as the target's policy says", tellAgain},
	fleet.ReasonTargetRefuses: {"the target says again and again that the message, or how it is sent, is wrong", tellAgain},
	fleet.ReasonTargetGone:    {"the fleet has no such target any more", ""},
	fleet.ReasonOutboxFull:    {"more messages wait than are kept", tellAgain},

	fleet.ReasonHoldExpired: {"it was left alone for as long as the policy says", "start it at the provider, or take it out of the fleet"},
}

// tellAgain is for whoever finds a dead letter.
const tellAgain = "see what the target answers with 'hale notify test TARGET', then 'hale notify dead --retry all'"

// Reason says in a clause why something was done, or not done; empty for the empty reason.
func Reason(r fleet.Reason) string {
	if known, ok := reasons[r]; ok {
		return known.clause
	}
	return string(r)
}

// Advice says what a person can do about the reason; empty when there is nothing to do.
func Advice(r fleet.Reason) string { return reasons[r].advice }
