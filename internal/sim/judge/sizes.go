package judge

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// sizes is what the judge knows of how opinions and programs may move the fleet's size.
type sizes struct {
	policy *fleet.Sizing // as the operator edited it; nil: the size is a plain one
	// began is when the owner knew nothing of the metrics for the last time.
	began time.Duration
	// moved and grew are when another size, and a larger one, was asked for last; stated is when a person did.
	moved, grew, stated time.Duration
	pinned              time.Duration            // until when a person pinned the size
	added               map[string]time.Duration // instances of machines that came with a larger size: when that was
	named               map[string]bool          // machines that go without a plan
}

// Bounded notes that the configuration has another policy of sizes.
func (j *Judge) Bounded(policy *fleet.Sizing) { j.sizes.policy = policy }

// moves judges a change of how many machines are asked for that no person made, and which machines go by it.
func (j *Judge) moves(before, after stored.Overall, records []fleet.Record) {
	if j.sizes.policy == nil {
		return
	}
	for i := range records {
		if r := &records[i]; r.Kind == fleet.RecordSize && r.Reason == fleet.ReasonOpinion {
			j.byOpinion(r, &after)
		}
	}
	j.chosen(before.Whole.Ledger, after.Whole.Ledger)
}

// byOpinion judges one move by an opinion.
func (j *Judge) byOpinion(r *fleet.Record, after *stored.Overall) {
	p, who := j.sizes.policy, "opinion "+string(r.Opinion)
	if r.Size < p.Min || r.Size > p.Max {
		j.Broken("L13", "", fmt.Sprintf("%s moves the size to %d, and it is to be %d to %d", who, r.Size, p.Min, p.Max))
	}
	if p.Mode == fleet.ModeObserve || j.spec.Mode == fleet.ModeObserve {
		j.Broken("L3", "", who+" moves the size, and is only watched")
	}
	j.inTime(who, r.Size)
	if r.Size < j.asked {
		j.shrinks(who, r.Size, after)
	}
	j.wants(r.Size)
}

// wants notes that another size is asked for.
func (j *Judge) wants(size int) {
	if size == j.asked {
		return
	}
	if size > j.asked {
		j.sizes.grew = j.w.Now()
		j.score.ScaledOut++
	} else {
		j.score.ScaledIn++
	}
	j.sizes.moved = j.w.Now()
	j.Resized(size)
	j.most = max(j.most, size)
}

// inTime judges that an opinion or a signal moves the size when it may.
func (j *Judge) inTime(who string, size int) {
	p, s, now := j.sizes.policy, &j.sizes, j.w.Now()
	cooldown := p.Up.Cooldown
	if size < j.asked {
		cooldown = p.Down.Cooldown
	}
	if size != j.asked && s.moved != 0 && now-s.moved < cooldown {
		j.Broken("size", "", fmt.Sprintf("%s moves the size %s after it moved, and its cooldown is %s", who, now-s.moved,
			cooldown))
	}
	if now < s.pinned-j.eldest().apart() {
		j.Broken("L15", "", who+" moves the size, which a person pinned")
	}
}

// shrinks judges that an opinion wants fewer machines.
func (j *Judge) shrinks(who string, size int, after *stored.Overall) {
	p, now := j.sizes.policy, j.w.Now()
	if m, since, is := j.blind(); is {
		j.score.ScaledInBlind++
		j.Broken("size", "", fmt.Sprintf("%s shrinks the fleet to %d, and metric %s has said nothing for %s", who, size, m,
			since))
	}
	if stood := now - j.sizes.began; stood < p.Down.Stabilise {
		j.Broken("L9", "", fmt.Sprintf("%s shrinks the fleet %s after its owner began to read, and its window is %s", who,
			stood, p.Down.Stabilise))
	}
	if after.Brake.On() {
		j.Broken("L6", "", who+" shrinks the fleet while the brake is on")
	}
}

// scaled judges a size that a program or a person ordered, as it is taken up.
func (j *Judge) scaled(o *fleet.Order) {
	size := o.Size
	if p := j.sizes.policy; p != nil {
		if o.Change != (fleet.SizeChange{}) {
			size = o.Change.To(j.asked)
		}
		if p.Strict && p.Bound(size) != size {
			j.Broken("L13", "", fmt.Sprintf("%d machines are ordered, beyond strict bounds, and that is taken up", size))
		}
		size = p.Bound(size)
		if o.Signal {
			j.inTime("a signal", size)
		} else {
			j.sizes.stated, j.sizes.pinned = j.w.Now(), 0
			if o.For > 0 {
				j.sizes.pinned = j.w.Now() + o.For
			}
		}
	}
	j.wants(size)
}

// blind returns a metric that an opinion goes by and that has said nothing for longer than it may be late.
func (j *Judge) blind() (fleet.MetricName, time.Duration, bool) {
	p := j.sizes.policy
	for i := range p.Opinions {
		o := &p.Opinions[i]
		m := p.Metric(o.Metric)
		if m == nil || len(o.Only) > 0 || len(o.Not) > 0 {
			continue // it may have no say now
		}
		if since, is := j.w.Silent(string(m.Name)); is && j.w.Now()-since > m.Late+m.Every {
			return m.Name, j.w.Now() - since, true
		}
	}
	return "", 0, false
}

// chosen judges which machines are to go now that were not to go before, and takes their instances for named: within
// the bounds no person need be asked.
func (j *Judge) chosen(before, after *fleet.Ledger) {
	goes := func(l *fleet.Ledger, name fleet.MachineName) int {
		if l == nil {
			return -1
		}
		return slices.IndexFunc(l.Removals, func(r fleet.Removal) bool { return r.Machine == name })
	}
	if after == nil {
		return
	}
	for i := range after.Removals {
		r := &after.Removals[i]
		_, planned := j.leaving[string(r.Machine)]
		if goes(before, r.Machine) >= 0 || planned || r.Named {
			continue
		}
		if o := j.wishes.posted[r.Order]; r.Opinion == "" && o.Kind != fleet.OrderScale {
			continue // it is for the plan that was confirmed to name it
		}
		j.leaving[string(r.Machine)] = string(r.Instance)
		j.sizes.named[string(r.Machine)] = true
		if staying := after.Size - len(after.Removals); staying < j.sizes.policy.Min {
			j.Broken("L13", string(r.Machine), fmt.Sprintf("it is to go, so that %d stay, and there are to be %d at least",
				staying, j.sizes.policy.Min))
		}
		if r.Opinion != "" {
			j.mayGo(r)
		}
	}
}

// mayGo judges the machine that goes by an opinion.
func (j *Judge) mayGo(r *fleet.Removal) {
	name := string(r.Machine)
	n, _ := r.Machine.Ordinal()
	if slices.Contains(j.sizes.policy.Stay, n) {
		j.Broken("L10", name, "it is to go by an opinion, and to stay by the configuration")
	}
	if j.isHeld(&j.store.Beliefs[n-1]) {
		j.Broken("L10", name, "it is to go by an opinion, and a person holds it")
	}
	at, was := j.sizes.added[string(r.Instance)]
	vm := j.w.VM(string(r.Instance))
	if lived, window := j.w.Now()-at, j.sizes.policy.Down.Stabilise; was && vm != nil && vm.Serving() &&
		lived < window && at > j.sizes.stated {
		j.Broken("size", name, fmt.Sprintf("it was added %s ago, and is to go within the window of %s", lived, window))
	}
}

// keeps forgets, after the records were judged, which machines were to go by an opinion or an order and stay.
func (j *Judge) keeps(after *fleet.Ledger) {
	for name := range j.sizes.named {
		goes := after != nil && slices.ContainsFunc(after.Removals,
			func(r fleet.Removal) bool { return string(r.Machine) == name })
		if goes {
			continue
		}
		delete(j.sizes.named, name)
		if !j.left[name] {
			delete(j.leaving, name)
			if vm := j.w.Current(name); vm != nil && !vm.Serving() {
				j.Serving(vm)
			}
		}
	}
}

// adds notes that an instance is built for a machine that came with a larger size.
func (j *Judge) adds(c *world.Call) {
	n, ok := fleet.MachineName(c.Mark.Machine).Ordinal()
	if j.sizes.policy == nil || !ok || n > len(j.store.Beliefs) {
		return
	}
	if r := j.store.Beliefs[n-1].Repair; r != nil && r.Kind == fleet.RepairBuild && j.sizes.grew > 0 {
		j.sizes.added[c.ID] = j.sizes.grew
	}
}
