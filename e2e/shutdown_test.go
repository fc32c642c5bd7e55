package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestL10AnAdoptedMachineThatIsShutDownInOrderIsHeld shuts one down as people do, by virsh shutdown. Hale leaves it
// alone for as long as the policy says, and then pages a person, also when the daemon was restarted and has forgotten
// what it was. One that loses its process is started at once.
func TestL10AnAdoptedMachineThatIsShutDownInOrderIsHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.107.0.0/16", settings{fleet: "db", size: 3})
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	for _, name := range []string{"db-main", "db-one", "db-two"} {
		s.makeByHand(name)
	}
	s.tenLines()
	s.holdsFor("15s")
	s.raise()
	s.stands()

	mark := s.journal.mark()
	_, err := s.lab.Virsh(s.within(moment), "shutdown", "db-one")
	s.must(err)
	s.event("it is held", mark, of("db-2", because("held", "shut-down")))
	s.must(s.lab.KillQEMU(s.within(moment), "db-two"))
	s.wantCalls(s.healed("db-3", mark), "start")
	s.event("a person is told", mark, of("db-2", because("paged", "hold-expired")))
	s.idle(quiet)
	if n := count(s.after(mark), of("db-2", kind("intent"))); n > 0 {
		t.Errorf("%d calls for a machine that a person shut down", n)
	}
	if m := s.machine("db-2"); m.Cause != "shutdown" || m.Repair != nil {
		t.Errorf("db-one is %+v", m)
	}

	mark = s.journal.mark()
	s.must(s.lab.KillLibvirtd(s.within(moment)))
	s.event("the provider is down", mark, because("provider", "down"))
	s.must(s.lab.StartLibvirtd(s.within(patience)))
	s.event("the provider is up", mark, because("provider", "up"))
	s.idle(quiet)
	s.untouched(mark)
	if m := s.machine("db-2"); m.Cause != "shutdown" || m.Repair != nil {
		t.Errorf("db-one is %+v", m)
	}
	_, err = s.lab.Virsh(s.within(moment), "start", "db-one")
	s.must(err)
	s.stands()
	s.lawful()
}

// holdsFor writes into the file how long a stop by a person is left alone.
func (s stage) holdsFor(span string) {
	s.Helper()
	file := s.hale.path("hale.yaml")
	text, err := os.ReadFile(file)
	s.must(err)
	fleet := fmt.Sprintf("  %s:\n", s.settings.fleet)
	edited := strings.Replace(string(text), fleet, fleet+"    on_external_stop: {hold: "+span+"}\n", 1)
	if edited == string(text) {
		s.Fatalf("the configuration has no %q:\n%s", fleet, text)
	}
	s.must(os.WriteFile(file, []byte(edited), 0o600))
}
