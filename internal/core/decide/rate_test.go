package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// Five machines fail, one after the other, and no more than three repairs may begin within an hour: the others wait
// until the first of them is an hour old, also under an owner that came new. A person is told of those that wait for
// long, and may order them all the same.
func TestL05NoMoreRepairsBeginThanTheRateAllows(t *testing.T) {
	t.Parallel()
	tl := street(t, 1)
	tl.s.Spec.SharedFate.AtLeast, tl.s.Spec.Limits.InRepair = 0, 20
	tl.s.Spec.Limits.Brake = policy.Brake{AtLeast: 19}
	tl.s.Spec.Limits.Repairs, tl.s.Spec.Limits.RepairsIn = 3, time.Hour
	refuses(tl, 1, 2)
	tl.pass(10 * time.Minute)
	tl.wantCount("repairs", tl.repairs(), 2)
	refuses(tl, 3, 4, 5)
	tl.pass(time.Second)
	tl.wantCount("repairs", tl.repairs(), 3)
	tl.wantCount("held", tl.count(record.Held, fleet.ReasonRepairRate), 2)
	tl.pass(tl.s.Spec.BlindAfter + time.Minute)
	tl.wantCount("pages: one for both, in either record", tl.count(record.Paged, fleet.ReasonRepairRate), 1+2)
	tl.pass(49*time.Minute - tl.s.Spec.BlindAfter - 2*time.Second)
	tl.wantCount("repairs", tl.repairs(), 3)
	tl.pass(time.Second)
	tl.wantCount("repairs", tl.repairs(), 5)
}

func TestL05APersonsOrderIsNotHeldByTheRate(t *testing.T) {
	t.Parallel()
	tl := street(t, 1)
	tl.s.Spec.SharedFate.AtLeast, tl.s.Spec.Limits.InRepair = 0, 20
	tl.s.Spec.Limits.Repairs, tl.s.Spec.Limits.RepairsIn = 1, time.Hour
	refuses(tl, 1, 2)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 1)
	held := tl.s.Machines[2].Machine.Name
	if tl.s.Machines[2].Machine.Repair != nil {
		held = tl.s.Machines[1].Machine.Name
	}
	tl.want("heal", tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: held}), "")
	tl.pass(time.Second)
	tl.wantCount("repairs", tl.repairs(), 2)
}

// A part of the size is one machine at least, and follows the size.
func TestL05InRepairMayBeAPartOfTheSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{1: 1, 19: 1, 40: 2, 100: 5} {
		spec := policy.Spec{Size: size, Limits: policy.Limits{InRepair: 7, InRepairPercent: 5}}
		if got := spec.Places(); got != want {
			t.Errorf("5%% of %d: %d may be in repair, want %d", size, got, want)
		}
	}
	spec := policy.Spec{Size: 100, Limits: policy.Limits{InRepair: 7}}
	if got := spec.Places(); got != 7 {
		t.Errorf("%d may be in repair, want 7", got)
	}
}
