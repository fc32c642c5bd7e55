package vsphere

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Delete implements provider.Builder.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	err := p.touch(ctx, "vsphere.delete", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		return c.remove(ctx, vm)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// remove destroys a machine that is off. With a machine vCenter destroys all its disks, so the kept ones are taken out
// before, and a second look shows that none is left.
func (c *call) remove(ctx context.Context, vm mo.VirtualMachine) error {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return c.conflict(fmt.Errorf("it is not off: %s", vm.Runtime.PowerState))
	}
	if kept := keptOn(&vm); len(kept) > 0 {
		if err := c.reconfigure(ctx, &vm, types.VirtualMachineConfigSpec{DeviceChange: detached(kept)}); err != nil {
			return err
		}
		again, err := c.machine(ctx, vm.Self)
		if err != nil {
			return c.fault(err)
		}
		if left := keptOn(&again); len(left) > 0 {
			return c.conflict(fmt.Errorf("%d kept disks are still attached", len(left)))
		}
	}
	if err := c.tidy(ctx, &vm); err != nil {
		return err
	}
	_, err := c.order(ctx, func() (*object.Task, error) { return c.handle(vm.Self).Destroy(ctx) })
	return err
}

// reconfigure changes the configuration as it was read. fault.Transient: it changed since, and nothing was done.
func (c *call) reconfigure(ctx context.Context, vm *mo.VirtualMachine, spec types.VirtualMachineConfigSpec) error {
	spec.ChangeVersion = vm.Config.ChangeVersion
	_, err := c.order(ctx, func() (*object.Task, error) { return c.handle(vm.Self).Reconfigure(ctx, spec) })
	return err
}

// Certify implements provider.Builder.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	ref.Adopted = false // it has no mark to be written on
	return p.touch(ctx, "vsphere.certify", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		has := decodeMark(ref.ID, vm.Config.ExtraConfig)
		if has.mark.Certified {
			return nil
		}
		has.mark.Certified = true
		return c.sign(ctx, &vm, has, types.VirtualMachineConfigSpec{})
	})
}

// sign writes the mark, and in the same step whatever else the spec changes.
func (c *call) sign(ctx context.Context, vm *mo.VirtualMachine, s signed, spec types.VirtualMachineConfigSpec) error {
	entry, err := encodeMark(fleet.InstanceID(vm.Config.InstanceUuid), s.mark, s.shelf)
	if err != nil {
		return c.invalid(err)
	}
	spec.ExtraConfig = append(spec.ExtraConfig, entry)
	return c.reconfigure(ctx, vm, spec)
}
