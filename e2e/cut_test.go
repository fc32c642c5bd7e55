package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/program/programtest"
)

// cutProgram is what an operator writes for a switch: it closes what leads to a host, and asks whether that is closed.
// A question that fails is no answer.
const cutProgram = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
case $HALE_ACTION in
status) tables=$(nft list tables) || exit 1
	case $tables in *" %[1]s"*) exit 4 ;; esac ;;
cut) nft -f "$0.rules" ;;
uncut) nft delete table inet %[1]s ;;
esac
`

// cutFences is the one way to be sure of host a.
const cutFences = `  ports: {cut: {command: [%q], of: network}, timeout: 5s, settle: 1s, attempts: 1}`

// TestS51AMachineIsBuiltAnewWhenItsHostIsCutFromTheNetwork parts hale from a host without a power fence. The host's
// network is cut instead, and the machine is built on the other one while the old one runs on, unreachable. The cut
// stays until the old one is gone.
func TestS51AMachineIsBuiltAnewWhenItsHostIsCutFromTheNetwork(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.82.0.0/16", "10.83.0.0/16")
	parted, ports := s.wall(a, "parted"), s.wall(a, "cut")
	program := s.hale.path("ports")
	s.must(programtest.Write(program, fmt.Sprintf(cutProgram, ports.table)))
	s.must(os.WriteFile(program+".rules", []byte(ports.text), 0o600))
	s.spread(a, fmt.Sprintf(cutFences, program), "steps: [recreate], fence: {proof: access-cut, hosts: off}")
	old := s.on("a")
	if err := s.reaches(old); err != nil {
		t.Fatalf("nothing is wrong yet: %v", err)
	}

	mark := s.journal.mark()
	parted.close()
	s.must(a.lab.FreezeLibvirtd(s.within(moment)))
	created := s.event("it is built anew", mark, of(old.Name, intent("create")))
	before := slices.DeleteFunc(s.after(mark), func(e api.Event) bool {
		return e.Machine != old.Name || e.Seq > created.Seq
	})
	if n := count(before, func(e api.Event) bool { return e.Kind == "proof" && e.Proof == "access-cut" }); n == 0 {
		t.Error("built without proof that the host is cut")
	}
	if !ports.closed() {
		t.Error("built, and the host is not cut")
	}
	s.event("a person is told", mark, of(old.Name, because("paged", "host-cut")))
	s.healed(old.Name, mark)
	if m := s.machine(old.Name); m.Host != "b" || m.Instance == old.Instance {
		t.Errorf("%+v", m)
	}

	parted.open()
	s.idle(quiet)
	if err := s.runsOn(a, old); err != nil {
		t.Error(err)
	}
	if s.reaches(old) == nil {
		t.Error("the old one answers: the cut is none")
	}
	if out, err := s.hale.command(s.within(moment), "fence", "uncut", "a"); err == nil ||
		!strings.Contains(err.Error(), "an old instance of "+old.Name) {
		t.Errorf("uncut while an old instance runs there: %s, %v", out, err)
	}
	if !ports.closed() {
		t.Error("the cut was undone, and the old one runs")
	}

	s.must(a.lab.ThawLibvirtd(s.within(moment)))
	s.await("the old one is gone", func() error {
		if s.runsOn(a, old) == nil {
			return errors.New("it runs")
		}
		return nil
	})
	if !ports.closed() {
		t.Error("hale undid the cut by itself")
	}
	s.await("a person may undo the cut", func() error {
		_, err := s.hale.command(s.within(moment), "fence", "uncut", "a")
		return err
	})
	if ports.closed() {
		t.Error("the host is cut still")
	}
	s.stands()
}

// runsOn returns nil when the instance's process is there, whatever libvirt says.
func (s stage) runsOn(b *box, m api.Machine) error {
	s.Helper()
	processes, err := b.lab.Processes(s.within(moment))
	s.must(err)
	for _, p := range processes {
		if p.UUID == m.Instance {
			return nil
		}
	}
	return fmt.Errorf("instance %s of %s does not run", m.Instance, m.Name)
}

// reaches asks the instance for its page, where it was last seen.
func (s stage) reaches(m api.Machine) error {
	asking := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+m.Address+"/", http.NoBody)
	s.must(err)
	r, err := asking.Do(q)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

// wall lets nothing out of a host: what its machines send is dropped. It is open at first. What is sent to them goes,
// since a switch would not refuse it as this kernel would.
type wall struct {
	stage
	table, text string
}

func (s stage) wall(b *box, name string) wall {
	s.Helper()
	bridge := b.lab.Info().Bridge
	return s.wallOf(name+"_"+bridge, fmt.Sprintf(`
	chain in { type filter hook input priority 0; iifname %[1]q drop; }
	chain through { type filter hook forward priority 0; iifname %[1]q drop; oifname %[1]q drop; }`, bridge))
}

// wallOf is a wall of these chains.
func (s stage) wallOf(name, chains string) wall {
	s.Helper()
	w := wall{s, name, fmt.Sprintf("table inet %s {%s\n}\n", name, chains)}
	s.Cleanup(func() {
		if w.closed() {
			w.open()
		}
	})
	return w
}

func (w wall) close() { w.Helper(); w.nft(w.text, "-f", "-") }

func (w wall) open() { w.Helper(); w.nft("", "delete", "table", "inet", w.table) }

func (w wall) closed() bool {
	w.Helper()
	return strings.Contains(w.nft("", "list", "tables"), " "+w.table)
}

// nft runs after the test's end, too.
func (w wall) nft(input string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(context.Background(), "/usr/sbin/nft", args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("nft %v: %v: %s", args, err, out)
	}
	return string(out)
}
