package sim

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// court is a quiet run of three machines at the moment when its only server owns the fleet, before anything was
// decided.
type court struct {
	*stage
	c *server
}

func newCourt(t *testing.T) court {
	t.Helper()
	s, err := newStage(Options{Spec: Exemplar(3), Hosts: []world.Host{{Name: "h1"}, {Name: "h2"}},
		Homes: []string{"h1", "h1", "h1"}, Horizon: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.servers[0].start()
	s.w.At(time.Minute, func() {})
	for s.w.Now() < time.Minute {
		s.w.Step()
	}
	return court{s, s.servers[0]}
}

// reboots is what a lawful reboot of web-1 begins with: the action, and a look at it.
func (o court) reboots() fleet.Action {
	a := fleet.Action{Kind: fleet.ActionCall, Machine: "web-1", Instance: "planted-1",
		Intent: fleet.Intent{Op: fleet.OpReboot, Limit: time.Second}}
	o.judge.looks(a)
	return a
}

// stores lets the judge see a change of what is believed of web-1.
func (o court) stores(change func(was, is *fleet.Machine), records ...fleet.RecordKind) {
	was := o.store.beliefs[0].Clone()
	is := was.Clone()
	change(&was, &is)
	if is.Repair != nil && is.Repair.Kind == fleet.RepairHeal {
		is.Incident = &fleet.Incident{Cause: fleet.CauseChecks}
	}
	said := make([]fleet.Record, len(records))
	for i, k := range records {
		said[i] = fleet.Record{Kind: k, Reason: plausible[k], Machine: "web-1"}
	}
	delete(o.judge.afresh, "web-1")
	o.judge.committed(o.c, &was, &is, said)
	o.judge.decided()
}

// plausible are reasons that records of these kinds can have.
var plausible = map[fleet.RecordKind]fleet.Reason{
	fleet.RecordHeld: fleet.ReasonBudget, fleet.RecordRepairStarted: fleet.Reason(fleet.RepairHeal),
	fleet.RecordRepairEnded: fleet.ReasonHealed,
}

func healing(id string) *fleet.Repair { return &fleet.Repair{ID: id, Kind: fleet.RepairHeal} }

// builds has hale begin to build the machine.
func builds(_, is *fleet.Machine) {
	is.Current, is.Repair = fleet.Incarnation{}, &fleet.Repair{ID: "r1", Kind: fleet.RepairBuild}
}

// crime is a law and a way to break it.
type crime struct {
	law, name string
	// play breaks the law, or keeps it in a situation that looks much the same.
	play func(o court, breaks bool)
}

// deafTo hides from a watcher how many instances of a machine run.
type deafTo struct{ world.Watcher }

func (deafTo) Copies(string, int) {}

// deeds are the laws that calls break, or what became of machines.
func deeds() []crime {
	return []crime{
		{"L1", "two instances run at once", func(o court, breaks bool) {
			o.judge.Copies("web-1", map[bool]int{true: 2, false: 1}[breaks])
		}},
		{"L1", "two instances run at once, and nobody said so", func(o court, breaks bool) {
			o.w.Watch = deafTo{o.w.Watch}
			o.w.Leave(world.Status{ID: "second", Host: o.w.VM("planted-1").Host, Name: "copy of web-1",
				Mark: world.Mark{Machine: "web-1"}})
			if breaks {
				o.w.PowerOn(o.w.VM("second"))
			}
			o.judge.inspect()
		}},
		{"L2", "a stranger is deleted", func(o court, breaks bool) {
			o.judge.Sent(&world.Call{Op: world.Delete, ID: "planted-1", Stranger: breaks,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what was never certified is powered off", func(o court, breaks bool) {
			o.store.beliefs[0].Current.Certified, o.store.beliefs[0].Current.Expired = false, !breaks
			o.judge.Acted(&world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what existed before is powered off without permission", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked, o.spec.Adopt.Replaceable = true, !breaks
			o.judge.Sent(&world.Call{Op: world.PowerOff, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what existed before is started before it was adopted", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked, o.store.beliefs[0].Current.Certified = true, !breaks
			o.judge.Sent(&world.Call{Op: world.Start, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "a mark is written on what existed before", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked = breaks
			o.judge.Sent(&world.Call{Op: world.Certify, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"harm", "a healthy machine is destroyed", func(o court, breaks bool) {
			o.judge.Acted(&world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true, Certified: true,
				Healthy: breaks, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L3", "a call without a look since the last outcome", func(o court, breaks bool) {
			a := o.reboots()
			if breaks {
				o.w.At(o.w.Now()+time.Second, func() { o.judge.answered(a) })
				o.w.Step()
			}
			o.judge.sends(o.c, a)
		}},
		{"L7", "a call of one who does not own the fleet", func(o court, breaks bool) {
			if breaks {
				o.store.owner = nil
			}
			o.judge.sends(o.c, o.reboots())
		}},
		{"L7", "a call that may outlive the lease", func(o court, breaks bool) {
			a := o.reboots()
			if breaks {
				o.c.lease.granted = o.w.Now() - o.c.lease.length + a.Intent.Limit
				o.c.lease.stopped = o.c.lease.granted
			}
			o.judge.sends(o.c, a)
		}},
		{"L8", "down for ever, and nobody knows", func(o court, breaks bool) {
			end := o.w.Now() + o.utmost(0) + time.Minute
			o.w.At(end, func() {})
			o.c.crash() // no server heals
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			if !breaks {
				o.judge.page("web-1")
			}
			for o.w.Now() < end {
				o.w.Step()
			}
		}},
		{"L9", "a call before a fresh verdict was possible", func(o court, breaks bool) {
			if breaks {
				o.judge.startedAfresh(o.c)
			}
			o.judge.sends(o.c, o.reboots())
		}},
	}
}

// slights are the laws that stand for what people said, and what they are told.
func slights() []crime {
	return []crime{
		{"L10", "a call to a machine that a person stopped", func(o court, breaks bool) {
			vm := o.w.Current("web-1")
			vm.Power, vm.Stop = world.Off, world.StopExternal
			if breaks {
				o.judge.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			}
			o.judge.Sent(&world.Call{Op: "start", ID: vm.ID, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L10", "a call to a machine that a person stopped long enough after a reset", func(o court, breaks bool) {
			vm := o.w.Current("web-1")
			vm.Power, vm.Stop = world.Off, world.StopExternal
			o.judge.Acted(&world.Call{Op: world.Reboot, ID: vm.ID, Effect: true, Certified: true,
				Mark: world.Mark{Machine: "web-1"}})
			if breaks {
				until := o.w.Now() + o.options.Poll
				o.w.At(until, func() {})
				for o.w.Now() < until {
					o.w.Step()
				}
			}
			o.judge.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			o.judge.Sent(&world.Call{Op: "start", ID: vm.ID, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L15", "a hold ends early, and not only by a copy's clock that is ahead", func(o court, breaks bool) {
			hold := fleet.Order{ID: "o1", Kind: fleet.OrderHold, For: time.Minute}
			o.judge.ordered(&hold)
			double := &stage{first: o.stage, options: o.options, spec: o.spec, w: o.w, score: o.score, trace: o.trace}
			double.servers = crew{{s: double, name: "copy-1"}}
			double.store, double.judge = newStore(3), newJudge(double)
			double.judge.wishes = o.judge.wishes
			o.stage.double = double
			if !breaks {
				double.servers[0].skew = time.Minute
			}
			double.judge.wishes.taken = map[fleet.OrderID]time.Duration{"o1": o.w.Now()}
			double.judge.holdsChange([]fleet.Hold{{Order: "o1"}}, nil)
		}},
		{"L8", "down for ever, of the fleet by its numbers and not only by its size", func(o court, breaks bool) {
			o.judge.books(&fleet.Ledger{Size: 2, Left: []int{map[bool]int{true: 2, false: 1}[breaks]}})
			o.judge.size = 2
			end := o.w.Now() + o.utmost(0) + time.Minute
			o.w.At(end, func() {})
			o.c.crash() // no server heals
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			for o.w.Now() < end {
				o.w.Step()
			}
		}},
		{"L8", "down for ever, since it is one of the fleet again", func(o court, breaks bool) {
			o.judge.size = 2
			o.judge.books(&fleet.Ledger{Size: 2, Left: []int{1}})
			end := o.w.Now() + o.utmost(0) + time.Minute
			o.w.At(end, func() {})
			o.c.crash()
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			if breaks {
				o.judge.books(&fleet.Ledger{Size: 2})
			}
			for o.w.Now() < end {
				o.w.Step()
			}
		}},
		{"L8", "down for ever, since the fleet grew by its number and not by another", func(o court, breaks bool) {
			o.judge.size, o.judge.asked = 1, 2
			o.judge.books(&fleet.Ledger{Size: 1, Left: []int{1}})
			end := o.w.Now() + o.utmost(0) + time.Minute
			o.w.At(end, func() {})
			o.c.crash()
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			o.judge.changed(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeUp, Size: 2})
			grown := &fleet.Ledger{Size: 2}
			if !breaks {
				grown.Left = []int{1}
			}
			o.judge.books(grown)
			for o.w.Now() < end {
				o.w.Step()
			}
		}},
		{"L6", "a repair begins while too many of the fleet fail, and another beyond it", func(o court, breaks bool) {
			if !breaks {
				o.judge.left["web-3"], o.judge.size = true, 2
			}
			for _, i := range []int{1, 2} {
				o.store.beliefs[i].Health.Verdict = fleet.VerdictUnhealthy
			}
			o.judge.recount()
			o.stores(func(_, is *fleet.Machine) { is.Repair = healing("r1") })
		}},
	}
}

// twofold are the laws that break where there come to be two of one.
func twofold() []crime {
	return []crime{
		{"L1", "a definition that stayed behind is started beside the one that runs", func(o court, breaks bool) {
			vm := o.w.VM("planted-1")
			if _, ok := o.w.StayBehind(vm, "h2"); !ok {
				panic("it does not stay behind")
			}
			if left := o.w.Definition("planted-1", "h2"); breaks {
				o.w.PowerOn(left)
			}
		}},
		{"L1", "what two hosts show is touched after a person was told", func(o court, breaks bool) {
			o.w.StayBehind(o.w.VM("planted-1"), "h2")
			o.judge.record(fleet.Record{Kind: fleet.RecordPaged, Reason: fleet.ReasonTwoHosts, Machine: "web-1"})
			if !breaks {
				o.w.Undefine("planted-1")
			}
			o.judge.Sent(&world.Call{Op: world.Start, ID: "planted-1", Host: "h2", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L1", "an instance is built by a hale without a noted start", func(o court, breaks bool) {
			if !breaks {
				o.c.roll.Owed = true
				o.c.readRoll(owner.Pass{})
			}
			o.judge.noted(o.c, fleet.Action{Machine: "web-1", Intent: fleet.Intent{Op: fleet.OpCreate}})
		}},
		{"L1", "an instance is reset by a hale that does not know a start", func(o court, breaks bool) {
			o.w.Client("copy").Note(installation, "1-x")
			if !breaks {
				o.store.starts.know("1-x")
			}
			o.judge.noted(o.c, fleet.Action{Machine: "web-1", Intent: fleet.Intent{Op: fleet.OpReboot}})
		}},
		{"L2", "a copy of a mark is taken for a machine", func(o court, breaks bool) {
			o.judge.Sent(&world.Call{Op: world.Start, ID: "copy", Copied: breaks, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what a second hale built is destroyed", func(o court, breaks bool) {
			o.judge.Acted(&world.Call{Op: world.Create, ID: "new", Effect: true, Mark: world.Mark{Machine: "web-1"}})
			if !breaks {
				o.store.name("new")
			}
			o.judge.Acted(&world.Call{Op: world.Delete, ID: "new", Effect: true, Certified: true,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L8", "two hosts show a machine, and nobody knows", func(o court, breaks bool) {
			o.w.StayBehind(o.w.VM("planted-1"), "h2")
			o.judge.tellsOfTwo("web-1", "planted-1", 0)
			if !breaks {
				o.judge.record(fleet.Record{Kind: fleet.RecordPaged, Reason: fleet.ReasonTwoHosts, Machine: "web-1"})
			}
			for end := o.w.Now() + 2*tellTwoWithin*time.Minute; o.w.Now() < end; {
				o.w.Step() // no round is among what happens: hale decides nothing
			}
		}},
		{"harm", "the disk is taken from under the one that another host runs", func(o court, breaks bool) {
			o.judge.Acted(&world.Call{Op: world.Delete, ID: "planted-1", Effect: true, Certified: true, Robbed: breaks,
				Mark: world.Mark{Machine: "web-1"}})
		}},
	}
}

// passes lets time pass in which hale decides nothing.
func (o court) passes(d time.Duration) {
	end := o.w.Now() + d
	o.w.At(end, func() {})
	for o.w.Now() < end {
		o.w.Step()
	}
}

// acts has a call on planted-1 take effect.
func (o court) acts(op world.Op) {
	mark := world.Mark{Machine: "web-1"}
	o.judge.Acted(&world.Call{Op: op, ID: "planted-1", Effect: true, Certified: true, Mark: mark})
}

// buildsBeside has a second instance of web-1 be built with the disks, on the first one's host.
func (o court) buildsBeside(disks []string) {
	order := world.Call{Op: world.Create, ID: "second", Host: "h1", Name: "beside", Disks: disks,
		Mark: world.Mark{Machine: "web-1", Generation: 2}}
	o.w.Caller("another").Send(order, time.Minute, func(world.End) {})
	o.passes(time.Second)
}

// Two instances that run are wrong (L1); that they write to one disk is said only where they do.
func TestTheJudgeTellsOneDiskFromTwo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disks []string
		want  []string
	}{
		"one disk": {[]string{"data"}, []string{"L1", "disk"}}, "a disk of its own": {[]string{"more"}, []string{"L1"}},
		"none": {nil, []string{"L1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newCourt(t)
			o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			o.buildsBeside(c.disks)
			var laws []string
			for _, v := range o.judge.broke {
				laws = append(laws, v.Law)
			}
			if !slices.Equal(laws, c.want) || o.score.DoubleInstances != 1 {
				t.Errorf("the judge says %v, and counts %d; want %v", o.judge.broke, o.score.DoubleInstances, c.want)
			}
		})
	}
}

// rests are the laws of what stands still, and of what a person stopped.
func rests() []crime {
	// touch has a call leave to a machine that a person made stand still, which hale saw or did not see.
	touch := func(by world.Stop, op world.Op, lawful world.Op) func(o court, breaks bool) {
		return func(o court, breaks bool) {
			o.w.Suspend(o.w.VM("planted-1"), by)
			o.passes(time.Second)
			if o.reboots(); !breaks {
				op = lawful
			}
			o.judge.Sent(&world.Call{Op: op, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
		}
	}
	return []crime{
		{"L10", "what suspended itself is reset, and not resumed", touch(world.StopGuest, world.Reboot, world.Resume)},
		{"L10", "what a person repairs is started", touch(world.StopRescue, world.Start, world.Rescue)},
		{"L10", "what cannot write to its disk is resumed", touch(world.StopIOError, world.Resume, world.Certify)},
		{"L10", "what a person paused is resumed, and hale could know of it", func(o court, breaks bool) {
			if !breaks {
				o.reboots()
			}
			o.w.Suspend(o.w.VM("planted-1"), world.StopUnknown)
			if o.passes(time.Second); breaks {
				o.reboots()
			}
			o.judge.Sent(&world.Call{Op: world.Resume, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L10", "what a person stopped is deleted, and was not started since", func(o court, breaks bool) {
			vm := o.w.VM("planted-1")
			o.judge.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			vm.Power, vm.Stop = world.Off, world.StopExternal
			if !breaks {
				o.acts(world.Start)
			}
			o.judge.Sent(&world.Call{Op: world.Delete, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
		}},
	}
}

// belongings are the laws of what was put aside, and of disks.
func belongings() []crime {
	return []crime{
		{"L2", "what was put aside is powered off", func(o court, breaks bool) {
			if breaks {
				o.acts(world.Keep)
			}
			o.acts(world.PowerOff)
		}},
		{"L3", "what was put aside is brought back, and nobody wanted it", func(o court, breaks bool) {
			undo := fleet.Order{ID: "o1", Kind: fleet.OrderUndo, Machine: "web-1"}
			if !breaks {
				o.judge.ordered(&undo)
			}
			o.acts(world.Keep)
			o.acts(world.Restore)
		}},
		{"L15", "what was put aside is deleted before its time", func(o court, breaks bool) {
			o.spec.Repair.Steps = slices.Clone(o.spec.Repair.Steps)
			for i := range o.spec.Repair.Steps {
				o.spec.Repair.Steps[i].KeepOld = time.Minute
			}
			o.acts(world.Keep)
			if !breaks {
				o.passes(time.Minute)
			}
			o.acts(world.Delete)
		}},
		{"L13", "a machine is built that the fleet was never asked to have", func(o court, breaks bool) {
			name := map[bool]string{true: "web-4", false: "web-3"}[breaks]
			o.judge.Acted(&world.Call{Op: world.Create, ID: "new", Effect: true, Mark: world.Mark{Machine: name}})
		}},
		{"disk", "a machine runs with another disk, and nobody gave it one just now", func(o court, breaks bool) {
			o.spec.Template.Disks = []fleet.Disk{{Name: "data", Size: 1 << 30}}
			o.judge.truth.Equipped("web-1", map[string]uint64{"data": map[bool]uint64{true: 7, false: 1}[breaks]})
			for n := 1; n <= 3; n++ {
				o.w.Equip(o.w.Current(string(o.spec.Name.Machine(n))), []string{"data"})
			}
			o.judge.inspect()
		}},
		{"disk", "a second instance of a machine writes to its disk", func(o court, breaks bool) {
			o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			if !breaks { // it writes after the first
				o.w.Crash(o.w.VM("planted-1"), world.StopCrash)
			}
			o.buildsBeside([]string{"data"})
		}},
		{"disk", "a machine is built without its disk", func(o court, breaks bool) {
			o.spec.Template.Disks = []fleet.Disk{{Name: "data", Size: 1 << 30}}
			if !breaks {
				o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			}
			o.acts(world.Create)
		}},
		{"disk", "a machine is built with another disk", func(o court, breaks bool) {
			o.spec.Template.Disks = []fleet.Disk{{Name: "data", Size: 1 << 30}}
			o.judge.truth.Equipped("web-1", map[string]uint64{"data": 1})
			o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			if breaks {
				o.judge.truth.Equipped("web-1", map[string]uint64{"data": 2})
			}
		}},
		{"L1", "two can write since a host got its access back, and nobody was told", func(o court, breaks bool) {
			o.w.CutAccess(world.Domain{Kind: "host", Name: "h1"})
			mark := world.Mark{Machine: "web-1", Generation: 2}
			o.w.Leave(world.Status{ID: "second", Host: "h2", Name: "web-1", Mark: mark})
			o.w.PowerOn(o.w.VM("second"))
			e := script.Event{Subject: "host h1", Verb: verbs.GivesAccess}
			if _, err := o.ways[e.Verb](o.stage, e); err != nil {
				panic(err)
			}
			if !breaks {
				o.judge.record(fleet.Record{Kind: fleet.RecordPaged, Reason: fleet.ReasonAccessBack, Machine: "web-1"})
			}
			o.passes(2 * time.Minute)
		}},
	}
}

// thoughts are the laws that beliefs break.
func thoughts() []crime {
	return []crime{
		{"L5", "more are in repair than may be", func(o court, breaks bool) {
			if breaks {
				o.judge.inRepair = o.spec.Limits.InRepair
			}
			o.stores(func(_, is *fleet.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a repair begins while the brake is on", func(o court, breaks bool) {
			o.store.overall.Brake.Engaged = breaks
			o.stores(func(_, is *fleet.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a repair begins while too many fail", func(o court, breaks bool) {
			o.judge.failing = 1
			if breaks {
				o.judge.failing = 2
			}
			o.stores(func(_, is *fleet.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a repair begins in the round in which the others are well, or not", func(o court, breaks bool) {
			o.judge.failing = 2
			was := o.store.beliefs[0].Clone()
			is := was.Clone()
			is.Repair, is.Incident = healing("r1"), &fleet.Incident{Cause: fleet.CauseChecks}
			o.judge.committed(o.c, &was, &is, nil)
			if !breaks {
				o.judge.failing-- // as the next write of the round has it
			}
			o.judge.decided()
		}},
		{"L6", "a new rung is acted on while the brake is on", func(o court, breaks bool) {
			o.store.overall.Brake.Engaged = breaks
			o.stores(func(was, is *fleet.Machine) {
				was.Repair, is.Repair = healing("r1"), healing("r1")
				is.Repair.Rung, is.Repair.Phase = 1, fleet.PhaseAct
			})
		}},
		{"L6", "the brake releases while many fail", func(o court, breaks bool) {
			o.judge.failing = 1
			if breaks {
				o.judge.failing = 2
			}
			on := overall{Brake: fleet.Brake{Engaged: true}}
			o.judge.overall(on, overall{}, []fleet.Record{{Kind: fleet.RecordBrake, Reason: fleet.ReasonReleased}})
		}},
		{"L8", "in quarantine, and nobody knows", func(o court, breaks bool) {
			o.stores(func(_, is *fleet.Machine) {
				is.Quarantine, is.Incident = &fleet.Quarantine{}, &fleet.Incident{Paged: !breaks}
			})
		}},
		{"L11", "a verdict without a record", func(o court, breaks bool) {
			var said []fleet.RecordKind
			if !breaks {
				said = append(said, fleet.RecordVerdict)
			}
			o.stores(func(_, is *fleet.Machine) { is.Health.Verdict = fleet.VerdictSuspect }, said...)
		}},
		{"L11", "a machine that has left has no verdict, and one that stays has", func(o court, breaks bool) {
			was, is := o.store.beliefs[0].Clone(), o.store.beliefs[0].Clone()
			is.Health.Verdict = fleet.VerdictUnknown
			ended := fleet.Record{Kind: fleet.RecordRepairEnded, Reason: fleet.ReasonRemoved}
			if breaks {
				ended.Reason = fleet.ReasonRecovered
			}
			delete(o.judge.afresh, "web-1")
			o.judge.verdicts(&was, &is, []fleet.Record{ended})
		}},
	}
}

// accounts are the laws that what is written down breaks.
func accounts() []crime {
	return []crime{
		{"L11", "held without a record", func(o court, breaks bool) {
			var said []fleet.RecordKind
			if !breaks {
				said = append(said, fleet.RecordHeld)
			}
			o.stores(func(_, is *fleet.Machine) { is.Waiting = fleet.ReasonBudget }, said...)
		}},
		{"L11", "a record has the reason of another kind", func(o court, breaks bool) {
			look := fleet.Record{Kind: fleet.RecordLook, Reason: fleet.ReasonRefuted, Machine: "web-1"}
			if breaks {
				look.Reason = fleet.ReasonHealed
			}
			o.judge.record(look)
		}},
		{"L11", "the brake changes without a record", func(o court, breaks bool) {
			var said []fleet.Record
			if !breaks {
				said = append(said, fleet.Record{Kind: fleet.RecordBrake, Reason: fleet.ReasonEngaged})
			}
			o.judge.overall(overall{}, overall{Brake: fleet.Brake{Engaged: true}}, said)
		}},
		{"L12", "an order is taken up once more", func(o court, breaks bool) {
			id := o.post(fleet.Order{Kind: fleet.OrderRelease, Fleet: "web"})
			o.c.keep(owner.Write{Rulings: []fleet.Ruling{{Order: id}}})
			if breaks {
				o.c.keep(owner.Write{Rulings: []fleet.Ruling{{Order: id}}})
			}
		}},
		{"L12", "a repair is lost", func(o court, breaks bool) {
			var said []fleet.RecordKind
			if !breaks {
				said = append(said, fleet.RecordRepairEnded)
			}
			o.stores(func(was, _ *fleet.Machine) { was.Repair = healing("r1") }, said...)
		}},
		{"L13", "a machine beyond the fleet's size is built", func(o court, breaks bool) {
			o.spec.Size = map[bool]int{true: 0, false: 3}[breaks]
			o.judge.size = o.spec.Size
			o.stores(builds)
		}},
		{"L13", "a machine beyond the fleet's size is built, and not only certified", func(o court, breaks bool) {
			o.spec.Size, o.judge.size = 0, 0
			o.stores(func(was, is *fleet.Machine) {
				builds(was, is)
				if !breaks {
					is.Current = was.Current
				}
			})
		}},
		{"L15", "a step is given up before its time", func(o court, breaks bool) {
			waited := o.spec.BuildWithin
			if breaks {
				waited -= time.Second
			}
			was := fleet.Machine{Name: "web-1", Repair: &fleet.Repair{
				ID:   "r1",
				Kind: fleet.RepairHeal,
				Climb: fleet.Climb{
					Step:  fleet.StepRecreate,
					Stage: fleet.Stage{Phase: fleet.PhaseVerify, Since: o.c.now().Mono.Add(-waited)},
				},
			}}
			o.judge.patience(o.c, &was, []fleet.Record{{Kind: fleet.RecordStepFailed, Reason: fleet.ReasonNotVerified}})
		}},
		{"judge", "a count that went wrong", func(o court, breaks bool) {
			if breaks {
				o.judge.failing++
			}
			o.judge.inspect()
		}},
		{"belief", "a belief that no law allows", func(o court, breaks bool) {
			if breaks {
				o.store.beliefs[0].Waiting = fleet.ReasonLawBroken
			}
			o.judge.inspect()
		}},
	}
}

// A judge that sees nothing would call every run lawful: each law is broken here once, and once it is not.
func TestTheJudgeKnowsEachLaw(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(deeds(), slights(), twofold(), rests(), belongings(), thoughts(), accounts(),
		orderly()) {
		t.Run(c.law+" "+c.name, func(t *testing.T) {
			t.Parallel()
			for _, breaks := range []bool{true, false} {
				o := newCourt(t)
				c.play(o, breaks)
				seen := slices.ContainsFunc(o.judge.broke, func(v Violation) bool { return v.Law == c.law })
				if seen != breaks || !breaks && len(o.judge.broke) > 0 {
					t.Errorf("broken: %v; the judge says %v", breaks, o.judge.broke)
				}
			}
		})
	}
}

// What goes wrong in the middle of a run, and is right again before its end, is seen by the judge on patrol.
func TestTheJudgePatrols(t *testing.T) {
	t.Parallel()
	s, err := newStage(Options{Spec: Exemplar(3), Horizon: 2 * inspectEvery})
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(why fleet.Reason) func() { return func() { s.store.beliefs[0].Waiting = why } }
	s.w.At(inspectEvery-time.Hour, wrong(fleet.ReasonLawBroken))
	s.w.At(inspectEvery+time.Hour, wrong(""))
	s.play()
	if len(s.judge.broke) != 1 || s.judge.broke[0].Law != "belief" {
		t.Errorf("the judge says %v", s.judge.broke)
	}
}

// orderly are the laws of wanted changes, as thoughts. tries lets hale build the first machine from another template,
// and the second one after the first has stood for the time, certified unless it failed.
func (o court) tries(first, second string, failed bool, stands time.Duration) {
	o.judge.trials.shown["o"] = "another.qcow2"
	for _, name := range []string{first, second} {
		vm := o.w.Current(name)
		m := fleet.Machine{Name: fleet.MachineName(name), Repair: &fleet.Repair{
			Kind:  fleet.RepairUpdate,
			Order: "o",
			Climb: fleet.Climb{Aim: fleet.Aim{Target: fleet.Incarnation{ID: fleet.InstanceID(vm.ID)}}},
		}}
		o.judge.renewed[name] = vm.ID
		o.judge.orderly(&fleet.Machine{Name: m.Name}, &m, nil)
		o.judge.orderly(&m, &m, nil) // it goes on
		vm.ID, vm.Mark.Certified, vm.Born = "new-"+vm.ID, !failed, o.w.Now()-stands
	}
}

func orderly() []crime {
	return []crime{
		{"canary", "a second machine is built from a template that the first did not prove",
			func(o court, breaks bool) {
				o.tries("web-2", "web-3", breaks, o.spec.Update.Soak)
			}},
		{"canary", "a second machine is built from another template at once", func(o court, breaks bool) {
			o.spec.Update.Pilots = map[bool]int{true: 1, false: 2}[breaks]
			for _, name := range []string{"web-2", "web-3"} {
				id := o.w.Current(name).ID
				o.judge.trials.shown["o"], o.judge.renewed[name] = "another.qcow2", id
				o.judge.orderly(&fleet.Machine{Name: fleet.MachineName(name)},
					&fleet.Machine{Name: fleet.MachineName(name), Repair: &fleet.Repair{
						Kind:  fleet.RepairUpdate,
						Order: "o",
						Climb: fleet.Climb{Aim: fleet.Aim{Target: fleet.Incarnation{ID: fleet.InstanceID(id)}}},
					}}, nil)
			}
		}},
		{"canary", "a second machine follows before the first stood for long enough", func(o court, breaks bool) {
			soak := o.spec.Update.Soak
			if breaks {
				soak--
			}
			o.tries("web-2", "web-3", false, soak)
		}},
		{"L13", "a machine that left by order is built again", func(o court, breaks bool) {
			o.judge.left["web-1"] = breaks
			o.stores(builds)
		}},
		{"L13", "a fleet grows beyond what is asked for", func(o court, breaks bool) {
			o.judge.asked = o.judge.size + 1
			grown := fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeUp, Size: o.judge.asked}
			if breaks {
				grown.Size++
			}
			o.judge.changed(grown)
		}},
		{"L13", "a fleet grows to what was asked for before a machine was sent away", func(o court, breaks bool) {
			larger := fleet.Order{ID: "o1", Kind: fleet.OrderScale, Size: o.judge.size + 2}
			away := fleet.Order{ID: "o2", Kind: fleet.OrderDelete, Machine: "web-1"}
			o.judge.ordered(&larger)
			o.judge.ordered(&away)
			o.judge.ruled([]fleet.Ruling{{Order: larger.ID}, {Order: away.ID}})
			if breaks {
				o.judge.ruled(nil) // they were taken up before
			}
			o.judge.changed(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeUp, Size: larger.Size})
		}},
		{"L13", "a machine is said to have left, and runs", func(o court, breaks bool) {
			gone := fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeDown, Machine: "web-1"}
			if !breaks {
				o.w.Vanish(o.w.Current("web-1"))
			}
			o.judge.changed(gone)
		}},
		{"L2", "an adopted machine is taken up again that a person wanted let go", func(o court, breaks bool) {
			o.judge.away["a"] = breaks
			o.judge.letGo(&fleet.Machine{Name: "web-1"}, &fleet.Machine{Name: "web-1",
				Current: fleet.Incarnation{ID: "a", Adopted: true}})
		}},
		{"L3", "a machine is removed that no confirmed plan names", func(o court, breaks bool) {
			o.judge.leaving["web-1"] = map[bool]string{true: "another", false: "a"}[breaks]
			o.stores(func(_, is *fleet.Machine) { is.Repair = removal("a") })
		}},
		{"L10", "a wanted change looks like a failure", func(o court, breaks bool) {
			o.judge.leaving["web-1"] = "a"
			said := fleet.RecordIntent
			if breaks {
				said = fleet.RecordIncidentOpen
			}
			o.stores(func(was, is *fleet.Machine) { was.Repair, is.Repair = removal("a"), removal("a") }, said)
		}},
		{"L10", "a machine fails while it is removed, and not before", func(o court, breaks bool) {
			o.judge.leaving["web-1"] = "a"
			o.stores(func(was, is *fleet.Machine) {
				if is.Repair = removal("a"); breaks {
					was.Repair = removal("a")
				}
			}, fleet.RecordIncidentOpen, fleet.RecordRepairStarted)
		}},
		{"L13", "a change is given up that nobody confirmed", func(o court, breaks bool) {
			if !breaks {
				o.judge.leaving["web-1"] = "a"
			}
			o.judge.changed(fleet.Record{Kind: fleet.RecordChange, Machine: "web-1", Reason: fleet.ReasonGivenUp})
		}},
	}
}

// removal is the work on a machine that is to go by a person's order.
func removal(id fleet.InstanceID) *fleet.Repair {
	return &fleet.Repair{
		ID:    "r1",
		Kind:  fleet.RepairRemove,
		Order: "o1",
		Climb: fleet.Climb{
			Rung:  fleet.NoRung,
			Aim:   fleet.Aim{Target: fleet.Incarnation{ID: id, Generation: 1, Certified: true}},
			Stage: fleet.Stage{Phase: fleet.PhaseAct},
		},
	}
}
