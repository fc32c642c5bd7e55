package sim

import (
	"fmt"

	"hale/internal/sim/world"
)

// heldDisk names a kept disk of a machine.
type heldDisk struct{ machine, name string }

// equipped checks that an instance has every disk that its machine is to keep, with what was ever written to it.
func (j *judge) equipped(vm *world.VM) {
	if vm == nil || len(j.s.disks) == 0 {
		return
	}
	machine := vm.Mark.Machine
	found := map[string]uint64{}
	for _, d := range vm.Disks() {
		found[d.Name] = d.Content
	}
	for _, name := range j.s.disks {
		k := heldDisk{machine, name}
		switch content := found[name]; {
		case content == 0:
			j.broken("disk", machine, "it was built without its disk "+name)
		case j.contents[k] == 0:
			j.contents[k] = content
		case j.contents[k] != content:
			j.broken("disk", machine, fmt.Sprintf("its disk %s is another one, without the data", name))
		default:
			j.s.score.Reattached++
		}
	}
}

// shares checks that no two instances that are powered on have the same disk.
func (j *judge) shares(machine string) {
	for _, vm := range j.s.w.All(machine) {
		for _, d := range vm.Disks() {
			if d.Writers > 1 {
				j.broken("disk", machine, fmt.Sprintf("%d instances write to its disk %s", d.Writers, d.Name))
				return
			}
		}
	}
}
