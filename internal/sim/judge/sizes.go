package judge

import (
	"fmt"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/law"
	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// Bounded notes that the configuration has another policy of sizes.
func (j *Judge) Bounded(policy *policy.Sizing) {
	j.sizes.Policy = policy
	j.bind()
}

// bind works out how many machines the last word asks for within the bounds. They do not change the word: it says what
// it said when they give way again.
func (j *Judge) bind() {
	n := j.said
	if n == 0 {
		n = j.staying()
	}
	if n = j.sizes.Policy.Bound(n); n != j.asked {
		j.asksFor(n)
	}
}

func (j *Judge) moment(braked bool) law.Now {
	return law.Now{At: j.w.Now(), Asked: j.asked, Braked: braked, Apart: j.eldest().apart()}
}

// moves judges a change of how many machines are asked for that no person made, and which machines go by it.
func (j *Judge) moves(before, after stored.Overall, records []record.Record) {
	if j.sizes.Policy == nil {
		return
	}
	for i := range records {
		if r := &records[i]; r.Kind == record.Size && r.Reason == fleet.ReasonOpinion {
			j.sizes.ByOpinion(r, j.moment(after.Brake.On()))
			j.asks(r.Size)
		}
	}
	j.chosen(before.Whole.Ledger, after.Whole.Ledger, after.Whole.Holds)
}

// asks notes that another size is asked for.
func (j *Judge) asks(size int) {
	if size != j.asked || j.said != 0 && size > j.said { // what is wanted anyway by a higher word leaves that as it was
		j.said = size
	}
	if size != j.asked {
		j.asksFor(size)
		j.most = max(j.most, size)
	}
}

// chosen judges which machines are to go now that were not to go before, and takes their instances for named: within
// the bounds no person need be asked. The holds are those that stand beside the choice.
func (j *Judge) chosen(before, after *belief.Ledger, holds []belief.Hold) {
	if after == nil {
		return
	}
	staying := after.Size - len(after.Removals)
	for i := range after.Removals {
		r := &after.Removals[i]
		name := string(r.Machine)
		_, planned := j.leaving[name]
		if isRemoved(before, r.Machine) || planned || r.Named ||
			r.Opinion == "" && (after.Ordered == nil || !after.Ordered.Within) {
			continue // a person named it, or it is for the plan that was confirmed to name it
		}
		j.leaving[name], j.unplanned[name] = string(r.Instance), true
		j.sizes.Goes(r, staying, j.w.VM(string(r.Instance)), j.w.Now())
		if staying < j.asked {
			j.Broken("L13", name, fmt.Sprintf("it is to go, so that %d stay, and %d are asked for", staying, j.asked))
		}
		if n, _ := r.Machine.Ordinal(); r.Opinion != "" && covered(&j.store.Beliefs[n-1], holds) {
			j.Broken("L10", name, "it is to go by an opinion, and a person holds it")
		}
	}
}

func isRemoved(l *belief.Ledger, name fleet.MachineName) bool {
	return l != nil && slices.ContainsFunc(l.Removals, func(r belief.Removal) bool { return r.Machine == name })
}

// stays forgets, after the records were judged, which machines were to go without a plan, and are to stay again.
func (j *Judge) stays(after *belief.Ledger) {
	for name := range j.unplanned {
		if isRemoved(after, fleet.MachineName(name)) {
			continue
		}
		delete(j.unplanned, name)
		if j.left[name] {
			continue
		}
		delete(j.leaving, name)
		if vm := j.w.Current(name); vm != nil && !vm.Serving() {
			j.Serving(vm)
		}
	}
}

// adds notes that an instance is built for a machine that had none.
func (j *Judge) adds(c *world.Call) {
	n, ok := fleet.MachineName(c.Mark.Machine).Ordinal()
	if !ok || n > len(j.store.Beliefs) {
		return
	}
	if r := j.store.Beliefs[n-1].Repair; r != nil && r.Kind == belief.RepairBuild {
		j.sizes.Adds(c.ID)
	}
}
