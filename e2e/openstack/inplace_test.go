package openstack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"hale/internal/testbed/cloud"
)

// inPlace is a fleet of one server of the flavor, with the role in its metadata.
const inPlace = theCloud + `
fleets:
  web:
    provider: cloud
    size: 1
    template:
      image: tiny
      network: private
      disks: {root: ephemeral}
      metadata: {role: %s}
      server: {flavor: %s}
    repair: {steps: [recreate: {}]}
    update: {canary: 1, soak: 1s}
    grace: 5s
`

// TestS56AnotherFlavorInPlace: another flavor and other metadata come to the same server, which Nova resizes while it
// is off; other metadata alone, while it runs.
func TestS56AnotherFlavorInPlace(t *testing.T) {
	m := newMachines(t, fmt.Sprintf(inPlace, "front", "m1.nano"), "web-1")
	first := m.awaitWell("the first build")["web-1"]

	m.changes("another flavor", "back", cloud.Bigger)
	is := m.awaitWell("another flavor")["web-1"]
	if s := m.server(is.ID); is.ID != first.ID || s.Flavor["original_name"] != cloud.Bigger ||
		s.Metadata["role"] != "back" {
		t.Errorf("it was server %s, and is %s of flavor %v with %v", first.ID, is.ID, s.Flavor, s.Metadata)
	}
	said := m.says("events")
	if !strings.Contains(said, "in place") || strings.Contains(said, "delete") {
		t.Errorf("hale events says\n%s", said)
	}
	off := strings.Count(said, "asks the provider to power off")

	m.changes("other metadata", "front", cloud.Bigger)
	if s := m.server(is.ID); s.Metadata["role"] != "front" || s.Status != "ACTIVE" {
		t.Errorf("it is %s with %v", s.Status, s.Metadata)
	}
	if n := strings.Count(m.says("events"), "asks the provider to power off"); off != 1 || n != off {
		t.Errorf("it was turned off %d times for its flavor, and %d times in the end", off, n)
	}
}

// changes has a person write another template, and confirm what follows; it waits until that is in force.
func (m *machines) changes(what, role, flavor string) {
	m.Helper()
	before := strings.Count(m.says("events"), "is in force now")
	m.configure("hale.yaml", fmt.Sprintf(inPlace, role, flavor))
	m.says("reload")
	said := m.says("apply")
	_, rest, found := strings.Cut(said, "plan ")
	plan, _, _ := strings.Cut(rest, " ")
	if !found || !strings.Contains(said, "in place") {
		m.Fatalf("%s: hale apply says\n%s", what, said)
	}
	m.says("apply", "--confirm", plan)
	m.await(what+" to be in force", func() (string, bool) {
		said := m.says("events")
		return said, strings.Count(said, "is in force now") > before
	})
}

// server asks Nova for one.
func (m *machines) server(id string) *servers.Server {
	m.Helper()
	s, err := servers.Get(m.Context(), m.person.compute, id).Extract()
	if err != nil {
		m.Fatal(err)
	}
	return s
}
