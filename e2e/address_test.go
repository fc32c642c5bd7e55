package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/testbed/lab"
)

// overlapping is a fleet of adopted machines on two hosts with the same addresses in their networks.
const overlapping = `providers:
  lab:
    type: libvirt
    hosts: [{name: a, uri: %q}, {name: b, uri: %q}]
fleets:
  db:
    provider: lab
    select: {name: "db-*"}
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
      page: {http: {path: /healthz}, every: 500ms, timeout: 450ms, down_after: 3}
    repair: {steps: [start, reboot], attempts: 50 in 1h, backoff: 500ms}
`

// TestL04MachinesOnTwoHostsWithOneAddressAreNotJudgedByTheirChecks has two hosts with a network of their own each and
// the same subnet, as libvirt's default networks are: hale reaches a's guests, and none of b's. A guest of b gets the
// address of one on a. What answers there may be either, so neither is judged by it: when the one on a fails, hale
// touches neither, and says why. When the other one is off, the address is a's alone, and the machine is healed.
func TestL04MachinesOnTwoHostsWithOneAddressAreNotJudgedByTheirChecks(t *testing.T) {
	t.Parallel()
	const mac = "52:54:00:aa:bb:01"
	subnet := "10.109.0.0/16"
	s := newStage(t, subnet, settings{fleet: "db", size: 2})
	b := s.anotherHost(lab.Options{Subnet: netip.MustParsePrefix(subnet), OwnNetwork: true})
	t.Cleanup(func() {
		if t.Failed() {
			s.diagnose()
		}
	})
	s.makeOn(s.lab, lab.DomainSpec{Name: "db-one", MAC: mac})
	s.makeByHand("db-two")
	config := fmt.Sprintf(overlapping, s.lab.URI(), b.lab.URI())
	s.must(os.WriteFile(s.hale.path("hale.yaml"), []byte(config), 0o600))
	s.raise()
	one := s.called("db-one")
	s.await("both are healthy", func() error { return errors.Join(s.isHealthy("db-one"), s.isHealthy("db-two")) })

	s.makeOn(b.lab, lab.DomainSpec{Name: "db-far", MAC: mac})
	s.await("hale sees that two have one address", func() error {
		if m := s.called("db-far"); m.Address != one.Address {
			return fmt.Errorf("db-far has %q, db-one %q", m.Address, one.Address)
		}
		if why := s.says("why", "db-one"); !strings.Contains(why, "has the same address") {
			return errors.New(why)
		}
		return nil
	})

	mark := s.journal.mark()
	s.must(s.lab.Break(s.within(moment), "db-one", lab.FaultNoHTTP))
	s.idle(3 * quiet) // without the rule, one page stands for both, and one is reset within two seconds
	s.untouched(mark)
	for _, name := range []string{"db-one", "db-far"} {
		m := s.called(name)
		if m.Verdict == "healthy" || m.Verdict == "unhealthy" || m.Result != "shared-address" || m.Repair != nil {
			s.Errorf("%s is judged by an address that two have: %+v", name, m)
		}
	}
	if _, err := b.lab.ReadPage(s.within(moment), "db-far"); err != nil {
		s.Errorf("the machine on b, which is well: %v", err)
	}

	s.must(b.lab.Destroy(s.within(moment), "db-far"))
	s.wantCalls(s.healed(one.Name, mark), "reboot")
	s.await("the machine that failed is healthy", func() error { return s.isHealthy("db-one") })
	s.lawful()
}

// called returns the machine with the alias; the zero Machine before hale knows one.
func (s stage) called(alias string) api.Machine {
	s.Helper()
	f, err := s.fleet()
	s.must(err)
	for _, m := range f.Machines {
		if m.Alias == alias {
			return m
		}
	}
	return api.Machine{}
}

func (s stage) isHealthy(alias string) error {
	if m := s.called(alias); m.Verdict != "healthy" {
		return fmt.Errorf("%s is %q", alias, m.Verdict)
	}
	return nil
}
