package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// operation is what the ends of a call mean for the repair that made it. Each step's operations lie in the step's file.
type operation interface {
	// done: it had its effect. It is the one place where that enters the belief.
	done(w *Work, r *belief.Repair) onward
	// undone: it surely had no effect. What it rested on is old by now, so a disruptive one needs its look again.
	undone(r *belief.Repair)
	// conflict: the provider's truth is not what the call took for granted.
	conflict(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward
	notFound(w *Work, r *belief.Repair, in belief.Intent) onward
	failed(w *Work, r *belief.Repair, o fleet.Outcome) onward
	// refused: quota, permission or an invalid request. Trying again is of no use, a person must act.
	refused(w *Work, detail string) onward
	// took reports whether the instance shows the effect.
	took(i fleet.Instance) bool
	// ofStep reports whether the call is the whole of what its step does to the instance, and leaves it in place: tried
	// in vain, the next step is chosen.
	ofStep() bool
}

// resolver is an operation that finds out in its own way whether a call without an answer took effect.
type resolver interface {
	resolve(w *Work, r *belief.Repair, in belief.Intent) onward
}

// settler is an operation that deals with every outcome in its own way.
type settler interface {
	resolver
	settle(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward
}

// operations has what the ends of each call mean. Each lies in the file of its step.
var operations = map[fleet.Op]operation{
	fleet.OpStart:        starting{},
	fleet.OpResume:       starting{},
	fleet.OpReboot:       rebooting{},
	fleet.OpSoftReboot:   rebooting{},
	fleet.OpRun:          running{},
	fleet.OpRebuild:      rebuilding{},
	fleet.OpRevert:       reverting{},
	fleet.OpEvacuate:     moving{},
	fleet.OpMigrate:      moving{},
	fleet.OpRescue:       rescuing{},
	fleet.OpCreate:       creating{},
	fleet.OpPowerOff:     poweringOff{},
	fleet.OpDelete:       deleting{},
	fleet.OpCertify:      certifying{},
	fleet.OpKeep:         keeping{},
	fleet.OpRestore:      restoring{},
	fleet.OpSnapshot:     copying{},
	fleet.OpDropSnapshot: dropping{},
	fleet.OpFence:        fencing{},
	fleet.OpHook:         hooking{},
	fleet.OpAdjust:       adjusting{},
}

func operationOf(op fleet.Op) operation {
	if o, known := operations[op]; known {
		return o
	}
	return nothing{}
}

// nothing is what an operation means that means nothing else.
type nothing struct{}

func (nothing) done(*Work, *belief.Repair) onward                                   { return again }
func (nothing) undone(*belief.Repair)                                               {}
func (nothing) conflict(*Work, *belief.Repair, belief.Intent, fleet.Outcome) onward { return again }
func (nothing) notFound(*Work, *belief.Repair, belief.Intent) onward                { return again }
func (nothing) failed(*Work, *belief.Repair, fleet.Outcome) onward                  { return again }
func (nothing) took(fleet.Instance) bool                                            { return false }
func (nothing) ofStep() bool                                                        { return false }

func (nothing) refused(w *Work, detail string) onward {
	return w.giveUp(fleet.ReasonRefusedBy, detail)
}

// onTheSpot is an operation that is the whole of its step and leaves the instance in place.
type onTheSpot struct{ nothing }

func (onTheSpot) ofStep() bool { return true }

// done: it is verified at the last known address, until the provider names another.
func (onTheSpot) done(w *Work, _ *belief.Repair) onward { return w.verifyFrom() }

func (onTheSpot) undone(r *belief.Repair) {
	if r.Next.None() {
		r.LookAgain()
	}
}

// conflict: it changed while it was asked. Another step may fit better now, also a gentler one.
func (onTheSpot) conflict(w *Work, r *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	if r.Retries > 0 {
		return w.failRung(fleet.ReasonCallFailed, o.Detail)
	}
	w.retry(r)
	return lookAgain(r)
}

func (onTheSpot) notFound(w *Work, _ *belief.Repair, in belief.Intent) onward {
	return w.failRung(fleet.ReasonNoInstance, string(in.Op))
}

func (onTheSpot) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.failRung(o.Failure(), o.Detail)
}

// ofTheOld is an operation that takes the old instance, or its disk, away.
type ofTheOld struct{ nothing }

func (ofTheOld) undone(r *belief.Repair) { r.LookAgain() }

// conflict: it runs again, or is not ours.
func (ofTheOld) conflict(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	r.LookAgain()
	w.retry(r)
	return w.boundConflicts(r, in, o)
}

// sentAgain is an operation that can be sent again to find out what became of the first call.
type sentAgain struct{ nothing }

func (sentAgain) resolved(w *Work, r *belief.Repair, in belief.Intent) fleet.Outcome {
	r.Intent = nil
	w.Record(record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
		Instance: in.Instance, Generation: in.Generation, Host: in.Host, Detail: "it can be sent again"})
	return fleet.Outcome{Intent: in.ID, Kind: fleet.OutcomeUnknown}
}

// fencing cuts the power of the host.
type fencing struct{ sentAgain }

func (fencing) settle(w *Work, r *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	return exchange{w, r}.settleFence(o)
}

func (f fencing) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	return f.settle(w, r, in, f.resolved(w, r, in))
}

// starting is the operation of the steps start and resume.
type starting struct{ onTheSpot }

func (starting) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }
