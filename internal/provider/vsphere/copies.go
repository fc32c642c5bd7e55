package vsphere

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// A copy of an instance's disks is a template of its own, which vCenter clones from the running or stopped instance: a
// snapshot of vCenter's would go with its machine. It carries no mark, and List leaves it out.

// copyKey is the entry of a copy's extra configuration that names its machine. hale removes only copies with this
// entry.
const copyKey = "hale.copy"

// partly ends the name of a copy until it is whole: a clone may be seen before it is.
const partly = ".part"

// copyOf says in full which copy is meant.
func copyOf(n fleet.SnapshotName) string {
	return strings.Join([]string{string(n.Installation), string(n.Machine), string(n.ID)}, " ")
}

// copyName is a copy's name at vCenter, which limits the length of names.
func copyName(n fleet.SnapshotName) string {
	sum := sha256.Sum256([]byte(copyOf(n)))
	return fmt.Sprintf("hale-copy-%.40s-%s", n.Machine, hex.EncodeToString(sum[:8]))
}

// Snapshot implements provider.Snapshotter: it clones under the name of an unfinished copy, and then renames the whole
// copy in one step.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	var made fleet.Copy
	err := p.touch(ctx, "vsphere.snapshot", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		kept := keptOn(&vm)
		if len(disksOf(&vm)) == len(kept) {
			return fault.New(fault.Unsupported, c.op, c.subject, errors.New("it has no disk that goes with it"))
		}
		whole, err := c.copyAt(ctx, name, copyName(name))
		if err != nil {
			return err
		}
		if whole == nil {
			if whole, err = c.copy(ctx, &vm, kept, name); err != nil {
				return err
			}
		}
		made = describeCopy(whole)
		return nil
	})
	return made, err
}

// copy clones the machine without its kept disks, anew if an earlier clone is there.
func (c *call) copy(ctx context.Context, vm *mo.VirtualMachine, kept []*types.VirtualDisk,
	name fleet.SnapshotName) (*mo.VirtualMachine, error) {
	if err := c.dropCopy(ctx, name, copyName(name)+partly); err != nil {
		return nil, err
	}
	folder, err := c.seek(ctx, below(c.p.o.Datacenter+"/vm", c.p.o.Folder))
	if err != nil {
		return nil, c.fault(err)
	}
	spec := types.VirtualMachineCloneSpec{Template: true, Config: &types.VirtualMachineConfigSpec{
		DeviceChange: detached(kept),
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: copyKey, Value: copyOf(name)},
			&types.OptionValue{Key: markKey, Value: ""},
		},
	}}
	result, err := c.order(ctx, func() (*object.Task, error) {
		return c.handle(vm.Self).Clone(ctx, object.NewFolder(c.conn.vc, folder), copyName(name)+partly, spec)
	})
	if err != nil {
		return nil, err
	}
	ref, ok := result.(types.ManagedObjectReference)
	if !ok {
		return nil, fault.New(fault.UnknownOutcome, c.op, c.subject, errors.New("vCenter does not say what it cloned"))
	}
	if _, err := c.order(ctx, func() (*object.Task, error) {
		return c.handle(ref).Rename(ctx, copyName(name))
	}); err != nil {
		return nil, err
	}
	whole, err := c.machine(ctx, ref)
	return &whole, c.fault(err)
}

// DropSnapshot implements provider.Snapshotter.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	ctx, c, err := p.open(ctx, "vsphere.drop-snapshot", fleet.InstanceID(name.ID))
	if err != nil {
		return err
	}
	defer c.end()
	if only := p.o.Installation; only != "" && name.Installation != only {
		return c.conflict(fmt.Errorf("the copy is of another installation, %s", name.Installation))
	}
	for _, at := range []string{copyName(name) + partly, copyName(name)} {
		if err := c.dropCopy(ctx, name, at); err != nil {
			return err
		}
	}
	return nil
}

// dropCopy removes what has the name, if it is such a copy. One that vCenter is at is fault.Transient.
func (c *call) dropCopy(ctx context.Context, name fleet.SnapshotName, at string) error {
	vm, err := c.copyAt(ctx, name, at)
	if err != nil || vm == nil {
		return err
	}
	_, err = c.order(ctx, func() (*object.Task, error) { return c.handle(vm.Self).Destroy(ctx) })
	return err
}

// copyAt finds the copy under one of its names; nil: there is none. What has the name and is no such copy is a
// conflict, and is left alone.
func (c *call) copyAt(ctx context.Context, name fleet.SnapshotName, at string) (*mo.VirtualMachine, error) {
	ref, err := c.seek(ctx, below(c.p.o.Datacenter+"/vm", c.p.o.Folder)+"/"+at)
	if fault.Is(err, fault.Invalid) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, c.fault(err)
	}
	vm, err := c.machine(ctx, ref)
	switch {
	case told[*types.ManagedObjectNotFound](err):
		return nil, nil //nolint:nilnil // it was there a moment ago
	case err != nil:
		return nil, c.fault(err)
	case vm.Config == nil:
		return nil, fault.New(fault.Transient, c.op, c.subject, errors.New(at+" cannot be read: it may be under way"))
	}
	for _, e := range vm.Config.ExtraConfig {
		if o := e.GetOptionValue(); o.Key == copyKey && o.Value == copyOf(name) && template(&vm) {
			return &vm, nil
		}
	}
	return nil, c.conflict(fmt.Errorf("%s is not the copy that hale makes under that name", at))
}

// disksOf are all disks of the machine.
func disksOf(vm *mo.VirtualMachine) []*types.VirtualDisk {
	var out []*types.VirtualDisk
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			out = append(out, disk)
		}
	}
	return out
}

// describeCopy says by what a person finds it, and what it takes at most.
func describeCopy(vm *mo.VirtualMachine) fleet.Copy {
	out := fleet.Copy{Where: vm.Name}
	for _, d := range disksOf(vm) {
		out.Bytes += uint64(max(d.CapacityInBytes, d.CapacityInKB<<10, 0))
	}
	return out
}
