package e2e

import (
	"testing"

	"hale/internal/testbed/lab"
)

// envHeals is how many heals the disks must survive; a run of the suite takes the few that time allows.
const envHeals = "E2E_DISK_HEALS"

// withData is a fleet with a data disk per machine. The guest counts its boots on it.
const withData = `      disks: {data: {size: 8MiB}}
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
    build_within: 1m
    limits: {in_repair: 1}
    repair: {attempts: 50 in 1h, backoff: 500ms, steps: `

// TestDataOutlivesItsMachine kills machines, and reads on their disks that every new instance went on where the old one
// was. In the end a machine is replaced that keeps its old instance, and `hale undo` brings that back with the disk.
func TestDataOutlivesItsMachine(t *testing.T) {
	t.Parallel()
	heals := rounds(t, envHeals, 3)
	s := newStage(t, "10.93.0.0/16", settings{fleet: "db", size: 2, fleetYAML: withData + "[recreate]}"})
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	s.raise()
	s.stands()
	boots := map[string]int{}
	for m := range s.machines() {
		boots[m] = s.boots(m)
		if boots[m] != 1 {
			t.Errorf("%s: the first boot is number %d of its disk", m, boots[m])
		}
	}
	for range heals {
		victim := s.pick()
		s.replaced(victim, boots)
	}

	s.restart(func(set *settings) { set.fleetYAML = withData + "[recreate: {keep_old: 1h}]}" })
	s.stands()
	victim := s.pick()
	old := s.machine(victim)
	s.replaced(victim, boots)
	mark := s.journal.mark()
	if _, err := s.hale.command(s.within(patience), "undo", victim); err != nil {
		t.Fatal(err)
	}
	s.event("the old instance is back", mark, of(victim, because("repair-ended", "undone")))
	s.stands()
	boots[victim]++
	if back := s.machine(victim); back.Instance != old.Instance {
		t.Errorf("instance %s is back, and %s was wanted", back.Instance, old.Instance)
	}
	for m, want := range boots {
		if got := s.boots(m); got != want {
			t.Errorf("%s: boot number %d of its disk, want %d", m, got, want)
		}
	}
	s.lawful()
}

// replaced kills the machine and waits until its successor stands, with the disk.
func (s stage) replaced(victim string, boots map[string]int) {
	s.Helper()
	mark := s.journal.mark()
	s.fault(victim, []lab.Fault{lab.FaultKill, lab.FaultLinkDown}[s.dice.IntN(2)])
	s.healed(victim, mark)
	s.stands()
	boots[victim]++
	if got := s.boots(victim); got != boots[victim] {
		s.Fatalf("%s: boot number %d of its disk, want %d", victim, got, boots[victim])
	}
}

// boots returns what the machine's guest counts on its disk.
func (s stage) boots(machine string) int {
	s.Helper()
	page, err := s.lab.AwaitPage(s.within(patience), machine)
	s.must(err)
	return page.Boots
}
