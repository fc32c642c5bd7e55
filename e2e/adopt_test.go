package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hale/internal/testbed/lab"
)

// TestS68MachinesThatExistedBeforeAreAdopted makes machines by hand, without a thought of hale, and lets ten lines
// protect them.
func TestS68MachinesThatExistedBeforeAreAdopted(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.94.0.0/16", settings{fleet: "db", size: 3})
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	made := []string{"db-main", "db-one", "db-two", "mail"}
	for _, name := range made {
		s.makeByHand(name)
	}
	before := s.evidence(made)
	s.tenLines()
	if now := s.evidence(made); !slices.Equal(now, before) {
		t.Fatalf("a preview leaves traces:\n%s\nbefore:\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
	}

	s.raise()
	s.stands()
	if now := s.evidence(made); !slices.Equal(now, before) {
		t.Fatalf("adoption leaves traces:\n%s\nbefore:\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
	}
	s.untouched(0)
	m := s.machine("db-2")
	if m.Alias != "db-one" || m.Adoption != "kept" {
		t.Errorf("db-2 is %+v", m)
	}
	why, err := s.hale.command(s.within(moment), "why", "db-one")
	s.must(err)
	if !strings.Contains(why, "db-2 (db-one) is healthy") {
		t.Errorf("hale why db-one says:\n%s", why)
	}

	// One that dies is started, as the same machine; another owner's is left as it is.
	mark := s.journal.mark()
	s.must(s.lab.KillQEMU(s.within(moment), "mail"))
	s.must(s.lab.KillQEMU(s.within(moment), "db-one"))
	s.wantCalls(s.healed("db-2", mark), "start")
	s.alone("db-2", mark)
	s.stands()
	s.sameButFor(before, "db-one", "mail")
	if now := s.machine("db-2"); now.Instance != m.Instance || now.Generation != m.Generation {
		t.Errorf("db-one is %s (generation %d), and was %s (generation %d)",
			now.Instance, now.Generation, m.Instance, m.Generation)
	}

	// One that falls silent is reset, and goes on in the same process.
	mark, running := s.journal.mark(), s.evidence([]string{"db-two"})
	s.must(s.lab.Break(s.within(moment), "db-two", lab.FaultNoNet))
	s.wantCalls(s.healed("db-3", mark), "reboot")
	s.stands()
	if now := s.evidence([]string{"db-two"}); !slices.Equal(now, running) {
		t.Errorf("a reset made another machine of it: %v, and it was %v", now, running)
	}
	s.sameButFor(before, "db-one", "mail")
	s.lawful()
}

// makeByHand defines a machine, starts it, and waits until it serves.
func (s stage) makeByHand(name string) { s.Helper(); s.makeOn(s.lab, lab.DomainSpec{Name: name}) }

// makeOn does so on the host.
func (s stage) makeOn(host *lab.Lab, spec lab.DomainSpec) {
	s.Helper()
	file := filepath.Join(s.TempDir(), spec.Name+".xml")
	s.must(os.WriteFile(file, []byte(host.DomainXML(spec)), 0o600))
	for _, args := range [][]string{{"define", file}, {"start", spec.Name}} {
		_, err := host.Virsh(s.within(patience), args...)
		s.must(err)
	}
	_, err := host.AwaitPage(s.within(patience), spec.Name)
	s.must(err)
}

// tenLines lets hale write its configuration.
func (s stage) tenLines() {
	s.Helper()
	file := s.hale.path("hale.yaml")
	s.must(os.Remove(file))
	out, err := s.hale.command(s.within(patience), "adopt", "--uri", s.lab.URI(), "--name", "db-*", "--write", file)
	s.must(err)
	if !strings.Contains(out, "3 machines called db-*, 3 would be adopted at once") || strings.Contains(out, "mail") {
		s.Errorf("hale adopt says:\n%s", out)
	}
	written, err := os.ReadFile(file)
	s.must(err)
	if lines := strings.Count(string(written), "\n"); lines > 10 {
		s.Errorf("the configuration has %d lines:\n%s", lines, written)
	}
}

// evidence is what a restart of the machines, or a write to them, would change: processes and definitions.
func (s stage) evidence(names []string) []string {
	s.Helper()
	processes, err := s.lab.Processes(s.within(moment))
	s.must(err)
	var out []string
	for _, name := range names {
		definition, err := s.lab.Virsh(s.within(moment), "dumpxml", "--inactive", name)
		s.must(err)
		at := slices.IndexFunc(processes, func(p lab.Process) bool { return p.Domain == name })
		if at < 0 {
			s.Fatalf("%s has no process", name)
		}
		out = append(out, fmt.Sprintf("%+v\n%s", processes[at], definition))
	}
	return out
}

// sameButFor compares the machines with their evidence from before: all run as they did, but for the others.
func (s stage) sameButFor(before []string, others ...string) {
	s.Helper()
	for _, name := range []string{"db-main", "db-one", "db-two", "mail"} {
		if !slices.Contains(others, name) && !slices.Contains(before, s.evidence([]string{name})[0]) {
			s.Errorf("%s is not as it was", name)
		}
	}
	domains, err := s.lab.Domains(s.within(moment))
	s.must(err)
	if at := slices.IndexFunc(domains, func(d lab.Domain) bool { return d.Name == "mail" }); at < 0 ||
		domains[at].State != "shut off" {
		s.Errorf("a machine of another owner was touched: %+v", domains)
	}
}
