package bubble

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider/simulated"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
)

// held is how long the first server stands still between the reading of its lease and the sending: much longer than the
// lease.
const held = 10 * time.Minute

// TestACallThatIsHeldUpAfterItsLeaseWasRead stops hale-1 exactly between the check of the lease and a disruptive call,
// for longer than the lease. hale-2 takes over and heals the machine by itself; then the call goes out. What
// docs/safety.md promises: it never hits a successor. What it says remains: it can hit the same instance after another
// owner healed it.
func TestACallThatIsHeldUpAfterItsLeaseWasRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		steps  []fleet.StepKind
		ill    simulated.Illness
		op     fleet.Op // that is held up
		// successor says that hale-2 healed by another instance.
		successor bool
		hits      bool // the late call hits the healthy machine
	}{
		"power-off, and a successor": {
			reason: "the id that it names is gone", steps: []fleet.StepKind{fleet.StepRecreate},
			ill: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}, op: fleet.OpPowerOff,
			successor: true,
		},
		"delete, and a successor": {
			reason: "the id that it names is gone", steps: []fleet.StepKind{fleet.StepRecreate},
			ill: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}, op: fleet.OpDelete,
			successor: true,
		},
		"create, and a successor": {
			reason: "the successor has the machine's name on that host", steps: []fleet.StepKind{fleet.StepRecreate},
			ill: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}, op: fleet.OpCreate,
			successor: true,
		},
		"reboot, and a successor": {
			reason: "the id that it names is gone", steps: []fleet.StepKind{fleet.StepReboot, fleet.StepRecreate},
			ill: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}, op: fleet.OpReboot,
			successor: true,
		},
		"reboot, and the same instance": {
			reason: "hale-2 rebooted it too, and no call of libvirt's is conditional on that",
			steps:  []fleet.StepKind{fleet.StepReboot},
			ill:    simulated.Illness{Symptom: simulated.NoHTTP}, op: fleet.OpReboot, hits: true,
		},
		"power-off, and the same instance": {
			reason: "it was well again when hale-2 looked", steps: []fleet.StepKind{fleet.StepRecreate},
			ill: simulated.Illness{Symptom: simulated.NoHTTP}, op: fleet.OpPowerOff, hits: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enter(t, rivals(c.steps), func(r *room) {
				r.pass(5*time.Minute, nil)
				old, _ := r.world.Instance("web-2")
				r.servers[0].holdUp(c.op, held)
				lift := r.inject(simulated.Broken{Instance: old.ID, Illness: c.ill})
				r.pass(r.now()+time.Minute, func() bool { return r.servers[0].holdsUp() })
				if !r.servers[0].holdsUp() {
					r.t.Fatalf("no %s was held up", c.op)
				}
				if c.hits && c.op == fleet.OpPowerOff {
					lift()
				}
				sent := r.now()
				r.pass(sent+held-time.Second, nil)
				now, _ := r.world.Instance("web-2")
				if r.judge.owner != "hale-2" || !r.healthy(2) || (now.ID != old.ID) != c.successor {
					r.t.Fatalf("hale-2 did not heal the machine: owner %s, instance %s was %s", r.judge.owner, now.ID,
						old.ID)
				}
				r.pass(sent+held+time.Second, nil)
				r.judgeLate(c.op, old, now, c.hits, c.reason)
				r.recover(c.op)
			})
		})
	}
}

// rivals are two servers and a fleet of three with these steps.
func rivals(steps []fleet.StepKind) sim.Options {
	spec := exemplar.Fleet(3)
	var ladder []policy.Step
	for _, kind := range steps {
		for _, step := range spec.Repair.Steps {
			if step.Kind == kind {
				ladder = append(ladder, step)
			}
		}
	}
	spec.Repair.Steps = ladder
	return sim.Options{Spec: spec, Hosts: exemplar.Town(2, 1, 1), Servers: 2, Seed: 1, Operator: 20 * time.Minute}
}

// judgeLate looks at what the late call did.
func (r *room) judgeLate(op fleet.Op, old, now fleet.Instance, hits bool, reason string) {
	r.t.Helper()
	var late []simulated.Call
	for _, c := range r.world.Calls() {
		if heldUp(c.Client) {
			late = append(late, c)
		}
	}
	if len(late) != 1 || late[0].Op != op || (late[0].Instance != old.ID) != (op == fleet.OpCreate) {
		r.t.Fatalf("late calls %+v, want one %s", late, op)
	}
	if op == fleet.OpCreate && late[0].Effect {
		r.t.Error("it built a second instance")
	}
	if hit := late[0].Effect && late[0].Served > 0; hit != hits {
		r.t.Errorf("it hit the healthy machine: %v, want %v, since %s", hit, hits, reason)
	}
	if !hits && !r.world.Healthy(now.ID) {
		r.t.Error("the successor was hit")
	}
}

// recover has what the late call broke be mended: a reset by itself, a machine that was switched off, which looks like
// a person's wish, by the person who is told.
func (r *room) recover(op fleet.Op) {
	r.t.Helper()
	if !r.pass(r.now()+r.patience(), func() bool { return r.each(r.healthy) }) {
		r.t.Errorf("the fleet is not well again after a late %s", op)
	}
	r.judge.finish()
	for _, b := range r.judge.broke {
		r.t.Errorf("after %v: %s", b.at, b.what)
	}
	if acts := r.judge.tally.WindowActs; acts > 1 || r.judge.tally.DoubleInstances > 0 {
		r.t.Errorf("%d acts in the window, %d double instances", acts, r.judge.tally.DoubleInstances)
	}
}

// TestAWriteThatIsHeldUp holds a write up, each of a heal in turn, until another server owns the fleet and has healed
// the machine. When the write arrives the store itself refuses it, and nothing is otherwise than it would be.
func TestAWriteThatIsHeldUp(t *testing.T) {
	t.Parallel()
	sick := func(r *room, i fleet.Instance) {
		r.inject(simulated.Broken{Instance: i.ID, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
	}
	for name, c := range map[string]struct {
		reason string
		begin  func(r *room, i fleet.Instance)
		writes int
	}{
		"of a heal": {"beliefs with their records", sick, 12},
		"of records": {"nothing but the lease guards it", func(r *room, i fleet.Instance) {
			lift := r.inject(simulated.Outage{})
			r.after(held/2, lift)
			r.after(held/2+time.Second, func() { sick(r, i) })
		}, 1},
	} {
		for n := 1; n <= c.writes; n++ {
			t.Run(fmt.Sprintf("%s, write %d", name, n), func(t *testing.T) {
				t.Parallel()
				enter(t, rivals([]fleet.StepKind{fleet.StepRecreate}), func(r *room) {
					r.pass(5*time.Minute, nil)
					lift := r.inject(simulated.Outage{}) // what there is to be said of the fleet as a whole is written
					r.pass(r.now()+time.Minute, nil)
					lift()
					r.pass(r.now()+time.Minute, nil)
					old, _ := r.world.Instance("web-2")
					r.servers[0].holdWrite(n, held)
					c.begin(r, old)
					r.pass(r.now()+2*held, nil)
					select {
					case a := <-r.arrivals:
						// what each start notes of itself rests on no lease
						own := strings.HasPrefix(a.txn.Subject(), "noted/")
						if !own && !fault.Is(a.err, fault.Conflict) {
							r.t.Errorf("a stale owner's write of %s was taken (%v): %s", a.txn.Subject(), a.err,
								c.reason)
						}
					default:
						r.t.Error("there were not so many writes")
					}
					if r.judge.owner != "hale-2" || !r.healthy(2) {
						r.t.Errorf("%s did not heal the machine", r.judge.owner)
					}
					r.recover("write")
				})
			})
		}
	}
}

// TestNoCallOutlivesItsLease loses hale-1's renewals, while its writes still pass, at every second before a call is
// due: either the call is sent while the lease covers it, or not at all.
func TestNoCallOutlivesItsLease(t *testing.T) {
	t.Parallel()
	for early := range 30 {
		t.Run(fmt.Sprint(early, " s before"), func(t *testing.T) {
			t.Parallel()
			enter(t, rivals([]fleet.StepKind{fleet.StepReboot, fleet.StepRecreate}), func(r *room) {
				r.pass(5*time.Minute, nil)
				r.servers[0].deafen(true)
				r.pass(r.now()+time.Duration(early)*time.Second, nil)
				i, _ := r.world.Instance("web-2")
				for _, op := range changing {
					r.inject(simulated.Calls{Op: op, Client: "hale-1", Effect: simulated.Slow, Delay: 14 * time.Second})
				}
				r.inject(simulated.Panic{Instance: i.ID})
				r.pass(r.now()+10*time.Minute, nil)
				if r.judge.owner != "hale-2" || !r.healthy(2) {
					r.t.Errorf("%s did not heal the machine", r.judge.owner)
				}
				r.recover("reboot")
			})
		})
	}
}
