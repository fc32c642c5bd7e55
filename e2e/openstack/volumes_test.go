package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/cloud"
)

// volumes returns those of the person's project.
func (p *person) volumes(t providertest.T) []volumes.Volume {
	t.Helper()
	return every(t, volumes.List(p.storage, volumes.ListOpts{}), volumes.ExtractVolumes)
}

// clearVolumes removes the volumes with this prefix that no server has.
func (p *person) clearVolumes(t providertest.T, prefix string) {
	t.Helper()
	for _, v := range p.volumes(t) {
		if !strings.HasPrefix(v.Name, prefix) {
			continue
		}
		err := volumes.Delete(t.Context(), p.storage, v.ID, nil).ExtractErr()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("volume %s, %s, stays: %v", v.Name, v.Status, err)
		}
	}
}

// stored is a fleet of one with a disk that it keeps. Its servers boot from a volume if the template says so.
func stored(server, steps string) string {
	return theCloud + `
fleets:
  web:
    provider: cloud
    size: 1
    template:
      image: tiny
      network: private
      disks: {root: ephemeral, data: {size: 2GiB, type: fast}}
      server: {flavor: m1.nano` + server + `}
    repair: {steps: [` + steps + `]}
    grace: 5s
`
}

// attached waits until all is well, and returns Nova's id of web-1 with the volumes that it has, by whether they go
// with it.
func (m *machines) attached(what string) (server string, kept, own []volumes.Volume) {
	m.Helper()
	server = m.awaitWell(what)["web-1"].ID
	goes := map[string]bool{}
	for _, a := range every(m.T, volumeattach.List(m.person.compute, server), volumeattach.ExtractVolumeAttachments) {
		goes[a.VolumeID] = a.DeleteOnTermination != nil && *a.DeleteOnTermination
	}
	for _, v := range m.person.volumes(m.T) {
		switch goes, has := goes[v.ID]; {
		case !has && len(v.Attachments) > 0: // another test's
		case !has:
			m.Errorf("%s: volume %s, %s, is no server's", what, v.ID, v.Status)
		case v.Status != "in-use":
			m.Errorf("%s: volume %s is %s", what, v.ID, v.Status)
		case goes:
			own = append(own, v)
		default:
			kept = append(kept, v)
		}
	}
	return server, kept, own
}

// TestS48TheDataOutlivesTheServer: a server is lost, in each way, and the next one has the very same volume, and its
// machine no other.
func TestS48TheDataOutlivesTheServer(t *testing.T) {
	m := newMachines(t, stored("", "recreate: {}"), "web-1")
	first, data, _ := m.attached("the first build")
	if len(data) != 1 || data[0].Size != 2 || data[0].VolumeType != cloud.Fast ||
		data[0].Metadata["hale_disk"] != "data" {
		t.Fatalf("it has %+v", data)
	}
	for what, lose := range map[string]func(id string) error{
		"ERROR": func(id string) error {
			return servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, id,
				servers.StateError).ExtractErr()
		},
		"deleted": func(id string) error { return servers.Delete(t.Context(), m.person.compute, id).ExtractErr() },
	} {
		if err := lose(first); err != nil {
			t.Fatal(err)
		}
		m.await(what+" to be seen", func() (string, bool) {
			f, err := m.status()
			return fmt.Sprint(f.Healthy, err), err == nil && f.Healthy == 0
		})
		next, now, _ := m.attached(what)
		if next == first || len(now) != 1 || now[0].ID != data[0].ID {
			t.Errorf("%s: it was server %s with %s, and is %s with %+v", what, first, data[0].ID, next, now)
		}
		first = next
	}
}

// TestS48AServerOnAVolumeIsRecreated: its root volume goes with it, the data stays.
func TestS48AServerOnAVolumeIsRecreated(t *testing.T) {
	m := newMachines(t, stored(", boot_volume: {size: 1GiB, type: fast}", "recreate: {}"), "web-1")
	first, data, root := m.attached("the first build")
	if len(data) != 1 || len(root) != 1 || root[0].Size != 1 || root[0].VolumeType != cloud.Fast ||
		root[0].Bootable != "true" {
		t.Fatalf("it has %+v and %+v", data, root)
	}
	if err := servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, first,
		servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("ERROR to be seen", func() (string, bool) {
		f, err := m.status()
		return fmt.Sprint(f.Healthy, err), err == nil && f.Healthy == 0
	})
	next, now, anew := m.attached("the recreate")
	if next == first || len(now) != 1 || now[0].ID != data[0].ID || len(anew) != 1 || anew[0].ID == root[0].ID {
		t.Errorf("it was server %s on %+v with %+v, and is %s on %+v with %+v", first, root, data, next, anew, now)
	}
}

// TestExamOnVolumes asks the exam of servers that boot from volumes. What is rebuilt gets the image anew, and is the
// same server on the same volume.
func TestExamOnVolumes(t *testing.T) {
	h := onVolumes{newHarness(t, cloud.Network)}
	t.Cleanup(func() { h.person().clearVolumes(within{t, context.WithoutCancel(t.Context())}, "exam-") })
	for _, c := range providertest.Cases(h) {
		for _, asked := range []string{"a created instance runs", "done once", "delete without an answer"} {
			if strings.Contains(c.Name, asked) {
				t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
			}
		}
	}
	for _, v := range h.person().volumes(t) {
		if !strings.HasPrefix(v.Name, "exam-") {
			t.Errorf("a volume is left: %q of %dGiB, %s, %v", v.Name, v.Size, v.Status, v.Attachments)
		}
	}
}

type onVolumes struct{ *harness }

// uncopied shows what the adapter can do with a server that boots from a volume: Nova makes no copy of that.
type uncopied interface {
	provider.Provider
	provider.Resumer
	provider.SoftRebooter
	provider.Rebuilder
}

func (h onVolumes) New(t providertest.T) provider.Provider {
	t.Helper()
	return struct{ uncopied }{h.harness.New(t).(uncopied)}
}

func (h onVolumes) Template() policy.Template {
	t := h.harness.Template()
	t.Server.BootVolume = policy.BootVolume{Size: 1 << 30}
	return t
}

// store is the order of a machine with a disk that it keeps.
func (h *harness) store() provider.Blueprint {
	template := h.Template()
	template.Disks = append(template.Disks, policy.Disk{Name: "data", Size: 1 << 30})
	return provider.Blueprint{
		Ref: provider.Ref{
			ID: fleet.InstanceID(uuid.NewString()),
			Mark: fleet.Mark{
				Installation: "volumes",
				Fleet:        "store",
				Machine:      "store-1",
				Generation:   1,
				Built:        time.Now(),
			},
		},
		Name: "store-1", Template: template,
	}
}

// TestARebuildWritesTheImageAnew on the volume that the server boots from: it is the same server on the same volume,
// with another image on it and the data beside.
func TestARebuildWritesTheImageAnew(t *testing.T) {
	h := newHarness(t, cloud.Network)
	p, person, order := h.New(t), h.person(), h.store()
	order.Template.Server.BootVolume = policy.BootVolume{Size: 1 << 30}
	next, err := images.Create(t.Context(), person.image, images.CreateOpts{
		Name:            "next",
		DiskFormat:      "raw",
		ContainerFormat: "bare",
	}).Extract()
	if err == nil {
		err = imagedata.Upload(t.Context(), person.image, next.ID, strings.NewReader("another")).ExtractErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := images.Delete(ctx, person.image, next.ID).ExtractErr(); err != nil {
			t.Error(err)
		}
		person.clearVolumes(within{t, ctx}, "store-")
	})
	if err := p.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.PowerOff(ctx, order.Ref), p.Delete(ctx, order.Ref)); err != nil {
			t.Error(err)
		}
	})
	running := func() (string, bool) {
		seen, err := p.Get(t.Context(), order.Ref)
		return fmt.Sprint(seen, err), seen.Power == fleet.PowerRunning
	}
	awaitEvery(t, time.Second, patience, "a server", running)
	before := person.imagesOn(t, person.find(t, order.ID).ID)
	if err := p.PowerOff(t.Context(), order.Ref); err != nil {
		t.Fatal(err)
	}
	order.Template.Image = "next"
	if err := p.(provider.Rebuilder).Rebuild(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	awaitEvery(t, time.Second, patience, "the rebuilt server", running)
	after := person.imagesOn(t, person.find(t, order.ID).ID)
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("the volumes had %v and have %v", before, after)
	}
	for id, image := range before {
		if want := map[string]string{cloud.Image: "next", "": ""}[image]; after[id] != want {
			t.Errorf("volume %s had %q and has %q", id, image, after[id])
		}
	}
}

// TestABuildThatFailsLetsGoOfTheData: no hypervisor has room for the server, which took the volume all the same. When
// it is deleted, the next one gets the volume.
func TestABuildThatFailsLetsGoOfTheData(t *testing.T) {
	h := newHarness(t, cloud.Network)
	p, person, admin, order := h.New(t), h.person(), newPerson(t, cloud.Admin), h.store()
	ctx := context.WithoutCancel(t.Context())
	disk := 1
	huge, err := flavors.Create(t.Context(), admin.compute, flavors.CreateOpts{
		Name:  "huge",
		RAM:   1 << 24,
		VCPUs: 1,
		Disk:  &disk,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flavors.Delete(ctx, admin.compute, huge.ID).ExtractErr(); err != nil {
			t.Error(err)
		}
		person.clearVolumes(within{t, ctx}, "store-")
	})
	flavor := order.Template.Server.Flavor
	order.Template.Server.Flavor = huge.ID
	if err := p.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	is := func(power fleet.Power) func() (string, bool) {
		return func() (string, bool) {
			seen, err := p.Get(t.Context(), order.Ref)
			return fmt.Sprint(seen, err), seen.Power == power
		}
	}
	awaitEvery(t, time.Second, patience, "a build that failed", is(fleet.PowerOff))
	first := person.stored(t)
	if err := p.Delete(t.Context(), order.Ref); err != nil {
		t.Fatal(err)
	}
	order.ID, order.Template.Server.Flavor = fleet.InstanceID(uuid.NewString()), flavor
	order.Mark.Generation++
	if err := p.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	awaitEvery(t, time.Second, patience, "a server", is(fleet.PowerRunning))
	if second := person.stored(t); len(first) != 1 || !slices.Equal(first, second) {
		t.Errorf("there was %q, and there is %q", first, second)
	}
	if err := errors.Join(p.PowerOff(t.Context(), order.Ref), p.Delete(t.Context(), order.Ref)); err != nil {
		t.Error(err)
	}
}

// TestNoServerIsDeletedWhileCinderIsAway: Nova would, and leave the volume attached to nothing. When Cinder is back the
// server goes, and the volume is free.
func TestNoServerIsDeletedWhileCinderIsAway(t *testing.T) {
	h := newHarness(t, cloud.Network)
	p, person, order := h.New(t), h.person(), h.store()
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { person.clearVolumes(within{t, ctx}, "store-") })
	if err := p.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	awaitEvery(t, time.Second, patience, "a server", func() (string, bool) {
		seen, err := p.Get(t.Context(), order.Ref)
		return fmt.Sprint(seen, err), seen.Power == fleet.PowerRunning
	})
	if err := p.PowerOff(t.Context(), order.Ref); err != nil {
		t.Error(err)
	}
	signal := func(sig syscall.Signal) {
		if err := cloud.Running().Signal(ctx, "cinder", sig); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	awake := sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(awake)
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	if err := p.Delete(soon, order.Ref); !fault.Is(err, fault.Transient) {
		t.Errorf("delete: %v", err)
	}
	cancel()
	if seen, err := p.Get(t.Context(), order.Ref); err != nil || seen.Power != fleet.PowerOff {
		t.Errorf("it is %+v, %v", seen, err)
	}
	awake()
	if err := p.Delete(t.Context(), order.Ref); err != nil {
		t.Error(err)
	}
	for _, v := range person.volumes(t) {
		if strings.HasPrefix(v.Name, "store-") && v.Status != "available" {
			t.Errorf("volume %s is %s", v.Name, v.Status)
		}
	}
}

// stored returns the ids of the volumes of the machine of store.
func (p *person) stored(t providertest.T) []string {
	t.Helper()
	var ids []string
	for _, v := range p.volumes(t) {
		if strings.HasPrefix(v.Name, "store-") {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// imagesOn returns what image is on each of the server's volumes; nothing on one that was made empty.
func (p *person) imagesOn(t providertest.T, server string) map[string]string {
	t.Helper()
	on := map[string]string{}
	for _, v := range p.volumes(t) {
		if len(v.Attachments) > 0 && v.Attachments[0].ServerID == server {
			on[v.ID] = v.VolumeImageMetadata["image_name"]
		}
	}
	return on
}

// TestVolumesThatCannotBeHad: each refusal of the real Cinder is of its kind, and leaves nothing.
func TestVolumesThatCannotBeHad(t *testing.T) {
	h := newHarness(t, cloud.Network)
	p, person := h.New(t), h.person()
	for what, c := range map[string]struct {
		shape func(*policy.Template)
		kind  fault.Kind
	}{
		"no such type":           {func(t *policy.Template) { t.Disks[1].Type = "absent" }, fault.Invalid},
		"no such zone":           {func(t *policy.Template) { t.Server.VolumeZone = "absent" }, fault.Invalid},
		"more than the quota":    {func(t *policy.Template) { t.Disks[1].Size = 5000 << 30 }, fault.Quota},
		"no storage can make it": {func(t *policy.Template) { t.Disks[1].Type = cloud.Absent }, fault.Permanent},
		"no server can be had":   {func(t *policy.Template) { t.Server.KeyPair = "absent" }, fault.Invalid},
	} {
		order := h.store()
		c.shape(&order.Template)
		if err := p.Create(t.Context(), order); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v (%s), want %s", what, err, fault.KindOf(err), c.kind)
		}
	}
	awaitEvery(t, time.Second, time.Minute, "nothing to be left", func() (string, bool) {
		left := person.stored(t)
		return fmt.Sprint(left), len(left) == 0
	})
}
