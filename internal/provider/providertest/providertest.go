// Package providertest is the exam for package provider's port: every adapter, and the simulated twin, passes it.
//
// It promises to judge by what the port says alone, so it works on a twin within a testing/synctest bubble and on
// slow, real machines: everything is awaited by condition, for at most Harness.Patience. Whatever a case builds is
// removed at its end. At most three instances exist at once.
//
// It does not call t.Run itself from within a case, so that each case fits into a bubble: see Cases. It does not import
// testing: hale itself asks the same questions of an operator's own provider.
package providertest

import (
	"context"
	"io"
	"reflect"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// T is who asks: a test, or hale itself. *testing.T is one.
type T interface {
	Helper()
	// Cleanup registers what is done at the end of the case, the last one first, also when it failed.
	Cleanup(f func())
	// Context ends just before the cleanups begin.
	Context() context.Context
	Log(args ...any)
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	// Fatal and Fatalf end the case.
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	TempDir() string
	Output() io.Writer
}

// Harness is the candidate with what surrounds it. Cases that need trouble made ask for it by the further interfaces of
// this package; a harness without one of them is not examined in it.
type Harness interface {
	// New opens a handle with connections of its own. The harness closes it by t.Cleanup; a case may close it earlier.
	New(t T) provider.Provider
	// Hosts returns where instances can be built: at least one, sorted; one empty name where there is only one host.
	Hosts() []fleet.HostName
	// Template returns one that boots and gets an address.
	Template() policy.Template
	// Patience returns how long anything may take, a boot included, before it is taken for broken.
	Patience() time.Duration
	// Every adapter shows what becomes of a call that lost its answer.
	AnswerLoser
}

// Watched is a harness with handles that are provider.Watchers, too.
type Watched interface {
	Watched()
}

// Killer is a harness that can let an instance die without a call to the provider: its process is killed, its
// simulated machine crashes.
type Killer interface {
	Kill(t T, id fleet.InstanceID)
}

// Disconnecter is a harness that can cut all handles from the provider, connections that are open included.
type Disconnecter interface {
	// Disconnect cuts; until Reconnect, connecting fails at once.
	Disconnect(t T)
	Reconnect(t T)
}

// Freezer is a harness that can stop the provider from answering while it keeps its connections.
type Freezer interface {
	Freeze(t T)
	Thaw(t T)
}

// HostFailer is a harness with several hosts that can make one of them unreachable.
type HostFailer interface {
	FailHost(t T, host fleet.HostName)
	RepairHost(t T, host fleet.HostName)
}

// Noting is a harness with a provider that is a provider.StartReader and a provider.StartNoter.
type Noting interface {
	Noting()
}

// Pooled is a harness with hosts that are one pool: a name is taken on all of them at once, and an instance is found on
// each host.
type Pooled interface {
	Pooled()
}

// Outsider is a harness that can make a running instance on the host, without any trace of hale, and remove it at the
// end of the test.
type Outsider interface {
	Stranger(t T, host fleet.HostName, name string) provider.Ref
}

// Diskless is a harness with a provider that makes no disks that outlive their instances (policy.Disk.Attached).
type Diskless interface {
	Diskless()
}

// Selective is a harness that knows only at run time what it can do: it has the methods of the further interfaces all
// the same.
type Selective interface {
	// Can reports whether it can do what the interface says, by its name: of this package, such as Freezer, or of the
	// port, such as Keeper.
	Can(ability string) bool
}

// Case is one question of the exam.
type Case struct {
	Name string
	// Needs says, for a person, what it takes to be asked this; empty: nothing.
	Needs string
	// Run examines the harness. It starts no subtest and leaves nothing behind when the test's cleanups have run.
	Run func(t T, h Harness)
	// asked says whether the harness can be asked this; nil means yes.
	asked func(h Harness) bool
}

// Asked reports whether the harness can be asked this.
func (c Case) Asked(h Harness) bool { return c.asked == nil || c.asked(h) }

// Cases returns the questions that the harness can be asked. A caller that needs something around each case, such as
// a bubble, ranges over them; all others call Run.
func Cases(h Harness) []Case {
	var cases []Case
	for _, c := range All() {
		if c.Asked(h) {
			cases = append(cases, c)
		}
	}
	return cases
}

// Run examines the harness, one subtest after the other. S is *testing.T.
func Run[S interface {
	T
	Run(name string, f func(t S)) bool
}](t S, h Harness) {
	for _, c := range Cases(h) {
		t.Run(c.Name, func(t S) { c.Run(t, h) })
	}
}

// freezes is what many questions need.
const freezes = "a provider that freezes"

// All returns every question.
func All() []Case {
	return slices.Concat(ofOne(), ofCopies(), ofTrouble())
}

// ofOne are the questions about one instance at a time.
func ofOne() []Case {
	return []Case{
		{Name: "identity is stable", Run: identityIsStable},
		{Name: "what is not there is not found", Run: absentIsNotFound},
		{Name: "a created instance runs and gets an address", Run: createdRuns},
		{Name: "list and get agree", Run: listAndGetAgree},
		{Name: "the mark is read back as written", Run: markIsReadBack},
		{Name: "certify changes nothing but the flag", Run: certifyFlipsTheFlag},
		{Name: "a taken name is a conflict", Run: takenNameIsConflict},
		{Name: "a taken id is a conflict", Run: takenIDIsConflict},
		{Name: "of eight creates for one name one wins", Run: oneCreateWins},
		{Name: "power calls are no-ops in the wanted state", Run: powerCallsAreIdempotent},
		{Name: "reboot keeps the instance", Run: rebootKeepsTheInstance},
		{Name: "a stop by another client is external", Run: stopByAnotherIsExternal},
		{Name: "delete of a running instance is a conflict", Run: deleteOfRunningIsConflict},
		{Name: "delete leaves nothing", Run: deleteLeavesNothing},
		{Name: "a kept disk is never made anew", Run: keptDiskIsNotMadeAnew,
			Needs: "disks that outlive their instances", asked: func(h Harness) bool { return !able[Diskless](h) }},
		{Name: "what is put aside comes back", Run: setAsideComesBack,
			Needs: "keep and restore, and disks that outlive their instances",
			asked: func(h Harness) bool { return can(h, "Keeper") && !able[Diskless](h) }},
		{Name: "what is half put aside is made whole", Run: halfAsideIsMadeWhole,
			Needs: "keep and restore, and disks that outlive their instances",
			asked: func(h Harness) bool { return can(h, "Keeper") && !able[Diskless](h) }},
		{Name: "a wrong mark changes nothing", Run: wrongMarkChangesNothing},
		{Name: "a stranger is touched only when it is adopted", Run: strangerIsTouchedOnlyWhenAdopted,
			Needs: "a stranger", asked: able[Outsider]},
		{Name: "an ended context sends nothing", Run: endedContextSendsNothing},
		{Name: "watch tells of connection and changes", Run: watchTells, Needs: "watch", asked: able[Watched]},
		{Name: "a killed instance is off by crash", Run: killedIsCrashed, Needs: "an instance that is killed",
			asked: able[Killer]},
		{Name: "a paused instance goes on where it was", Run: pausedGoesOn,
			Needs: "resume, and an instance that is paused", asked: able[Pauser]},
		{Name: "a rescued instance is a person's", Run: rescuedIsLeft, Needs: "rescue, and a person who ends it",
			asked: able[Unrescuer]},
		{Name: "a guest is asked to reboot, and may not listen", Run: askedToReboot,
			Needs: "soft-reboot, and a guest that shows its boots and can be deafened", asked: able[Listener]},
		{Name: "a rebuild is the same instance on a new disk", Run: rebuiltOnANewDisk,
			Needs: "rebuild, and a guest that counts the boots of its disk", asked: able[DiskTeller]},
		{Name: "an instance is adjusted where it is", Run: adjustedInPlace,
			Needs: "adjust, and a template to adjust to", asked: able[Adjusted]},
		{Name: "a guest's agent is asked, and may be silent", Run: agentIsAsked,
			Needs: "ping-guest, and an agent that can be muted", asked: able[Speaker]},
		{Name: "counters tell what stands still from what idles", Run: metersTell,
			Needs: "meters, and a guest that can be halted", asked: able[Halter]},
		{Name: "what an instance uses is told while it runs", Run: usageTells, Needs: "usage", asked: able[Counted]},
		{Name: "a frozen provider says nothing of a guest's agent", Run: frozenSaysNothing,
			Needs: "ping-guest, and a provider that freezes", asked: both[Speaker, Freezer]},
		{Name: "what a guest wrote to its console is read", Run: consoleIsRead,
			Needs: "console, and a guest that writes something known", asked: able[Printer]},
		{Name: "what is on a screen is shown", Run: screenIsShown, Needs: "screenshot, and a template with a screen",
			asked: able[Viewer]},
		{Name: "a frozen provider does not hold evidence", Run: frozenEvidence,
			Needs: "console, screenshot, and a provider that freezes",
			asked: func(h Harness) bool { return able[Printer](h) && able[Viewer](h) && able[Freezer](h) }},
	}
}

// ofCopies are those about copies of disks.
func ofCopies() []Case {
	return []Case{
		{Name: "disks are copied, and the copies outlive the instance", Run: disksAreCopied,
			Needs: "snapshot, and a look into the copies", asked: able[CopyTeller]},
		{Name: "a copy of disks is put back", Run: copyIsPutBack,
			Needs: "revert, snapshot, and a look into the copies",
			asked: able[CopyTeller]},
		{Name: "a copy with a lost answer is made once", Run: frozenCopy,
			Needs: "snapshot, a look into the copies, and a provider that freezes", asked: both[CopyTeller, Freezer]},
	}
}

// ofTrouble are those about starts of hale's, lost answers, and several hosts.
func ofTrouble() []Case {
	return []Case{
		{Name: "starts are noted, and none is lost", Run: startsAreNoted, Needs: "notes of hale's starts",
			asked: able[Noting]},
		{Name: "notes of starts that cannot be read are none", Run: unseenStarts,
			Needs: "notes of hale's starts, and a provider that is cut off", asked: both[Noting, Disconnecter]},
		{Name: "a note without an answer is there or not, and can be written again", Run: unheardNotes,
			Needs: "notes of hale's starts", asked: able[Noting]},
		{Name: "a cut provider is transient and comes back", Run: cutProviderComesBack,
			Needs: "a provider that is cut off", asked: able[Disconnecter]},
		{Name: "a frozen provider does not hold reads", Run: frozenReads, Needs: freezes, asked: able[Freezer]},
		{Name: "a frozen power off has an unknown outcome", Run: frozenPowerOff, Needs: freezes, asked: able[Freezer]},
		{Name: "a frozen create has an unknown outcome", Run: frozenCreate, Needs: freezes, asked: able[Freezer]},
		{Name: "close ends calls under way", Run: closeEndsCalls, Needs: freezes, asked: able[Freezer]},
		{Name: "what took effect without an answer is done once", Run: unheardIsDoneOnce},
		{Name: "a create without an answer is one instance", Run: unheardCreate},
		{Name: "a delete without an answer leaves nothing", Run: unheardDelete},
		{Name: "a machine's own address goes from instance to instance", Run: addressIsTheMachines,
			Needs: "an address that belongs to the machine", asked: able[Addressed]},
		{Name: "what was cut off half-way can be removed", Run: interruptedIsCleared,
			Needs: "calls that end with their contexts", asked: able[Interrupted]},
		{Name: "one host down leaves a partial list", Run: oneHostDown, Needs: "a host that fails",
			asked: able[HostFailer]},
		{Name: "a migrated instance is elsewhere, once", Run: migrated, Needs: "migrate, and several hosts",
			asked: func(h Harness) bool { return len(h.Hosts()) > 1 }},
		{Name: "an evacuated instance is elsewhere, once", Run: evacuated, Needs: "evacuate, and a host that fails",
			asked: able[HostFailer]},
		{Name: "hosts are apart", Run: hostsAreApart, Needs: "several hosts",
			asked: func(h Harness) bool { return len(h.Hosts()) > 1 && !able[Pooled](h) }},
		{Name: "an id that two hosts show", Run: idOnTwoHosts, asked: able[Leaver],
			Needs: "several independent hosts, and a definition that was left behind"},
		{Name: "a silent host may have it", Run: silentHostMayHaveIt, asked: able[Leaver],
			Needs: "several independent hosts, and one that fails"},
		{Name: "what is paused is on one host", Run: pausedOnOneHost, asked: both[Leaver, Pauser],
			Needs: "resume, several independent hosts, and an instance that is paused"},
		{Name: "a name that another host has is taken", Run: nameOnTwoHosts, asked: able[Leaver],
			Needs: "several independent hosts, and one that fails"},
		{Name: "of creates for one name on several hosts one wins at most", Run: oneOfTwoHostsWins, asked: able[Leaver],
			Needs: "several independent hosts"},
		{Name: "a copy of a marked instance is a stranger, and is not touched", Run: copyIsAStranger,
			Needs: "a copy that another client makes", asked: able[Copier]},
		{Name: "hosts are one pool", Run: hostsAreOnePool, Needs: "several hosts that are one pool",
			asked: func(h Harness) bool { return len(h.Hosts()) > 1 && able[Pooled](h) }},
	}
}

func both[A, B any](h Harness) bool { return able[A](h) && able[B](h) }

// able reports whether the harness has the further ability.
func able[A any](h Harness) bool {
	_, ok := h.(A)
	return ok && can(h, reflect.TypeFor[A]().Name())
}

// can reports whether nothing is known against the ability.
func can(h Harness, name string) bool {
	s, ok := h.(Selective)
	return !ok || s.Can(name)
}

// ability returns the harness with the further ability that the case asked for.
func ability[A any](t T, h Harness) A {
	t.Helper()
	a, ok := h.(A)
	if !ok {
		t.Fatalf("the harness %T is no %v", h, reflect.TypeFor[A]())
	}
	return a
}
