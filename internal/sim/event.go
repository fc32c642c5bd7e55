package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/sim/world"
)

// Event is one thing that goes wrong, or is done, at a time.
type Event struct {
	At time.Duration
	// Subject names what it happens to: a machine ("web-3"), a domain ("host h2", "rack r1", "all"), "provider",
	// "template", "store", a server ("hale-1"), or the one who acts: "operator".
	Subject string
	Verb    Verb
	// Arg is the verb's object, where it takes one: "hale-1", "h2", "1h", "5 %".
	Arg string
	For time.Duration // after which it ends by itself; zero: it does not
	// Least lets it happen only if so many of the machines of the subject serve then: a plan that was drawn keeps to what can be
	// told apart.
	Least int
}

// Verb is what happens.
type Verb string

// What can happen to a machine.
const (
	Crashes     Verb = "crashes"
	ShutsDown   Verb = "shuts itself down"
	IsStopped   Verb = "is stopped by a person"
	IsShutDown  Verb = "is shut down by a person" // in order: the provider does not know by whom
	IsStarted   Verb = "is started by a person"
	IsPaused    Verb = "is paused"
	IsRescued   Verb = "is rescued by a person"  // who has another system run in its place
	IsRepaired  Verb = "is repaired by a person" // in that system, and runs by itself again
	Suspends    Verb = "suspends itself"
	DiskFull    Verb = "cannot write to its disk" // so its provider pauses it
	Panics      Verb = "panics"
	Vanishes    Verb = "vanishes"
	Hangs       Verb = "hangs"
	Halts       Verb = "halts"
	LosesNet    Verb = "loses its network"
	StopsApp    Verb = "stops serving"
	Fails503    Verb = "answers 503"
	WrongPages  Verb = "shows a wrong page"
	FailsCheck  Verb = "fails check" // one of several
	IsSlow      Verb = "is too slow"
	LosesConfig Verb = "loses its configuration"
	LosesProbes Verb = "loses probes"
	LosesDisk   Verb = "loses its disk"
	LosesData   Verb = "loses its kept disks" // somebody deletes them
	Moves       Verb = "moves to"
	TakesAddr   Verb = "takes the address of" // of another machine, which keeps it
	Readdressed Verb = "gets another address"
	AgentSilent Verb = "'s agent falls silent"         // and the machine is well
	AgentLies   Verb = "'s agent answers in any state" // as long as the machine is on
	StaysOn     Verb = "'s definition stays on"        // a host that it left while it runs, or left some time ago
	IsRestored  Verb = "is restored to"                // from a backup, beside itself
	LeavesBuild Verb = "leaves a dead build on"        // which nobody remembers
)

// What can happen to a domain of machines: a host, rack, room, zone, network, storage, or all.
const (
	LosesPower   Verb = "loses power"
	IsCutOff     Verb = "is cut off" // nobody reaches its machines
	IsOutOfSight Verb = "is out of sight of"
	GoesDark     Verb = "goes dark"        // its hosts' control planes are silent
	NoFence      Verb = "cannot be fenced" // its hosts' power controllers do not answer
	MuteFence    Verb = "is fenced without an answer"
	IsDisabled   Verb = "is disabled"          // whoever runs the provider wants its hosts to be empty
	CutsAccess   Verb = "has its access cut"   // to storage and network, by hand
	GivesAccess  Verb = "gets its access back" // behind hale's back
	IsParted     Verb = "is parted from hale"  // which sees neither their control planes nor their machines; all others do
	TurnedOff    Verb = "is turned off"        // at their power controllers, by somebody else
	NoCut        Verb = "cannot be cut"        // whoever cuts its hosts' access does not answer

	ShutsGuests Verb = "shuts its machines down" // in order, as before a reboot
)

// What can happen to the provider, and to what is built.
const (
	IsSilent     Verb = "does not answer"
	IsSilentTo   Verb = "does not answer to"
	FailsCalls   Verb = "fails calls"
	LosesAnswers Verb = "loses answers"
	ActsTwice    Verb = "acts twice"
	ActsLate     Verb = "acts late"
	Throttles    Verb = "throttles"
	OverQuota    Verb = "is over quota"
	KeepsOn      Verb = "cannot power off" // it says so; the machine runs on
	KeepsAll     Verb = "cannot delete"
	MarksNothing Verb = "cannot mark" // nothing gets certified
	CopiesNone   Verb = "cannot copy" // disks: it says that there is no room
	ListsStale   Verb = "lists what was"
	ListsNothing Verb = "lists nothing"
	IsBad        Verb = "is bad"  // the template
	IsFull       Verb = "is full" // the store
)

// What can happen to the store, beside that it is full, and to hale as a whole.
const (
	LosesLast      Verb = "loses its last"     // writes before a loss of power, which hale survives
	IsRolledBack   Verb = "is restored from"   // what it held at a time since the start, while hale does not run
	StartedTwice   Verb = "is started twice"   // by a copy of its store, beside itself
	InstalledTwice Verb = "is installed twice" // with the same file and an empty store, beside itself
)

// Copies is what a person does to a machine: the copy bears the mark of the original, too.
const Copies Verb = "copies"

// What can happen to a server.
const (
	Dies        Verb = "dies"
	DiesWriting Verb = "dies at write"
	Freezes     Verb = "freezes"
	FreezesCall Verb = "freezes before a call"
	ClockSteps  Verb = "has its clock stepped by"
	LosesStore  Verb = "loses the store"
	LosesLease  Verb = "loses its lease" // in the store; it hears of it when it wants to renew it
)

// What an operator can order. The object is what it is about: a machine, "host h1", or the fleet.
const (
	Holds    Verb = "holds"
	Releases Verb = "releases"
	Retries  Verb = "retries"
	Heals    Verb = "heals"
	Undoes   Verb = "undoes"
	Recovers Verb = "recovers the fleet"
	Believes Verb = "recovers the fleet believing the world"
	Brakes   Verb = "puts the brake on"
	Unbrakes Verb = "takes the brake off"
	Scales   Verb = "scales to"
	Deletes  Verb = "deletes"
	Vouches  Verb = "takes for off" // a host that does not answer
)

// What an operator does to the configuration.
const (
	Resizes     Verb = "asks for a size of"
	Retemplates Verb = "asks for the image"
	Confirms    Verb = "confirms what waits"
	Mistypes    Verb = "mistypes the port of check" // in the configuration; where it ends, it is put right
)

// String returns the event as scenario files write it.
func (e Event) String() string {
	said := e.Subject + e.Verb.join() + string(e.Verb)
	if e.Arg != "" {
		said += " " + e.Arg
	}
	if e.For != 0 {
		said += " for " + span(e.For)
	}
	if e.Least != 0 {
		said += least + strconv.Itoa(e.Least)
	}
	return said
}

// join is what stands between the subject and the verb: "web-2's definition" is one word.
func (v Verb) join() string {
	if strings.HasPrefix(string(v), "'") {
		return ""
	}
	return " "
}

// Class returns what happened without to whom: "crashes", "rack loses power", "provider lists what was", "hale dies".
func (e Event) Class() string {
	subject := ""
	switch kind := subjectKind(e.Subject); kind {
	case "machine":
	case "domain":
		subject, _, _ = strings.Cut(e.Subject, " ")
	case "server":
		subject = "hale"
	case "person":
		subject = person
	default:
		subject = kind
	}
	return strings.TrimSpace(subject + " " + strings.TrimPrefix(string(e.Verb), "'s "))
}

// OfMachine reports whether it happens to one machine.
func (e Event) OfMachine() bool { return subjectKind(e.Subject) == "machine" }

// OfServer reports whether it happens to one of hale's own servers.
func (e Event) OfServer() bool { return subjectKind(e.Subject) == "server" }

// act makes the event happen now, and returns what ends it, if anything does.
type act func(s *stage, e Event) (lift func(), err error)

// verbs says how each thing happens.
func verbs() map[Verb]act {
	return map[Verb]act{
		Crashes:        onMachine(func(s *stage, vm *world.VM) func() { return s.w.Crash(vm, world.StopCrash) }),
		ShutsDown:      onMachine(func(s *stage, vm *world.VM) func() { return s.w.Crash(vm, world.StopGuest) }),
		IsStopped:      onMachine(stoppedByPerson(world.StopExternal)),
		IsShutDown:     onMachine(stoppedByPerson(world.StopShutdown)),
		IsStarted:      forGood((*world.World).PowerOn),
		IsPaused:       halts(world.StopUnknown),
		IsRescued:      onMachine(func(s *stage, vm *world.VM) func() { return s.w.Rescue(vm) }),
		IsRepaired:     forGood((*world.World).Unrescue),
		Suspends:       halts(world.StopGuest),
		DiskFull:       halts(world.StopIOError),
		Panics:         onMachine(func(s *stage, vm *world.VM) func() { return s.w.Panic(vm) }),
		Vanishes:       forGood((*world.World).Vanish),
		Hangs:          ails(world.Ailment{Symptom: world.Hung}),
		Halts:          ails(world.Ailment{Symptom: world.Halts}),
		LosesNet:       ails(world.Ailment{Symptom: world.Unplugged}),
		StopsApp:       ails(world.Ailment{Symptom: world.AppDead}),
		Fails503:       ails(world.Ailment{Symptom: world.AppError}),
		WrongPages:     ails(world.Ailment{Symptom: world.BadPage}),
		FailsCheck:     failsCheck,
		AgentSilent:    ails(world.Ailment{Symptom: world.AgentMute}),
		AgentLies:      ails(world.Ailment{Symptom: world.AgentLies}),
		IsSlow:         ails(world.Ailment{Symptom: world.Slow}),
		LosesConfig:    ails(world.Ailment{Symptom: world.AppError, Cure: world.ByCommand}),
		LosesDisk:      onMachine(diskLost),
		LosesData:      forGood(func(w *world.World, vm *world.VM) { w.DestroyDisks(vm.Mark.Machine) }),
		LosesProbes:    losesProbes,
		Moves:          moves,
		TakesAddr:      takesAddress,
		StaysOn:        staysOn,
		Copies:         copies,
		LosesLast:      rollsBack(powerLoss),
		IsRolledBack:   rollsBack(restoration),
		StartedTwice:   startsTwice,
		InstalledTwice: installsTwice,
		IsRestored:     leaves("backup", true),
		LeavesBuild:    leaves("build", false),
		Readdressed:    forGood((*world.World).Readdress),
		LosesPower:     onDomain(func(s *stage, d world.Domain) func() { return s.w.PowerFailure(d) }),
		IsCutOff:       onDomain(func(s *stage, d world.Domain) func() { return s.w.Part("", d) }),
		GoesDark:       onDomain(func(s *stage, d world.Domain) func() { return s.w.Darkness(d) }),
		NoFence:        onDomain(func(s *stage, d world.Domain) func() { return s.w.DeadController(d) }),
		IsDisabled:     onDomain(func(s *stage, d world.Domain) func() { return s.w.Disable(d) }),
		MuteFence:      onDomain(func(s *stage, d world.Domain) func() { return s.w.MuteController(d) }),
		CutsAccess:     onDomain(func(s *stage, d world.Domain) func() { return s.w.CutAccess(d) }),
		GivesAccess:    onDomain(givesAccess),
		IsParted:       onDomain(parts),
		TurnedOff:      onDomain(func(s *stage, d world.Domain) func() { return s.w.TurnOff(d) }),
		ShutsGuests:    onDomain(func(s *stage, d world.Domain) func() { s.w.ShutDown(d); return nil }),
		NoCut:          onDomain(func(s *stage, d world.Domain) func() { return s.w.DeafCut(d) }),
		IsOutOfSight:   outOfSight,
		IsSilent:       onProvider(func(s *stage, _ Event) func() { return s.w.Cutoff("") }),
		IsSilentTo:     onProvider(func(s *stage, e Event) func() { return s.w.Cutoff(e.Arg) }),
		FailsCalls:     troubles(func(p float64) world.Trouble { return world.Trouble{Fails: p, Reads: true} }),
		LosesAnswers:   troubles(func(p float64) world.Trouble { return world.Trouble{Lost: p} }),
		ActsTwice:      troubles(func(p float64) world.Trouble { return world.Trouble{Twice: p} }),
		ActsLate:       troubles(func(p float64) world.Trouble { return world.Trouble{Late: p} }),
		Throttles:      troubles(throttled),
		OverQuota:      troubles(overQuota),
		KeepsOn:        refuses(world.PowerOff, world.Permanent),
		KeepsAll:       refuses(world.Delete, world.Permanent),
		MarksNothing:   refuses(world.Certify, world.Permanent),
		CopiesNone:     refuses(world.Snapshot, world.Quota),
		ListsStale: onProvider(func(s *stage, e Event) func() {
			age, _ := time.ParseDuration(e.Arg)
			return s.w.Upset(world.Trouble{Stale: age})
		}),
		ListsNothing: onProvider(func(s *stage, _ Event) func() { return s.w.Upset(world.Trouble{Empty: true}) }),
		IsBad:        spoils,
		IsFull: func(s *stage, _ Event) (func(), error) {
			s.store.full++
			return func() { s.store.full-- }, nil
		},
		Dies:        onServer(dies),
		DiesWriting: onServer(diesWriting),
		Freezes:     stands(func(c *server, span time.Duration) { c.freeze(span) }),
		FreezesCall: stands(func(c *server, span time.Duration) { c.pauseFor = span }),
		ClockSteps:  onServer(clockSteps),
		LosesStore:  onServer(losesStore),
		LosesLease:  onServer(losesLease),
		Holds:       orders(fleet.OrderHold),
		Releases:    orders(fleet.OrderRelease),
		Retries:     orders(fleet.OrderRetry),
		Heals:       orders(fleet.OrderHeal),
		Undoes:      orders(fleet.OrderUndo),
		Recovers:    orders(fleet.OrderRecover),
		Believes:    orders(fleet.OrderRecover),
		Brakes:      orders(fleet.OrderBrakeOn),
		Unbrakes:    orders(fleet.OrderBrakeOff),
		Scales:      orders(fleet.OrderScale),
		Deletes:     orders(fleet.OrderDelete),
		Vouches:     orders(fleet.OrderFenced),
		Resizes:     resizes,
		Retemplates: retemplates,
		Confirms:    confirms,
		Mistypes:    mistypes,
	}
}

// refuses lets the provider do the operation for nobody.
func refuses(op world.Op, how world.End) act {
	return onProvider(func(s *stage, _ Event) func() { return s.w.Upset(world.Trouble{Fails: 1, How: how, Op: op}) })
}

// forGood is what happens to one machine, and has no end of its own.
func forGood(do func(*world.World, *world.VM)) act {
	return onMachine(func(s *stage, vm *world.VM) func() {
		do(s.w, vm)
		return nil
	})
}

func onMachine(do func(s *stage, vm *world.VM) func()) act {
	return func(s *stage, e Event) (func(), error) {
		if !strings.HasPrefix(e.Subject, string(s.spec.Name)+"-") {
			return nil, fmt.Errorf("%q is no machine of fleet %s", e.Subject, s.spec.Name)
		}
		vm := s.w.Current(e.Subject)
		if vm == nil {
			return nil, nil // it is just being replaced: it has nothing to break
		}
		return do(s, vm), nil
	}
}

func halts(by world.Stop) act {
	return onMachine(func(s *stage, vm *world.VM) func() { return s.w.Suspend(vm, by) })
}

func ails(a world.Ailment) act {
	return onMachine(func(s *stage, vm *world.VM) func() { return s.w.Sicken(vm, a) })
}

func stoppedByPerson(how world.Stop) func(s *stage, vm *world.VM) func() {
	return func(s *stage, vm *world.VM) func() {
		s.judge.wanted(vm)
		s.w.Crash(vm, how)
		return func() {
			if vm.Power != world.Running { // who finds it running leaves it so
				s.w.PowerOn(vm)
			}
		}
	}
}

// diskLost: it stands still and comes up no more, until it is built anew, or somebody puts another disk in.
func diskLost(s *stage, vm *world.VM) func() {
	bootable := s.w.Sicken(vm, world.Ailment{Symptom: world.NoBoot, Cure: world.ByRecreate})
	awake := s.w.Sicken(vm, world.Ailment{Symptom: world.Hung})
	return func() {
		bootable()
		awake()
		s.w.Revive(vm)
	}
}

func losesProbes(s *stage, e Event) (func(), error) {
	p, err := percent(e.Arg)
	if err != nil {
		return nil, err
	}
	return onMachine(func(s *stage, vm *world.VM) func() {
		return s.w.Sicken(vm, world.Ailment{Symptom: world.Lossy, Share: p})
	})(s, e)
}

func failsCheck(s *stage, e Event) (func(), error) {
	return ails(world.Ailment{Symptom: world.CheckFails, Check: e.Arg})(s, e)
}

func moves(s *stage, e Event) (func(), error) {
	return onMachine(func(s *stage, vm *world.VM) func() { s.w.Migrate(vm, e.Arg); return nil })(s, e)
}

func takesAddress(s *stage, e Event) (func(), error) {
	return onMachine(func(s *stage, vm *world.VM) func() {
		of := s.w.Current(e.Arg)
		if of == nil {
			return nil // it is just being replaced: it has no address
		}
		s.w.TakeAddress(vm, of)
		return func() { s.w.Readdress(vm) }
	})(s, e)
}

// leaves makes an older instance of the machine, powered off, on another host.
func leaves(what string, certified bool) act {
	return func(s *stage, e Event) (func(), error) {
		var taken error
		lift, err := onMachine(func(s *stage, vm *world.VM) func() {
			left := world.Status{ID: what + "-" + vm.ID, Host: e.Arg, Name: vm.Name, Mark: vm.Mark}
			left.Mark.Generation, left.Mark.Certified, left.Mark.Instance = vm.Mark.Generation-1, certified, left.ID
			if !s.w.Leave(left) {
				taken = fmt.Errorf("%s %s %s: there is no such host, or the machine's name is taken there; name another host", e.Subject, e.Verb, e.Arg)
			}
			return nil
		})(s, e)
		return lift, errors.Join(err, taken)
	}
}

func onDomain(do func(s *stage, d world.Domain) func()) act {
	return func(s *stage, e Event) (func(), error) {
		d, err := domainOf(e.Subject)
		if err != nil {
			return nil, err
		}
		lower := s.judge.shared(d)
		lift := do(s, d)
		s.pollSoon()
		return func() {
			lift()
			lower()
		}, nil
	}
}

// givesAccess gives hosts what was cut, whoever rests on that.
func givesAccess(s *stage, d world.Domain) func() {
	s.judge.restores(d)
	s.w.GiveAccess(d)
	s.judge.restored()
	return func() {}
}

// parts breaks all ways between hale and hosts, and no others.
func parts(s *stage, d world.Domain) func() {
	lifts := []func(){s.w.Darkness(d)}
	for _, c := range s.servers {
		lifts = append(lifts, s.w.Part(c.name, d))
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

func outOfSight(s *stage, e Event) (func(), error) {
	return onDomain(func(s *stage, d world.Domain) func() { return s.w.Part(e.Arg, d) })(s, e)
}

func domainOf(subject string) (world.Domain, error) {
	if subject == "all" {
		return world.Domain{Kind: "all"}, nil
	}
	kind, name, ok := strings.Cut(subject, " ")
	if !ok || !slices.Contains([]string{"host", "rack", "room", "zone", "network", "storage"}, kind) {
		return world.Domain{}, fmt.Errorf("%q is no domain: write host, rack, room, zone, network or storage and its name, or all", subject)
	}
	return world.Domain{Kind: kind, Name: name}, nil
}

func onProvider(do func(s *stage, e Event) func()) act {
	return func(s *stage, e Event) (func(), error) {
		lower := s.judge.shared(world.Domain{Kind: "all"})
		lift := do(s, e)
		s.pollSoon()
		return func() {
			lift()
			lower()
		}, nil
	}
}

// pollSoon lets every owner notice with its next listing what no news tell.
func (s *stage) pollSoon() {
	for _, c := range s.everybody() {
		if c.term != 0 {
			c.pollSoon()
		}
	}
}

// troubles are provider troubles that hit a share of the calls, all of them if the event does not say how many.
func troubles(of func(p float64) world.Trouble) act {
	return func(s *stage, e Event) (func(), error) {
		p := 1.0
		if e.Arg != "" {
			var err error
			if p, err = percent(e.Arg); err != nil {
				return nil, err
			}
		}
		return onProvider(func(s *stage, _ Event) func() { return s.w.Upset(of(p)) })(s, e)
	}
}

func percent(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || n < 0 || n > 100 {
		return 0, fmt.Errorf("%q is no share: write it as 5%%", text)
	}
	return n / 100, nil
}

// stands is a server that stands still for the event's time.
func stands(still func(*server, time.Duration)) act {
	return onServer(func(_ *stage, c *server, e Event) (func(), error) {
		still(c, e.For)
		return nil, nil
	})
}

func onServer(do func(s *stage, c *server, e Event) (func(), error)) act {
	return func(s *stage, e Event) (func(), error) {
		if s.rival != nil {
			return nil, nil // it has no server that could die
		}
		for _, c := range s.servers {
			if c.name == e.Subject {
				return do(s, c, e)
			}
		}
		return nil, fmt.Errorf("%q is no hale server of this run", e.Subject)
	}
}

func dies(_ *stage, c *server, _ Event) (func(), error) {
	c.crash()
	return func() {
		if !c.alive {
			c.start()
		}
	}, nil
}

func diesWriting(_ *stage, c *server, e Event) (func(), error) {
	n, err := strconv.Atoi(e.Arg)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("dies at write %q: write which of its next writes, from 1", e.Arg)
	}
	c.crashIn = n
	return nil, nil
}

func clockSteps(_ *stage, c *server, e Event) (func(), error) {
	by, err := time.ParseDuration(e.Arg)
	if err != nil {
		return nil, err
	}
	if c.alive {
		c.stepClock(by)
	}
	return nil, nil
}

func losesStore(s *stage, c *server, _ Event) (func(), error) {
	s.store.cut[c]++
	c.rest()
	c.soon(c.lease.length, c.heat)
	return func() {
		s.store.cut[c]--
		c.renew()
	}, nil
}

func losesLease(s *stage, c *server, _ Event) (func(), error) {
	if s.store.owner != c {
		return nil, nil
	}
	s.store.owner = nil
	c.soon(c.lease.length/renewals, func() {
		if c.term != 0 && s.store.owner != c {
			c.lose()
		}
	})
	return nil, nil
}

// schedule puts an event on the calendar.
func (s *stage) schedule(e Event) {
	do := s.verbs[e.Verb]
	s.remembers(&e)
	s.w.At(e.At, func() {
		if d, err := domainOf(e.Subject); err == nil && s.w.Members(d, s.judge.isOfFleet) < e.Least {
			return
		}
		s.trace.event(s.w.Now(), &e)
		s.judge.fault(e)
		over := s.options.History.strike(&e)
		lift, err := do(s, e)
		over()
		if err != nil {
			s.judge.broken("plan", e.Subject, err.Error())
			return
		}
		if lift != nil && e.For > 0 {
			s.w.After(e.For, func() {
				s.trace.over(s.w.Now(), &e)
				over := s.options.History.strike(&e)
				lift()
				over()
			})
		}
	})
}
