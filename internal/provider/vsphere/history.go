package vsphere

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
)

// stopEvents are what tells who stopped a machine, or that it was started since.
var stopEvents = []string{
	"VmPoweredOffEvent", "VmSuspendedEvent", "VmGuestShutdownEvent", "VmPoweredOnEvent", "DrsVmPoweredOnEvent",
	"VmResumingEvent",
}

// questions bounds what one listing asks the history, and stopAge is how long an answer is believed of a machine that
// stays as it is.
const (
	questions = 32
	stopAge   = 10 * time.Minute
)

// stops remembers who stopped the machines that are off.
type stops struct {
	mu sync.Mutex
	of map[types.ManagedObjectReference]stopped
}

type stopped struct {
	power types.VirtualMachinePowerState
	by    fleet.Stop
	at    time.Time
}

func newStops() *stops { return &stops{of: map[types.ManagedObjectReference]stopped{}} }

func (s *stops) get(vm *mo.VirtualMachine) (fleet.Stop, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.of[vm.Self]
	return was.by, ok && was.power == vm.Runtime.PowerState && time.Since(was.at) < stopAge
}

func (s *stops) put(vm *mo.VirtualMachine, by fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[vm.Self] = stopped{vm.Runtime.PowerState, by, time.Now()}
}

// forget is called when the machine's state may have changed.
func (s *stops) forget(ref types.ManagedObjectReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, ref)
}

// explain says of the instances that do not run who stopped them, as far as vCenter's history tells. That it cannot be
// asked is no failure: then it is not known.
func (c *call) explain(ctx context.Context, inv *inventory, found []fleet.Instance) {
	byID := map[fleet.InstanceID]*mo.VirtualMachine{}
	for i := range inv.vms {
		byID[idOf(&inv.vms[i])] = &inv.vms[i]
	}
	left := questions
	for k := range found {
		i, vm := &found[k], byID[found[k].ID]
		if i.Power != fleet.PowerOff && i.Power != fleet.PowerPaused {
			c.p.stops.forget(vm.Self)
			continue
		}
		by, known := c.p.stops.get(vm)
		if !known && left > 0 {
			left--
			by = c.history(ctx, vm)
			c.p.stops.put(vm, by)
		}
		i.Stop = by
	}
}

// history asks who stopped the machine.
func (c *call) history(ctx context.Context, vm *mo.VirtualMachine) fleet.Stop {
	var events []types.BaseEvent
	err := c.read(ctx, func() error {
		res, err := methods.QueryEvents(ctx, c.conn.vc,
			&types.QueryEvents{This: *c.conn.vc.ServiceContent.EventManager, Filter: types.EventFilterSpec{
				Entity: &types.EventFilterSpecByEntity{
					Entity:    vm.Self,
					Recursion: types.EventFilterSpecRecursionOptionSelf,
				},
				EventTypeId: stopEvents, DisableFullMessage: types.NewBool(true),
			}})
		if err == nil {
			events = res.Returnval
		}
		return err
	})
	if err != nil {
		c.p.log.Debug("vCenter did not give its events", "subject", c.subject, "err", err)
	}
	return stopOf(vm.Runtime, events)
}

// stopOf judges by the last events. A machine that an order or its guest stopped was shut down in order. A machine was
// not if its process died, and no event says so.
func stopOf(now types.VirtualMachineRuntimeInfo, events []types.BaseEvent) fleet.Stop {
	var last types.BaseEvent
	asked := false // the guest was asked to shut down since the last start
	for _, e := range inOrder(events) {
		switch e.(type) {
		case *types.VmGuestShutdownEvent:
			asked = asked || person(e)
			continue
		case *types.VmPoweredOnEvent, *types.DrsVmPoweredOnEvent, *types.VmResumingEvent:
			asked = false
		}
		last = e
	}
	died := now.CleanPowerOff != nil && !*now.CleanPowerOff
	switch last.(type) {
	case *types.VmPoweredOffEvent, *types.VmSuspendedEvent:
		switch {
		case person(last) || asked:
			return fleet.StopExternal
		case died:
			return fleet.StopCrash
		}
		return fleet.StopGuest
	}
	if died {
		return fleet.StopCrash
	}
	return fleet.StopUnknown
}

// person reports whether a user ordered it at vCenter: what a host does by itself has no user, or vCenter's own at the
// host.
func person(e types.BaseEvent) bool {
	user := e.GetEvent().UserName
	return user != "" && !strings.EqualFold(user, "vpxuser")
}

// inOrder sorts events by their keys, which vCenter counts up.
func inOrder(events []types.BaseEvent) []types.BaseEvent {
	return slices.SortedFunc(slices.Values(events), func(a, b types.BaseEvent) int {
		return cmp.Compare(a.GetEvent().Key, b.GetEvent().Key)
	})
}
