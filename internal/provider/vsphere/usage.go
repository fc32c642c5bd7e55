package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// counted are the properties of a machine that its usage is read from.
var counted = []types.PropertySpec{{Type: kindVM, PathSet: []string{
	"summary.config.instanceUuid", "summary.config.memorySizeMB", "summary.runtime.powerState",
	"summary.runtime.maxCpuUsage", "summary.quickStats",
}}}

// Usage implements provider.UsageReader by vCenter's quick statistics, in one question. It tells of processors and
// memory.
func (p *Provider) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	ctx, c, err := p.open(ctx, "vsphere.usage", "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	var objects []types.ObjectContent
	if err := c.read(ctx, func() error {
		var err error
		objects, err = c.conn.retrieve(ctx, types.PropertyFilterSpec{PropSet: counted, ObjectSet: c.conn.all()})
		return err
	}); err != nil {
		return nil, c.fault(err)
	}
	inv, err := sorted(objects)
	if err != nil {
		return nil, c.fault(err)
	}
	wanted := make(map[fleet.InstanceID]bool, len(refs))
	for _, r := range refs {
		wanted[r.ID] = true
	}
	at, out := time.Now(), map[fleet.InstanceID]provider.Usage{}
	for i := range inv.vms {
		vm := &inv.vms[i]
		if id := idOf(vm); wanted[id] && vm.Summary.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			out[id] = provider.Usage{At: at, Of: usageOf(vm)}
		}
	}
	return out, nil
}

// usageOf reads a machine's quick statistics: megahertz of those that it may take at most, and the memory that its
// guest has touched lately.
func usageOf(vm *mo.VirtualMachine) map[policy.Usage]provider.Amount {
	const percent = 100
	out, quick := map[policy.Usage]provider.Amount{}, &vm.Summary.QuickStats
	if most := vm.Summary.Runtime.MaxCpuUsage; most > 0 {
		out[policy.UsageCPU] = provider.Amount{Value: percent * float64(quick.OverallCpuUsage) / float64(most)}
	}
	if has := vm.Summary.Config.MemorySizeMB; has > 0 && quick.GuestMemoryUsage > 0 {
		out[policy.UsageMemory] = provider.Amount{Value: percent * float64(quick.GuestMemoryUsage) / float64(has)}
	}
	return out
}
