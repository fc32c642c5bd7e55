package e2e

import (
	"strings"

	"hale/internal/testbed/lab"
)

// lastWords: a guest panics, and QEMU is ended with it. What its kernel said at the end outlives its replacement.
func lastWords(s stage) {
	victim := s.pick()
	before, err := s.fleet()
	s.must(err)
	mark := s.journal.mark()
	s.fault(victim, lab.FaultPanic)
	s.healed(victim, mark)
	s.alone(victim, mark)
	shown, err := s.hale.command(s.within(moment), "evidence", victim)
	s.must(err)
	for _, want := range []string{"Kernel panic", "no screenshot: "} {
		if !strings.Contains(shown, want) {
			s.Errorf("hale evidence %s does not say %q:\n%s", victim, want, shown)
		}
	}
	for _, m := range before.Machines {
		if m.Name == victim && !strings.Contains(shown, m.Instance) {
			s.Errorf("the evidence is not of %s:\n%s", m.Instance, shown)
		}
	}
}
