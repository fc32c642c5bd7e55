package bubble

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/inbox"
	"hale/internal/provider/simulated"
	"hale/internal/sim"
	"hale/internal/sim/world"
	"hale/internal/state/memory"
)

// noHost is the single host of a world that names none.
var noHost = world.Host{}

// onlyRoomA are the verbs that room B cannot play, with the reason.
var onlyRoomA = map[sim.Verb]string{
	sim.Freezes:    "goroutines cannot be stopped from outside: the timers of a process that stands still would go on",
	sim.LosesLease: "its store can drop everybody's leases only, and then no standby knows any more that somebody was there",
}

// act makes an event happen, and returns what ends it, if anything does.
type act func(r *room, e sim.Event) (lift func())

// verbs says how each thing happens here.
func verbs() map[sim.Verb]act {
	all := twofold()
	maps.Copy(all, stops())
	maps.Copy(all, agents())
	maps.Copy(all, others())
	return all
}

// agents are those that befall a guest's agent.
func agents() map[sim.Verb]act {
	return map[sim.Verb]act{
		world.AgentSilent:  ails(simulated.Illness{Symptom: simulated.AgentMute}),
		world.AgentAnswers: ails(simulated.Illness{Symptom: simulated.AgentLies}),
	}
}

// twofold are those that can make two of one.
func twofold() map[sim.Verb]act {
	return map[sim.Verb]act{
		world.StaysOn: staysOn, world.Copies: copies, sim.LosesLast: rollsBack, sim.IsRolledBack: rollsBack, sim.StartedTwice: startsTwice,
		sim.InstalledTwice: installsTwice,
	}
}

// stops are those by which a person stops a machine, or starts it.
func stops() map[sim.Verb]act {
	return map[sim.Verb]act{
		world.IsStopped: onMachine(stoppedByPerson(func(id fleet.InstanceID) simulated.Fault {
			return simulated.PersonPowersOff{Instance: id}
		})),
		world.IsShutDown: onMachine(stoppedByPerson(func(id fleet.InstanceID) simulated.Fault {
			return simulated.PersonShutsDown{Instance: id}
		})),
		world.IsStarted: onMachine(startedByPerson),
	}
}

// badTemplate has nothing come up that would ask for an address, as in room A.
func badTemplate(sim.Event) (ills []simulated.Fault) {
	for _, symptom := range []simulated.Symptom{simulated.NeverBoots, simulated.NoAddress} {
		ills = append(ills,
			simulated.NextBuilds{Illness: simulated.Illness{Symptom: symptom, Cure: simulated.ByRecreate}})
	}
	return ills
}

func takesAddress(r *room, e sim.Event) func() {
	return onMachine(func(r *room, i fleet.Instance) func() {
		of, ok := r.instance(fleet.MachineName(e.Arg))
		if !ok {
			return nil
		}
		r.inject(simulated.SameAddress{Instance: i.ID, As: of.ID})
		return func() { r.inject(simulated.NewAddress{Instance: i.ID}) }
	})(r, e)
}

func others() map[sim.Verb]act {
	return map[sim.Verb]act{
		world.Crashes:    onMachine(goesDown(func(id fleet.InstanceID) simulated.Fault { return simulated.Crash{Instance: id} })),
		world.ShutsDown:  onMachine(goesDown(func(id fleet.InstanceID) simulated.Fault { return simulated.GuestPowersOff{Instance: id} })),
		world.IsPaused:   halts(fleet.StopUnknown),
		world.IsRescued:  onMachine(rescuedByPerson),
		world.IsRepaired: onMachine(func(r *room, i fleet.Instance) func() { return r.inject(simulated.Unrescued{Instance: i.ID}) }),
		world.Suspends:   halts(fleet.StopGuest),
		world.DiskFull:   halts(fleet.StopIOError),
		world.Panics:     onMachine(ifRunning(goesDown(func(id fleet.InstanceID) simulated.Fault { return simulated.Panic{Instance: id} }))),
		world.Vanishes:   onMachine(func(r *room, i fleet.Instance) func() { return r.inject(simulated.Vanishes{Instance: i.ID}) }),
		// A machine without a network and one that is too slow are one to its probes.
		world.Hangs:       ails(simulated.Illness{Symptom: simulated.Hung}),
		world.Halts:       ails(simulated.Illness{Symptom: simulated.Halted}),
		world.LosesNet:    ails(simulated.Illness{Symptom: simulated.NoNetwork}),
		world.IsSlow:      ails(simulated.Illness{Symptom: simulated.NoNetwork}),
		world.StopsApp:    ails(simulated.Illness{Symptom: simulated.NoHTTP}),
		world.Fails503:    ails(simulated.Illness{Symptom: simulated.HTTPStatus, Status: 503}),
		world.WrongPages:  ails(simulated.Illness{Symptom: simulated.WrongPage}),
		world.FailsCheck:  failsCheck,
		world.LosesConfig: ails(simulated.Illness{Symptom: simulated.HTTPStatus, Status: 503, Cure: simulated.ByCommand}),
		world.LosesDisk:   ails(simulated.Illness{Symptom: simulated.NeverBoots, Cure: simulated.ByRecreate}),
		world.LosesData:   losesData,
		world.LosesProbes: losesProbes,
		world.Moves: func(r *room, e sim.Event) func() {
			return onMachine(func(r *room, i fleet.Instance) func() {
				r.world.Migrate(i.ID, fleet.HostName(e.Arg))
				return nil
			})(r, e)
		},
		world.TakesAddr:   takesAddress,
		world.IsRestored:  leaves("backup-", true),
		world.LeavesBuild: leaves("build-", false),
		world.Readdressed: onMachine(func(r *room, i fleet.Instance) func() { return r.inject(simulated.NewAddress{Instance: i.ID}) }),
		world.LosesPower: untilMended(controllers(deadControllers),
			onHosts(func(h fleet.HostName, _ sim.Event) simulated.Fault { return simulated.HostLosesPower{Host: h} })),
		world.IsCutOff:    onHosts(func(h fleet.HostName, _ sim.Event) simulated.Fault { return simulated.CutOff{Host: h} }),
		world.GoesDark:    untilMended(onHosts(func(h fleet.HostName, _ sim.Event) simulated.Fault { return simulated.HostUnreachable{Host: h} })),
		world.IsParted:    untilMended(parts),
		world.TurnedOff:   untilMended(onHosts(func(h fleet.HostName, _ sim.Event) simulated.Fault { return simulated.HostUnreachable{Host: h} }), turnsOff),
		world.ShutsGuests: onHosts(shutsDown),
		world.NoFence:     controllers(deadControllers),
		world.MuteFence:   controllers(muteControllers),
		world.IsDisabled:  onHosts(func(h fleet.HostName, _ sim.Event) simulated.Fault { return simulated.HostDisabled{Host: h} }),
		world.CutsAccess:  cutsAccess,
		world.GivesAccess: givesAccess,
		world.NoCut:       controllers(deafCuts),
		world.IsOutOfSight: onHosts(func(h fleet.HostName, e sim.Event) simulated.Fault {
			return simulated.OutOfSight{Client: e.Arg, Host: h}
		}),

		world.IsSilent:     onProvider(func(sim.Event) []simulated.Fault { return []simulated.Fault{simulated.Outage{}} }),
		world.IsSilentTo:   onProvider(func(e sim.Event) []simulated.Fault { return []simulated.Fault{simulated.Outage{Client: e.Arg}} }),
		world.FailsCalls:   onCalls(simulated.Calls{Effect: simulated.Fails}),
		world.LosesAnswers: onCalls(simulated.Calls{Effect: simulated.HangsAfter}),
		world.ActsTwice:    onCalls(simulated.Calls{Effect: simulated.ActsTwice, Delay: 30 * time.Second}),
		world.ActsLate:     onCalls(simulated.Calls{Effect: simulated.ActsLate, Delay: time.Minute}),
		world.Throttles:    onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.Throttled}, changing...),
		world.OverQuota:    onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.Quota}, fleet.OpCreate),
		world.KeepsOn:      onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.Permanent}, fleet.OpPowerOff),
		world.KeepsAll:     onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.Permanent}, fleet.OpDelete),
		world.MarksNothing: onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.Permanent}, fleet.OpCertify),
		world.CopiesNone:   onCalls(simulated.Calls{Effect: simulated.Fails, Kind: fault.NoSpace}, fleet.OpSnapshot),
		world.ListsStale: onProvider(func(e sim.Event) []simulated.Fault {
			age, _ := time.ParseDuration(e.Arg)
			return []simulated.Fault{simulated.StaleLists{Age: age}}
		}),
		world.ListsNothing: onProvider(func(sim.Event) []simulated.Fault { return []simulated.Fault{simulated.EmptyLists{}} }),
		world.IsBad:        onProvider(badTemplate),

		sim.IsFull: func(r *room, _ sim.Event) func() {
			r.full.Add(1)
			return func() { r.full.Add(-1) }
		},
		sim.Holds:       orders,
		sim.Releases:    orders,
		sim.Retries:     orders,
		sim.Heals:       orders,
		sim.Undoes:      orders,
		sim.Recovers:    orders,
		sim.Believes:    orders,
		sim.Brakes:      orders,
		sim.Unbrakes:    orders,
		sim.Scales:      orders,
		sim.Deletes:     orders,
		sim.Vouches:     orders,
		sim.Resizes:     resizes,
		sim.Retemplates: retemplates,
		sim.Confirms:    confirms,
		sim.Mistypes:    mistypes,
		sim.Dies:        onServer(dies),
		sim.DiesWriting: onServer(diesWriting),
		sim.FreezesCall: onServer(func(_ *room, s *server, e sim.Event) func() {
			s.holdUp("", e.For)
			return nil
		}),
		sim.ClockSteps: onServer(clockSteps),
		sim.LosesStore: onServer(losesStore),
	}
}

func losesStore(_ *room, s *server, _ sim.Event) func() {
	s.cut.Add(1)
	return func() { s.cut.Add(-1) }
}

func clockSteps(_ *room, s *server, e sim.Event) func() {
	by, _ := time.ParseDuration(e.Arg)
	s.skew += by
	if s.life != nil {
		s.life.engine.StepClock(by)
	}
	return nil
}

// leaves makes an older instance of the machine, powered off, on another host.
func leaves(what fleet.InstanceID, certified bool) act {
	return func(r *room, e sim.Event) func() {
		return onMachine(func(r *room, i fleet.Instance) func() {
			i.ID, i.Host = what+i.ID, fleet.HostName(e.Arg)
			i.Mark.Generation, i.Mark.Certified, i.Mark.Instance = i.Mark.Generation-1, certified, i.ID
			if !r.world.Leave(i) {
				r.t.Errorf("%s: there is no such host, or the machine's name is taken there", e.String())
			}
			return nil
		})(r, e)
	}
}

func shutsDown(h fleet.HostName, _ sim.Event) simulated.Fault {
	return simulated.HostShutsDown{Host: h}
}

// changing are the provider's changing calls.
var changing = []fleet.Op{fleet.OpCreate, fleet.OpStart, fleet.OpReboot, fleet.OpPowerOff, fleet.OpDelete, fleet.OpCertify, fleet.OpResume, fleet.OpSoftReboot, fleet.OpRebuild,
	fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue}

// schedule puts an event on the agenda.
func (r *room) schedule(e sim.Event) {
	do, ok := verbs()[e.Verb]
	if !ok {
		r.t.Fatalf("room B does not know how something %s: add it to verbs, or with the reason to onlyRoomA", e.Verb)
	}
	r.remember(e)
	r.at(e.At, func() {
		if r.members(e) < e.Least {
			return
		}
		r.judge.note(e.String())
		lift := r.silences(e, do(r, e))
		if lift == nil || e.For == 0 {
			return
		}
		r.lasting++
		number := r.lasting
		r.lifts[number] = lift
		r.after(e.For, func() { r.lift(number) })
	})
}

// lift ends a fault, once.
func (r *room) lift(number int) {
	if lift := r.lifts[number]; lift != nil {
		delete(r.lifts, number)
		lift()
	}
}

// inject makes a fault of the simulated provider happen.
func (r *room) inject(f simulated.Fault) (lift func()) {
	lift, err := r.world.Inject(f)
	if err != nil && !fault.Is(err, fault.NotFound) { // gone in this instant: it has nothing to break
		r.t.Errorf("%+v: %v", f, err)
	}
	if err != nil {
		return func() {}
	}
	return lift
}

func onMachine(do func(r *room, i fleet.Instance) func()) act {
	return func(r *room, e sim.Event) func() {
		i, ok := r.instance(fleet.MachineName(e.Subject))
		if !ok {
			return nil // it is just being replaced: it has nothing to break
		}
		return do(r, i)
	}
}

func startedByPerson(r *room, i fleet.Instance) func() {
	r.powers.back(i.Host) // it does not run without power
	return r.inject(simulated.PersonMends{Instance: i.ID})
}

func ifRunning(do func(r *room, i fleet.Instance) func()) func(r *room, i fleet.Instance) func() {
	return func(r *room, i fleet.Instance) func() {
		if i.Power != fleet.PowerRunning {
			return nil
		}
		return do(r, i)
	}
}

func rescuedByPerson(r *room, i fleet.Instance) func() {
	r.inject(simulated.Rescued{Instance: i.ID})
	return func() { r.inject(simulated.Unrescued{Instance: i.ID}) }
}

func halts(by fleet.Stop) act {
	return onMachine(ifRunning(func(r *room, i fleet.Instance) func() { return r.inject(simulated.Paused{Instance: i.ID, By: by}) }))
}

func ails(ill simulated.Illness) act {
	return onMachine(func(r *room, i fleet.Instance) func() {
		return r.inject(simulated.Broken{Instance: i.ID, Illness: ill})
	})
}

// failsCheck makes one of the machine's checks fail.
func failsCheck(r *room, e sim.Event) func() {
	return ails(simulated.Illness{Symptom: simulated.CheckFails, Check: e.Arg})(r, e)
}

// losesData deletes the machine's kept disks.
func losesData(r *room, e sim.Event) func() {
	return onMachine(func(r *room, i fleet.Instance) func() {
		r.world.DestroyDisks(i.Mark.Machine)
		return nil
	})(r, e)
}

// losesProbes loses a share of the machine's probes.
func losesProbes(r *room, e sim.Event) func() {
	return onMachine(func(r *room, i fleet.Instance) func() {
		return r.inject(simulated.Broken{Instance: i.ID, Illness: simulated.Illness{Symptom: simulated.LosesProbes, Share: share(e.Arg)}})
	})(r, e)
}

// stoppedByPerson lets a person stop the machine, and start it when it ends.
func stoppedByPerson(how func(fleet.InstanceID) simulated.Fault) func(r *room, i fleet.Instance) func() {
	return func(r *room, i fleet.Instance) func() {
		name := i.Mark.Machine
		r.personal[name] = true
		r.inject(how(i.ID))
		return func() {
			delete(r.personal, name)
			now, ok := r.instance(name)
			if ok && now.ID == i.ID && now.Power != fleet.PowerRunning { // who finds it running leaves it so
				r.inject(simulated.PersonMends{Instance: i.ID})
			}
		}
	}
}

// goesDown ends the machine's run; when that ends it is started again, unless somebody did anything with it since.
func goesDown(how func(fleet.InstanceID) simulated.Fault) func(r *room, i fleet.Instance) func() {
	return func(r *room, i fleet.Instance) func() {
		r.inject(how(i.ID))
		down, runs := r.runs(i.ID)
		return func() {
			if still, now := r.runs(i.ID); down && still && now == runs {
				r.inject(simulated.PersonMends{Instance: i.ID})
			}
		}
	}
}

// runs returns whether the instance exists and is switched off, and how often it was switched on.
func (r *room) runs(id fleet.InstanceID) (down bool, times int) {
	for _, l := range r.world.Lives() {
		if l.ID == id {
			return l.Removed.IsZero() && len(l.Runs) > 0 && !l.Runs[len(l.Runs)-1].To.IsZero(), len(l.Runs)
		}
	}
	return false, 0
}

// onHosts brings a fault upon each host of the domain.
func onHosts(of func(h fleet.HostName, e sim.Event) simulated.Fault) act {
	return func(r *room, e sim.Event) func() {
		var lifts []func()
		for _, h := range r.hosts(e) {
			lifts = append(lifts, r.inject(of(h, e)))
		}
		return all(lifts)
	}
}

// hosts returns those that lie in the event's domain.
func (r *room) hosts(e sim.Event) []fleet.HostName {
	kind, name, _ := strings.Cut(e.Subject, " ")
	var out []fleet.HostName
	for _, h := range r.o.Hosts {
		if world.Has([]world.Host{h}, world.Domain{Kind: kind, Name: name}) {
			out = append(out, fleet.HostName(h.Name))
		}
	}
	return out
}

// members returns how many machines of the event's domain serve.
func (r *room) members(e sim.Event) int {
	n, hosts := 0, r.hosts(e)
	for k := 1; k <= r.spec.Size; k++ {
		if i, ok := r.instance(r.spec.Name.Machine(k)); ok && r.world.Healthy(i.ID) && slices.Contains(hosts, i.Host) {
			n++
		}
	}
	return n
}

func onProvider(of func(e sim.Event) []simulated.Fault) act {
	return func(r *room, e sim.Event) func() {
		var lifts []func()
		for _, f := range of(e) {
			lifts = append(lifts, r.inject(f))
		}
		return all(lifts)
	}
}

// onCalls makes a share of the provider's calls go wrong, all of them if the event does not say how many.
func onCalls(c simulated.Calls, ops ...fleet.Op) act {
	return onProvider(func(e sim.Event) []simulated.Fault {
		one := c
		if e.Arg != "" {
			one.Chance = share(e.Arg)
		}
		if len(ops) == 0 {
			return []simulated.Fault{one}
		}
		var out []simulated.Fault
		for _, op := range ops {
			one.Op = op
			out = append(out, one)
		}
		return out
	})
}

func all(lifts []func()) func() {
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// share reads "5%".
func share(text string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil {
		panic(fmt.Sprintf("a share that sim.ParseEvent took: %v", err)) // it was checked when it was read
	}
	return n / 100
}

func onServer(do func(r *room, s *server, e sim.Event) func()) act {
	return func(r *room, e sim.Event) func() {
		for _, s := range r.servers {
			if s.name == e.Subject {
				return do(r, s, e)
			}
		}
		r.t.Errorf("there is no server %s", e.Subject)
		return nil
	}
}

// resizes edits the size in the configuration, which every server reads again.
func resizes(r *room, e sim.Event) func() {
	n, err := strconv.Atoi(e.Arg)
	r.must(err)
	r.wanted.Size = n
	r.reload()
	return nil
}

// retemplates edits the image in the configuration's template.
func retemplates(r *room, e sim.Event) func() {
	r.wanted.Template.Image = e.Image(r.spec)
	r.reload()
	return nil
}

// mistypes edits a check's port in the configuration. Its end puts it right.
func mistypes(r *room, e sim.Event) func() {
	right := r.wanted.Checks
	r.wanted.Checks = e.Mistyped(right)
	r.reload()
	return func() {
		r.wanted.Checks = right
		r.reload()
	}
}

// reload lets every server read the configuration again.
func (r *room) reload() {
	for _, s := range r.servers {
		if s.life != nil {
			r.must(s.life.engine.Reload(r.t.Context(), s.life.setup(r.wanted)))
		}
	}
}

// confirms lets the operator confirm the plan that he is shown, if one waits.
func confirms(r *room, _ sim.Event) func() {
	s := r.owner()
	if s == nil {
		return nil // nobody shows him anything
	}
	status := s.life.engine.Status()[0]
	p := status.Pending()
	if p.Empty() {
		return nil
	}
	for _, t := range p.Remove {
		r.named[t.Instance] = t.Machine
	}
	for _, t := range p.Replace {
		r.renewed[t.Instance] = true
	}
	r.post(fleet.Order{Kind: fleet.OrderConfirm, Fleet: r.spec.Name, By: "operator", Plan: p.ID})
	return nil
}

// orders posts an operator's order, as the API does.
func orders(r *room, e sim.Event) func() {
	o, err := e.Order(r.spec.Name, r.o.Hosts)
	r.must(err)
	switch o.Kind {
	case fleet.OrderUndo:
		r.swapped[o.Machine] = true
	case fleet.OrderDelete:
		r.leaving[o.Machine] = true
	case fleet.OrderFenced:
		r.saidOff = append(r.saidOff, o.Host)
	default:
	}
	r.post(o)
	return nil
}

func (r *room) post(o fleet.Order) {
	var err error
	o.ID, err = inbox.NewID()
	r.must(err)
	o.At = time.Now().UTC()
	if s := r.owner(); s != nil {
		o.At = o.At.Add(s.skew) // by the clock of the server that takes it
	}
	if o.Kind.PermitsHarm() {
		o.Expires = o.At.Add(fleet.OrderLife)
	}
	_, err = inbox.Post(r.t.Context(), r.backing.Open(nil), o)
	r.must(err)
}

func dies(r *room, s *server, _ sim.Event) func() {
	s.kill()
	return func() { r.revive(s) }
}

// diesWriting lets the server die at the n-th of its next writes, before or after that is stored.
func diesWriting(r *room, s *server, e sim.Event) func() {
	n, _ := strconv.Atoi(e.Arg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dieIn, s.atDeath = n, memory.Stall
	if r.dice.IntN(2) == 0 {
		s.atDeath = memory.StallAfter
	}
	return nil
}
