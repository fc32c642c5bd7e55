package providertest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// AnswerLoser lets the answers to calls be lost after they took effect: a call then ends with its context.
type AnswerLoser interface {
	// LoseAnswers lets so many of a call's orders pass. The next one takes effect, but its answer is lost. From then on
	// there is no answer to anything, until HearAnswers. The channel is closed when the answer is lost; nil: that is
	// not known, and a call is given time.
	LoseAnswers(t T, after int) (lost <-chan struct{})
	HearAnswers(t T)
}

// OneOrder is a harness with a provider that sends one order per call, so that no call can lose a second answer.
type OneOrder interface{ OneOrder() }

// Accountant is a harness that knows what there is beside the instances: files, disks, ports. What was deleted must
// leave nothing of it.
type Accountant interface {
	// Belongings are what bears the installation's name, or the id of one of the instances.
	Belongings(t T, installation fleet.Installation, ids []fleet.InstanceID) []string
}

// mostOrders is more than any call is made of.
const mostOrders = 30

// deed is one kind of call that changes something, with what it takes to make it again and again on one instance.
type deed struct {
	op     fleet.Op
	method string // of the port
	// ready brings the instance to where the call has something to do. round tells one time from another.
	ready func(e *exam, o provider.Blueprint, round int)
	// call makes it.
	call func(ctx context.Context, e *exam, o provider.Blueprint, round int) error
	// settle makes the same call again until it is surely done, and then looks at what it did. The instance may be
	// running or off.
	settle func(e *exam, o provider.Blueprint, round int)
}

// deeds are all calls of the port that change an instance which is there; create and delete have questions of their
// own.
func deeds() []deed {
	return append([]deed{
		{
			op:     fleet.OpCertify,
			method: "Certify",
			ready:  running,
			call:   byRef(provider.Provider.Certify),
			settle: settledCertify,
		},
		{
			op:     fleet.OpReboot,
			method: "Reboot",
			ready:  running,
			call:   byRef(provider.Provider.Reboot),
			settle: settledReboot,
		},
		{
			op:     fleet.OpPowerOff,
			method: "PowerOff",
			ready:  running,
			call:   byRef(provider.Provider.PowerOff),
			settle: settledPowerOff,
		},
		{
			op:     fleet.OpStart,
			method: "Start",
			ready:  stopped,
			call:   byRef(provider.Provider.Start),
			settle: settledStart,
		},
		{
			op:     fleet.OpResume,
			method: "Resume",
			ready:  paused,
			call:   byRef(provider.Resumer.Resume),
			settle: settledResume,
		},
		{
			op:     fleet.OpSoftReboot,
			method: "RebootSoft",
			ready:  running,
			call:   byRef(provider.SoftRebooter.RebootSoft),
			settle: settledSoftReboot,
		},
		{
			op:     fleet.OpRebuild,
			method: "Rebuild",
			ready:  stopped,
			call: func(ctx context.Context, e *exam, o provider.Blueprint, _ int) error {
				return has[provider.Rebuilder](e).Rebuild(ctx, o)
			}, settle: settledRebuild,
		},
		{
			op:     fleet.OpRescue,
			method: "Rescue",
			ready:  running,
			call:   byRef(provider.Rescuer.Rescue),
			settle: settledRescue,
		},
		{
			op:     fleet.OpAdjust,
			method: "Adjust",
			ready:  toBeAdjusted,
			call:   adjusting,
			settle: settledAdjust,
		},
		{op: fleet.OpKeep, method: "Keep", ready: stopped, call: byName(provider.Keeper.Keep), settle: settledKeep},
		{
			op:     fleet.OpRestore,
			method: "Restore",
			ready:  keptAside,
			call:   byName(provider.Keeper.Restore),
			settle: settledRestore,
		},
	}, copying()...)
}

// copying are those on copies of disks.
func copying() []deed {
	return []deed{
		{
			op:     fleet.OpSnapshot,
			method: "Snapshot",
			ready:  toBeCopied,
			call: func(ctx context.Context, e *exam, o provider.Blueprint, round int) error {
				_, err := has[provider.Snapshotter](e).Snapshot(ctx, o.Ref,
					copyNamed(o, roundID(fleet.OpSnapshot, round)))
				return err
			}, settle: settledSnapshot,
		},
		{
			op:     fleet.OpRevert,
			method: "Revert",
			ready:  toBePutBack,
			call: func(ctx context.Context, e *exam, o provider.Blueprint, round int) error {
				return has[provider.Reverter](e).Revert(ctx, o.Ref, copyNamed(o, roundID(fleet.OpRevert, round)))
			}, settle: settledRevert,
		},
		{
			op:     fleet.OpDropSnapshot,
			method: "DropSnapshot",
			ready:  copied,
			call: func(ctx context.Context, e *exam, o provider.Blueprint, round int) error {
				return has[provider.Snapshotter](e).DropSnapshot(ctx,
					copyNamed(o, roundID(fleet.OpDropSnapshot, round)))
			}, settle: settledDropSnapshot,
		},
	}
}

// byRef is a deed's call that takes nothing but the instance.
func byRef[A any](
	method func(A, context.Context, provider.Ref) error,
) func(context.Context, *exam, provider.Blueprint, int) error {
	return func(ctx context.Context, e *exam, o provider.Blueprint, _ int) error {
		e.Helper()
		return method(has[A](e), ctx, o.Ref)
	}
}

// byName is one that takes the machine's name besides.
func byName[A any](
	method func(A, context.Context, provider.Ref, string) error,
) func(context.Context, *exam, provider.Blueprint, int) error {
	return func(ctx context.Context, e *exam, o provider.Blueprint, _ int) error {
		e.Helper()
		return method(has[A](e), ctx, o.Ref, o.Name)
	}
}

// wholeDeeds are those with questions of their own.
func wholeDeeds() map[fleet.Op]string {
	return map[fleet.Op]string{
		fleet.OpCreate:   "Create",
		fleet.OpDelete:   "Delete",
		fleet.OpEvacuate: "Evacuate",
		fleet.OpMigrate:  "Migrate",
	}
}

// unheard makes a call, and loses the answer to one of its orders. nil: the call had fewer, and ended well.
func (e *exam) unheard(after int, call func(ctx context.Context) error) error {
	e.Helper()
	lost := e.h.LoseAnswers(e.T, after)
	hear := sync.OnceFunc(func() { e.h.HearAnswers(e.T) })
	e.Cleanup(hear)
	ctx, cancel := context.WithTimeout(e.Context(), e.h.Patience()/4)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- call(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-lost:
		cancel()
		err = <-ended
	}
	hear()
	return err
}

// uncertain fails the test when the call says that nothing was done, although the answer to one of its orders was lost.
func (e *exam) uncertain(what string, after int, err error) {
	e.Helper()
	if err != nil {
		e.refused(fmt.Sprintf("%s without an answer to its order %d", what, after+1), err, fault.UnknownOutcome)
	}
}

// eachOrder asks about a call with the answer to its first call lost, then to its second, and so on to its last.
func (e *exam) eachOrder(what string, round func(after int) (done bool)) {
	e.Helper()
	for after := range mostOrders {
		if round(after) {
			if after == 0 {
				e.Errorf("%s: no answer was lost", what)
			}
			return
		}
		if able[OneOrder](e.h) {
			return
		}
	}
	e.Errorf("%s does not end: it was asked %d times", what, mostOrders)
}

// unheardIsDoneOnce: of each call that changes an instance, the answer to one of its orders is lost after it took
// effect. The same call again leads to the same end, with the same instance.
func unheardIsDoneOnce(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	for _, d := range deeds() {
		if e.lacks(d.op) {
			continue
		}
		e.eachOrder(string(d.op), func(after int) bool {
			if d.op == fleet.OpCertify && after > 0 {
				e.off(order.Ref)
				e.do("delete", e.p.Delete(e.ctx(), order.Ref))
				order = e.rival(order)
				e.do("create of one that is not certified", e.p.Create(e.ctx(), order))
			}
			d.ready(e, order, after)
			err := e.unheard(after, func(ctx context.Context) error { return d.call(ctx, e, order, after) })
			e.uncertain(string(d.op), after, err)
			d.settle(e, order, after)
			if d.op == fleet.OpCertify {
				order.Mark.Certified = true
			}
			running(e, order, after)
			e.untouched(order)
			e.alone(order)
			return err == nil
		})
	}
}

// lacks reports whether the provider lacks the operation, or the harness cannot prepare an instance for it.
func (e *exam) lacks(op fleet.Op) bool {
	e.Helper()
	if slices.Contains(provider.Cannot(e.p), op) {
		return true
	}
	if op == fleet.OpAdjust && !able[Adjusted](e.h) {
		if _, selective := e.h.(Selective); !selective {
			e.Errorf("the harness %T has nothing to adjust an instance to", e.h)
		}
		return true
	}
	if op == fleet.OpResume && !able[Pauser](e.h) {
		if _, selective := e.h.(Selective); !selective {
			e.Errorf("the harness %T cannot pause an instance, so a resume without an answer stays untested", e.h)
		}
		e.Logf("%s is left out: it takes an instance that is paused", op)
		return true
	}
	return false
}

// unheardCreate: whichever order of a create loses its answer, there is one instance or none, and the machine can be
// built in the end.
func unheardCreate(t T, h Harness) {
	e := begin(t, h)
	order := e.withDisk(e.order(1))
	before := e.cycled(order)
	e.eachOrder("create", func(after int) bool {
		order = e.rival(order)
		err := e.unheard(after, func(ctx context.Context) error { return e.p.Create(ctx, order) })
		if fault.Is(err, fault.Transient) { // what was ordered is no instance yet, and is used or removed later
			e.stays("a create that says that there is none", func() (string, bool) {
				found := Named(e.list(), order.Name)
				return fmt.Sprint(found), len(found) == 0
			})
		} else {
			e.uncertain("create", after, err)
		}
		e.await("the same create again", func() (string, bool) {
			err := e.p.Create(e.ctx(), order)
			return fmt.Sprint(err), err == nil || fault.Is(err, fault.Conflict)
		})
		e.refused("a create of the same name", e.p.Create(e.ctx(), e.rival(order)), fault.Conflict)
		e.alone(order)
		e.cleared(order)
		e.leavesOnly(fmt.Sprintf("a create without an answer to its order %d", after+1), order, before)
		return err == nil
	})
	next := e.rival(order)
	e.do("create in its place", e.p.Create(e.ctx(), next))
	e.awaitPower(next.Ref, fleet.PowerRunning)
	e.alone(next)
}

// unheardDelete: whichever order of a delete loses its answer, the instance is gone in the end, with all that was its
// own, and no other.
func unheardDelete(t T, h Harness) {
	e := begin(t, h)
	order := e.withDisk(e.order(1))
	before := e.cycled(order)
	e.eachOrder("delete", func(after int) bool {
		order = e.rival(order)
		e.do("create", e.p.Create(e.ctx(), order))
		e.awaitPower(order.Ref, fleet.PowerRunning)
		e.off(order.Ref)
		err := e.unheard(after, func(ctx context.Context) error { return e.p.Delete(ctx, order.Ref) })
		e.uncertain("delete", after, err)
		e.deleted(order)
		e.leavesOnly(fmt.Sprintf("a delete without an answer to its order %d", after+1), order, before)
		return err == nil
	})
}

// withDisk returns the order with a disk that outlives the instance, where the provider makes such.
func (e *exam) withDisk(o provider.Blueprint) provider.Blueprint {
	if !able[Diskless](e.h) {
		o.Template.Disks = append(slices.Clone(o.Template.Disks), policy.Disk{Name: "data", Size: 8 << 20})
	}
	return o
}

// cycled builds and removes an instance, and returns what there is of the machine then.
func (e *exam) cycled(o provider.Blueprint) []string {
	e.Helper()
	e.do("create", e.p.Create(e.ctx(), o))
	e.cleared(o)
	return e.belongings(o)
}

// cleared removes an instance that is in any state.
func (e *exam) cleared(o provider.Blueprint) {
	e.Helper()
	e.await("power off", func() (string, bool) {
		if seen := e.get(o.Ref); seen.Power == fleet.PowerOff {
			return "", true
		}
		return fmt.Sprint("power off: ", e.p.PowerOff(e.ctx(), o.Ref)), false
	})
	e.deleted(o)
}

// deleted deletes the instance until it is gone.
func (e *exam) deleted(o provider.Blueprint) {
	e.Helper()
	e.await("the same delete again", func() (string, bool) {
		err := e.p.Delete(e.ctx(), o.Ref)
		return fmt.Sprint(err), err == nil
	})
	e.await("the end of what was deleted", func() (string, bool) {
		_, err := e.p.Get(e.ctx(), o.Ref)
		return fmt.Sprint(err), fault.Is(err, fault.NotFound)
	})
}

func (e *exam) belongings(o provider.Blueprint) []string {
	e.Helper()
	a, ok := e.h.(Accountant)
	if !ok {
		return nil
	}
	return a.Belongings(e.T, o.Mark.Installation, []fleet.InstanceID{o.ID})
}

// leavesOnly fails the test unless there is neither an instance of the installation nor anything else that was not
// there before.
func (e *exam) leavesOnly(what string, o provider.Blueprint, before []string) {
	e.Helper()
	for _, seen := range e.list().Instances {
		if seen.Mark.Installation == o.Mark.Installation {
			e.Errorf("%s left %s: %s", what, seen.Name, seen.ID)
		}
	}
	var left []string
	e.await(what+" leaves nothing", func() (string, bool) {
		left = e.belongings(o)
		return fmt.Sprint(left), slices.Equal(left, before)
	})
}

// alone fails the test unless the order's instance is the only one of its installation.
func (e *exam) alone(order provider.Blueprint) {
	e.Helper()
	var ours []fleet.InstanceID
	for _, seen := range e.list().Instances {
		if seen.Mark.Installation == order.Mark.Installation {
			ours = append(ours, seen.ID)
		}
	}
	e.same("instances of this installation", []fleet.InstanceID{order.ID}, ours)
}
