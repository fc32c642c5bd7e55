package simulated

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/sim/guest"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Fault is something that goes wrong: with a guest, with calls, or with the provider. What it is and what follows from
// it is the world's: a row of its table (Happens), or a method of world.World's. The others are names for these.
type Fault interface {
	// strike makes it happen at once, and returns what ends it, if anything does.
	strike(w *World) struck
}

// struck is what became of a fault: what ends it, if anything does, or why it cannot happen.
type struck struct {
	lift func()
	err  error
}

// Inject makes the fault happen now. The returned function ends a fault that lasts; it may be called more than once.
// fault.NotFound: the fault names an instance that does not exist.
func (w *World) Inject(f Fault) (lift func(), err error) {
	lift = w.Strike(func(*world.World) func() {
		is := f.strike(w)
		err = is.err
		return is.lift
	})
	if err != nil {
		return nil, err
	}
	return lift, nil
}

// onGuest is a fault of one instance.
func (w *World) onGuest(id fleet.InstanceID, strike func(vm *world.VM) (lift func())) struck {
	vm, err := w.find(id)
	if err != nil {
		return struck{err: err}
	}
	return struck{lift: strike(vm)}
}

// onHost is a fault of one host.
func (w *World) onHost(host fleet.HostName, strike func(world.Domain) (lift func())) struck {
	if err := w.hostExists(host); err != nil {
		return struck{err: err}
	}
	return struck{lift: strike(world.Domain{Kind: "host", Name: string(host)})}
}

// Happens is a row of the world's table. Of the instance, the host and the object it has what the verb asks for.
type Happens struct {
	Verb     verbs.Verb
	Instance fleet.InstanceID
	Host     fleet.HostName
	Arg      string
}

func (f Happens) strike(w *World) struck {
	row, known := verbs.RowOf(f.Verb)
	if !known {
		return struck{err: fault.New(fault.Invalid, "simulated.inject", string(f.Verb), nil)}
	}
	do := func(c verbs.Case) (lift func(), err error) {
		c.Arg = f.Arg
		return row.Do(w.truth, c)
	}
	switch row.Of {
	case verbs.OfMachine, verbs.OfPerson:
		vm, err := w.find(f.Instance)
		if err != nil {
			return struck{err: err}
		}
		lift, err := do(verbs.Case{VM: vm})
		return struck{lift, err}
	case verbs.OfDomain:
		if err := w.hostExists(f.Host); err != nil {
			return struck{err: err}
		}
		lift, err := do(verbs.Case{Domain: world.Domain{Kind: "host", Name: string(f.Host)}})
		return struck{lift, err}
	case verbs.OfProvider, verbs.OfTemplate, verbs.OfLoad, verbs.OfMetric, verbs.OfHook:
	}
	lift, err := do(verbs.Case{})
	return struck{lift, err}
}

// Of what is wrong with a guest.
type (
	// Illness is what is wrong.
	Illness = guest.Ailment
	// Symptom is how it shows.
	Symptom = guest.Symptom
	// Cure is what makes the guest well again.
	Cure = guest.Cure
)

// The symptoms. The provider reports such a guest as running.
const (
	NeverBoots  = guest.Hung // to those who ask
	BootsSlowly = guest.SlowBoot
	NoAddress   = guest.NoAddress
	NoNetwork   = guest.Unplugged
	Hung        = guest.Hung
	Halted      = guest.Halted
	NoHTTP      = guest.AppDead
	HTTPStatus  = guest.AppError
	HTTPHangs   = guest.AppHangs
	WrongPage   = guest.BadPage
	CheckFails  = guest.CheckFails
	LosesProbes = guest.Lossy
	AgentMute   = guest.AgentMute
	AgentLies   = guest.AgentLies

	ByReboot   = guest.ByReboot
	ByRecreate = guest.ByRecreate
	ByCommand  = guest.ByCommand
)

// Broken makes a guest ill until it is cured or the fault is lifted.
type Broken struct {
	Instance fleet.InstanceID
	Illness
}

func (f Broken) strike(w *World) struck {
	return w.onGuest(f.Instance, func(vm *world.VM) func() { return w.truth.Sicken(vm, f.Illness) })
}

// NextBuilds makes instances ill from their creation on, as a bad template does. Those built stay ill when it is
// lifted.
type NextBuilds struct {
	Machine fleet.MachineName // empty: any
	Image   string            // of the template that they are built from; empty: any
	Times   int               // how many; 0: until lifted
	Illness
}

func (f NextBuilds) strike(w *World) struck {
	return struck{lift: w.truth.SpoilBuilds(world.Builds{Machine: string(f.Machine), Image: f.Image, Times: f.Times},
		f.Illness)}
}

// Crash ends the guest as a killed process does: off, StopCrash.
type Crash struct{ Instance fleet.InstanceID }

func (f Crash) strike(w *World) struck {
	return Happens{Verb: verbs.Crashes, Instance: f.Instance}.strike(w)
}

// Panic ends the guest's kernel. Remains says what the provider makes of it: PowerCrashed (the default) keeps the
// remains, PowerOff removes them, PowerRunning boots the guest again.
type Panic struct {
	Instance fleet.InstanceID
	Remains  fleet.Power
}

func (f Panic) strike(w *World) struck {
	switch f.Remains {
	case fleet.PowerOff:
		return Crash{f.Instance}.strike(w)
	case fleet.PowerRunning:
		return w.onGuest(f.Instance, func(vm *world.VM) func() {
			w.truth.Reset(vm)
			return nil
		})
	default:
		return Happens{Verb: verbs.Panics, Instance: f.Instance}.strike(w)
	}
}

// PersonPowersOff is a stop that a person ordered at the provider: off, StopExternal.
type PersonPowersOff struct{ Instance fleet.InstanceID }

func (f PersonPowersOff) strike(w *World) struck {
	return Happens{Verb: verbs.IsStopped, Instance: f.Instance}.strike(w)
}

// PersonMends is a person's repair of a guest that was left to them: all that ailed it is gone, and it boots.
type PersonMends struct{ Instance fleet.InstanceID }

func (f PersonMends) strike(w *World) struck {
	return Happens{Verb: verbs.IsStarted, Instance: f.Instance}.strike(w)
}

// Paused suspends the guest; when lifted it goes on, if it is still suspended.
type Paused struct {
	Instance fleet.InstanceID
	// By says who did it: a person (StopExternal, or StopUnknown), the guest (StopGuest), or the provider, because a
	// write to the disk failed (StopIOError).
	By fleet.Stop
}

func (f Paused) strike(w *World) struck {
	return w.onGuest(f.Instance, func(vm *world.VM) func() { return w.truth.Suspend(vm, world.Stop(f.By)) })
}

// Vanishes removes the guest with all that it had, as an undefine by a person does.
type Vanishes struct{ Instance fleet.InstanceID }

func (f Vanishes) strike(w *World) struck {
	return Happens{Verb: verbs.Vanishes, Instance: f.Instance}.strike(w)
}

// Calls makes provider calls go wrong. Empty selectors select all; the newest fault that selects a call hits it.
type Calls struct {
	Op       fleet.Op
	Client   string
	Host     fleet.HostName // selects no call that asks all hosts
	Instance fleet.InstanceID
	Machine  fleet.MachineName // by the reference's mark
	Times    int               // how many are hit; 0: until lifted
	Chance   float64           // how likely a selected call is hit; 0: certainly
	Effect   Effect
	Kind     fault.Kind    // of Fails; default Transient
	Delay    time.Duration // of Slow, ActsLate and ActsTwice
}

// Effect is what happens to a call that is hit. Only Fails, Slow and Hangs hit reads.
type Effect string

// The effects.
const (
	Fails Effect = "fails" // it ends with Calls.Kind; nothing was done
	Slow  Effect = "slow"  // it takes Calls.Delay longer
	// nothing happens until the caller gives up, or it goes on when the fault is lifted
	Hangs      Effect = "hangs"
	HangsAfter Effect = "hangs-after" // it takes effect, then hangs
	ActsLate   Effect = "acts-late"   // it hangs and takes effect Calls.Delay later, caller or no caller
	AnswerLost Effect = "answer-lost" // it takes effect, and the caller gets UnknownOutcome
	ActsTwice  Effect = "acts-twice"  // it takes effect, and once more Calls.Delay later
	NoEffect   Effect = "no-effect"   // it is accepted, and nothing follows
)

func (f Calls) strike(w *World) struck {
	op := world.Op(f.Op)
	if op == world.Run {
		op = world.Configure
	}
	t := world.Trouble{
		Op: op, Client: f.Client, Host: string(f.Host), ID: string(f.Instance), Machine: string(f.Machine),
		Times: f.Times, First: true,
		How: endOf(f.Kind), Delay: f.Delay, Reads: f.Effect == Fails || f.Effect == Slow || f.Effect == Hangs,
	}
	share := map[Effect]*float64{
		Fails: &t.Fails, Slow: &t.Slow, Hangs: &t.Hangs, HangsAfter: &t.Unheard, ActsLate: &t.Late,
		AnswerLost: &t.Dropped, ActsTwice: &t.Twice,
		NoEffect: &t.Vain,
	}
	*share[f.Effect] = cmp.Or(f.Chance, 1)
	if f.Effect == HangsAfter && (f.Op == provider.OpNoteStart || f.Op == provider.OpForgetStart) {
		t.Reads = true // a fault of all calls hits the call that the note is written for
	}
	return struck{lift: w.truth.Upset(t)}
}

// Outage cuts a client, or with an empty name all of them, from the provider: calls fail as transient, nothing is
// heard.
type Outage struct{ Client string }

func (f Outage) strike(w *World) struck {
	return struck{lift: w.truth.Cutoff(f.Client)}
}

// HostUnreachable cuts a client, or with an empty name everybody, from one host's control plane. Its guests run on.
type HostUnreachable struct {
	Host   fleet.HostName
	Client string
}

func (f HostUnreachable) strike(w *World) struck {
	return w.onHost(f.Host, func(d world.Domain) func() { return w.truth.DarknessTo(f.Client, d) })
}

// HostHangs is HostUnreachable with a host that takes what it is told and never answers: a caller that asks all hosts
// at once waits for it as long as there is time, and then has the others' answers.
type HostHangs struct{ Host fleet.HostName }

func (f HostHangs) strike(w *World) struck {
	return w.onHost(f.Host, func(d world.Domain) func() {
		w.hanging++
		lift := w.truth.Darkness(d)
		return func() {
			w.hanging--
			lift()
		}
	})
}

// CutOff parts the host's guests from everything, their peers too: they run, and serve no users.
type CutOff struct{ Host fleet.HostName }

func (f CutOff) strike(w *World) struck { return OutOfSight{Host: f.Host}.strike(w) }

// OutOfSight parts one client's probes from the host's guests, which serve everybody else. Its calls to the provider
// pass.
type OutOfSight struct {
	Client string
	Host   fleet.HostName
}

func (f OutOfSight) strike(w *World) struck {
	return w.onHost(f.Host, func(d world.Domain) func() { return w.truth.Part(f.Client, d) })
}

// OtherIdentity puts another, empty provider behind the host's address: it has another identity and knows no instance.
// What it is told to build appears nowhere in this world.
type OtherIdentity struct{ Host fleet.HostName }

func (f OtherIdentity) strike(w *World) struck { return w.onHost(f.Host, w.truth.Supplant) }

// Misreported lets the provider say something about an instance's power that is not so. Only the words are wrong:
// changing calls meet the truth.
type Misreported struct {
	Instance fleet.InstanceID
	Op       fleet.Op // provider.OpList or provider.OpGet; empty: both
	Power    fleet.Power
	Stop     fleet.Stop
}

func (f Misreported) strike(w *World) struck {
	return w.onGuest(f.Instance, func(*world.VM) func() {
		w.lies = append(w.lies, &f)
		return func() { w.lies = slices.DeleteFunc(w.lies, func(o *Misreported) bool { return o == &f }) }
	})
}

// RepeatedEvents delivers each event several times (S26: five events for one failure, one heal).
type RepeatedEvents struct{ Times int }

func (f RepeatedEvents) strike(w *World) struck {
	w.repeats = append(w.repeats, f.Times)
	return struck{lift: func() { w.repeats = w.repeats[:len(w.repeats)-1] }}
}

// LostEvents delivers no event about instances.
type LostEvents struct{}

func (LostEvents) strike(w *World) struck {
	w.deaf++
	return struck{lift: func() { w.deaf-- }}
}
