// Package providertest is the exam for package provider's port: every adapter, and the simulated twin, passes it.
//
// It promises to judge by what the port says alone, so it works on a twin within a testing/synctest bubble and on
// slow, real machines: everything is awaited by condition, for at most Harness.Patience. Whatever a case builds is
// removed at its end. At most three instances exist at once.
//
// It does not call t.Run itself from within a case, so that each case fits into a bubble: see Cases.
package providertest

import (
	"reflect"
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider"
)

// Harness is the candidate with what surrounds it. Cases that need trouble made ask for it by the further interfaces of
// this package; a harness without one of them is not examined in it.
type Harness interface {
	// New opens a handle with connections of its own. The harness closes it by t.Cleanup; a case may close it earlier.
	New(t testing.TB) provider.Provider
	// Hosts returns where instances can be built: at least one, sorted; one empty name where there is only one host.
	Hosts() []fleet.HostName
	// Template returns one that boots and gets an address.
	Template() fleet.Template
	// Patience returns how long anything may take, a boot included, before it is taken for broken.
	Patience() time.Duration
}

// Watched is a harness whose handles are provider.Watchers too.
type Watched interface {
	Watched()
}

// Killer is a harness that can let an instance die without an order to the provider: its process is killed, its
// simulated machine crashes.
type Killer interface {
	Kill(t testing.TB, id fleet.InstanceID)
}

// Disconnecter is a harness that can cut all handles from the provider, connections that are open included.
type Disconnecter interface {
	// Disconnect cuts; until Reconnect, connecting fails at once.
	Disconnect(t testing.TB)
	Reconnect(t testing.TB)
}

// Freezer is a harness that can stop the provider from answering while it keeps its connections.
type Freezer interface {
	Freeze(t testing.TB)
	Thaw(t testing.TB)
}

// HostFailer is a harness with several hosts that can make one of them unreachable.
type HostFailer interface {
	FailHost(t testing.TB, host fleet.HostName)
	RepairHost(t testing.TB, host fleet.HostName)
}

// Outsider is a harness that can make a running instance on the host as somebody would who knows nothing of hale, and remove it at the end
// of the test.
type Outsider interface {
	Stranger(t testing.TB, host fleet.HostName, name string) provider.Ref
}

// Case is one question of the exam.
type Case struct {
	Name string
	// Run examines the harness. It starts no subtest and leaves nothing behind when the test's cleanups have run.
	Run func(t *testing.T, h Harness)
	// asked says whether the harness can be asked this; nil means yes.
	asked func(h Harness) bool
}

// Cases returns the questions that the harness can be asked. A caller that needs something around each case, such as
// a bubble, ranges over them; all others call Run.
func Cases(h Harness) []Case {
	var cases []Case
	for _, c := range all() {
		if c.asked == nil || c.asked(h) {
			cases = append(cases, c)
		}
	}
	return cases
}

// Run examines the harness, one subtest after the other.
func Run(t *testing.T, h Harness) {
	for _, c := range Cases(h) {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
}

func all() []Case {
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
		{Name: "a kept disk is never made anew", Run: keptDiskIsNotMadeAnew},
		{Name: "what is put aside comes back", Run: setAsideComesBack},
		{Name: "a wrong mark changes nothing", Run: wrongMarkChangesNothing},
		{Name: "a stranger is touched only when it is adopted", Run: strangerIsTouchedOnlyWhenAdopted, asked: able[Outsider]},
		{Name: "an ended context sends nothing", Run: endedContextSendsNothing},
		{Name: "watch tells of connection and changes", Run: watchTells, asked: able[Watched]},
		{Name: "a killed instance is off by crash", Run: killedIsCrashed, asked: able[Killer]},
		{Name: "a paused instance goes on where it was", Run: pausedGoesOn, asked: able[Pauser]},
		{Name: "a guest is asked to reboot, and may not listen", Run: askedToReboot, asked: able[Listener]},
		{Name: "a rebuild is the same instance on a new disk", Run: rebuiltOnANewDisk, asked: able[DiskTeller]},
		{Name: "a guest's agent is asked, and may be silent", Run: agentIsAsked, asked: able[Speaker]},
		{Name: "a frozen provider says nothing of a guest's agent", Run: frozenSaysNothing, asked: func(h Harness) bool { return able[Speaker](h) && able[Freezer](h) }},
		{Name: "what a guest wrote to its console is read", Run: consoleIsRead, asked: able[Printer]},
		{Name: "what is on a screen is shown", Run: screenIsShown, asked: able[Viewer]},
		{Name: "a frozen provider does not hold evidence", Run: frozenEvidence, asked: func(h Harness) bool { return able[Printer](h) && able[Viewer](h) && able[Freezer](h) }},
		{Name: "disks are copied, and the copies outlive the instance", Run: disksAreCopied, asked: able[CopyTeller]},
		{Name: "a copy whose answer is lost is made once", Run: frozenCopy, asked: func(h Harness) bool { return able[CopyTeller](h) && able[Freezer](h) }},
		{Name: "a cut provider is transient and comes back", Run: cutProviderComesBack, asked: able[Disconnecter]},
		{Name: "a frozen provider does not hold reads", Run: frozenReads, asked: able[Freezer]},
		{Name: "a frozen power off has an unknown outcome", Run: frozenPowerOff, asked: able[Freezer]},
		{Name: "a frozen create has an unknown outcome", Run: frozenCreate, asked: able[Freezer]},
		{Name: "close ends calls under way", Run: closeEndsCalls, asked: able[Freezer]},
		{Name: "one host down leaves a partial list", Run: oneHostDown, asked: able[HostFailer]},
		{Name: "hosts are apart", Run: hostsAreApart, asked: func(h Harness) bool { return len(h.Hosts()) > 1 }},
	}
}

// able reports whether the harness has the further ability.
func able[T any](h Harness) bool {
	_, ok := h.(T)
	return ok
}

// ability returns the harness with the further ability that the case asked for.
func ability[T any](t *testing.T, h Harness) T {
	t.Helper()
	a, ok := h.(T)
	if !ok {
		t.Fatalf("the harness %T is no %v", h, reflect.TypeFor[T]())
	}
	return a
}
