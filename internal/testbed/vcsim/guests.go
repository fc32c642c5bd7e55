package vcsim

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// guests live what is in the machines: each gets an address when it boots, and its tools send a heartbeat.
type guests struct {
	mu    sync.Mutex
	boots map[types.ManagedObjectReference]int
	place map[types.ManagedObjectReference]int
	deaf  map[types.ManagedObjectReference]bool
	live  *live // nil: they are simulated as well
	disks *disks
}

func newGuests() *guests {
	return &guests{
		boots: map[types.ManagedObjectReference]int{},
		place: map[types.ManagedObjectReference]int{},
		deaf:  map[types.ManagedObjectReference]bool{},
		disks: newDisks(),
	}
}

// Reference names the listener among those of the registry.
func (g *guests) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Guests", Value: "guests"}
}

// PutObject implements simulator.RegisterObject.
func (g *guests) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (g *guests) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject implements simulator.RegisterObject: guests hear when their power comes and goes.
func (g *guests) UpdateObject(ctx *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	vm, ok := o.(*mo.VirtualMachine)
	if !ok {
		return
	}
	for _, c := range changes {
		if state, ok := c.Val.(types.VirtualMachinePowerState); ok && c.Name == "runtime.powerState" {
			g.power(ctx, vm, state)
		}
	}
}

func (g *guests) power(ctx *simulator.Context, vm *mo.VirtualMachine, state types.VirtualMachinePowerState) {
	switch state {
	case types.VirtualMachinePowerStatePoweredOn:
		address := g.up(vm)
		if g.live != nil {
			g.live.on(vm)
			return
		}
		ctx.Update(vm, g.awake(address))
	case types.VirtualMachinePowerStatePoweredOff:
		changes := []types.PropertyChange{
			{Name: "guest.ipAddress", Val: ""}, {Name: "guestHeartbeatStatus", Val: types.ManagedEntityStatusGray},
			{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		}
		if vm.Runtime.CleanPowerOff == nil { // a crash says otherwise
			changes = append(changes, types.PropertyChange{Name: "runtime.cleanPowerOff", Val: true})
		}
		ctx.Update(vm, changes)
		if g.live != nil {
			g.live.cut(vm.Self)
		}
	case types.VirtualMachinePowerStateSuspended:
	}
}

// up notes that a guest boots, or goes on where it was, and returns the address that it has where it is simulated.
func (g *guests) up(vm *mo.VirtualMachine) netip.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	place, known := g.place[vm.Self]
	if !known {
		place = len(g.place) + 1
		g.place[vm.Self] = place
	}
	if vm.Guest == nil || vm.Guest.IpAddress == "" { // it was off
		g.boots[vm.Self]++
		delete(g.deaf, vm.Self)
		g.disks.boot(vm)
	}
	return netip.MustParseAddr(fmt.Sprintf("10.1.%d.%d", place/200, 1+place%200))
}

// awake is what is true of a guest that has booted.
func (*guests) awake(address netip.Addr) []types.PropertyChange {
	return []types.PropertyChange{
		{Name: "guest.ipAddress", Val: address.String()}, {Name: "runtime.cleanPowerOff", Val: nil},
		{Name: "guestHeartbeatStatus", Val: types.ManagedEntityStatusGreen},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)},
		{Name: "guest.toolsVersionStatus2", Val: string(types.VirtualMachineToolsVersionStatusGuestToolsCurrent)},
	}
}

// asked is called when vCenter asks a guest to reboot.
func (g *guests) asked(vm *mo.VirtualMachine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.deaf[vm.Self] {
		g.boots[vm.Self]++
		g.disks.boot(vm)
	}
}
