package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
)

// The commonest nights, on real machines and at default settings.

// addressedHosts is a provider with two hosts, a and b. Each host has its own address.
const addressedHosts = `  lab:
    type: libvirt
    state_dir: %q
    hosts: [{name: a, uri: %q, address: %s}, {name: b, uri: %q, address: %s}]`

// minimalFleet sets only what a fleet needs: hale runs it with its defaults.
const minimalFleet = `      seed: true
      disks: {}
    checks: {alive: {ping: {}}}`

// mute keeps a guest from reporting that its kernel panicked: it just stands still.
const mute = `      user_data: "#!/bin/sh\nrmmod pvpanic_mmio\nrmmod pvpanic_pci\nrmmod pvpanic\n"
`

// standsStill is how long a hang may last beside the boot that ends it.
const standsStill = 30 * time.Second

// TestS74HostsThatLosePowerAreBackWithTheirMachines takes the power from one of two hosts, and then from both. They
// come back with their machines off, and have forgotten why. Hale starts the machines of both fleets, all at once,
// sends no page, and builds nothing anew. What a person stopped before stays off.
func TestS74HostsThatLosePowerAreBackWithTheirMachines(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.110.0.0/16", "10.111.0.0/16")
	b := &box{lab: s.lab}
	s.settings.fleet, s.settings.also = "web", []string{"db"}
	s.onBoth(a, minimalFleet)
	s.raise()
	s.stands()

	run.scene()
	mark := s.journal.mark()
	s.powerFails(a)
	dead := s.onHost("a")
	if len(dead) != 2 {
		t.Fatalf("%d machines are on host a: %+v", len(dead), dead)
	}
	for _, m := range dead {
		s.event("hale sees that it is dead", mark, of(m.Name, verdict("unhealthy")))
	}
	s.comesBack(mark, dead, a)

	run.scene()
	held := dead[0].Name
	mark = s.journal.mark()
	s.must(a.lab.Destroy(s.within(moment), held))
	s.event("it is held", mark, of(held, because("held", "stopped-by-person")))
	mark = s.journal.mark()
	s.powerFails(a)
	s.powerFails(b)
	s.event("the provider is down", mark, because("provider", "down"))
	others := slices.DeleteFunc(s.onHost(""), func(m api.Machine) bool { return m.Name == held })
	for _, m := range others {
		s.event("hale sees that it is dead", mark, of(m.Name, verdict("unhealthy")))
	}
	s.comesBack(mark, others, a, b)
	s.idle(quiet)
	stopped := slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != held })
	if ops := calls(stopped); len(ops) > 0 {
		t.Errorf("a person stopped %s, and hale ordered %v", held, ops)
	}
	if m := s.machine(held); m.Waiting.Code != "stopped-by-person" || m.Cause != "stopped" {
		t.Errorf("%s is held as %+v", held, m)
	}
	s.lawful()
}

// powerFails ends all that runs on the host, and its daemon with all that it knows of what ran.
func (s stage) powerFails(b *box) {
	s.Helper()
	s.must(b.lab.KillLibvirtd(s.within(moment)))
	processes, err := b.lab.Processes(s.within(moment))
	s.must(err)
	for _, p := range processes {
		s.must(b.lab.KillQEMU(s.within(moment), p.Domain))
	}
	left, err := filepath.Glob(filepath.Join(b.lab.Info().Dir, "run", "qemu", "*"))
	s.must(err)
	for _, file := range left {
		s.must(os.RemoveAll(file))
	}
}

// comesBack turns the hosts on, and checks that hale starts these machines, and does nothing else to them.
func (s stage) comesBack(mark int, dead []api.Machine, hosts ...*box) {
	s.Helper()
	begin := time.Now()
	for _, b := range hosts {
		s.must(b.lab.StartLibvirtd(s.within(patience)))
	}
	for _, m := range dead {
		story := s.healed(m.Name, mark)
		s.wantCalls(story, "start")
		now := s.machine(m.Name)
		if now.Instance != m.Instance || now.Host != m.Host {
			s.Errorf("%s was instance %s on %s, and is %s on %s", m.Name, m.Instance, m.Host, now.Instance, now.Host)
		}
	}
	s.Logf("%d machines are healthy %.1f s after their hosts were back", len(dead), time.Since(begin).Seconds())
	s.nobodyTold(mark)
}

func (s stage) nobodyTold(mark int) {
	s.Helper()
	for _, e := range s.after(mark) {
		if e.Kind == "paged" {
			s.Errorf("a person was told: %s", e.Text)
		}
	}
}

// TestL04S19AWayThatIsCutIsNoFailureAndAMachineThatHangsIsOne has hale in a network of its own. Its way to a host with
// two machines is cut, while all others reach them: nothing is touched, a person is told once, and it is over when the
// way is back. It is cut once more, and one of the two halts: its processors stand still, so hale resets it, and leaves
// the other one alone. Then one machine hangs beside another one, and one that is alone on its host, where only the
// host's own address answers: both are reset.
func TestL04S19AWayThatIsCutIsNoFailureAndAMachineThatHangsIsOne(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.112.0.0/16", "10.113.0.0/16")
	s.settings.fleet, s.settings.size = "web", 3
	s.apart()
	s.onBoth(a, mute+minimalFleet+"\n    blind_after: 8s")
	s.raise()
	s.stands()
	crowded, lonely := a, &box{lab: s.lab}
	two, one := s.onHost("a"), s.onHost("b")
	if len(two) == 1 {
		crowded, lonely, two, one = lonely, crowded, one, two
	}

	run.scene()
	before, err := crowded.lab.Processes(s.within(moment))
	s.must(err)
	mark, way := s.journal.mark(), s.cutFrom(crowded)
	way.close()
	for _, m := range two {
		s.event("it is held", mark, of(m.Name, because("held", "no-witness")))
		if err := s.reaches(m); err != nil {
			t.Errorf("%s serves all others: %v", m.Name, err)
		}
	}
	if why := s.says("why", two[0].Name); !strings.Contains(why, "only the way there may be broken") {
		t.Errorf("hale why says:\n%s", why)
	}
	s.event("a person is told", mark, because("paged", "no-witness"))
	s.idle(quiet)
	told := count(s.after(mark), func(e api.Event) bool {
		return e.Kind == "paged" && (e.Joint == "" || e.Machine == "")
	})
	if told != 1 {
		t.Errorf("a person was told %d times", told)
	}
	way.open()
	for _, m := range two {
		s.event("it is over", mark, of(m.Name, because("incident-closed", "recovered")))
	}
	s.stands()
	s.untouched(mark)
	if now, err := crowded.lab.Processes(s.within(moment)); err != nil || !slices.Equal(now, before) {
		t.Errorf("the processes were %+v, and are %+v: %v", before, now, err)
	}

	run.scene()
	s.haltsOutOfSight(crowded, two[0], two[1])
	run.scene()
	s.hangsAndIsReset(crowded.lab, two[0])
	run.scene()
	s.hangsAndIsReset(lonely.lab, one[0])
	s.lawful()
}

// TestS19AFleetOfOneThatHangsIsReset has a kernel stand still, which is all that there is on its host: that the host's
// own address answers is witness enough.
func TestS19AFleetOfOneThatHangsIsReset(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.114.0.0/16", settings{fleet: "solo", size: 1, fleetYAML: mute + minimalFleet})
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	s.raise()
	s.stands()
	run.scene()
	s.hangsAndIsReset(s.lab, s.machine("solo-1"))
	s.lawful()
}

// haltsOutOfSight cuts hale's way to a host and has one of its two machines halt.
func (s stage) haltsOutOfSight(on *box, halts, lives api.Machine) {
	s.Helper()
	mark, way := s.journal.mark(), s.cutFrom(on)
	way.close()
	for _, m := range []api.Machine{halts, lives} {
		s.event("it is held", mark, of(m.Name, because("held", "no-witness")))
	}
	s.must(on.lab.Break(s.within(moment), halts.Name, lab.FaultHalt))
	s.event("it is reset", mark, of(halts.Name, intent("reboot")))
	way.open()
	s.wantCalls(s.healed(halts.Name, mark), "reboot")
	s.stands()
	if n := count(s.after(mark), of(lives.Name, kind("intent"))); n != 0 {
		s.Errorf("%d calls went to %s, which lived", n, lives.Name)
	}
}

// hangsAndIsReset has the machine's kernel stand still without a report, and checks that hale resets it in time.
func (s stage) hangsAndIsReset(on *lab.Lab, m api.Machine) {
	s.Helper()
	before, err := on.ReadPage(s.within(moment), m.Name)
	s.must(err)
	mark := s.journal.mark()
	s.must(on.Break(s.within(moment), m.Name, lab.FaultPanic))
	s.await("it stands still", func() error {
		if s.reaches(m) == nil {
			return errors.New("it answers")
		}
		return nil
	})
	begin := time.Now()
	reset := s.event("it is reset", mark, of(m.Name, intent("reboot")))
	page, err := on.AwaitPage(s.within(patience), m.Name)
	s.must(err)
	boot := time.Since(reset.At)
	if page.BootID == before.BootID || page.SeedInstance != before.SeedInstance {
		s.Errorf("before: %+v\nafter: %+v", before, page)
	}
	s.wantCalls(s.healed(m.Name, mark), "reboot")
	s.nobodyTold(mark)
	took := time.Since(begin)
	s.Logf("%s was healthy %.1f s after it stood still; its boot took %.1f s", m.Name, took.Seconds(), boot.Seconds())
	if took > standsStill+boot {
		s.Errorf("that is %s too late", took-standsStill-boot)
	}
	s.stands()
}

// onBoth writes the configuration of a provider of both hosts, where the box is the first, and of the fleets.
func (s stage) onBoth(a *box, fleet string) {
	s.Helper()
	state := s.TempDir()
	s.must(os.Chmod(state, 0o711)) // QEMU goes through it
	s.configure(func(set *settings) {
		set.providerYAML = fmt.Sprintf(addressedHosts, state, a.lab.URI(), gateway(a.lab), s.lab.URI(), gateway(s.lab))
		set.fleetYAML = fleet
	})
}

// gateway is the address that a lab's host has towards its guests.
func gateway(l *lab.Lab) netip.Addr { return l.Info().Subnet.Addr().Next() }

// onHost lists the machines on the host, of all fleets; empty: on any.
func (s stage) onHost(host string) []api.Machine {
	s.Helper()
	fleets, err := s.fleets()
	s.must(err)
	var out []api.Machine
	for _, f := range fleets {
		for _, m := range f.Machines {
			if host == "" || m.Host == host {
				out = append(out, m)
			}
		}
	}
	return out
}
