package ledger_test

import (
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Machines come beyond the size for an order, and go when that is over; they are none of the size meanwhile.
func TestWhoIsBeyondTheSize(t *testing.T) {
	t.Parallel()
	r := ready(3)
	r.S.Wanted = &policy.Spec{Name: "web", Size: 3, Mode: policy.ModeAct, Update: policy.Update{Surge: 1}}
	r.Sit.Whole.Ledger = belief.OpenLedger(r.S.Wanted, 0)
	r.S.Machines = r.S.Machines[:3]
	has := func(when string, size int, goes bool) {
		t.Helper()
		ledger.Book(r)
		l := r.Sit.Whole.Ledger
		if l.Size != size || l.Serving() != 3 || l.Posts() != 3 || l.Leaves("web-4") != (size == 4) ||
			l.Removal("web-4") != nil != goes {
			t.Errorf("%s: there are %d machines, of the size are %d, and web-4 is to go: %v", when, l.Size, l.Serving(),
				l.Removal("web-4") != nil)
		}
	}
	m := &r.S.Machines[1].Machine
	has("nothing is ordered", 3, false)
	m.Wanted = &belief.Wanted{Order: "o", By: "alice", Chore: fleet.OrderReplace, Until: r.S.Now.Wall.Add(1)}
	has("one is to be replaced", 4, false)
	r.S.Machines = append(r.S.Machines, situation.View{Machine: belief.Machine{Name: "web-4",
		Current: belief.Incarnation{ID: "vm-4"}}})
	m.Wanted, m.Repair = nil, &belief.Repair{Kind: belief.RepairReplace, Order: "o"}
	has("it is being replaced", 4, false)
	m.Repair = nil
	has("it was replaced", 4, true)
	extra := &r.S.Machines[3].Machine
	extra.Change = &belief.Change{Order: r.Sit.Whole.Ledger.Removal("web-4").Order, Ended: fleet.ReasonRemoved}
	has("it has left", 3, false)
	if slices.ContainsFunc(r.Sit.Whole.Ledger.Left, func(n int) bool { return n > 0 }) {
		t.Error("its number is not free again")
	}
}

// What cannot go stays, as one of the size, and people say what becomes of it; while it is there, no other one comes.
func TestOneBeyondTheSizeThatCannotGo(t *testing.T) {
	t.Parallel()
	r := ready(3)
	r.S.Wanted = &policy.Spec{Name: "web", Size: 3, Mode: policy.ModeAct, Update: policy.Update{Surge: 1}}
	r.Sit.Whole.Ledger = belief.OpenLedger(r.S.Wanted, 0).Surged(1, belief.Surge{Order: "gone"}, "web")
	ledger.Book(r)
	goes := r.Sit.Whole.Ledger.Removal("web-4")
	if goes == nil {
		t.Fatal("it is not to go")
	}
	r.S.Machines[3].Machine.Change = &belief.Change{Order: goes.Order, Ended: fleet.ReasonDeleteFailed}
	r.S.Machines[0].Machine.Wanted = &belief.Wanted{Order: "o", Chore: fleet.OrderReplace,
		Until: r.S.Now.Wall.Add(1)}
	ledger.Book(r)
	if l := r.Sit.Whole.Ledger; l.Size != 4 || l.Leaves("web-4") || len(l.Surge) > 0 {
		t.Errorf("of %d machines are beyond the size: %v", l.Size, l.Surge)
	}
	if p := pending(r.S.Wanted, r); p.From != 4 || p.To != 3 {
		t.Errorf("a plan from %d to %d machines waits", p.From, p.To)
	}
}
