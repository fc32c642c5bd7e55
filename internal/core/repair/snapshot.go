package repair

import (
	"cmp"
	"strconv"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// snapshotTries are the orders of one copy before it counts as failed: their answers say nothing, or that nothing was
// done.
const snapshotTries = 3

// copying is the operation of the step snapshot, and dropping removes a copy.
type (
	copying  struct{ sentAgain }
	dropping struct{ sentAgain }
)

func (copying) settle(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	return copier{w, r}.settle(in, o)
}

func (c copying) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	return c.settle(w, r, in, c.resolved(w, r, in))
}

func (dropping) settle(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	return copier{w, r}.dropped(in, o)
}

func (d dropping) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	return d.settle(w, r, in, d.resolved(w, r, in))
}

// copier has the disks of the target copied, or removes a copy.
type copier struct {
	*Work
	r *belief.Repair
}

// copyOf names the copy that the operation of the machine's repair is about: of a ladder there is one, named after the
// repair, and after when that began. The number alone may be given a second time, by an older store that was restored:
// the copy that lies under it at the provider would be taken for a new one.
func copyOf(m *belief.Machine, r *belief.Repair, op fleet.Op) fleet.SnapshotID {
	switch op {
	case fleet.OpSnapshot:
		number := r.ID[strings.LastIndexByte(r.ID, '/')+1:]
		if begun := fleet.SnapshotID(number); m.SnapshotAt(begun) >= 0 {
			return begun // by an older version, which named it so
		}
		return fleet.SnapshotID(number + "-" + strconv.FormatInt(r.Started.UnixMilli(), 36))
	case fleet.OpDropSnapshot:
		return r.Drop
	case fleet.OpRevert:
		return r.Copy
	default:
		return ""
	}
}

// order writes down that the target's disks are copied, and orders it. An order that is repeated is for the same
// copy.
func (c copier) order() onward {
	id := copyOf(c.M, c.r, fleet.OpSnapshot)
	if c.M.SnapshotAt(id) < 0 {
		d := belief.DiskSnapshot{ID: id, Instance: c.r.Target.ID, Generation: c.r.Target.Generation,
			Host: c.r.Target.Host, At: c.Situation.Now.Wall}
		if c.M.Incident != nil {
			d.Incident = c.M.Incident.ID
		}
		c.M.Snapshots = append(c.M.Snapshots, d)
	}
	d := &c.M.Snapshots[c.M.SnapshotAt(id)]
	late := belief.CurrentStep(c.Situation.Spec, *c.r).Timeout + policy.BuildCallLimit
	d.Until, d.Ends = c.Situation.Now.Wall.Add(late), c.Now().Add(late)
	return c.call(c.r, fleet.OpSnapshot, c.r.Target)
}

// settle goes on after the copy, or says what follows from its failure.
func (c copier) settle(in belief.Intent, o fleet.Outcome) onward {
	switch o.Kind {
	case fleet.OutcomeDone:
		return c.taken(in, o.Copy)
	case fleet.OutcomeNotFound:
		return c.failRung(fleet.ReasonNoInstance, string(in.Op))
	case fleet.OutcomeRefused:
		return c.failed(fleet.ReasonRefusedBy, o.Detail)
	case fleet.OutcomeUnsupported:
		return c.failed(fleet.ReasonUnsupported, o.Detail)
	case fleet.OutcomeFailed, fleet.OutcomeNoSecret:
		return c.failed(fleet.ReasonCallFailed, o.Detail)
	case fleet.OutcomeUnknown, fleet.OutcomeRetry, fleet.OutcomeNotSent, fleet.OutcomeConflict,
		fleet.OutcomeLocked: // dealt with before
	}
	c.r.LookAgain() // perhaps it is well by now
	c.retry(c.r)
	if c.r.Retries >= snapshotTries {
		return c.failed(fleet.ReasonCallFailed, o.Detail)
	}
	return again
}

// taken: the copy is whole. It is none of the instance's any more.
func (c copier) taken(in belief.Intent, made fleet.Copy) onward {
	step, now := belief.CurrentStep(c.Situation.Spec, *c.r), c.Situation.Now
	d := &c.M.Snapshots[c.M.SnapshotAt(in.Snapshot)]
	d.Whole, d.At, d.Where, d.Bytes = true, now.Wall, made.Where, made.Bytes
	d.Until, d.Ends = now.Wall.Add(step.KeepFor), now.Mono.Add(step.KeepFor)
	c.Record(record.Record{Kind: record.Snapshot, Reason: fleet.ReasonTaken, Snapshot: d.ID, Instance: d.Instance,
		Generation: d.Generation, Host: d.Host, Detail: d.Where, Bytes: d.Bytes, Took: step.KeepFor})
	c.M.Outdate(max(1, step.Keep), now)
	return c.chooseRung(c.r.Rung + 1)
}

// failed: nothing was done to the machine. The policy says whether the next step, which may lose what was to be
// copied, is tried.
func (c copier) failed(why fleet.Reason, detail string) onward {
	c.Record(record.Record{Kind: record.StepFailed, Reason: why, Step: c.r.Step, Detail: detail,
		Instance: c.r.Target.ID})
	if belief.CurrentStep(c.Situation.Spec, *c.r).OnFailure == policy.OnFailureContinue {
		return c.chooseRung(c.r.Rung + 1)
	}
	return c.quarantine(fleet.ReasonSnapshotFailed, cmp.Or(detail, string(why)))
}

// BeginDrop opens the removal of a copy of disks.
func (w *Work) BeginDrop(d belief.DiskSnapshot) {
	w.M.Waiting = ""
	w.open(belief.Repair{Kind: belief.RepairTidy, Drop: d.ID}, belief.AimAt(belief.Incarnation{ID: d.Instance,
		Generation: d.Generation, Host: d.Host}))
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(belief.RepairTidy), Snapshot: d.ID,
		Instance: d.Instance, Generation: d.Generation, Host: d.Host, Took: w.Situation.Now.Wall.Sub(d.At)})
	w.enter(belief.PhaseAct)
	w.Advance()
}

// dropped ends the removal. What would not go is tried again later: the order can be repeated, whatever became of
// it.
func (c copier) dropped(in belief.Intent, o fleet.Outcome) onward {
	at := c.M.SnapshotAt(in.Snapshot)
	d := &c.M.Snapshots[at]
	if o.Kind == fleet.OutcomeDone {
		c.Record(record.Record{Kind: record.Snapshot, Reason: fleet.ReasonRemoved, Snapshot: d.ID,
			Instance: d.Instance, Generation: d.Generation, Host: d.Host, Detail: d.Where})
		c.M.Snapshots = append(c.M.Snapshots[:at], c.M.Snapshots[at+1:]...)
		return c.end(fleet.ReasonRemoved)
	}
	d.RetryAt = c.Now().Add(policy.LongestBackoff)
	lasting := o.Kind == fleet.OutcomeRefused || o.Kind == fleet.OutcomeUnsupported || o.Kind == fleet.OutcomeFailed
	if lasting && !d.Paged {
		d.Paged = true
		c.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonSnapshotStays, Snapshot: d.ID, Host: d.Host,
			Detail: o.Detail})
	}
	return c.end(fleet.ReasonPutOff)
}
