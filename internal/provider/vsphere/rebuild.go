package vsphere

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// anewKey is the entry of the extra configuration that says that the root disk was made anew, or was to be: then a disk
// may lie beside the instance that it does not have. Rebuild writes it before it makes the first disk. The entry then
// names the disk and the task that makes it, which may outlast the call.
const anewKey = "hale.anew"

// anewFiles are the names of root disks that are made anew, by turns: what is made is never what the instance has.
var anewFiles = [...]string{"hale-root-a.vmdk", "hale-root-b.vmdk"}

// Rebuild implements provider.Rebuilder: the template's disk is copied beside the instance's. One step then swaps the
// two, and fails if the machine changed since its mark was read. Rebuild takes up a copy that an earlier call began. It
// removes any other copy, since it cannot know whether that is whole.
func (p *Provider) Rebuild(ctx context.Context, order provider.Blueprint) error {
	return p.touch(ctx, "vsphere.rebuild", order.Ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		if err := c.restsHere(&vm, order.Ref); err != nil {
			return err
		}
		template, err := c.template(ctx, order.Template.Image)
		if err != nil {
			return c.fault(err)
		}
		if note(&vm) == "" {
			if vm, err = c.notes(ctx, vm, order.Ref, "-"); err != nil {
				return err
			}
		}
		return c.rebuild(ctx, &template, vm, order.Ref)
	})
}

// restsHere refuses what is not an instance that is off.
func (c *call) restsHere(vm *mo.VirtualMachine, ref provider.Ref) error {
	switch {
	case vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff:
		return c.conflict(fmt.Errorf("it is not off: %s", vm.Runtime.PowerState))
	case decodeMark(ref.ID, vm.Config.ExtraConfig).mark.Kept:
		return c.conflict(errors.New("it was put aside"))
	}
	return nil
}

// note is what was written down of disks that are made anew; empty: nothing.
func note(vm *mo.VirtualMachine) string {
	for _, e := range vm.Config.ExtraConfig {
		if o := e.GetOptionValue(); o.Key == anewKey {
			text, _ := o.Value.(string)
			return text
		}
	}
	return ""
}

// notes writes it, and returns the instance as it is then: the same one, and off.
func (c *call) notes(ctx context.Context, vm mo.VirtualMachine, ref provider.Ref,
	text string) (mo.VirtualMachine, error) {
	err := c.reconfigure(ctx, &vm, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: anewKey, Value: text}},
	})
	if err != nil {
		return vm, err
	}
	if vm, err = c.marked(ctx, ref); err != nil {
		return vm, err
	}
	err = c.restsHere(&vm, ref)
	return vm, err
}

func (c *call) rebuild(ctx context.Context, template *mo.VirtualMachine, vm mo.VirtualMachine, ref provider.Ref) error {
	of, err := onlyDisk(template)
	if err != nil {
		return fault.New(fault.Unsupported, c.op, c.subject, err)
	}
	old := diskAt(&vm, of)
	if old == nil {
		return fault.New(fault.Unsupported, c.op, c.subject, errors.New("it has no disk where its template has one"))
	}
	file := notHeld(&vm, old)[0]
	what := fmt.Sprintf("%s of %s as of %s", file, fileOf(of), template.Config.ChangeVersion)
	begun, task := copying(&vm, what)
	if begun {
		begun, err = c.going(ctx, task)
	}
	if err != nil {
		return err
	}
	if !begun {
		if vm, task, err = c.copyRoot(ctx, vm, ref, fileOf(of), file, what); err != nil {
			return err
		}
	}
	if _, err := c.outcome(ctx, task); err != nil {
		return err
	}
	if err := c.reconfigure(ctx, &vm, types.VirtualMachineConfigSpec{DeviceChange: exchanged(old, file)}); err != nil {
		return err
	}
	return c.powerOn(ctx, &vm)
}

// copying returns the task that makes just that disk, if that was written down.
func copying(vm *mo.VirtualMachine, what string) (bool, types.ManagedObjectReference) {
	task, ok := strings.CutSuffix(note(vm), " "+what)
	return ok, types.ManagedObjectReference{Type: "Task", Value: task}
}

// going reports whether the task will make a disk, or has made one. One that failed, or that vCenter forgot, has not.
func (c *call) going(ctx context.Context, ref types.ManagedObjectReference) (bool, error) {
	var t mo.Task
	err := c.read(ctx, func() error {
		return c.conn.one(ctx, ref, &t, "info")
	})
	if told[*types.ManagedObjectNotFound](err) {
		return false, nil
	}
	return err == nil && t.Info.State != types.TaskInfoStateError, c.fault(err)
}

// copyRoot begins to copy the template's disk, and writes down which task does so. Whatever has the copy's name goes
// first: one that vCenter is at is fault.Transient.
func (c *call) copyRoot(ctx context.Context, vm mo.VirtualMachine, ref provider.Ref,
	of, file, what string) (mo.VirtualMachine, types.ManagedObjectReference, error) {
	var none types.ManagedObjectReference
	if err := c.discard(ctx, file); err != nil {
		return vm, none, err
	}
	datacenter := object.NewDatacenter(c.conn.vc, c.conn.datacenter)
	task, err := object.NewVirtualDiskManager(c.conn.vc).CopyVirtualDisk(ctx, of, datacenter, file, datacenter, nil,
		false)
	if err != nil {
		return vm, none, c.doubt(err)
	}
	vm, err = c.notes(ctx, vm, ref, task.Reference().Value+" "+what)
	return vm, task.Reference(), err
}

// onlyDisk is the template's one disk.
func onlyDisk(template *mo.VirtualMachine) (*types.VirtualDisk, error) {
	if template.Config == nil {
		return nil, errors.New("vCenter cannot read the template")
	}
	disks := disksOf(template)
	if len(disks) != 1 {
		return nil, fmt.Errorf("the template has %d disks, and rebuild replaces only one", len(disks))
	}
	return disks[0], nil
}

// diskAt is the machine's disk at the place that another one has in its own machine; nil: there is none, or one that is
// kept.
func diskAt(vm *mo.VirtualMachine, like *types.VirtualDisk) *types.VirtualDisk {
	kept := keptOn(vm)
	for _, disk := range disksOf(vm) {
		if disk.ControllerKey == like.ControllerKey && disk.UnitNumber != nil && like.UnitNumber != nil &&
			*disk.UnitNumber == *like.UnitNumber &&
			!slices.Contains(kept, disk) {
			return disk
		}
	}
	return nil
}

// notHeld are the paths, beside the disk, of those that are made anew and that the machine does not have.
func notHeld(vm *mo.VirtualMachine, beside *types.VirtualDisk) []string {
	var out []string
	for _, name := range anewFiles {
		file := path.Dir(fileOf(beside)) + "/" + name
		if !slices.ContainsFunc(disksOf(vm), func(d *types.VirtualDisk) bool { return fileOf(d) == file }) {
			out = append(out, file)
		}
	}
	return out
}

// discard removes a disk that no machine has, if it is there. fault.Transient: vCenter still works on it.
func (c *call) discard(ctx context.Context, file string) error {
	_, err := c.order(ctx, func() (*object.Task, error) {
		return object.NewVirtualDiskManager(c.conn.vc).DeleteVirtualDisk(ctx, file,
			object.NewDatacenter(c.conn.vc, c.conn.datacenter))
	})
	var none *types.FileNotFound
	if refusedAs(err, &none) {
		return nil
	}
	return err
}

// exchanged puts another disk in the place of one that goes with its file.
func exchanged(old *types.VirtualDisk, file string) []types.BaseVirtualDeviceConfigSpec {
	disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{
		Key: -1, ControllerKey: old.ControllerKey, UnitNumber: old.UnitNumber,
		Backing: &types.VirtualDiskFlatVer2BackingInfo{
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file},
			DiskMode:                     string(types.VirtualDiskModePersistent),
			ThinProvisioned:              types.NewBool(true),
		},
	}}
	return []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{
			Operation:     types.VirtualDeviceConfigSpecOperationRemove,
			FileOperation: types.VirtualDeviceConfigSpecFileOperationDestroy,
			Device:        old,
		},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk},
	}
}

// tidy removes what rebuilds left beside the machine, which is off and about to go: vCenter destroys only what it has.
func (c *call) tidy(ctx context.Context, vm *mo.VirtualMachine) error {
	if note(vm) == "" {
		return nil
	}
	kept := keptOn(vm)
	for _, disk := range disksOf(vm) {
		if slices.Contains(kept, disk) {
			continue
		}
		for _, file := range notHeld(vm, disk) {
			if err := c.discard(ctx, file); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}
