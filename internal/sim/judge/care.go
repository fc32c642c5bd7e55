package judge

import (
	"hale/internal/sim/prober"
	"hale/internal/sim/world"
)

// inCare reports whether hale has adopted the instance: until then nothing that happens to it is a failure to hale.
func (j *Judge) inCare(machine, id string) bool {
	m := j.belief(machine)
	return m != nil && string(m.Current.ID) == id && m.Current.Certified
}

// sees reports whether the policy calls a machine of the fleet unhealthy that is as this one is now.
func (j *Judge) sees(vm *world.VM) bool {
	if vm.Mark.Unmarked && !j.inCare(vm.Mark.Machine, vm.ID) {
		return false
	}
	return prober.Fails(j.w, &j.spec, vm)
}
