package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/cloud"
)

// DiskBoots is what the hypervisor has for the server's disk.
func (h *harness) DiskBoots(t providertest.T, ref provider.Ref) int {
	t.Helper()
	n, err := cloud.Running().Boots(h.person().find(t, ref.ID).ID)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// images returns those in Glance that were made of servers, of the project and with the property.
func (p *person) images(t providertest.T, property, value string) []images.Image {
	t.Helper()
	all := every(t, images.List(p.image, images.ListOpts{Visibility: images.ImageVisibilityPrivate}),
		images.ExtractImages)
	return slices.DeleteFunc(all, func(i images.Image) bool { return i.Properties[property] != value })
}

func (h *harness) copies(t providertest.T, name fleet.SnapshotName) []images.Image {
	t.Helper()
	return slices.DeleteFunc(h.person().images(t, "hale_installation", string(name.Installation)),
		func(i images.Image) bool {
			return i.Properties["hale_snapshot"] != string(name.ID) ||
				i.Properties["hale_machine"] != string(name.Machine)
		})
}

func (h *harness) Copies(t providertest.T, name fleet.SnapshotName) int {
	t.Helper()
	return len(h.copies(t, name))
}

// CopiedBoots reads the image.
func (h *harness) CopiedBoots(t providertest.T, name fleet.SnapshotName, c fleet.Copy) int {
	t.Helper()
	for _, i := range h.copies(t, name) {
		if strings.HasPrefix(c.Where, "image "+i.ID+" ") {
			return h.person().bootsIn(t, i)
		}
	}
	t.Fatalf("there is no image of %+v", c)
	return 0
}

func (p *person) bootsIn(t providertest.T, i images.Image) int {
	t.Helper()
	data, err := imagedata.Download(t.Context(), p.image, i.ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var n int
	if _, err := fmt.Fscanf(data, "boots %d\n", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestACopyIsMadeBeforeTheServerGoes: a server that cannot be started any more is copied, and replaced; an image that
// Nova gives up is made again, and hale removes none of it with the server.
func TestACopyIsMadeBeforeTheServerGoes(t *testing.T) {
	m := newMachines(t, theCloud+`
fleets:
  web:
    provider: cloud
    size: 1
    `+template+`
    repair: {steps: [start: {timeout: 15s, verify_within: 15s}, snapshot: {timeout: 1m}, recreate: {}], backoff: 0s}
    grace: 5s
`, "web-1")
	old := m.awaitWell("the first build")["web-1"].ID
	for _, o := range []cloud.Operation{cloud.PowerOn, cloud.Copy} {
		if err := cloud.Running().Fail(old, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := cloud.Running().Crash(old); err != nil {
		t.Fatal(err)
	}
	m.await("a copy that fails", func() (string, bool) {
		for e, err := range m.client.Events(t.Context(), api.EventsQuery{}) {
			if err != nil {
				return err.Error(), false
			}
			if e.Op == "snapshot" && strings.Contains(e.Detail, "gave up the image") {
				return "", true
			}
		}
		return "none", false
	})
	if now := m.all()["web-1"].ID; now != old {
		t.Fatalf("it is server %s, and was %s: replaced without a copy", now, old)
	}
	if err := cloud.Running().Mend(old, cloud.Copy); err != nil {
		t.Fatal(err)
	}
	if now := m.awaitWell("copied and replaced")["web-1"].ID; now == old {
		t.Error("it is the old server")
	}
	made := m.person.images(t, "hale_machine", "web-1")
	t.Cleanup(func() {
		for _, i := range made {
			images.Delete(context.WithoutCancel(t.Context()), m.person.image, i.ID)
		}
	})
	if len(made) != 1 || made[0].Status != images.ImageStatusActive || made[0].Properties["instance_uuid"] != old {
		t.Fatalf("there are %+v", made)
	}
	if n := m.person.bootsIn(t, made[0]); n != 1 {
		t.Errorf("in the copy its guest booted %d times", n)
	}
	if said := m.says("evidence", "web-1"); !strings.Contains(said, made[0].ID) {
		t.Errorf("hale evidence does not name image %s:\n%s", made[0].ID, said)
	}
}
