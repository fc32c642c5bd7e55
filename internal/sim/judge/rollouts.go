package judge

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// rolled implements rollouts.Court.
type rolled struct{ *Judge }

// Update implements rollouts.Court.
func (j rolled) Update() (*policy.Update, int) {
	if j.spec.Update.Surge > 0 {
		return &j.spec.Update, j.staying()
	}
	return &j.spec.Update, j.size
}

// Ordered implements rollouts.Court.
func (j rolled) Ordered(kind fleet.OrderKind) bool { return j.wishes.ever(kind, "") }

// Stood implements rollouts.Court.
func (j rolled) Stood(machine, old, image string) bool {
	vm := j.w.Current(machine)
	return vm != nil && vm.ID != old && vm.Image == image && vm.Mark.Certified &&
		j.w.Now()-vm.Born >= j.spec.Update.Soak
}

// InService implements rollouts.Court.
func (j rolled) InService(yield func(*belief.Machine) bool) {
	for i := range j.store.Beliefs {
		if m := &j.store.Beliefs[i]; !j.booked.IsSpare(m.Name) && !j.isBeyond(string(m.Name)) && !yield(m) {
			return
		}
	}
}
