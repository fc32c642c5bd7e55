package vsphere

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/provider"
)

// Keep implements provider.Keeper, in one step: another name, the mark that says so, the machine's kept disks taken out
// and remembered.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.aside(ctx, "vsphere.keep", ref,
		func(ctx context.Context, c *call, vm *mo.VirtualMachine, has signed) error {
			if has.mark.Kept {
				return nil
			}
			kept := keptOn(vm)
			has.mark.Kept, has.shelf = true, nil
			for _, d := range kept {
				has.shelf = append(has.shelf, fileOf(d))
			}
			return c.sign(ctx, vm, has, types.VirtualMachineConfigSpec{
				Name: fmt.Sprintf("%s-kept-g%d", name, ref.Mark.Generation), DeviceChange: detached(kept),
			})
		})
}

// Restore implements provider.Keeper, in one step as well. vCenter refuses a name that is taken in the folder.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return p.aside(ctx, "vsphere.restore", ref,
		func(ctx context.Context, c *call, vm *mo.VirtualMachine, has signed) error {
			if !has.mark.Kept {
				return nil
			}
			devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
			var changes []types.BaseVirtualDeviceConfigSpec
			for _, file := range has.shelf {
				disk, err := newDisk(&devices, keptDisk{path: file, there: true})
				if err != nil {
					return c.invalid(err)
				}
				changes = append(changes, &types.VirtualDeviceConfigSpec{
					Operation: types.VirtualDeviceConfigSpecOperationAdd,
					Device:    disk,
				})
			}
			has.mark.Kept, has.shelf = false, nil
			return c.sign(ctx, vm, has, types.VirtualMachineConfigSpec{Name: name, DeviceChange: changes})
		})
}

// aside changes an instance that is off and bears the mark.
func (p *Provider) aside(ctx context.Context, op string, ref provider.Ref,
	change func(context.Context, *call, *mo.VirtualMachine, signed) error) error {
	return p.touch(ctx, op, ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			return c.conflict(fmt.Errorf("it is not off: %s", vm.Runtime.PowerState))
		}
		return change(ctx, c, &vm, decodeMark(ref.ID, vm.Config.ExtraConfig))
	})
}
