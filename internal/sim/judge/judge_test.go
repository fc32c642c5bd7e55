package judge

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/law"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/stored"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// court is a quiet run of three machines, long after its only server took the fleet over, before anything was decided.
type court struct {
	*Judge
	c Server
}

// quiet is a run in which nothing happens.
type quiet struct{ skew time.Duration }

func (quiet) LooksOn() bool                  { return true }
func (q quiet) Skews() []time.Duration       { return []time.Duration{q.skew} }
func (quiet) Post(fleet.Order) fleet.OrderID { return "" }
func (quiet) EndSecond()                     {}

// here is what the marks of the three say.
const here = "here"

func newCourt(t *testing.T) court {
	t.Helper()
	spec, memory := exemplar.Fleet(3), stored.New(3)
	w := world.New(world.Options{Hosts: []world.Host{{Name: "h1"}, {Name: "h2"}}, Proven: law.Proven(&spec)})
	j := New(quiet{}, Eyes{World: w, Store: &memory, Score: &score.Score{}, Trace: chronicle.NewTrace(nil, nil)},
		Options{Spec: spec, Installation: here, Poll: 5 * time.Second, Most: 3, Hosts: w.Hosts()})
	w.Watch = j
	for i := range 3 {
		id := "planted-" + strconv.Itoa(i+1)
		name := spec.Name.Machine(i + 1)
		w.Plant(world.Status{ID: id, Name: string(name), Host: "h1", Mark: world.Mark{
			Installation: here, Fleet: string(spec.Name), Machine: string(name), Generation: 1, Certified: true,
			Instance: id,
		}})
		memory.Beliefs[i] = belief.Machine{
			Name: name, Generation: 1, Health: belief.Health{Verdict: belief.VerdictHealthy},
			Current: belief.Incarnation{ID: fleet.InstanceID(id), Generation: 1, Host: "h1", Certified: true},
		}
		memory.Name(fleet.InstanceID(id))
	}
	o := court{j, Server{Name: "hale-1", Owns: true, Lease: time.Minute,
		Now: fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}}
	o.StartedAfresh(o.c)
	o.passes(time.Minute)
	return o
}

// reboots is what a lawful reboot of web-1 begins with: the action, and a look at it.
func (o court) reboots() situation.Action {
	a := situation.Action{Kind: situation.ActionCall, Machine: "web-1", Instance: "planted-1",
		Intent: belief.Intent{Op: fleet.OpReboot, Limit: time.Second}}
	o.Looks(a)
	return a
}

// stores lets the judge see a change of what is believed of web-1.
func (o court) stores(change func(was, is *belief.Machine), records ...record.Kind) {
	was := o.store.Beliefs[0].Clone()
	is := was.Clone()
	change(&was, &is)
	if is.Repair != nil && is.Repair.Kind == belief.RepairHeal {
		is.Incident = &belief.Incident{Cause: belief.CauseChecks}
	}
	said := make([]record.Record, len(records))
	for i, k := range records {
		said[i] = record.Record{Kind: k, Reason: plausible[k], Machine: "web-1"}
		if k == record.IncidentOpen {
			said[i].Cause = belief.CauseBuild
		}
	}
	delete(o.afresh, "web-1")
	o.Committed(o.c, &was, &is, said)
	o.Decided()
}

// plausible are reasons that records of these kinds can have.
var plausible = map[record.Kind]fleet.Reason{
	record.Held: fleet.ReasonBudget, record.RepairStarted: fleet.Reason(belief.RepairHeal),
	record.RepairEnded: fleet.ReasonHealed,
}

func healing(id string) *belief.Repair { return &belief.Repair{ID: id, Kind: belief.RepairHeal} }

// builds has hale begin to build the machine.
func builds(_, is *belief.Machine) {
	is.Current, is.Repair = belief.Incarnation{}, &belief.Repair{ID: "r1", Kind: belief.RepairBuild}
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
			o.Copies("web-1", map[bool]int{true: 2, false: 1}[breaks])
		}},
		{"L1", "two instances run at once, and nobody said so", func(o court, breaks bool) {
			o.w.Watch = deafTo{o.w.Watch}
			o.w.Leave(world.Status{ID: "second", Host: o.w.VM("planted-1").Host, Name: "copy of web-1",
				Mark: world.Mark{Machine: "web-1"}})
			if breaks {
				o.w.PowerOn(o.w.VM("second"))
			}
			o.inspect()
		}},
		{"L2", "a stranger is deleted", func(o court, breaks bool) {
			o.Sent(&world.Call{Op: world.Delete, ID: "planted-1", Stranger: breaks,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what was never certified is powered off", func(o court, breaks bool) {
			o.store.Beliefs[0].Current.Certified, o.store.Beliefs[0].Current.Expired = false, !breaks
			o.Acted(&world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what existed before is powered off without permission", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked, o.spec.Adopt.Replaceable = true, !breaks
			o.Sent(&world.Call{Op: world.PowerOff, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what existed before is started before it was adopted", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked, o.store.Beliefs[0].Current.Certified = true, !breaks
			o.Sent(&world.Call{Op: world.Start, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "a mark is written on what existed before", func(o court, breaks bool) {
			o.w.VM("planted-1").Mark.Unmarked = breaks
			o.Sent(&world.Call{Op: world.Certify, ID: "planted-1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"harm", "a healthy machine is destroyed", func(o court, breaks bool) {
			o.Acted(&world.Call{Op: world.PowerOff, ID: "planted-1", Effect: true, Certified: true,
				Healthy: breaks, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L3", "a call without a look since the last outcome", func(o court, breaks bool) {
			a := o.reboots()
			if breaks {
				o.w.At(o.w.Now()+time.Second, func() { o.Answered(a) })
				o.w.Step()
			}
			o.Sends(o.c, a)
		}},
		{"L7", "a call of one who does not own the fleet", func(o court, breaks bool) {
			if breaks {
				o.c.Owns = false
			}
			o.Sends(o.c, o.reboots())
		}},
		{"L7", "a call that may outlive the lease", func(o court, breaks bool) {
			a := o.reboots()
			if breaks {
				o.c.Lease = a.Intent.Limit
			}
			o.Sends(o.c, a)
		}},
		{"L8", "down for ever, and nobody knows", func(o court, breaks bool) {
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			if !breaks {
				o.page("web-1")
			}
			o.passes(o.utmost(0) + time.Minute)
		}},
		{"L9", "a call before a fresh verdict was possible", func(o court, breaks bool) {
			if breaks {
				o.StartedAfresh(o.c)
			}
			o.Sends(o.c, o.reboots())
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
				o.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			}
			o.Sent(&world.Call{Op: "start", ID: vm.ID, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L10", "a call to a machine that a person stopped long enough after a reset", func(o court, breaks bool) {
			vm := o.w.Current("web-1")
			vm.Power, vm.Stop = world.Off, world.StopExternal
			o.Acted(&world.Call{Op: world.Reboot, ID: vm.ID, Effect: true, Certified: true,
				Mark: world.Mark{Machine: "web-1"}})
			if breaks {
				o.passes(o.options.Poll)
			}
			o.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			o.Sent(&world.Call{Op: "start", ID: vm.ID, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L10", "a reset of what a person stopped is sent late, and its sender could have seen that",
			func(o court, breaks bool) { o.sendsLate(world.Reboot, breaks) }},
		{"L10", "what a person stopped is deleted late, which is more than a reset that changes nothing",
			func(o court, breaks bool) {
				o.sendsLate(map[bool]world.Op{true: world.Delete, false: world.Reboot}[breaks], false)
			}},
		{"L15", "a hold ends early, and not only by a copy's clock that is ahead", func(o court, breaks bool) {
			hold := fleet.Order{ID: "o1", Kind: fleet.OrderHold, For: time.Minute}
			o.Ordered(&hold)
			ahead := quiet{}
			if !breaks {
				ahead.skew = time.Minute
			}
			o.holdsChange(nil, []belief.Hold{{Order: "o1"}})
			double := o.Second(ahead, "copy-1", here, o.store)
			double.holdsChange([]belief.Hold{{Order: "o1"}}, nil)
		}},
		{"L8", "down for ever, of the fleet by its numbers and not only by its size", func(o court, breaks bool) {
			o.books(&belief.Ledger{Size: 2, Left: []int{map[bool]int{true: 2, false: 1}[breaks]}})
			o.size = 2
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			o.passes(o.utmost(0) + time.Minute)
		}},
		{"L8", "down for ever, and did not leave before the removal of another is booked", func(o court, breaks bool) {
			o.size = 1
			o.books(&belief.Ledger{Size: 2, Left: []int{map[bool]int{true: 3, false: 1}[breaks]}})
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			o.passes(o.utmost(0) + time.Minute)
		}},
		{"L8", "down for ever, since it is one of the fleet again", func(o court, breaks bool) {
			o.size = 2
			o.books(&belief.Ledger{Size: 2, Left: []int{1}})
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			if breaks {
				o.books(&belief.Ledger{Size: 2})
			}
			o.passes(o.utmost(0) + time.Minute)
		}},
		{"L8", "down for ever, since the fleet grew by its number and not by another", func(o court, breaks bool) {
			o.size, o.asked = 1, 2
			o.books(&belief.Ledger{Size: 1, Left: []int{1}})
			o.w.Crash(o.w.Current("web-1"), world.StopCrash)
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: 2})
			grown := &belief.Ledger{Size: 2}
			if !breaks {
				grown.Left = []int{1}
			}
			o.books(grown)
			o.passes(o.utmost(0) + time.Minute)
		}},
		{"L6", "a repair begins while too many of the fleet fail, and another beyond it", func(o court, breaks bool) {
			if !breaks {
				o.left["web-3"], o.size = true, 2
			}
			for _, i := range []int{1, 2} {
				o.store.Beliefs[i].Health.Verdict = belief.VerdictUnhealthy
			}
			o.recount()
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
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
			o.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonTwoHosts, Machine: "web-1"})
			if !breaks {
				o.w.Undefine("planted-1")
			}
			o.Sent(&world.Call{Op: world.Start, ID: "planted-1", Host: "h2", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L1", "an instance is built by a hale without a noted start", func(o court, breaks bool) {
			if !breaks {
				o.c.Start = "1-a"
				o.store.Starts.Know(o.c.Start)
				o.w.Client("hale-1").Note(here, string(o.c.Start))
			}
			o.Noted(o.c, situation.Action{Machine: "web-1", Intent: belief.Intent{Op: fleet.OpCreate}})
		}},
		{"L1", "an instance is reset by a hale that does not know a start", func(o court, breaks bool) {
			o.w.Client("copy").Note(here, "1-x")
			if !breaks {
				o.store.Starts.Know("1-x")
			}
			o.Noted(o.c, situation.Action{Machine: "web-1", Intent: belief.Intent{Op: fleet.OpReboot}})
		}},
		{"L2", "a copy of a mark is taken for a machine", func(o court, breaks bool) {
			o.Sent(&world.Call{Op: world.Start, ID: "copy", Copied: breaks, Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what a second hale built is destroyed", func(o court, breaks bool) {
			o.Acted(&world.Call{Op: world.Create, ID: "new", Effect: true, Mark: world.Mark{Machine: "web-1"}})
			if !breaks {
				o.store.Name("new")
			}
			o.Acted(&world.Call{Op: world.Delete, ID: "new", Effect: true, Certified: true,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L2", "what was built is destroyed by a store that was put back before", func(o court, breaks bool) {
			o.Acted(&world.Call{Op: world.Create, ID: "new", Effect: true, Mark: world.Mark{Machine: "web-1"}})
			sent := o.w.Now()
			if breaks {
				sent++
			}
			o.rolled, o.rolledAt = true, o.w.Now()
			o.Acted(&world.Call{Op: world.Delete, ID: "new", Effect: true, Certified: true, Sent: sent,
				Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L8", "two hosts show a machine of the fleet, and nobody knows", func(o court, breaks bool) {
			o.booked = &belief.Ledger{Size: 2} // a store that was put back may not know web-3
			o.w.StayBehind(o.w.VM("planted-3"), "h2")
			o.tellsOfTwo("web-3", "planted-3", 0)
			if breaks {
				o.booked = &belief.Ledger{Size: 3}
			}
			o.passes(2 * tellTwoWithin * time.Minute)
		}},
		{"L8", "two hosts show a machine, and nobody knows", func(o court, breaks bool) {
			o.w.StayBehind(o.w.VM("planted-1"), "h2")
			o.tellsOfTwo("web-1", "planted-1", 0)
			if !breaks {
				o.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonTwoHosts, Machine: "web-1"})
			}
			o.passes(2 * tellTwoWithin * time.Minute)
		}},
		{"harm", "the disk is taken from under the one that another host runs", func(o court, breaks bool) {
			o.Acted(&world.Call{Op: world.Delete, ID: "planted-1", Effect: true, Certified: true, Robbed: breaks,
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
	o.Acted(&world.Call{Op: op, ID: "planted-1", Effect: true, Certified: true, Mark: mark})
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
			for _, v := range o.broke {
				laws = append(laws, v.Law)
			}
			if !slices.Equal(laws, c.want) || o.score.DoubleInstances != 1 {
				t.Errorf("the judge says %v, and counts %d; want %v", o.broke, o.score.DoubleInstances, c.want)
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
			o.Sent(&world.Call{Op: op, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
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
			o.Sent(&world.Call{Op: world.Resume, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
		}},
		{"L10", "what a person stopped is deleted, and was not started since", func(o court, breaks bool) {
			vm := o.w.VM("planted-1")
			o.truth.Foresees(o.w, "web-1", verbs.IsStopped, nil)
			vm.Power, vm.Stop = world.Off, world.StopExternal
			if !breaks {
				o.acts(world.Start)
			}
			o.Sent(&world.Call{Op: world.Delete, ID: "planted-1", Host: "h1", Mark: world.Mark{Machine: "web-1"}})
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
				o.Ordered(&undo)
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
			o.Acted(&world.Call{Op: world.Create, ID: "new", Effect: true, Mark: world.Mark{Machine: name}})
		}},
		{"disk", "a machine runs with another disk, and nobody gave it one just now", func(o court, breaks bool) {
			o.spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}}
			o.truth.Equipped("web-1", map[string]uint64{"data": map[bool]uint64{true: 7, false: 1}[breaks]})
			for n := 1; n <= 3; n++ {
				o.w.Equip(o.w.Current(string(o.spec.Name.Machine(n))), []string{"data"})
			}
			o.inspect()
		}},
		{"disk", "a second instance of a machine writes to its disk", func(o court, breaks bool) {
			o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			if !breaks { // it writes after the first
				o.w.Crash(o.w.VM("planted-1"), world.StopCrash)
			}
			o.buildsBeside([]string{"data"})
		}},
		{"disk", "a machine is built without its disk", func(o court, breaks bool) {
			o.spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}}
			if !breaks {
				o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			}
			o.acts(world.Create)
		}},
		{"disk", "a machine is built with another disk", func(o court, breaks bool) {
			o.spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}}
			o.truth.Equipped("web-1", map[string]uint64{"data": 1})
			o.w.Equip(o.w.VM("planted-1"), []string{"data"})
			if breaks {
				o.truth.Equipped("web-1", map[string]uint64{"data": 2})
			}
		}},
		{"L1", "two can write since a host got its access back, and nobody was told", func(o court, breaks bool) {
			o.w.CutAccess(world.Domain{Kind: "host", Name: "h1"})
			mark := world.Mark{Machine: "web-1", Generation: 2}
			o.w.Leave(world.Status{ID: "second", Host: "h2", Name: "web-1", Mark: mark})
			o.w.PowerOn(o.w.VM("second"))
			e := script.Event{Subject: "host h1", Verb: verbs.GivesAccess}
			o.Strikes(e, verbs.OfDomain)
			if _, err := verbs.Play(o.w, e.Subject, e.Verb, e.Arg); err != nil {
				panic(err)
			}
			if !breaks {
				o.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonAccessBack, Machine: "web-1"})
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
				o.inRepair = o.spec.Limits.InRepair
			}
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a repair begins while the brake is on", func(o court, breaks bool) {
			o.store.Overall.Brake.Engaged = breaks
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a first instance is built while a person's brake is on", func(o court, breaks bool) {
			o.store.Overall.Brake.Engaged = true
			if breaks {
				o.store.Overall.Brake.By = "operator"
			}
			o.stores(builds)
		}},
		{"after", "a repair begins while a fleet that comes first does not serve", func(o court, breaks bool) {
			o.Waits(map[bool]int{true: 1}[breaks])
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
		}},
		{"after", "a first instance is built while a fleet that comes first does not serve",
			func(o court, breaks bool) {
				o.Waits(map[bool]int{true: 1}[breaks])
				o.stores(builds)
			}},
		{"after", "a person orders a repair while a fleet that comes first does not serve", func(o court, breaks bool) {
			o.Waits(1)
			o.stores(func(_, is *belief.Machine) {
				if is.Repair = healing("r1"); !breaks {
					is.Wanted = &belief.Wanted{Order: "o"}
				}
			})
		}},
		{"L6", "a repair begins while too many fail", func(o court, breaks bool) {
			o.failing = 1
			if breaks {
				o.failing = 2
			}
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
		}},
		{"L6", "a repair begins in the round in which the others are well, or not", func(o court, breaks bool) {
			o.failing = 2
			was := o.store.Beliefs[0].Clone()
			is := was.Clone()
			is.Repair, is.Incident = healing("r1"), &belief.Incident{Cause: belief.CauseChecks}
			o.Committed(o.c, &was, &is, nil)
			if !breaks {
				o.failing-- // as the next write of the round has it
			}
			o.Decided()
		}},
		{"L6", "a new rung is acted on while the brake is on", func(o court, breaks bool) {
			o.store.Overall.Brake.Engaged = breaks
			o.stores(func(was, is *belief.Machine) {
				was.Repair, is.Repair = healing("r1"), healing("r1")
				is.Repair.Rung, is.Repair.Phase = 1, belief.PhaseAct
			})
		}},
		{"L5", "what is started is reset without a place, and does not only get its mark", func(o court, breaks bool) {
			o.stores(func(_, is *belief.Machine) {
				is.Repair = healing("r1")
				is.Repair.Revives, is.Repair.Confirmed, is.Repair.Target = true, true, is.Current
				is.Repair.Intent = &belief.Intent{ID: "c1", Instance: is.Current.ID, Limit: time.Second,
					Op: map[bool]fleet.Op{true: fleet.OpReboot, false: fleet.OpCertify}[breaks]}
			})
		}},
		{"L8", "in quarantine, and nobody knows", func(o court, breaks bool) {
			o.stores(func(_, is *belief.Machine) {
				is.Quarantine, is.Incident = &belief.Quarantine{}, &belief.Incident{Paged: !breaks}
			})
		}},
		{"L11", "a verdict without a record", func(o court, breaks bool) {
			var said []record.Kind
			if !breaks {
				said = append(said, record.Verdict)
			}
			o.stores(func(_, is *belief.Machine) { is.Health.Verdict = belief.VerdictSuspect }, said...)
		}},
		{"L11", "a machine that has left has no verdict, and one that stays has", func(o court, breaks bool) {
			was, is := o.store.Beliefs[0].Clone(), o.store.Beliefs[0].Clone()
			is.Health.Verdict = belief.VerdictUnknown
			ended := record.Record{Kind: record.RepairEnded, Reason: fleet.ReasonRemoved}
			if breaks {
				ended.Reason = fleet.ReasonRecovered
			}
			delete(o.afresh, "web-1")
			o.verdicts(&was, &is, []record.Record{ended})
		}},
	}
}

// brakes are the laws of the brake: when it may be released, and how many may fail.
func brakes() []crime {
	return []crime{
		{"L6", "the brake releases while many fail", func(o court, breaks bool) {
			for i := range map[bool]int{true: 2, false: 1}[breaks] {
				o.store.Beliefs[i].Health.Verdict = belief.VerdictUnhealthy
			}
			on := stored.Overall{Brake: belief.Brake{Engaged: true}}
			released := record.Record{Kind: record.Brake, Reason: fleet.ReasonReleased}
			o.CommittedWhole(o.c, on, stored.Overall{}, []record.Record{released})
		}},
		{"L6", "the brake releases as one more fails, and not as that one is to go", func(o court, breaks bool) {
			o.spec.Limits.Brake.AtLeast = 2
			for i := range o.store.Beliefs {
				o.store.Beliefs[i].Health.Verdict = belief.VerdictUnhealthy
			}
			on := stored.Overall{Brake: belief.Brake{Engaged: true}}
			on.Whole.Holds = []belief.Hold{{Order: "o1", Machine: "web-3"}}
			o.Ordered(&fleet.Order{ID: "o1", Kind: fleet.OrderHold, Machine: "web-3"})
			o.obeyed(stored.Overall{}, on, nil)
			o.passes(time.Hour)
			off := stored.Overall{}
			if !breaks {
				off.Whole.Ledger = &belief.Ledger{Size: 3, Removals: []belief.Removal{{Machine: "web-3", Named: true}}}
			}
			o.CommittedWhole(o.c, on, off, []record.Record{{Kind: record.Brake, Reason: fleet.ReasonReleased}})
		}},
		{"L6", "a repair begins while too many fail, as one is booked to have gone", func(o court, breaks bool) {
			o.spec.Limits.Brake = policy.Brake{AtLeast: 1, Percent: 67}
			o.store.Beliefs[1].Health.Verdict = belief.VerdictUnhealthy
			o.books(&belief.Ledger{Size: 3})
			o.leaves("web-3")
			if breaks {
				o.books(&belief.Ledger{Size: 2, Left: []int{3}})
			}
			o.stores(func(_, is *belief.Machine) { is.Repair = healing("r1") })
		}},
	}
}

// accounts are the laws that what is written down breaks.
func accounts() []crime {
	return []crime{
		{"L11", "held without a record", func(o court, breaks bool) {
			var said []record.Kind
			if !breaks {
				said = append(said, record.Held)
			}
			o.stores(func(_, is *belief.Machine) { is.Waiting = fleet.ReasonBudget }, said...)
		}},
		{"L11", "a record has the reason of another kind", func(o court, breaks bool) {
			look := record.Record{Kind: record.Look, Reason: fleet.ReasonRefuted, Machine: "web-1"}
			if breaks {
				look.Reason = fleet.ReasonHealed
			}
			o.Record(look)
		}},
		{"L11", "the brake changes without a record", func(o court, breaks bool) {
			var said []record.Record
			if !breaks {
				said = append(said, record.Record{Kind: record.Brake, Reason: fleet.ReasonEngaged})
			}
			o.CommittedWhole(o.c, stored.Overall{}, stored.Overall{Brake: belief.Brake{Engaged: true}}, said)
		}},
		{"L12", "a repair is lost", func(o court, breaks bool) {
			var said []record.Kind
			if !breaks {
				said = append(said, record.RepairEnded)
			}
			o.stores(func(was, _ *belief.Machine) { was.Repair = healing("r1") }, said...)
		}},
		{"L13", "a machine beyond the fleet's size is built", func(o court, breaks bool) {
			o.spec.Size = map[bool]int{true: 0, false: 3}[breaks]
			o.size = o.spec.Size
			o.stores(builds)
		}},
		{"L13", "a machine beyond the fleet's size is built, and not only certified", func(o court, breaks bool) {
			o.spec.Size, o.size = 0, 0
			o.stores(func(was, is *belief.Machine) {
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
			was := belief.Machine{Name: "web-1", Repair: &belief.Repair{
				ID:   "r1",
				Kind: belief.RepairHeal,
				Climb: belief.Climb{
					Step:  fleet.StepRecreate,
					Stage: belief.Stage{Phase: belief.PhaseVerify, Since: o.c.Now.Mono.Add(-waited)},
				},
			}}
			o.patience(o.c, &was, []record.Record{{Kind: record.StepFailed, Reason: fleet.ReasonNotVerified}})
		}},
		{"judge", "a count that went wrong", func(o court, breaks bool) {
			if breaks {
				o.failing++
			}
			o.inspect()
		}},
		{"belief", "a belief that no law allows", func(o court, breaks bool) {
			if breaks {
				o.store.Beliefs[0].Waiting = fleet.ReasonLawBroken
			}
			o.inspect()
		}},
	}
}

// A judge that sees nothing would call every run lawful: each law is broken here once, and once it is not.
func TestTheJudgeKnowsEachLaw(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(deeds(), slights(), twofold(), rests(), belongings(), thoughts(), brakes(),
		accounts(), orderly(), ends(), goings(), beyonds(), sizes(), words(), departures(), moves(), maintenance(),
		excuses(), ahead()) {
		t.Run(c.law+" "+c.name, func(t *testing.T) {
			t.Parallel()
			for _, breaks := range []bool{true, false} {
				o := newCourt(t)
				c.play(o, breaks)
				seen := slices.ContainsFunc(o.broke, func(v Violation) bool { return v.Law == c.law })
				if seen != breaks || !breaks && len(o.broke) > 0 {
					t.Errorf("broken: %v; the judge says %v", breaks, o.broke)
				}
			}
		})
	}
}

// What goes wrong in the middle of a run, and is right again before its end, is seen by the judge on patrol.
func TestTheJudgePatrols(t *testing.T) {
	t.Parallel()
	o := newCourt(t)
	o.Patrol()
	o.passes(inspectEvery - time.Hour)
	o.store.Beliefs[0].Waiting = fleet.ReasonLawBroken
	o.passes(2 * time.Hour)
	o.store.Beliefs[0].Waiting = ""
	o.passes(inspectEvery)
	if len(o.broke) != 1 || o.broke[0].Law != "belief" {
		t.Errorf("the judge says %v", o.broke)
	}
}

// orderly are the laws of wanted changes, as thoughts. tries lets hale build the first machine from another template,
// and the second one after the first has stood for the time, certified unless it failed.
func (o court) tries(first, second string, failed bool, stands time.Duration) {
	o.trials.Shown("o", "another.qcow2")
	for _, name := range []string{first, second} {
		if name == "" {
			continue
		}
		vm := o.w.Current(name)
		m := belief.Machine{Name: fleet.MachineName(name), Repair: &belief.Repair{
			Kind:  belief.RepairUpdate,
			Order: "o",
			Climb: belief.Climb{Aim: belief.Aim{Target: belief.Incarnation{ID: fleet.InstanceID(vm.ID)}}},
		}}
		o.renewed[name] = vm.ID
		o.orderly(&belief.Machine{Name: m.Name}, &m, nil)
		o.orderly(&m, &m, nil) // it goes on
		vm.ID, vm.Mark.Certified, vm.Born = "new-"+vm.ID, !failed, o.w.Now()-stands
		vm.Image = "another.qcow2"
	}
}

// goings are the laws of how another template goes through the fleet, beside who tries it.
func goings() []crime {
	return []crime{
		{"L15", "the hold of a host in maintenance ends before its time", func(o court, breaks bool) {
			o.keepsHosts()
			held := belief.HoldByProvider("h1", "maintenance", time.Hour, fleet.Now{})
			o.w.Disable(world.Domain{Kind: "host", Name: "h1"})
			o.holdsChange(nil, []belief.Hold{held})
			if o.passes(time.Minute); !breaks {
				o.passes(time.Hour)
			}
			o.holdsChange([]belief.Hold{held}, nil)
		}},
		{"L15", "the hold of a host ends as soon as its provider says that it is in use", func(o court, breaks bool) {
			o.keepsHosts()
			held := belief.HoldByProvider("h1", "maintenance", time.Hour, fleet.Now{})
			lift := o.w.Disable(world.Domain{Kind: "host", Name: "h1"})
			o.holdsChange(nil, []belief.Hold{held})
			o.passes(time.Minute)
			lift()
			if o.passes(30 * time.Second); !breaks {
				o.passes(30 * time.Second)
			}
			o.holdsChange([]belief.Hold{held}, nil)
		}},
		{"canary", "an image goes on whose trial no third machine followed, by a new order",
			func(o court, breaks bool) {
				o.tries("web-2", "", breaks, o.spec.Update.Soak)
				again := belief.Repair{Kind: belief.RepairUpdate, Order: "p"}
				o.trials.Shown("p", "another.qcow2")
				for _, name := range []string{"web-3", "web-1"} {
					o.renewed[name] = o.w.Current(name).ID
					again.Target = belief.Incarnation{ID: fleet.InstanceID(o.renewed[name])}
					m := belief.Machine{Name: fleet.MachineName(name), Repair: &again}
					o.orderly(&belief.Machine{Name: m.Name}, &m, nil)
				}
			}},
		{"L3", "a change of the template takes a machine that it does not name", func(o court, breaks bool) {
			if !breaks { // it had no instance yet
				o.w.Vanish(o.w.Current("web-3"))
			}
			o.renews("o", []change.Touched{{Machine: "web-1", Instance: "planted-1"}})
			is := belief.Machine{Name: "web-3", Repair: &belief.Repair{Kind: belief.RepairUpdate, Order: "o",
				Climb: belief.Climb{Aim: belief.Aim{Target: belief.Incarnation{ID: "new"}}}}}
			o.orderly(&belief.Machine{Name: "web-3"}, &is, nil)
		}},
		{"S39", "a machine that serves is taken away, and too few others serve", func(o court, breaks bool) {
			o.spec.Update.InService = policy.Portion{Number: len(o.store.Beliefs) - 1}
			for i := range o.store.Beliefs {
				m := &o.store.Beliefs[i]
				m.Health.Verdict, m.Current.Certified = belief.VerdictHealthy, true
			}
			if breaks {
				o.store.Beliefs[0].Health.Verdict = belief.VerdictUnhealthy
			}
			was := o.store.Beliefs[2]
			is := was
			is.Repair = &belief.Repair{Kind: belief.RepairUpdate, Order: "o", Calls: 1,
				Climb: belief.Climb{Aim: belief.AimAt(was.Current)}}
			o.renewed[string(is.Name)] = string(was.Current.ID)
			o.orderly(&was, &is, nil)
		}},
		{"L3", "an update is taken back, and nobody ordered it", func(o court, breaks bool) {
			o.spec.Update.OnFailure = map[bool]policy.OnUpdateFailure{false: policy.UpdateUndo}[breaks]
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonRollsBack})
		}},
	}
}

// beyonds are the laws of the machines that come beyond the size while others are changed.
func beyonds() []crime {
	return []crime{
		{"S39", "with one beyond the size, fewer serve than the size says", func(o court, breaks bool) {
			o.spec.Update.Surge = 1
			for i := range o.store.Beliefs {
				m := &o.store.Beliefs[i]
				m.Health.Verdict, m.Current.Certified = belief.VerdictHealthy, true
			}
			if !breaks { // then one of them is there beside the size
				o.surged["web-1"], o.booked = "o", &belief.Ledger{Size: len(o.store.Beliefs)}
			}
			was := o.store.Beliefs[2]
			is := was
			is.Repair = &belief.Repair{Kind: belief.RepairReplace, Order: "o", Calls: 1,
				Climb: belief.Climb{Aim: belief.AimAt(was.Current)}}
			o.orderly(&was, &is, nil)
		}},
		{"S39", "a machine is changed before one beyond the size serves for that", func(o court, breaks bool) {
			o.spec.Update.Surge = 1
			for i := range o.store.Beliefs {
				m := &o.store.Beliefs[i]
				m.Health.Verdict, m.Current.Certified = belief.VerdictHealthy, true
			}
			o.surged["web-1"] = map[bool]fleet.OrderID{false: "o", true: "p"}[breaks]
			o.booked = &belief.Ledger{Size: len(o.store.Beliefs)}
			was := o.store.Beliefs[2]
			is := was
			is.Repair = &belief.Repair{Kind: belief.RepairUpdate, Order: "o", Calls: 1,
				Climb: belief.Climb{Aim: belief.AimAt(was.Current)}}
			o.renewed[string(is.Name)] = string(was.Current.ID)
			o.orderly(&was, &is, nil)
		}},
		{"S39", "one beyond the size for another order is changed", func(o court, breaks bool) {
			o.surged["web-2"] = map[bool]fleet.OrderID{false: "o", true: "p"}[breaks]
			o.tries("web-2", "", false, o.spec.Update.Soak)
		}},
		{"L13", "more come beyond the size than may", func(o court, breaks bool) {
			if o.spec.Update.Surge = 1; breaks {
				o.surged["web-2"] = "o"
			}
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSurge, Machine: "web-1", Order: "p"})
		}},
		{"L13", "a machine of the size goes as one beyond it", func(o court, breaks bool) {
			if !breaks {
				o.surged["web-3"] = "o"
			}
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSurgeOver, Machine: "web-3"})
		}},
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
				o.trials.Shown("o", "another.qcow2")
				o.renewed[name] = id
				o.orderly(&belief.Machine{Name: fleet.MachineName(name)},
					&belief.Machine{Name: fleet.MachineName(name), Repair: &belief.Repair{
						Kind:  belief.RepairUpdate,
						Order: "o",
						Climb: belief.Climb{Aim: belief.Aim{Target: belief.Incarnation{ID: fleet.InstanceID(id)}}},
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
			o.left["web-1"] = breaks
			o.stores(builds)
		}},
		{"L13", "a fleet grows beyond what is asked for", func(o court, breaks bool) {
			o.asked = o.size + 1
			grown := record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: o.asked}
			if breaks {
				grown.Size++
			}
			o.changed(grown)
		}},
		{"L13", "a fleet grows to what was asked for before a machine was sent away", func(o court, breaks bool) {
			larger := fleet.Order{ID: "o1", Kind: fleet.OrderScale, Size: o.size + 2}
			away := fleet.Order{ID: "o2", Kind: fleet.OrderDelete, Machine: "web-1"}
			o.Ordered(&larger)
			o.Ordered(&away)
			o.Ruled([]fleet.Ruling{{Order: larger.ID}, {Order: away.ID}})
			if breaks {
				o.Ruled(nil) // they were taken up before
			}
			o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: larger.Size})
		}},
		{"L13", "a machine is said to have left, and runs", func(o court, breaks bool) {
			gone := record.Record{Kind: record.Change, Reason: fleet.ReasonSizeDown, Machine: "web-1"}
			if !breaks {
				o.w.Vanish(o.w.Current("web-1"))
			}
			o.changed(gone)
		}},
		{"L2", "an adopted machine is taken up again that a person wanted let go", func(o court, breaks bool) {
			o.away["a"] = breaks
			o.letGo(&belief.Machine{Name: "web-1"}, &belief.Machine{Name: "web-1",
				Current: belief.Incarnation{ID: "a", Adopted: true}})
		}},
		{"L3", "a machine is removed that no confirmed plan names", func(o court, breaks bool) {
			o.leaving["web-1"] = map[bool]string{true: "another", false: "a"}[breaks]
			o.stores(func(_, is *belief.Machine) { is.Repair = removal("a") })
		}},
		{"L10", "a wanted change looks like a failure", func(o court, breaks bool) {
			o.leaving["web-1"] = "a"
			said := record.Intent
			if breaks {
				said = record.IncidentOpen
			}
			o.stores(func(was, is *belief.Machine) { was.Repair, is.Repair = removal("a"), removal("a") }, said)
		}},
		{"L10", "an update looks like a failure, and is not yet a build that fails", func(o court, breaks bool) {
			o.renewed["web-1"] = "planted-1"
			update := removal("planted-1")
			update.Kind, update.Removed = belief.RepairUpdate, !breaks
			o.trials.Tries(rolled{o.Judge}, &belief.Machine{Name: "web-1", Repair: update})
			o.stores(func(was, is *belief.Machine) { was.Repair, is.Repair = update, update }, record.IncidentOpen)
		}},
		{"L10", "a machine fails while it is removed, and not before", func(o court, breaks bool) {
			o.leaving["web-1"] = "a"
			o.stores(func(was, is *belief.Machine) {
				if is.Repair = removal("a"); breaks {
					was.Repair = removal("a")
				}
			}, record.IncidentOpen, record.RepairStarted)
		}},
		{"L13", "a change is given up that nobody confirmed", func(o court, breaks bool) {
			if !breaks {
				o.leaving["web-1"] = "a"
			}
			o.changed(record.Record{Kind: record.Change, Machine: "web-1", Reason: fleet.ReasonGivenUp})
		}},
	}
}

// ends are the laws of how removals end that a second hale has its hands in, and what is asked for meanwhile.
func ends() []crime {
	return []crime{
		{"L13", "a machine is said to have left, and runs, and no other hale has only just built it",
			func(o court, breaks bool) {
				another := *o.w.Current("web-1")
				another.Status.ID, another.Mark.Instance = "another", "another"
				o.w.Vanish(o.w.Current("web-1"))
				o.w.Plant(another.Status)
				if o.built["another"] = true; breaks {
					o.passes(2 * seenWithin)
				}
				o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeDown, Machine: "web-1"})
			}},
		{"L13", "a removal is given up that was carried out, and no other hale has built the machine anew",
			func(o court, breaks bool) {
				another := *o.w.Current("web-1")
				another.Status.ID, another.Mark.Instance = "another", "another"
				o.leaving["web-1"] = "planted-1"
				o.w.Vanish(o.w.Current("web-1"))
				if o.leaves("web-1"); !breaks {
					o.w.Plant(another.Status)
					o.built["another"] = true
				}
				o.believes()
				o.changed(record.Record{Kind: record.Change, Machine: "web-1", Reason: fleet.ReasonGivenUp})
			}},
		{"L13", "a removal is given up after the fleet grew, and it was none that went on meanwhile",
			func(o court, breaks bool) {
				o.leaving["web-1"] = "planted-1"
				if o.leaves("web-1"); !breaks {
					o.books(&belief.Ledger{Size: 3, Removals: []belief.Removal{{Machine: "web-1"}}})
				}
				o.asks(6)
				o.changed(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: 6})
				o.changed(record.Record{Kind: record.Change, Machine: "web-1", Reason: fleet.ReasonGivenUp})
			}},
	}
}

// removal is the work on a machine that is to go by a person's order.
func removal(id fleet.InstanceID) *belief.Repair {
	return &belief.Repair{
		ID:    "r1",
		Kind:  belief.RepairRemove,
		Order: "o1",
		Climb: belief.Climb{
			Rung:  belief.NoRung,
			Aim:   belief.Aim{Target: belief.Incarnation{ID: id, Generation: 1, Certified: true}},
			Stage: belief.Stage{Phase: belief.PhaseAct},
		},
	}
}
