package vsphere

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// touch opens an operation on a machine that bears ref's mark, or none where it was adopted.
func (p *Provider) touch(ctx context.Context, op string, ref provider.Ref,
	act func(ctx context.Context, c *call, vm mo.VirtualMachine) error) error {
	ctx, c, err := p.open(ctx, op, ref.ID)
	if err != nil {
		return err
	}
	defer c.end()
	vm, err := c.marked(ctx, ref)
	if err != nil {
		return err
	}
	return act(ctx, c, vm)
}

// marked reads the machine, and refuses it unless it bears ref's mark now.
func (c *call) marked(ctx context.Context, ref provider.Ref) (mo.VirtualMachine, error) {
	vm, err := c.find(ctx, ref)
	if err != nil {
		return vm, err
	}
	has := decodeMark(ref.ID, vm.Config.ExtraConfig)
	if !ref.Adopted {
		if err := sameMark(ref.Mark, has.mark, c.p.o.Installation); err != nil {
			return vm, c.conflict(err)
		}
		return vm, nil
	}
	switch {
	case ref.Mark != (fleet.Mark{}):
		return vm, c.conflict(errors.New("an adopted instance must not carry a mark"))
	case has.torn || has.mark != (fleet.Mark{}):
		return vm, c.conflict(errors.New("it was adopted, and carries a mark now"))
	}
	return vm, nil
}

// handle is how the library gives a machine orders.
func (c *call) handle(vm types.ManagedObjectReference) *object.VirtualMachine {
	return object.NewVirtualMachine(c.conn.vc, vm)
}

// Start implements provider.Power. It bears no mark that counts: an instance that was put aside stays off.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	ctx, c, err := p.open(ctx, "vsphere.start", ref.ID)
	if err != nil {
		return err
	}
	defer c.end()
	vm, err := c.find(ctx, ref)
	if err != nil {
		return err
	}
	if decodeMark(ref.ID, vm.Config.ExtraConfig).mark.Kept {
		return c.conflict(errors.New("it was put aside"))
	}
	return c.powerOn(ctx, &vm)
}

// Resume implements provider.Resumer.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	ctx, c, err := p.open(ctx, "vsphere.resume", ref.ID)
	if err != nil {
		return err
	}
	defer c.end()
	vm, err := c.find(ctx, ref)
	if err != nil {
		return err
	}
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
		return c.conflict(errors.New("it is off"))
	}
	return c.powerOn(ctx, &vm)
}

// powerOn starts the machine, or lets it go on where it is suspended.
func (c *call) powerOn(ctx context.Context, vm *mo.VirtualMachine) error {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		return nil
	}
	_, err := c.order(ctx, func() (*object.Task, error) { return c.handle(vm.Self).PowerOn(ctx) })
	return unless(err, types.VirtualMachinePowerStatePoweredOn)
}

// Reboot implements provider.Power.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	return p.touch(ctx, "vsphere.reboot", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStateSuspended { // vCenter resets only what runs
			if err := c.powerOff(ctx, vm.Self); err != nil {
				return err
			}
		}
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return c.powerOn(ctx, &vm)
		}
		_, err := c.order(ctx, func() (*object.Task, error) { return c.handle(vm.Self).Reset(ctx) })
		return err
	})
}

// PowerOff implements provider.Power.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	return p.touch(ctx, "vsphere.power-off", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
			return nil
		}
		return c.powerOff(ctx, vm.Self)
	})
}

func (c *call) powerOff(ctx context.Context, vm types.ManagedObjectReference) error {
	_, err := c.order(ctx, func() (*object.Task, error) { return c.handle(vm).PowerOff(ctx) })
	return unless(err, types.VirtualMachinePowerStatePoweredOff)
}

// unless is the error, or none when vCenter refused the order since the machine is in the wanted state already.
func unless(err error, wanted types.VirtualMachinePowerState) error {
	var state *types.InvalidPowerState
	if refusedAs(err, &state) && state.ExistingState == wanted {
		return nil
	}
	return err
}

// RebootSoft implements provider.SoftRebooter. It is the tools in the guest that are asked.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return p.touch(ctx, "vsphere.reboot-soft", ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return c.conflict(fmt.Errorf("it does not run: %s", vm.Runtime.PowerState))
		}
		return c.doubt(c.handle(vm.Self).RebootGuest(ctx))
	})
}

// PingGuest implements provider.GuestPinger: the tools in the guest send a heartbeat, and vCenter counts it.
func (p *Provider) PingGuest(ctx context.Context, ref provider.Ref) error {
	ctx, c, err := p.open(ctx, "vsphere.ping-guest", ref.ID)
	if err != nil {
		return err
	}
	defer c.end()
	vm, err := c.find(ctx, provider.Ref{ID: ref.ID, Host: ref.Host, Adopted: true})
	if err != nil {
		return err
	}
	inv, err := c.around(ctx, []mo.VirtualMachine{vm})
	if err != nil {
		return c.fault(err)
	}
	if host, ok := inv.hostOf(&vm); !ok || hostTrouble(host) != nil || powerOf(&vm) == fleet.PowerUnknown {
		return c.fault(errors.New("vCenter has lost its host"))
	}
	if powerOf(&vm) != fleet.PowerRunning {
		return c.conflict(fmt.Errorf("it does not run: %s", vm.Runtime.PowerState))
	}
	return c.heartbeat(ctx, &vm)
}

func (c *call) heartbeat(ctx context.Context, vm *mo.VirtualMachine) error {
	var told mo.VirtualMachine
	err := c.read(ctx, func() error {
		told = mo.VirtualMachine{}
		return c.conn.one(ctx, vm.Self, &told, "guestHeartbeatStatus", "guest.toolsRunningStatus",
			"guest.toolsVersionStatus2")
	})
	switch {
	case err != nil:
		return c.fault(err)
	case told.GuestHeartbeatStatus == types.ManagedEntityStatusGreen,
		told.GuestHeartbeatStatus == types.ManagedEntityStatusYellow:
		return nil
	case told.GuestHeartbeatStatus == types.ManagedEntityStatusRed:
		return c.conflict(errors.New("no heartbeat"))
	case told.Guest == nil ||
		told.Guest.ToolsVersionStatus2 == string(types.VirtualMachineToolsVersionStatusGuestToolsNotInstalled):
		return fault.New(fault.Unsupported, c.op, c.subject, errors.New("VMware Tools are not installed in the guest"))
	}
	return c.conflict(errors.New("VMware Tools do not run in the guest"))
}
