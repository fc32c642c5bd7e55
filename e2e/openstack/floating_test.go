package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/cloud"
)

func (h *harness) Addressed() policy.Template {
	t := h.Template()
	t.Server = &policy.Server{Flavor: cloud.Flavor, FloatingIP: cloud.External}
	return t
}

// Addresses are in Neutron, with the machine's name in their descriptions. The networks of the admin have no router, so
// that no machine there has one.
func (h *harness) Addresses(t providertest.T, o provider.Blueprint) []string {
	t.Helper()
	var found []string
	for _, f := range h.person().floating(t) {
		if strings.Contains(f.Description, string(o.Mark.Installation)) &&
			strings.Contains(f.Description, string(o.Mark.Machine)) {
			found = append(found, f.FloatingIP)
		}
	}
	slices.Sort(found)
	return found
}

// floating returns the project's floating addresses.
func (p *person) floating(t providertest.T) []floatingips.FloatingIP {
	t.Helper()
	return every(t, floatingips.List(p.network, floatingips.ListOpts{}), floatingips.ExtractFloatingIPs)
}

// TestS48FloatingAddresses: each machine has one of its own, by which hale asks for it from the first look on. It stays
// with the machine when its server is gone, is given back with the machine, and a person's stays a person's.
func TestS48FloatingAddresses(t *testing.T) {
	m := newStage(t, "web-1", "web-2")
	external := only(t, networks.List(m.person.network, networks.ListOpts{Name: cloud.External}),
		networks.ExtractNetworks).ID
	theirs, err := floatingips.Create(t.Context(), m.person.network, floatingips.CreateOpts{
		FloatingNetworkID: external,
		Description:       "a person's",
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := within{t, context.WithoutCancel(t.Context())}
		for _, f := range m.person.floating(ctx) {
			if f.ID == theirs.ID || strings.HasPrefix(f.Description, "hale address of web-") {
				floatingips.Delete(ctx.ctx, m.person.network, f.ID)
			}
		}
	})
	m.configure("hale.yaml", theCloud+`
fleets:
  web:
    provider: cloud
    size: 2
    template: {image: tiny, network: private, disks: {root: ephemeral}, server: {flavor: m1.nano, floating_ip: public}}
    repair: {steps: [recreate: {}]}
    grace: 5s
`)
	m.config = m.dir + "/hale.yaml"
	m.start()
	first := m.awaitWell("the first builds")
	had := m.addresses()
	if len(had) != 2 {
		t.Fatalf("the machines have the addresses %v", had)
	}
	for name, at := range had {
		if said := m.machine(name).Address; said != at {
			t.Errorf("hale has %s at %q, and its floating address is %s", name, said, at)
		}
	}

	if err := servers.Delete(t.Context(), m.person.compute, first["web-2"].ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("the deletion to be seen", func() (string, bool) {
		f, err := m.status()
		return fmt.Sprint(f.Healthy, err), err == nil && f.Healthy < 2
	})
	m.awaitWell("built anew")
	if now := m.addresses(); now["web-1"] != had["web-1"] || now["web-2"] != had["web-2"] ||
		m.machine("web-2").Address != had["web-2"] {
		t.Errorf("the machines have %v, had %v, and hale asks at %q", now, had, m.machine("web-2").Address)
	}

	m.names = []string{"web-1"}
	m.says("delete", "web-2")
	m.awaitWell("one machine less")
	if now := m.addresses(); len(now) != 1 || now["web-1"] != had["web-1"] {
		t.Errorf("the machines that are left have %v", now)
	}
	if !slices.ContainsFunc(m.person.floating(t), func(f floatingips.FloatingIP) bool { return f.ID == theirs.ID }) {
		t.Error("the person's address is gone")
	}
}

// addresses returns the machines' floating addresses by name. Each leads to the machine's server.
func (m *machines) addresses() map[string]string {
	m.Helper()
	at, all := map[string]string{}, m.ports()
	for _, f := range m.person.floating(m.T) {
		rest, ours := strings.CutPrefix(f.Description, "hale address of ")
		if !ours {
			continue
		}
		name, _, _ := strings.Cut(rest, " of ")
		if _, twice := at[name]; twice {
			m.Errorf("%s has two addresses", name)
		}
		at[name] = f.FloatingIP
		for _, p := range all {
			if p.Name == name && p.ID != f.PortID {
				m.Errorf("the address of %s is bound to %q, and its port is %s", name, f.PortID, p.ID)
			}
		}
	}
	return at
}
