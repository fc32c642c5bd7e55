package script

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/load"
	"hale/internal/sim/verbs"
)

// Rolled returns the spec with a way of other templates through its fleet, drawn by the seed: batches, pauses, machines
// in service, machines beyond the size, spares, a metric that tells, and what a failure means.
func Rolled(spec policy.Spec, seed uint64) policy.Spec {
	r := rand.New(rand.NewPCG(seed, 0x726f6c6c))
	most := 5.0
	if _, kept := spec.Template.DiskLost(); !kept && spec.Sizing == nil && !spec.Adopt.Selects() {
		spec.Spares.Count = max(0, r.IntN(4)-1)
		off := rand.New(rand.NewPCG(seed, 0x6f6666)) // of its own, so that what else is drawn stays
		spec.Spares.Off = spec.Spares.Count > 0 && off.IntN(2) == 0
	}
	least := max(1, spec.Size-1-r.IntN(3))
	if spec.Spares.Count > 0 && r.IntN(2) == 0 {
		least = spec.Size
	}
	u := policy.Update{Pilots: 1 + r.IntN(2), Soak: time.Duration(r.IntN(5)) * time.Minute,
		Batch: policy.Portion{Number: 1 + r.IntN(3)}, Pause: time.Duration(r.IntN(3)) * time.Minute,
		InService: policy.Portion{Number: least}, UndoWithin: 12 * time.Hour,
		OnFailure: pick(r, policy.UpdateUndo, policy.UpdateUndo, policy.UpdateStop),
		Order:     pick(r, policy.UpdateHighest, policy.UpdateLowest, policy.UpdateOldest)}
	if spec.Size == 1 && spec.Spares.Count == 0 {
		u.InService = policy.Portion{}
	}
	if r.IntN(2) == 0 {
		u.Query = &policy.UpdateQuery{Metric: policy.OwnMetric, Above: &most, For: time.Minute,
			Own: &policy.Metric{Name: policy.OwnMetric, Kind: policy.MetricCommand, Every: 15 * time.Second,
				Late: 45 * time.Second, Command: policy.Command{Args: []string{"/bin/errors"}}}}
	}
	u.Surge = surge(&spec, seed)
	spec.Update, spec.Template.Image = u, cmp.Or(spec.Template.Image, "web-1.qcow2")
	spec.Limits.InRepair, spec.Limits.InRepairPercent = 1+r.IntN(3), 0
	return spec
}

// surge draws how many machines there may be beyond the size, by a stream of its own: most fleets have none, and a
// fleet with spares, or with disks to be kept, never has.
func surge(spec *policy.Spec, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 0x7375726765))
	if _, kept := spec.Template.DiskLost(); kept || spec.Spares.Count > 0 || spec.Adopt.Selects() || r.IntN(2) == 0 {
		return 0
	}
	return 1 + r.IntN(2)
}

// rollouts draws another template, and what befalls it on its way: it is bad, its metric tells or says nothing, a
// person pauses it, takes it back, writes the former one, or has what differs mended.
func (d *drawing) rollouts(at time.Duration) {
	if d.spec.Update.Batch == (policy.Portion{}) {
		return
	}
	switch d.random.IntN(4) {
	case 0:
		d.add(at, Operator, Remembers, strconv.Itoa(1024*(1+d.random.IntN(4))), 0)
	case 1:
		d.add(at, Operator, Labels, fmt.Sprintf("role=r%d", d.random.IntN(9)), 0)
	default:
		d.add(at, Operator, Retemplates, fmt.Sprintf("rolled-%d.qcow2", at/time.Minute), 0)
	}
	at += d.lasting(time.Second, 5*time.Minute)
	d.add(at, Operator, Confirms, "", 0)
	then := at + d.lasting(time.Second, 40*time.Minute)
	metric, short := "metric "+string(policy.OwnMetric), d.lasting(5*time.Minute, time.Hour)
	switch n := d.random.IntN(8); {
	case n == 0:
		d.add(max(0, at-time.Minute), "template", verbs.IsBad, "", short)
	case n == 1:
		d.add(then, "template", verbs.IsBad, "", short)
	case n == 2 && d.spec.Update.Query != nil:
		d.add(then, metric, verbs.Says, "40", short)
	case n == 3 && d.spec.Update.Query != nil:
		d.add(then, metric, verbs.Says, string(load.SaysNothing), short)
	case n == 4:
		d.add(then, Operator, PausesRollout, "", 0)
		d.add(then+d.lasting(time.Minute, 3*time.Hour), Operator, ResumesRollout, "", 0)
	case n == 5:
		d.add(then, Operator, UndoesRollout, "", 0)
	case n == 6:
		d.add(then, Operator, Retemplates, path.Base(d.spec.Template.Image), 0)
		d.add(then+d.lasting(time.Second, time.Hour), Operator, Confirms, "", 0)
	}
	// whatever became of it, in the end a person has one template everywhere
	later := then + d.lasting(4*time.Hour, 8*time.Hour)
	d.add(later, Operator, ResumesRollout, "", 0)
	d.add(later, Operator, UndoesRollout, "", 0)
	d.add(later+time.Hour, Operator, MendsDrift, "", 0)
}
