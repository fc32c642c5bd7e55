package vsphere

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// sizeOf is what the machine has of its host.
func sizeOf(vm *mo.VirtualMachine) fleet.Size {
	if vm.Config == nil {
		return fleet.Size{}
	}
	h := vm.Config.Hardware
	return fleet.Size{Memory: uint64(max(h.MemoryMB, 0)) << 20, CPUs: int(h.NumCPU)}
}

// Adjust implements provider.Adjuster, in one step, which fails if the machine changed since its mark was read.
func (p *Provider) Adjust(ctx context.Context, order provider.Blueprint) error {
	return p.touch(ctx, "vsphere.adjust", order.Ref, func(ctx context.Context, c *call, vm mo.VirtualMachine) error {
		t := order.Template
		if t.Memory%memoryStep != 0 || t.CPUs < 0 || t.CPUs > mostCPUs {
			return c.invalid(fmt.Errorf("%d bytes of memory and %d processors: memory is a multiple of 4 MiB",
				t.Memory, t.CPUs))
		}
		var spec types.VirtualMachineConfigSpec
		has := sizeOf(&vm)
		if t.Memory != 0 && t.Memory != has.Memory {
			spec.MemoryMB = int64(t.Memory >> 20)
		}
		if t.CPUs != 0 && t.CPUs != has.CPUs {
			spec.NumCPUs = int32(t.CPUs)
		}
		signs := decodeMark(order.ID, vm.Config.ExtraConfig)
		resized := spec.MemoryMB != 0 || spec.NumCPUs != 0
		switch {
		case signs.mark.Kept:
			return c.conflict(errors.New("it was put aside"))
		case resized && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff:
			return c.conflict(fmt.Errorf("it is not off: %s", vm.Runtime.PowerState))
		}
		if !signs.metadata.Covers(t.Metadata) {
			for key, value := range t.Metadata.All() {
				spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: metaPrefix + key, Value: value})
			}
		}
		if !resized && len(spec.ExtraConfig) == 0 {
			return nil
		}
		return c.reconfigure(ctx, &vm, spec)
	})
}
