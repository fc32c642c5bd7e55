package judge

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// copyMade is when a copy of a machine's disks was made.
type copyMade struct{ machine, id string }

// copied checks that a copy of disks stays as long as the policy says, unless younger ones took its place or hale never
// knew that it was whole.
func (j *Judge) copied(c *world.Call) {
	made := copyMade{c.Mark.Machine, c.Snapshot}
	switch c.Op {
	case world.Snapshot:
		j.copies[made] = j.w.Now()
	case world.DropSnapshot:
		at := j.copies[made]
		delete(j.copies, made)
		step, younger := j.copying(), 0
		for other, when := range j.copies {
			if other.machine == made.machine && when > at {
				younger++
			}
		}
		if m := j.belief(c.Mark.Machine); m != nil && step != nil && younger < step.Keep &&
			j.w.Now()-at < step.KeepFor {
			if i := m.SnapshotAt(fleet.SnapshotID(c.Snapshot)); i < 0 || m.Snapshots[i].Whole {
				j.Broken("L15", c.Mark.Machine,
					fmt.Sprintf("the copy %s of its disks was to be kept for %s, and is removed after %s", c.Snapshot,
						step.KeepFor, (j.w.Now()-at).Round(time.Second)))
			}
		}
	default:
	}
}

// copying returns the ladder's step that copies disks.
func (j *Judge) copying() *policy.Step {
	steps := j.spec.Repair.Steps
	i := slices.IndexFunc(steps, func(s policy.Step) bool { return s.Kind == fleet.StepSnapshot })
	if i < 0 {
		return nil
	}
	return &steps[i]
}

func (j *Judge) belief(machine string) *belief.Machine {
	n, ok := fleet.MachineName(machine).Ordinal()
	if !ok || n > len(j.store.Beliefs) {
		return nil
	}
	return &j.store.Beliefs[n-1]
}

// uncopied checks that a repair loses no disk that its ladder demands to be copied first.
func (j *Judge) uncopied(c *world.Call) {
	step, m := j.copying(), j.belief(c.Mark.Machine)
	if c.Op != world.Delete && c.Op != world.Rebuild || step == nil || step.OnFailure == policy.OnFailureContinue ||
		len(step.For) > 0 || m == nil || m.Repair == nil || m.Repair.Kind != belief.RepairHeal ||
		m.Repair.Rung == belief.NoRung ||
		string(m.Repair.Target.ID) != c.ID {
		return
	}
	if !slices.ContainsFunc(j.w.DiskCopies(), func(d world.Copy) bool { return d.Instance == c.ID }) {
		j.Broken("snapshot", c.Mark.Machine, fmt.Sprintf("%s of %s before its disks were copied", c.Op, j.called(c.ID)))
	}
}

// unknownCopies checks that hale knows of every copy of disks that there is: no other is ever removed.
func (j *Judge) unknownCopies() {
	for _, d := range j.w.DiskCopies() {
		if m := j.belief(d.Machine); (m == nil || m.SnapshotAt(fleet.SnapshotID(d.ID)) < 0) &&
			!j.forgot[copyMade{d.Machine, d.ID}] {
			j.Broken("L12", d.Machine, fmt.Sprintf("the copy %s of its disks is forgotten", d.ID))
		}
	}
}
