package verbs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/sim/errand"
	"hale/internal/sim/guest"
	"hale/internal/sim/load"
	"hale/internal/sim/world"
)

// Verb is what happens to something in the world, in the words of scenario files.
type Verb string

// What can happen to a machine.
const (
	Crashes      Verb = "crashes"
	ShutsDown    Verb = "shuts itself down"
	IsStopped    Verb = "is stopped by a person"
	IsShutDown   Verb = "is shut down by a person" // in order: the provider does not know who did it
	IsStarted    Verb = "is started by a person"
	IsPaused     Verb = "is paused"
	IsRescued    Verb = "is rescued by a person"  // who has another system run in its place
	IsRepaired   Verb = "is repaired by a person" // in that system, and runs by itself again
	Suspends     Verb = "suspends itself"
	DiskFull     Verb = "cannot write to its disk" // so its provider pauses it
	Panics       Verb = "panics"
	Vanishes     Verb = "vanishes"
	Hangs        Verb = "hangs"
	Halts        Verb = "halts"
	LosesNet     Verb = "loses its network"
	StopsApp     Verb = "stops serving"
	Fails503     Verb = "answers 503"
	WrongPages   Verb = "shows a wrong page"
	FailsCheck   Verb = "fails check" // one of several
	IsSlow       Verb = "is too slow"
	LosesConfig  Verb = "loses its configuration"
	LosesProbes  Verb = "loses probes"
	LosesDisk    Verb = "loses its disk"
	LosesData    Verb = "loses its kept disks" // a person deletes them
	Moves        Verb = "moves to"
	TakesAddr    Verb = "takes the address of" // of another machine, which keeps it
	Readdressed  Verb = "gets another address"
	AgentSilent  Verb = "'s agent falls silent"         // and the machine is well
	AgentAnswers Verb = "'s agent answers in any state" // as long as the machine is on
	StaysOn      Verb = "'s definition stays on"        // a host that it left while it runs, or left some time ago
	IsRestored   Verb = "is restored to"                // from a backup, beside itself
	LeavesBuild  Verb = "leaves a dead build on"        // which hale has forgotten
	IsLocked     Verb = "is locked at the provider"     // which refuses whatever would change it
)

// Copies is what a person does to a machine: the copy bears the mark of the original, too.
const Copies Verb = "copies"

// What can happen to a domain of machines: a host, rack, room, zone, network, storage, or all.
const (
	LosesPower   Verb = "loses power"
	IsCutOff     Verb = "is cut off" // its machines reach no one
	IsOutOfSight Verb = "is out of sight of"
	GoesDark     Verb = "goes dark"        // its hosts' control planes are silent
	NoFence      Verb = "cannot be fenced" // its hosts' power controllers do not answer
	MuteFence    Verb = "is fenced without an answer"
	IsDisabled   Verb = "is disabled"          // the provider's people want its hosts to be empty
	CutsAccess   Verb = "has its access cut"   // to storage and network, by hand
	GivesAccess  Verb = "gets its access back" // behind the caller's back
	IsParted     Verb = "is parted from hale"  // which sees neither control planes nor machines; all others do
	TurnedOff    Verb = "is turned off"        // at their power controllers, and not by hale
	NoCut        Verb = "cannot be cut"        // what cuts its hosts' access does not answer

	BuildsNone  Verb = "builds nothing"          // it says so, and its machines run on
	SpoilsOwn   Verb = "spoils what it builds"   // nothing of it comes up
	DeadFirst   Verb = "'s first fence is dead"  // of the two power controllers that its hosts have
	TakesHale   Verb = "loses power with"        // a server of hale's on it, which is back with the power
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
	DropsMoves   Verb = "drops moves half way"
	IsBad        Verb = "is bad" // the template
)

// What can happen to the load, and to a metric of it.
const (
	RisesTo Verb = "rises to" // at once
	FallsTo Verb = "falls to" // the same: it is what a reader calls it
	Says    Verb = "says"     // instead of the truth
)

// What can happen to a hook, by its name.
const (
	HookFails   Verb = "ends in an error" // whenever it is run
	HookHangs   Verb = "does not end"
	HookUnheard Verb = "loses its answer" // it is done, and it is unknown whether
	HookNotRun  Verb = "cannot be run now"
	HookRefused Verb = "is refused"
)

// Row is all that there is to say about a verb: this table is the only place that knows it.
type Row struct {
	Verb Verb
	Of   Kind
	// Takes is what its object is, and empty where it takes none; Must says that it may not be left out.
	Takes Object
	Must  bool
	// Do makes it happen, and returns what ends it; nil: nothing happened, or nothing ends it.
	Do func(w *world.World, c Case) (lift func(), err error)
}

// Kind is what a verb happens to.
type Kind string

// The kinds.
const (
	OfMachine  Kind = "machine"
	OfDomain   Kind = "domain"
	OfProvider Kind = "provider"
	OfTemplate Kind = "template"
	OfLoad     Kind = "load"
	OfMetric   Kind = "metric"
	OfHook     Kind = "hook"
	OfPerson   Kind = "person" // who acts on a machine, which is the object
)

// Object is what a verb takes.
type Object string

// The objects.
const (
	AShare    Object = "share" // of calls or probes, as "5%"
	ADuration Object = "duration"
	AHost     Object = "host"
	AClient   Object = "server" // a caller of the provider's, or where probes come from
	ACheck    Object = "check"
	AMachine  Object = "machine"
	Another   Object = "another" // machine
	AnAmount  Object = "amount"  // of load, in units per second
	ALie      Object = "lie"
)

// Case is what one happening is about, as far as its verb asks for it.
type Case struct {
	VM     *world.VM
	Domain world.Domain
	Metric string
	Hook   string
	Arg    string
	// Hale are the clients that are hale's.
	Hale []string
}

// Rows is the table.
func Rows() []Row {
	shared := slices.Concat(of(OfDomain, domainRows()), of(OfProvider, providerRows()))
	return slices.Concat(of(OfMachine, machineRows()), shared, loadRows(), hookRows(), []Row{
		{Verb: IsBad, Of: OfTemplate, Do: anyway(func(w *world.World, _ string) func() {
			return w.SpoilBuilds(world.Builds{}, guest.Ailment{Symptom: guest.NoBoot, Cure: guest.ByRecreate})
		})},
		{Verb: Copies, Of: OfPerson, Takes: AMachine, Must: true, Do: toOne(func(w *world.World, vm *world.VM) func() {
			if !vm.Serving() && vm.Power != world.Running {
				return nil
			}
			return w.CopyDefinition(vm)
		})},
	})
}

// of says of rows what they happen to.
func of(k Kind, rows []Row) []Row {
	for i := range rows {
		rows[i].Of = k
	}
	return rows
}

// RowOf returns the verb's row; false: it is none of the world's.
func RowOf(v Verb) (Row, bool) {
	all := Rows()
	i := slices.IndexFunc(all, func(r Row) bool { return r.Verb == v })
	if i < 0 {
		return Row{}, false
	}
	return all[i], true
}

// Play makes the verb happen to the subject, as scenario files name it, and returns what ends it; nil: it had nothing
// that it could happen to, or nothing ends it.
func Play(w *world.World, subject string, v Verb, arg string, hale ...string) (lift func(), err error) {
	r, known := RowOf(v)
	if !known {
		return nil, fmt.Errorf("%s: no such thing happens in the world", v)
	}
	c := Case{Arg: arg, Hale: hale}
	switch r.Of {
	case OfMachine:
		c.VM = w.Current(subject)
	case OfPerson:
		c.VM = w.Current(arg)
	case OfDomain:
		c.Domain, err = ParseDomain(subject)
	case OfMetric:
		c.Metric, _ = ParseMetric(subject)
	case OfHook:
		c.Hook, _ = ParseHook(subject)
	case OfProvider, OfTemplate, OfLoad:
	}
	if err != nil || c.VM == nil && (r.Of == OfMachine || r.Of == OfPerson) {
		return nil, err // it is just being replaced: it has nothing to break
	}
	return r.Do(w, c)
}

func machineRows() []Row {
	return []Row{
		{Verb: Crashes, Do: goesDown(world.StopCrash)},
		{Verb: ShutsDown, Do: goesDown(world.StopGuest)},
		{Verb: IsStopped, Do: stoppedByPerson(world.StopExternal)},
		{Verb: IsShutDown, Do: stoppedByPerson(world.StopShutdown)},
		{Verb: IsStarted, Do: forGood((*world.World).PowerOn)},
		{Verb: IsPaused, Do: pauses(world.StopUnknown)},
		{Verb: IsRescued, Do: toOne((*world.World).Rescue)},
		{Verb: IsRepaired, Do: forGood((*world.World).Unrescue)},
		{Verb: Suspends, Do: pauses(world.StopGuest)},
		{Verb: DiskFull, Do: pauses(world.StopIOError)},
		{Verb: Panics, Do: toOne((*world.World).Panic)},
		{Verb: Vanishes, Do: forGood((*world.World).Vanish)},
		{Verb: Hangs, Do: ails(guest.Ailment{Symptom: guest.Hung})},
		{Verb: Halts, Do: ails(guest.Ailment{Symptom: guest.Halted})},
		{Verb: LosesNet, Do: ails(guest.Ailment{Symptom: guest.Unplugged})},
		{Verb: StopsApp, Do: ails(guest.Ailment{Symptom: guest.AppDead})},
		{Verb: Fails503, Do: ails(guest.Ailment{Symptom: guest.AppError})},
		{Verb: WrongPages, Do: ails(guest.Ailment{Symptom: guest.BadPage})},
		{Verb: IsSlow, Do: ails(guest.Ailment{Symptom: guest.Slow})},
		{Verb: LosesConfig, Do: ails(guest.Ailment{Symptom: guest.AppError, Cure: guest.ByCommand})},
		{Verb: AgentSilent, Do: ails(guest.Ailment{Symptom: guest.AgentMute})},
		{Verb: AgentAnswers, Do: ails(guest.Ailment{Symptom: guest.AgentLies})},
		{Verb: LosesDisk, Do: toOne(diskLost)},
		{Verb: LosesData, Do: forGood(func(w *world.World, vm *world.VM) { w.DestroyDisks(vm.Mark.Machine) })},
		{Verb: Readdressed, Do: forGood((*world.World).Readdress)},
		{Verb: FailsCheck, Takes: ACheck, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			return w.Sicken(c.VM, guest.Ailment{Symptom: guest.CheckFails, Check: c.Arg}), nil
		}},
		{Verb: LosesProbes, Takes: AShare, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			p, err := ParseShare(c.Arg)
			if err != nil {
				return nil, err
			}
			return w.Sicken(c.VM, guest.Ailment{Symptom: guest.Lossy, Share: p}), nil
		}},
		{Verb: Moves, Takes: AHost, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			w.Migrate(c.VM, c.Arg)
			return nil, nil
		}},
		{Verb: TakesAddr, Takes: Another, Must: true, Do: takesAddress},
		{Verb: StaysOn, Takes: AHost, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			lift, ok := w.StayBehind(c.VM, c.Arg)
			if !ok {
				return nil, nil
			}
			return lift, nil
		}},
		{Verb: IsLocked, Do: toOne((*world.World).Lock)},
		{Verb: IsRestored, Takes: AHost, Must: true, Do: leaves("backup", true)},
		{Verb: LeavesBuild, Takes: AHost, Must: true, Do: leaves("build", false)},
	}
}

func domainRows() []Row {
	return []Row{
		{Verb: LosesPower, Do: toAll((*world.World).PowerFailure)},
		{
			Verb:  TakesHale,
			Takes: AClient,
			Must:  true,
			Do:    toAll((*world.World).PowerFailure),
		}, // the room plays the server
		{Verb: BuildsNone, Do: toAll((*world.World).RefuseBuilds)},
		{Verb: SpoilsOwn, Do: toAll((*world.World).SpoilHosts)},
		{Verb: DeadFirst, Do: toAll((*world.World).DeadFirst)},
		{Verb: IsCutOff, Do: toAll(func(w *world.World, d world.Domain) func() { return w.Part("", d) })},
		{Verb: IsOutOfSight, Takes: AClient, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			return w.Part(c.Arg, c.Domain), nil
		}},
		{Verb: GoesDark, Do: toAll((*world.World).Darkness)},
		{Verb: NoFence, Do: toAll((*world.World).DeadController)},
		{Verb: MuteFence, Do: toAll((*world.World).MuteController)},
		{Verb: NoCut, Do: toAll((*world.World).DeafCut)},
		{Verb: IsDisabled, Do: toAll((*world.World).Disable)},
		{Verb: CutsAccess, Do: toAll((*world.World).CutAccess)},
		{Verb: GivesAccess, Do: toAll(func(w *world.World, d world.Domain) func() {
			w.GiveAccess(d)
			return func() {}
		})},
		{Verb: IsParted, Do: func(w *world.World, c Case) (func(), error) {
			lifts := []func(){w.Darkness(c.Domain)}
			for _, client := range c.Hale {
				lifts = append(lifts, w.Part(client, c.Domain))
			}
			return func() {
				for _, lift := range lifts {
					lift()
				}
			}, nil
		}},
		{Verb: TurnedOff, Do: toAll((*world.World).TurnOff)},
		{Verb: ShutsGuests, Do: toAll(func(w *world.World, d world.Domain) func() {
			w.ShutDown(d)
			return func() {}
		})},
	}
}

func providerRows() []Row {
	return []Row{
		{Verb: IsSilent, Do: anyway(func(w *world.World, _ string) func() { return w.Cutoff("") })},
		{Verb: IsSilentTo, Takes: AClient, Must: true, Do: anyway((*world.World).Cutoff)},
		{Verb: FailsCalls, Takes: AShare, Do: troubles(func(p float64) world.Trouble {
			return world.Trouble{Fails: p, Reads: true}
		})},
		{
			Verb:  LosesAnswers,
			Takes: AShare,
			Do:    troubles(func(p float64) world.Trouble { return world.Trouble{Lost: p} }),
		},
		{
			Verb:  ActsTwice,
			Takes: AShare,
			Do:    troubles(func(p float64) world.Trouble { return world.Trouble{Twice: p} }),
		},
		{Verb: ActsLate, Takes: AShare, Do: troubles(func(p float64) world.Trouble { return world.Trouble{Late: p} })},
		{Verb: Throttles, Takes: AShare, Do: troubles(func(p float64) world.Trouble {
			return world.Trouble{Fails: p, How: world.Throttled}
		})},
		{Verb: OverQuota, Takes: AShare, Do: troubles(func(p float64) world.Trouble {
			return world.Trouble{Fails: p, How: world.Quota, Op: world.Create}
		})},
		{Verb: KeepsOn, Do: refuses(world.PowerOff, world.Permanent)},
		{Verb: KeepsAll, Do: refuses(world.Delete, world.Permanent)},
		{Verb: MarksNothing, Do: refuses(world.Certify, world.Permanent)},
		{Verb: DropsMoves, Takes: AShare, Do: func(w *world.World, c Case) (func(), error) {
			p, err := shareOf(c.Arg)
			return w.DropMoves(p), err
		}},
		{Verb: CopiesNone, Do: refuses(world.Snapshot, world.Quota)},
		{Verb: ListsStale, Takes: ADuration, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			age, err := time.ParseDuration(c.Arg)
			return w.Upset(world.Trouble{Stale: age}), err
		}},
		{
			Verb: ListsNothing,
			Do:   anyway(func(w *world.World, _ string) func() { return w.Upset(world.Trouble{Empty: true}) }),
		},
	}
}

func loadRows() []Row {
	sets := func(w *world.World, c Case) (func(), error) {
		units, err := ParseAmount(c.Arg)
		if err != nil {
			return nil, err
		}
		return w.Demand.Set(units), nil
	}
	return []Row{
		{Verb: RisesTo, Of: OfLoad, Takes: AnAmount, Must: true, Do: sets},
		{Verb: FallsTo, Of: OfLoad, Takes: AnAmount, Must: true, Do: sets},
		{Verb: Says, Of: OfMetric, Takes: ALie, Must: true, Do: func(w *world.World, c Case) (func(), error) {
			lie, err := ParseLie(c.Arg)
			if err != nil {
				return nil, err
			}
			lift := w.Demand.Deceive(c.Metric, lie, w.Now())
			return func() { lift(w.Now()) }, nil
		}},
	}
}

// hookRows are what is wrong with a hook whenever it is run.
func hookRows() []Row {
	ends := func(fate errand.Fate) doing {
		return func(w *world.World, c Case) (func(), error) { return w.Errands.Ail(c.Hook, fate), nil }
	}
	return of(OfHook, []Row{
		{Verb: HookFails, Do: ends(errand.Fails)},
		{Verb: HookHangs, Do: ends(errand.Hangs)},
		{Verb: HookUnheard, Do: ends(errand.Unheard)},
		{Verb: HookNotRun, Do: ends(errand.NotRun)},
		{Verb: HookRefused, Do: ends(errand.Refused)},
	})
}

// doing is how a row happens.
type doing = func(w *world.World, c Case) (lift func(), err error)

// toOne is what happens to one instance.
func toOne(do func(w *world.World, vm *world.VM) func()) doing {
	return func(w *world.World, c Case) (func(), error) { return do(w, c.VM), nil }
}

// forGood is the same of what has no end.
func forGood(do func(w *world.World, vm *world.VM)) doing {
	return toOne(func(w *world.World, vm *world.VM) func() {
		do(w, vm)
		return nil
	})
}

// toAll is what happens to a domain.
func toAll(do func(w *world.World, d world.Domain) func()) doing {
	return func(w *world.World, c Case) (func(), error) { return do(w, c.Domain), nil }
}

// anyway is what happens to the provider, whatever there is.
func anyway(do func(w *world.World, arg string) func()) doing {
	return func(w *world.World, c Case) (func(), error) { return do(w, c.Arg), nil }
}

func goesDown(why world.Stop) doing {
	return toOne(func(w *world.World, vm *world.VM) func() { return w.Crash(vm, why) })
}

func pauses(by world.Stop) doing {
	return toOne(func(w *world.World, vm *world.VM) func() { return w.Suspend(vm, by) })
}

func ails(a guest.Ailment) doing {
	return toOne(func(w *world.World, vm *world.VM) func() { return w.Sicken(vm, a) })
}

// stoppedByPerson is started by that person at its end.
func stoppedByPerson(how world.Stop) doing {
	return toOne(func(w *world.World, vm *world.VM) func() {
		w.Crash(vm, how)
		return func() {
			if vm.Power != world.Running { // who finds it running leaves it so
				w.PowerOn(vm)
			}
		}
	})
}

// diskLost: it stands still and never comes up, until it is built anew, or a person puts another disk in.
func diskLost(w *world.World, vm *world.VM) func() {
	bootable := w.Sicken(vm, guest.Ailment{Symptom: guest.NoBoot, Cure: guest.ByRecreate})
	awake := w.Sicken(vm, guest.Ailment{Symptom: guest.Hung})
	return func() {
		bootable()
		awake()
		w.Revive(vm)
	}
}

func takesAddress(w *world.World, c Case) (func(), error) {
	other := w.Current(c.Arg)
	if other == nil {
		return nil, nil // it is just being replaced: it has no address
	}
	w.TakeAddress(c.VM, other)
	return func() { w.Readdress(c.VM) }, nil
}

var errNoPlace = errors.New("there is no such host, or the machine's name is taken there; name another host")

// leaves makes an older instance of the machine, powered off, on another host.
func leaves(what string, certified bool) doing {
	return func(w *world.World, c Case) (func(), error) {
		left := world.Status{ID: what + "-" + c.VM.ID, Host: c.Arg, Name: c.VM.Name, Mark: c.VM.Mark}
		left.Mark.Generation, left.Mark.Certified, left.Mark.Instance = left.Mark.Generation-1, certified, left.ID
		if !w.Leave(left) {
			return nil, errNoPlace
		}
		return nil, nil
	}
}

// troubles hit a share of the calls.
func troubles(of func(p float64) world.Trouble) doing {
	return func(w *world.World, c Case) (func(), error) {
		p, err := shareOf(c.Arg)
		if err != nil {
			return nil, err
		}
		return w.Upset(of(p)), nil
	}
}

// shareOf is the share of the calls that are hit: all of them if the case does not say how many.
func shareOf(arg string) (float64, error) {
	if arg == "" {
		return 1, nil
	}
	return ParseShare(arg)
}

// refuses lets the provider carry out no such operation.
func refuses(op world.Op, how world.End) doing {
	return anyway(func(w *world.World, _ string) func() { return w.Upset(world.Trouble{Fails: 1, How: how, Op: op}) })
}

// ParseShare reads "5%".
func ParseShare(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || n < 0 || n > 100 {
		return 0, fmt.Errorf("%q is no share: write it as 5%%", text)
	}
	return n / 100, nil
}

// ParseDomain reads "host h2", or "all".
func ParseDomain(text string) (world.Domain, error) {
	if text == "all" {
		return world.Domain{Kind: "all"}, nil
	}
	kind, name, ok := strings.Cut(text, " ")
	if !ok || !slices.Contains([]string{"host", "rack", "room", "zone", "network", "storage"}, kind) {
		return world.Domain{}, fmt.Errorf(
			"%q is no domain: write host, rack, room, zone, network or storage and its name, "+
				"or all",
			text,
		)
	}
	return world.Domain{Kind: kind, Name: name}, nil
}

// ParseMetric reads "metric requests".
func ParseMetric(text string) (name string, ok bool) { return named(OfMetric, text) }

// ParseHook reads "hook drain".
func ParseHook(text string) (name string, ok bool) { return named(OfHook, text) }

// named reads the kind and one name.
func named(k Kind, text string) (name string, ok bool) {
	kind, name, ok := strings.Cut(text, " ")
	return name, ok && kind == string(k) && name != "" && !strings.Contains(name, " ")
}

// ParseAmount reads an amount of load.
func ParseAmount(text string) (float64, error) {
	units, err := strconv.ParseFloat(text, 64)
	if err != nil || !(units >= 0 && units <= 1e9) {
		return 0, fmt.Errorf("%q is no load: write a number of units per second, from 0 to 1e9", text)
	}
	return units, nil
}

// ParseLie reads what a metric says instead of the truth.
func ParseLie(text string) (load.Lie, error) {
	lie, ok := load.LieOf(text)
	if !ok {
		return "", fmt.Errorf("%q is nothing that a metric says: write a number, or one of %v", text,
			append([]load.Lie{load.SaysNothing}, load.Lies()...))
	}
	return lie, nil
}
