package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/lab/bmc"
)

// fencedHosts is a provider of two hosts; one has a fence.
const fencedHosts = `  lab:
    type: libvirt
    state_dir: %q
    hosts: [{name: a, uri: %q, fence: [%s]}, {name: b, uri: %q}]
fences:
%s`

// bmcFences is a power controller.
const bmcFences = `  bmc: {redfish: {url: %q, user: fence, password: {file: %q}, ca: %q}, timeout: 3s, settle: 1s, attempts: 1}`

// spreadFleet is a fleet on both, with what its repair says of the step and of fencing.
const spreadFleet = `      seed: true
      disks: {}
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
    build_within: 1m
    silence: act
    repair: {attempts: 50 in 1h, backoff: 500ms, %s}`

// TestS51NothingIsBuiltInThePlaceOfAMachineWhoseHostIsNotProvenOff cuts hale off from a host; the machine on it runs
// on. As long as the host's power controller does not answer, nothing is built. When it does, the host is turned off,
// and only then the machine is built on the other one. Leftovers go when the host is back.
func TestS51NothingIsBuiltInThePlaceOfAMachineWhoseHostIsNotProvenOff(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.86.0.0/16", "10.87.0.0/16")
	controller, fences := s.powered(a)
	s.spread(a, fences, "steps: [recreate], fence: {hosts: off}")
	victim := s.on("a")

	controller.Break(bmc.Faults{Dead: true})
	mark := s.journal.mark()
	s.must(a.lab.LinkDown(s.within(moment), victim.Name))
	s.must(a.lab.FreezeLibvirtd(s.within(moment)))
	s.event("a person is told that there is no proof", mark, of(victim.Name, because("paged", "fence-failed")))
	s.idle(quiet)
	if ops := slices.DeleteFunc(calls(s.after(mark)), func(op string) bool { return op == "fence" }); len(ops) > 0 {
		t.Errorf("hale ordered %v without proof", ops)
	}
	if on, err := a.On(); err != nil || !on {
		t.Errorf("host a is on: %v, %v; want on, since its controller does not answer", on, err)
	}
	if why := s.says("why", victim.Name); !strings.Contains(why, "nothing proved its host off") {
		t.Errorf("hale why says:\n%s", why)
	}

	controller.Break(bmc.Faults{})
	created := s.event("it is built anew", mark, of(victim.Name, intent("create")))
	if off := a.off.Load(); off == nil || off.After(created.At) {
		t.Errorf("built at %s, and the host went off at %s", created.At, off)
	}
	before := slices.DeleteFunc(s.after(mark), func(e api.Event) bool {
		return e.Machine != victim.Name || e.Seq > created.Seq
	})
	if n := count(before, func(e api.Event) bool { return e.Kind == "proof" && e.Proof == "host-off" }); n == 0 {
		t.Error("built without proof that the host is off")
	}
	s.healed(victim.Name, mark)
	s.await("it stands on b", func() error {
		if m := s.machine(victim.Name); m.Host != "b" || m.Verdict != "healthy" || !m.Certified {
			return fmt.Errorf("it is %s on %s", m.Verdict, m.Host)
		}
		return nil
	})

	s.must(a.lab.StartLibvirtd(s.within(moment)))
	s.await("what was left on a is gone", func() error {
		domains, err := a.lab.Domains(s.within(moment))
		if err == nil && len(domains) > 0 {
			err = fmt.Errorf("there are %+v", domains)
		}
		return err
	})
	s.stands()
	s.lawful()
}

// TestS50WhatCannotBeDeletedIsLeftToAPersonUnlessThePolicyGoesOn takes from libvirtd what it needs to forget a machine.
// Nothing is built in its place, and a person is told. When the policy is to go on, the machine is built on the other
// host, and the two never run at once.
func TestS50WhatCannotBeDeletedIsLeftToAPersonUnlessThePolicyGoesOn(t *testing.T) {
	t.Parallel()
	s, a := twoHosts(t, "10.84.0.0/16", "10.85.0.0/16")
	_, fences := s.powered(a)
	s.spread(a, fences, "steps: [recreate]")
	victim := s.on("a")
	definition := filepath.Join(a.lab.Info().Dir, "etc", "qemu", victim.Name+".xml")
	s.must(os.Remove(definition))
	s.must(os.MkdirAll(filepath.Join(definition, "in the way"), 0o700))

	mark := s.journal.mark()
	s.must(a.lab.KillQEMU(s.within(moment), victim.Name))
	s.event("a person is told that it cannot be deleted", mark, of(victim.Name, because("paged", "delete-failed")))
	s.idle(quiet)
	if ops := calls(s.after(mark)); slices.Contains(ops, "create") {
		t.Errorf("hale ordered %v, and the old instance is still there", ops)
	}
	if m := s.machine(victim.Name); m.Instance != victim.Instance || m.Quarantine == nil {
		t.Errorf("%+v", m)
	}

	s.restart(func(set *settings) {
		set.fleetYAML = fmt.Sprintf(spreadFleet, "steps: [recreate: {on_delete_failure: continue}]")
	})
	mark = s.journal.mark()
	s.says("retry", victim.Name)
	s.event("its successor stands", mark, of(victim.Name, because("incident-closed", "healed")))
	if m := s.machine(victim.Name); m.Host != "b" || m.Instance == victim.Instance {
		t.Errorf("%+v", m)
	}
	s.lawful()

	s.must(os.RemoveAll(definition))
	_, err := a.lab.Virsh(s.within(moment), "undefine", victim.Name)
	s.must(err)
	s.stands()
	s.lawful()
}

// box is a lab in the place of a host with a power switch.
type box struct {
	lab *lab.Lab
	off atomic.Pointer[time.Time] // when it was turned off
}

// twoHosts are two hosts, a and b, in the given networks. The stage's own lab is b.
func twoHosts(t *testing.T, netA, netB string) (stage, *box) {
	t.Helper()
	s := newStage(t, netB, settings{fleet: "ha", size: 2})
	a := s.anotherHost(lab.Options{Subnet: netip.MustParsePrefix(netA)})
	t.Cleanup(func() {
		if t.Failed() {
			s.diagnose()
		}
	})
	return s, a
}

// anotherHost starts a second lab, with the same guest, and has the watchman look at both.
func (s stage) anotherHost(o lab.Options) *box {
	s.Helper()
	o.Guest = s.lab.Info().Guest
	l, err := lab.Start(s.Context(), o)
	s.must(err)
	s.Cleanup(func() {
		if err := l.Close(); err != nil {
			s.Error(err)
		}
	})
	s.watchman.end()
	s.watchman = watch(s.lab, l)
	return &box{lab: l}
}

// On implements bmc.Machine.
func (b *box) On() (bool, error) { return b.off.Load() == nil, nil }

// Set implements bmc.Machine: everything on the host ends at once. Set does not turn it on.
func (b *box) Set(to bmc.Power) error {
	if to == bmc.On || b.off.Load() != nil {
		return nil
	}
	return b.die()
}

// die ends everything on the host, as when its power fails.
func (b *box) die() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := b.lab.KillLibvirtd(ctx)
	processes, failed := b.lab.Processes(ctx)
	for _, p := range processes {
		err = errors.Join(err, b.lab.KillQEMU(ctx, p.Domain))
	}
	if err = errors.Join(err, failed); err == nil {
		now := time.Now()
		b.off.Store(&now)
	}
	return err
}

// powered gives a host a power controller, and says how hale asks it.
func (s stage) powered(b *box) (controller *bmc.Controller, fences string) {
	s.Helper()
	controller, server := newBMC(s.TB, b)
	keep := func(name, text string) string {
		path := s.hale.path(name)
		s.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	return controller, fmt.Sprintf(bmcFences, server.URL, keep("password", bmc.Password),
		keep("ca.pem", certificate(server)))
}

// spread has hale raise a fleet on both hosts. The first has a fence, with the one method given.
func (s stage) spread(a *box, fences, repair string) {
	s.Helper()
	s.spanBoth(a, fences)
	s.configure(func(set *settings) { set.fleetYAML = fmt.Sprintf(spreadFleet, repair) })
	s.raise()
	s.stands()
}

// spanBoth makes both hosts those of the provider. The first has a fence, with the one method given.
func (s stage) spanBoth(a *box, fences string) {
	s.Helper()
	state := s.TempDir()
	s.must(os.Chmod(state, 0o711)) // QEMU goes through it
	method, _, _ := strings.Cut(strings.TrimSpace(fences), ":")
	s.configure(func(set *settings) {
		set.providerYAML = fmt.Sprintf(fencedHosts, state, a.lab.URI(), method, s.lab.URI(), fences)
	})
}

// on returns the machine that is on the host.
func (s stage) on(host string) api.Machine {
	s.Helper()
	for m := range s.machines() {
		if m := s.machine(m); m.Host == host {
			return m
		}
	}
	s.Fatalf("no machine is on host %s", host)
	return api.Machine{}
}
