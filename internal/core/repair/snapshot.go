package repair

import (
	"cmp"
	"strconv"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// snapshotTries are the orders of one copy before it counts as failed: their answers say nothing, or that nothing was
// done.
const snapshotTries = 3

// copying is the operation of the step snapshot, and dropping removes a copy.
type (
	copying  struct{ sentAgain }
	dropping struct{ sentAgain }
)

func (copying) settle(w *Work, r *fleet.Repair, in fleet.Intent, o fleet.Outcome) onward {
	return w.settleSnapshot(r, in, o)
}

func (c copying) resolve(w *Work, r *fleet.Repair, in fleet.Intent) onward {
	return c.settle(w, r, in, c.resolved(w, r, in))
}

func (dropping) settle(w *Work, _ *fleet.Repair, in fleet.Intent, o fleet.Outcome) onward {
	return w.settleDrop(in, o)
}

func (d dropping) resolve(w *Work, r *fleet.Repair, in fleet.Intent) onward {
	return d.settle(w, r, in, d.resolved(w, r, in))
}

// snapshot is the step.
type snapshot struct{ anywhere }

func (snapshot) op(fleet.Step) fleet.Op { return fleet.OpSnapshot }

// applies says why there is nothing to copy, or why it must not be.
func (snapshot) applies(m *fleet.Machine, _ *fleet.Spec, _ fleet.Step) fleet.Reason {
	switch {
	case missing(m):
		return fleet.ReasonNoInstance
	case m.Health.Cause == fleet.CauseIOError: // its storage is full, or broken
		return fleet.ReasonIOError
	case m.Copied():
		return fleet.ReasonSnapshotThere
	}
	return ""
}

// passedOver says why the ladder passes the rung over. A copy is only made for a later step that would lose something.
func passedOver(m *fleet.Machine, s *guard.Situation, rung int) fleet.Reason {
	steps := s.Spec.Repair.Steps
	if steps[rung].Kind != fleet.StepSnapshot || unfit(m, s, steps[rung]) != "" {
		return skipped(m, s, steps[rung])
	}
	for _, later := range steps[rung+1:] {
		if (later.Kind == fleet.StepRebuild || later.Kind == fleet.StepRecreate) && skipped(m, s, later) == "" {
			return skipped(m, s, steps[rung])
		}
	}
	return fleet.ReasonNothingAfter
}

// demanded reports whether the ladder must not go on without the copy that cannot be made.
func demanded(step fleet.Step, why fleet.Reason) bool {
	return step.Kind == fleet.StepSnapshot && step.OnFailure != fleet.OnFailureContinue &&
		why == fleet.ReasonUnsupported
}

// copyOf names the copy that the operation of the machine's repair is about: of a ladder there is one, named after the
// repair, and after when that began. The number alone may be given a second time, by an older store that was restored:
// the copy that lies under it at the provider would be taken for a new one.
func copyOf(m *fleet.Machine, r *fleet.Repair, op fleet.Op) fleet.SnapshotID {
	switch op {
	case fleet.OpSnapshot:
		number := r.ID[strings.LastIndexByte(r.ID, '/')+1:]
		if begun := fleet.SnapshotID(number); m.SnapshotAt(begun) >= 0 {
			return begun // by an older version, which named it so
		}
		return fleet.SnapshotID(number + "-" + strconv.FormatInt(r.Started.UnixMilli(), 36))
	case fleet.OpDropSnapshot:
		return r.Drop
	default:
		return ""
	}
}

// snapshot writes down that the target's disks are copied, and orders it. An order that is repeated is for the same
// copy.
func (w *Work) snapshot(r *fleet.Repair) onward {
	id := copyOf(w.M, r, fleet.OpSnapshot)
	if w.M.SnapshotAt(id) < 0 {
		d := fleet.DiskSnapshot{ID: id, Instance: r.Target.ID, Generation: r.Target.Generation, Host: r.Target.Host,
			At: w.Situation.Now.Wall}
		if w.M.Incident != nil {
			d.Incident = w.M.Incident.ID
		}
		w.M.Snapshots = append(w.M.Snapshots, d)
	}
	d, late := &w.M.Snapshots[w.M.SnapshotAt(id)], fleet.CurrentStep(w.Situation.Spec, *r).Timeout+fleet.BuildCallLimit
	d.Until, d.Ends = w.Situation.Now.Wall.Add(late), w.now().Add(late)
	return w.call(r, fleet.OpSnapshot, r.Target)
}

// settleSnapshot goes on after the copy, or says what follows from its failure.
func (w *Work) settleSnapshot(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) onward {
	switch o.Kind {
	case fleet.OutcomeDone:
		return w.taken(r, in, o.Copy)
	case fleet.OutcomeNotFound:
		return w.failRung(fleet.ReasonNoInstance, string(in.Op))
	case fleet.OutcomeRefused:
		return w.snapshotFailed(fleet.ReasonRefusedBy, o.Detail)
	case fleet.OutcomeUnsupported:
		return w.snapshotFailed(fleet.ReasonUnsupported, o.Detail)
	case fleet.OutcomeFailed, fleet.OutcomeNoSecret:
		return w.snapshotFailed(fleet.ReasonCallFailed, o.Detail)
	case fleet.OutcomeUnknown, fleet.OutcomeRetry, fleet.OutcomeNotSent, fleet.OutcomeConflict,
		fleet.OutcomeLocked: // dealt with before
	}
	r.LookAgain() // perhaps it is well by now
	w.retry(r)
	if r.Retries >= snapshotTries {
		return w.snapshotFailed(fleet.ReasonCallFailed, o.Detail)
	}
	return again
}

// taken: the copy is whole. It is none of the instance's any more.
func (w *Work) taken(r *fleet.Repair, in fleet.Intent, c fleet.Copy) onward {
	step, now := fleet.CurrentStep(w.Situation.Spec, *r), w.Situation.Now
	d := &w.M.Snapshots[w.M.SnapshotAt(in.Snapshot)]
	d.Whole, d.At, d.Where, d.Bytes = true, now.Wall, c.Where, c.Bytes
	d.Until, d.Ends = now.Wall.Add(step.KeepFor), now.Mono.Add(step.KeepFor)
	w.Record(fleet.Record{Kind: fleet.RecordSnapshot, Reason: fleet.ReasonTaken, Snapshot: d.ID, Instance: d.Instance,
		Generation: d.Generation, Host: d.Host, Detail: d.Where, Bytes: d.Bytes, Took: step.KeepFor})
	w.M.Outdate(max(1, step.Keep), now)
	return w.chooseRung(r.Rung + 1)
}

// snapshotFailed: nothing was done to the machine. The policy says whether the next step, which may lose what was to be
// copied, is tried.
func (w *Work) snapshotFailed(why fleet.Reason, detail string) onward {
	r := w.M.Repair
	w.Record(fleet.Record{Kind: fleet.RecordStepFailed, Reason: why, Step: r.Step, Detail: detail,
		Instance: r.Target.ID})
	if fleet.CurrentStep(w.Situation.Spec, *r).OnFailure == fleet.OnFailureContinue {
		return w.chooseRung(r.Rung + 1)
	}
	return w.quarantine(fleet.ReasonSnapshotFailed, cmp.Or(detail, string(why)))
}

// Overdue returns the first copy of disks that was kept for its time, or given up, and that lies on no host that is
// held.
func (w *Chart) Overdue() (fleet.DiskSnapshot, bool) {
	for _, d := range w.M.Snapshots {
		if d.MayGo(w.Situation.Now) && !guard.HostHeld(d.Host, w.Situation) {
			return d, true
		}
	}
	return fleet.DiskSnapshot{}, false
}

// BeginDrop opens the removal of a copy of disks.
func (w *Work) BeginDrop(d fleet.DiskSnapshot) {
	w.M.Waiting = ""
	w.open(fleet.Repair{Kind: fleet.RepairTidy, Drop: d.ID}, fleet.AimAt(fleet.Incarnation{ID: d.Instance,
		Generation: d.Generation, Host: d.Host}))
	w.Record(fleet.Record{Kind: fleet.RecordRepairStarted, Reason: fleet.Reason(fleet.RepairTidy), Snapshot: d.ID,
		Instance: d.Instance, Generation: d.Generation, Host: d.Host, Took: w.Situation.Now.Wall.Sub(d.At)})
	w.enter(fleet.PhaseAct)
	w.Advance()
}

// settleDrop ends the removal. What would not go is tried again later: the order can be repeated, whatever became of
// it.
func (w *Work) settleDrop(in fleet.Intent, o fleet.Outcome) onward {
	at := w.M.SnapshotAt(in.Snapshot)
	d := &w.M.Snapshots[at]
	if o.Kind == fleet.OutcomeDone {
		w.Record(fleet.Record{Kind: fleet.RecordSnapshot, Reason: fleet.ReasonRemoved, Snapshot: d.ID,
			Instance: d.Instance, Generation: d.Generation, Host: d.Host, Detail: d.Where})
		w.M.Snapshots = append(w.M.Snapshots[:at], w.M.Snapshots[at+1:]...)
		return w.end(fleet.ReasonRemoved)
	}
	d.RetryAt = w.now().Add(longestBackoff)
	lasting := o.Kind == fleet.OutcomeRefused || o.Kind == fleet.OutcomeUnsupported || o.Kind == fleet.OutcomeFailed
	if lasting && !d.Paged {
		d.Paged = true
		w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: fleet.ReasonSnapshotStays, Snapshot: d.ID, Host: d.Host,
			Detail: o.Detail})
	}
	return w.end(fleet.ReasonPutOff)
}
