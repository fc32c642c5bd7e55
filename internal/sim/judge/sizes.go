package judge

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/sim/law"
	"hale/internal/sim/stored"
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

// moves judges a change of how many machines are asked for that no person made.
func (j *Judge) moves(before stored.Overall, r *record.Record) {
	if j.sizes.Policy != nil && r.Kind == record.Size && r.Reason == fleet.ReasonOpinion {
		j.sizes.ByOpinion(r, j.moment(before.Brake.On())) // what follows while it comes on is judged as it is done
		j.asks(r.Size)
	}
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
	if after == nil || j.sizes.Policy == nil {
		return
	}
	staying := law.Serving(after, &j.spec)
	for i := range after.Removals {
		r := &after.Removals[i]
		name := string(r.Machine)
		planned := j.w.VM(j.leaving[name]) != nil // else what a plan named is gone, and the machine was built anew
		if was := before.Removal(r.Machine); was != nil && was.Order == r.Order || planned || r.Named ||
			r.Opinion == "" && (after.Ordered == nil || !after.Ordered.Within) {
			continue // a person named it, or it is for the plan that was confirmed to name it
		}
		j.leaving[name], j.unplanned[name] = string(r.Instance), true
		j.sizes.Goes(r, staying, law.Well(j.w.VM(string(r.Instance)), j.belief(name)))
		if staying < j.asked {
			j.Broken("L13", name, fmt.Sprintf("it is to go, so that %d stay, and %d are asked for", staying, j.asked))
		}
		if r.Opinion != "" && law.Covered(j.belief(name), holds) {
			j.Broken("L10", name, "it is to go by an opinion, and a person holds it")
		}
		if r.Opinion != "" && j.waits > 0 {
			j.Broken("after", name, "it is to go by an opinion while a fleet that comes first does not serve")
		}
	}
}

// stays forgets, after the records were judged, which machines were to go without a plan, and are to stay again.
func (j *Judge) stays(after *belief.Ledger) {
	for name := range j.unplanned {
		if after.Removal(fleet.MachineName(name)) != nil {
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

// thins judges the first call of a removal by an opinion: it leaves enough machines that serve, and the brake is off.
func (j *Judge) thins(a situation.Action) {
	name, r := string(a.Machine), j.booked.Removal(a.Machine)
	if j.sizes.Policy == nil || r == nil || r.Opinion == "" ||
		law.Well(j.w.VM(string(a.Instance)), j.belief(name)) == nil {
		return
	}
	if j.store.Overall.Brake.On() {
		j.Broken("L6", name, "it is taken down by an opinion while the brake is on")
	}
	j.sizes.TakesDown(name, law.Staying(j.booked, len(j.outages), func(n int) bool {
		if o := &j.outages[n-1]; o.open {
			return o.unseen || j.w.Now()-o.from <= law.Detection(&j.spec, j.options.Poll)
		}
		vm := j.w.Current(string(j.spec.Name.Machine(n)))
		return vm != nil && vm.Serving()
	}))
}
