package e2e

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"hale/internal/testbed/lab"
)

// sharedHosts is a provider of two hosts with one folder for the instances' files.
const sharedHosts = `  lab:
    type: libvirt
    state_dir: %q
    hosts: [{name: a, uri: %q}, {name: b, uri: %q}]`

// TestL1WhatAMigrationLeavesBehindIsNeverStarted has a person migrate a machine with virsh, who forgets to have its
// definition removed where it was. Two hosts show it then. It dies where it runs, and hale calls nothing but a
// person; a ladder that starts would start what was left behind, and one that replaces would delete it, with the
// files of the other. When the person has undefined it, the machine is healed once, by the step that comes first.
func TestL1WhatAMigrationLeavesBehindIsNeverStarted(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.78.0.0/16", "10.79.0.0/16")
	state := s.TempDir()
	s.must(os.Chmod(state, 0o711)) // QEMU goes through it
	ladder := func(steps string) func(*settings) {
		return func(set *settings) {
			set.providerYAML = fmt.Sprintf(sharedHosts, state, a.lab.URI(), s.lab.URI())
			set.fleetYAML = fmt.Sprintf(spreadFleet, "steps: "+steps)
		}
	}
	s.configure(ladder("[start, recreate]"))
	s.raise()
	s.stands()
	victim := s.on("a").Name
	s.leftBehind(victim, a.lab, s.lab, "start")

	s.reload(ladder("[recreate]"))
	s.leftBehind(victim, s.lab, a.lab, "delete", "create", "certify")
}

// leftBehind migrates the machine, without its definition, kills it, and has it healed by these calls when the
// definition is gone, too.
func (s stage) leftBehind(victim string, from, to *lab.Lab, healedBy ...string) {
	s.Helper()
	before := s.machine(victim)
	mark := s.journal.mark()
	s.migrate(victim, from, to)
	s.event("hale sees it on two hosts", mark, of(victim, because("contest", "two-hosts")))
	s.event("a person is told", mark, of(victim, because("paged", "two-hosts")))
	s.must(to.KillQEMU(s.within(moment), victim))
	s.idle(quiet)
	s.untouched(mark)
	for _, l := range []*lab.Lab{from, to} {
		if n := s.running(l, before.Instance); n != 0 {
			s.Errorf("%d processes of %s, which was not to start", n, victim)
		}
	}
	if why := s.says("why", victim); !strings.Contains(why, "two hosts show its instance") {
		s.Errorf("hale why says:\n%s", why)
	}

	mark = s.journal.mark()
	s.must(from.Undefine(s.within(moment), victim))
	story := s.healed(victim, mark)
	if ops := calls(story); !slices.Equal(ops, healedBy) {
		s.Errorf("hale ordered %v, want %v", ops, healedBy)
	}
	s.alone(victim, mark)
	s.stands()
	after := s.machine(victim)
	if here := healedBy[0] == "start"; here != (after.Instance == before.Instance) {
		s.Errorf("it was instance %s, and is %s", before.Instance, after.Instance)
	}
	if n := s.running(from, after.Instance) + s.running(to, after.Instance); n != 1 {
		s.Errorf("%d processes of %s", n, victim)
	}
	s.lawful()
}

// running counts the processes of an instance on the host.
func (s stage) running(l *lab.Lab, instance string) int {
	s.Helper()
	processes, err := l.Processes(s.within(moment))
	s.must(err)
	return len(slices.DeleteFunc(processes, func(p lab.Process) bool { return p.UUID != instance }))
}

// migrate moves a machine that runs, and leaves its definition where it was. The watchman does not look meanwhile:
// while memory is copied there is a second process, which stands still.
func (s stage) migrate(machine string, from, to *lab.Lab) {
	s.Helper()
	free, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", "127.0.0.1:0")
	s.must(err)
	s.must(free.Close())
	s.lawful()
	s.watchman.end()
	_, err = from.Virsh(s.within(patience), "migrate", "--live", "--persistent", "--unsafe", machine, to.URI(),
		"tcp://"+free.Addr().String())
	s.watchman = watch(from, to)
	s.must(err)
}
