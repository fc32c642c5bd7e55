package vcsim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// machine is how the person takes hold of one.
func (v *VCenter) machine(ref types.ManagedObjectReference) *object.VirtualMachine {
	return object.NewVirtualMachine(v.person.Client, ref)
}

// by returns the machine with the id.
func (v *VCenter) by(t T, id string) mo.VirtualMachine {
	t.Helper()
	for _, vm := range v.all() {
		if seen := v.look(vm); seen.Config != nil && seen.Config.InstanceUuid == id {
			return seen
		}
	}
	t.Fatal("there is no machine", id)
	return mo.VirtualMachine{}
}

// handTime is what a person's order may take.
const handTime = 30 * time.Second

// Do gives the machine an order as a person does, with a client of their own, and waits for its end.
func (v *VCenter) Do(t T, id string, order func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), handTime)
	defer cancel()
	task, err := order(ctx, v.machine(v.by(t, id).Self))
	if err == nil {
		err = task.WaitEx(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Clone makes a machine on a host as a person does, of another one by its name, and starts it. It returns the new one's
// id.
func (v *VCenter) Clone(t T, of, name, host string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), handTime)
	defer cancel()
	finder := find.NewFinder(v.person.Client)
	dc, err := finder.Datacenter(ctx, Datacenter)
	must(t, err)
	finder.SetDatacenter(dc)
	folders, err := dc.Folders(ctx)
	must(t, err)
	pool, err := finder.ResourcePool(ctx, Cluster+"/Resources")
	must(t, err)
	on, err := finder.HostSystem(ctx, Cluster+"/"+host)
	must(t, err)
	source, err := finder.VirtualMachine(ctx, of)
	must(t, err)
	var was mo.VirtualMachine
	must(t, source.Properties(ctx, source.Reference(), []string{"config.extraConfig"}, &was))
	id, poolRef, hostRef := uuid.NewString(), pool.Reference(), on.Reference()
	task, err := source.Clone(ctx, folders.VmFolder, name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &poolRef, Host: &hostRef},
		// which a real one copies
		Config: &types.VirtualMachineConfigSpec{InstanceUuid: id, ExtraConfig: was.Config.ExtraConfig},
	})
	must(t, err)
	must(t, task.WaitEx(ctx))
	v.Do(t, id, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOn(ctx) })
	return id
}

// Remove powers off and destroys what has the name, if anything has.
func (v *VCenter) Remove(t T, name string) {
	t.Helper()
	for _, vm := range v.all() {
		seen := v.look(vm)
		if seen.Name != name {
			continue
		}
		if seen.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			v.Do(t, seen.Config.InstanceUuid,
				func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOff(ctx) })
		}
		v.Do(t, seen.Config.InstanceUuid, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
			return vm.Destroy(ctx)
		})
	}
}

// Kill lets the machine's process die: no order, no event.
func (v *VCenter) Kill(t T, id string) {
	t.Helper()
	v.set(v.by(t, id).Self, types.PropertyChange{Name: "runtime.cleanPowerOff", Val: false},
		types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
}

// Mute ends the heartbeat of the guest's tools until it boots again.
func (v *VCenter) Mute(t T, id string) {
	t.Helper()
	v.set(v.by(t, id).Self, types.PropertyChange{Name: "guestHeartbeatStatus", Val: types.ManagedEntityStatusRed})
}

// Deafen lets the guest ignore that it is asked to reboot, until it is reset.
func (v *VCenter) Deafen(t T, id string) {
	t.Helper()
	ref := v.by(t, id).Self
	v.guests.mu.Lock()
	defer v.guests.mu.Unlock()
	v.guests.deaf[ref] = true
}

// Boots counts how often the guest booted.
func (v *VCenter) Boots(t T, id string) int {
	t.Helper()
	ref := v.by(t, id).Self
	v.guests.mu.Lock()
	defer v.guests.mu.Unlock()
	return v.guests.boots[ref]
}

// Lose lets vCenter lose the host, with what it knows of the machines there; Find brings it back.
func (v *VCenter) Lose(host string) {
	v.connect(host, types.HostSystemConnectionStateNotResponding, types.VirtualMachineConnectionStateDisconnected)
}

// Find ends Lose.
func (v *VCenter) Find(host string) {
	v.connect(host, types.HostSystemConnectionStateConnected, types.VirtualMachineConnectionStateConnected)
}

func (v *VCenter) connect(host string, state types.HostSystemConnectionState, vms types.VirtualMachineConnectionState) {
	for _, o := range v.model.Map().All("HostSystem") {
		h, ok := o.(*simulator.HostSystem)
		if !ok || h.Name != host {
			continue
		}
		v.set(h.Self, types.PropertyChange{Name: "runtime.connectionState", Val: state})
		for _, vm := range v.all() {
			if seen := v.look(vm); seen.Runtime.Host != nil && *seen.Runtime.Host == h.Self {
				v.set(seen.Self, types.PropertyChange{Name: "runtime.connectionState", Val: vms})
			}
		}
	}
}

// Maintain puts the host into maintenance.
func (v *VCenter) Maintain(host string) {
	for _, o := range v.model.Map().All("HostSystem") {
		if h, ok := o.(*simulator.HostSystem); ok && h.Name == host {
			v.set(h.Self, types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: true})
		}
	}
}

// Address gives the host's management card an address.
func (v *VCenter) Address(host, address string) {
	const key = "management.vmk0"
	for _, o := range v.model.Map().All("HostSystem") {
		h, ok := o.(*simulator.HostSystem)
		if !ok || h.Name != host {
			continue
		}
		config := *h.Config
		config.VirtualNicManagerInfo = &types.HostVirtualNicManagerInfo{NetConfig: []types.VirtualNicManagerNetConfig{{
			NicType: string(types.HostVirtualNicManagerNicTypeManagement), SelectedVnic: []string{key},
			CandidateVnic: []types.HostVirtualNic{{
				Device: "vmk0", Key: key, Spec: types.HostVirtualNicSpec{Ip: &types.HostIpConfig{IpAddress: address}},
			}},
		}}}
		v.set(h.Self, types.PropertyChange{Name: "config", Val: &config})
	}
}

// Set changes a property of a machine without a call to vCenter.
func (v *VCenter) Set(t T, id, property string, value any) {
	t.Helper()
	v.set(v.by(t, id).Self, types.PropertyChange{Name: property, Val: value})
}

// Machines returns the names of what is there but the template, with how many bear each.
func (v *VCenter) Machines() map[string]int {
	names := map[string]int{}
	for _, vm := range v.all() {
		if seen := v.look(vm); seen.Name != Template {
			names[seen.Name]++
		}
	}
	return names
}

// Extra returns an entry of a machine's extra configuration; empty: it has none.
func (v *VCenter) Extra(t T, id, key string) string {
	t.Helper()
	for _, e := range v.by(t, id).Config.ExtraConfig {
		if o := e.GetOptionValue(); o.Key == key {
			return fmt.Sprint(o.Value)
		}
	}
	return ""
}

// Disks are the files of a machine's disks, without their folders.
func (v *VCenter) Disks(t T, id string) []string {
	t.Helper()
	vm := v.by(t, id)
	var out []string
	for _, f := range files(&vm) {
		out = append(out, filepath.Base(f))
	}
	return out
}

// Files returns the disks in a folder of the datastore, and below it.
func (v *VCenter) Files(t T, folder string) []string {
	t.Helper()
	var out []string
	for _, o := range v.model.Map().All("Datastore") {
		ds, ok := o.(*simulator.Datastore)
		if !ok {
			continue
		}
		root := ds.Info.GetDatastoreInfo().Url
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(path, ".vmdk") && !strings.HasSuffix(path, "-flat.vmdk") {
				out = append(out, filepath.Base(path))
			}
			return nil
		})
		must(t, err)
	}
	return out
}

// Rules returns the machines' names by each rule of the cluster that keeps machines apart.
func (v *VCenter) Rules(t T) map[string][]string {
	t.Helper()
	names := map[types.ManagedObjectReference]string{}
	for _, vm := range v.all() {
		seen := v.look(vm)
		names[seen.Self] = seen.Name
	}
	out := map[string][]string{}
	for _, o := range v.model.Map().All("ClusterComputeResource") {
		c, ok := o.(*simulator.ClusterComputeResource)
		if !ok {
			continue
		}
		v.model.Map().WithLock(v.context(), c.Self, func() {
			config, _ := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
			for _, r := range config.Rule {
				if rule, ok := r.(*types.ClusterAntiAffinityRuleSpec); ok {
					for _, vm := range rule.Vm {
						out[rule.Name] = append(out[rule.Name], names[vm])
					}
				}
			}
		})
	}
	return out
}

// EndSessions lets vCenter forget all sessions.
func (v *VCenter) EndSessions(t T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), handTime)
	defer cancel()
	var manager mo.SessionManager
	must(t,
		v.person.RetrieveOne(ctx, *v.person.ServiceContent.SessionManager, []string{"sessionList", "currentSession"},
			&manager))
	var keys []string
	for _, s := range manager.SessionList {
		if manager.CurrentSession == nil || s.Key != manager.CurrentSession.Key {
			keys = append(keys, s.Key)
		}
	}
	if len(keys) > 0 {
		must(t, v.person.SessionManager.TerminateSession(ctx, keys))
	}
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
