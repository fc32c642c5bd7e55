package vsphere

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
)

// Who stopped a machine: a person, its guest, or its death, by the events and by how its process ended.
func TestWhoStoppedIt(t *testing.T) {
	t.Parallel()
	by := func(user string, key int32) types.VmEvent {
		return types.VmEvent{Event: types.Event{Key: key, UserName: user}}
	}
	on := &types.VmPoweredOnEvent{VmEvent: by("hale@vsphere.local", 1)}
	clean, died := true, false
	for reason, c := range map[string]struct {
		events []types.BaseEvent
		clean  *bool
		want   fleet.Stop
	}{
		"nothing is known": {nil, nil, fleet.StopUnknown},
		"a user ordered it": {
			[]types.BaseEvent{&types.VmPoweredOffEvent{VmEvent: by("ann", 2)}, on},
			&clean,
			fleet.StopExternal,
		},
		"hard, which is no crash": {
			[]types.BaseEvent{on, &types.VmPoweredOffEvent{VmEvent: by("ann", 2)}},
			&died,
			fleet.StopExternal,
		},
		"the guest did it": {
			[]types.BaseEvent{on, &types.VmPoweredOffEvent{VmEvent: by("", 2)}},
			&clean,
			fleet.StopGuest,
		},
		"the host's own user does not count": {
			[]types.BaseEvent{on, &types.VmPoweredOffEvent{VmEvent: by("vpxuser", 2)}},
			&clean,
			fleet.StopGuest,
		},
		"the guest, asked by a user": {
			[]types.BaseEvent{
				on,
				&types.VmGuestShutdownEvent{VmEvent: by("ann", 2)},
				&types.VmPoweredOffEvent{VmEvent: by("", 3)},
			},
			&clean,
			fleet.StopExternal,
		},
		"asked before it was started again": {
			[]types.BaseEvent{
				&types.VmGuestShutdownEvent{VmEvent: by("ann", 0)},
				on,
				&types.VmPoweredOffEvent{VmEvent: by("", 3)},
			},
			&clean,
			fleet.StopGuest,
		},
		"it died without an event": {[]types.BaseEvent{on}, &died, fleet.StopCrash},
		"it died, and its host says it is off": {
			[]types.BaseEvent{on, &types.VmPoweredOffEvent{VmEvent: by("", 2)}},
			&died,
			fleet.StopCrash,
		},
		"started since, and no event says what was": {
			[]types.BaseEvent{&types.VmPoweredOffEvent{VmEvent: by("ann", 0)}, on},
			nil,
			fleet.StopUnknown,
		},
		"a user suspended it": {
			[]types.BaseEvent{on, &types.VmSuspendedEvent{VmEvent: by("ann", 2)}},
			nil,
			fleet.StopExternal,
		},
	} {
		if got := stopOf(types.VirtualMachineRuntimeInfo{CleanPowerOff: c.clean}, c.events); got != c.want {
			t.Errorf("%s: got %q, want %q", reason, got, c.want)
		}
	}
}
