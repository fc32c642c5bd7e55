package openstack

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"hale/internal/testbed/cloud"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrrxM2l3BqTqLhTQG2nkGWnuxIuVeKLVOELSXmZnAhl"

// furnish makes what a template can name beside image, flavor and network, until the test ends; it returns the ids of
// the two groups.
func furnish(t *testing.T, p *person) (securityGroup, serverGroup string) {
	t.Helper()
	open, err := groups.Create(t.Context(), p.network, groups.CreateOpts{Name: "web"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	apart, err := servergroups.Create(t.Context(), p.compute, servergroups.CreateOpts{
		Name:   "web-apart",
		Policy: "soft-anti-affinity",
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keypairs.Create(t.Context(), p.compute, keypairs.CreateOpts{
		Name:      "operators",
		Type:      "ssh",
		PublicKey: publicKey,
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for what, err := range map[string]error{
			"security group": groups.Delete(ctx, p.network, open.ID).Err,
			"server group":   servergroups.Delete(ctx, p.compute, apart.ID).Err,
			"key pair":       keypairs.Delete(ctx, p.compute, "operators", nil).Err,
		} {
			if err != nil {
				t.Errorf("the %s stays: %v", what, err)
			}
		}
	})
	return open.ID, apart.ID
}

// TestS48RecreatedWithTheGivenParameters: the server that a recreate builds is what the template says in every word, as
// the first one was; and its port, which the template keeps, is the same.
func TestS48RecreatedWithTheGivenParameters(t *testing.T) {
	demo, admin := newPerson(t, cloud.Demo), newPerson(t, cloud.Admin)
	securityGroup, serverGroup := furnish(t, demo)
	m := newMachines(t, theCloud+`
fleets:
  web:
    provider: cloud
    size: 1
    template:
      image: tiny
      network: private
      disks: {root: ephemeral}
      user_data: "#cloud-config"
      metadata: {role: front}
      server:
        flavor: m1.micro
        networks: [shared]
        keep_port: true
        security_groups: [web]
        server_group: web-apart
        keypair: operators
        zone: nova
        config_drive: true
    repair: {steps: [recreate: {}]}
    grace: 5s
`, "web-1")
	first, port := m.given("the first build", admin, securityGroup, serverGroup)
	if err := servers.ResetState(t.Context(), admin.compute, first, servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("ERROR to be seen", func() (string, bool) {
		f, err := m.status()
		return fmt.Sprint(f.Healthy, err), err == nil && f.Healthy == 0
	})
	second, kept := m.given("the recreate", admin, securityGroup, serverGroup)
	if second == first || kept != port {
		t.Errorf("it was server %s with port %s, and is %s with %s", first, port, second, kept)
	}
}

// given waits for web-1 and compares it with the template; it returns Nova's id, and its port with the address.
func (m *machines) given(what string, admin *person, securityGroup, serverGroup string) (id, port string) {
	m.Helper()
	id = m.awaitWell(what)["web-1"].ID
	s, err := servers.Get(m.Context(), admin.compute, id).Extract()
	if err != nil {
		m.Fatal(err)
	}
	bound := m.ports()[0]
	for name, is := range map[string]bool{
		"flavor": s.Flavor["original_name"] == cloud.Bigger,
		"networks": len(s.Addresses) == 2 && s.Addresses[cloud.Network] != nil &&
			s.Addresses[cloud.Shared] != nil,
		"user data": s.Userdata != nil &&
			*s.Userdata == base64.StdEncoding.EncodeToString([]byte("#cloud-config")),
		"metadata":       s.Metadata["role"] == "front",
		"server group":   s.ServerGroups != nil && slices.Equal(*s.ServerGroups, []string{serverGroup}),
		"key pair":       s.KeyName == "operators",
		"zone":           s.AvailabilityZone == "nova",
		"config drive":   s.ConfigDrive,
		"port":           bound.DeviceID == id,
		"security group": slices.Equal(bound.SecurityGroups, []string{securityGroup}),
	} {
		if !is {
			m.Errorf("%s: the %s is not as the template says: %+v, its port %+v", what, name, s, bound)
		}
	}
	return id, bound.ID + fmt.Sprint(bound.FixedIPs)
}
