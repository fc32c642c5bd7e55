package bubble

import (
	"cmp"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider/simulated"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
	"hale/internal/state/inbox"
	"hale/internal/state/memory"
)

// onlySimulator are the verbs that the bubble cannot play, with the reason.
var onlySimulator = map[script.Verb]string{
	script.Freezes: "goroutines cannot be stopped from outside: the timers of a process that stands still would go on",
	script.LosesLease: "its store can drop everybody's leases only, and then no standby knows any more that somebody " +
		"was there",
	script.FallsSilent: noPool, script.ForgetsPool: noPool, script.KeepsUsers: noPool,
	script.CannotSet: noPool,
	script.ServesNot: oneFleet, script.IsUnheard: oneFleet,
}

const oneFleet = "it plays one fleet: two are played by the stories of the engine"

const noPool = "its machines are behind no load balancer: it lets a machine go when it is asked for the first time"

// act makes an event happen, and returns what ends it, if anything does.
type act func(r *room, e script.Event) (lift func())

// ways says how each thing happens here: the world's happen there, as in the simulator.
func ways() map[script.Verb]act {
	all := map[script.Verb]act{
		script.LosesLast: rollsBack, script.IsRolledBack: rollsBack,
		script.StartedTwice: startsTwice, script.InstalledTwice: installsTwice,
		script.IsFull:  fills,
		script.Resizes: resizes, script.Retemplates: retemplates, script.Confirms: confirms, script.Mistypes: mistypes,
		script.Remembers: retemplates, script.Labels: retemplates,
		script.Dies: onServer(dies), script.DiesWriting: onServer(diesWriting), script.ClockSteps: onServer(clockSteps),
		script.LosesStore: onServer(losesStore), script.FreezesCall: onServer(freezesCall),
	}
	for _, r := range verbs.Rows() {
		all[r.Verb] = befalls
	}
	all[verbs.TakesHale] = takesHale
	for _, v := range script.Orders() {
		all[v] = orders
	}
	return all
}

// befalls lets the world play the event.
func befalls(r *room, e script.Event) func() {
	var hale []string
	for _, s := range r.servers {
		hale = append(hale, s.name)
	}
	return r.world.Strike(func(t *world.World) func() {
		r.judge.truth.Foresees(t, e.Subject, e.Verb, func(judge func()) { r.unjudged = append(r.unjudged, judge) })
		lift, err := verbs.Play(t, e.Subject, e.Verb, e.Arg, hale...)
		if err != nil {
			r.t.Errorf("%s: %v", e, err)
		}
		if lift == nil {
			return nil
		}
		return func() {
			lift()
			r.judge.truth.Over(e.Subject, e.Verb)
		}
	})
}

// takesHale lets a domain fail together with the server that stands in it.
func takesHale(r *room, e script.Event) func() {
	back := befalls(r, e)
	e.Subject = e.Arg
	revive := onServer(dies)(r, e)
	return func() {
		back()
		revive()
	}
}

// fills has the store take nothing.
func fills(r *room, _ script.Event) func() {
	r.full.Add(1)
	return func() { r.full.Add(-1) }
}

func freezesCall(_ *room, s *server, e script.Event) func() {
	s.holdUp("", e.For)
	return nil
}

func losesStore(_ *room, s *server, _ script.Event) func() {
	s.cut.Add(1)
	return func() { s.cut.Add(-1) }
}

func clockSteps(_ *room, s *server, e script.Event) func() {
	by, _ := time.ParseDuration(e.Arg)
	s.skew += by
	if s.life != nil {
		s.life.engine.StepClock(by)
	}
	return nil
}

// changing are the provider's changing calls.
var changing = []fleet.Op{fleet.OpCreate, fleet.OpStart, fleet.OpReboot, fleet.OpPowerOff, fleet.OpDelete,
	fleet.OpCertify, fleet.OpResume, fleet.OpSoftReboot, fleet.OpRebuild,
	fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue}

// schedule puts an event on the agenda.
func (r *room) schedule(e script.Event) {
	do, ok := ways()[e.Verb]
	if !ok {
		r.t.Fatalf("the bubble does not know how something %s: add it to ways, or with the reason to onlySimulator",
			e.Verb)
	}
	r.remember(e)
	r.at(e.At, func() {
		if d, err := verbs.ParseDomain(e.Subject); err == nil && r.members(d) < e.Least {
			return
		}
		r.judge.note(e.String())
		lift := do(r, e)
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

// members returns how many of the fleet's machines serve from within the domain.
func (r *room) members(d world.Domain) (n int) {
	r.truth(func(t *world.World) {
		n = t.Members(d, func(machine string) bool { return fleet.MachineName(machine).Fleet() == r.spec.Name })
	})
	return n
}

func onServer(do func(r *room, s *server, e script.Event) func()) act {
	return func(r *room, e script.Event) func() {
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
func resizes(r *room, e script.Event) func() {
	wanted, err := e.Sized(r.wanted)
	r.must(err)
	r.wanted = wanted
	r.reload()
	return nil
}

// retemplates edits the image in the configuration's template.
func retemplates(r *room, e script.Event) func() {
	r.wanted.Template = e.Template(r.wanted.Template)
	r.reload()
	return nil
}

// mistypes edits a check's port in the configuration. Its end puts it right.
func mistypes(r *room, e script.Event) func() {
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
func confirms(r *room, _ script.Event) func() {
	s := r.owner()
	if s == nil {
		return nil // there is nothing to show
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
		r.renewed[t.Instance] = t.Machine
	}
	r.post(fleet.Order{Kind: fleet.OrderConfirm, Fleet: r.spec.Name, By: "operator", Plan: p.ID})
	return nil
}

// orders posts an operator's order, as the API does.
func orders(r *room, e script.Event) func() {
	o, err := e.Order(r.spec.Name, r.o.Hosts)
	r.must(err)
	if o.Kind.Chore() || o.Kind == fleet.OrderMark {
		r.judge.truth.Has(string(o.Machine), o.Kind)
	}
	if o.Kind == fleet.OrderCancel {
		o.After = r.last[string(o.After)]
	}
	switch o.Kind {
	case fleet.OrderHeal, fleet.OrderStart:
		r.judge.truth.WantedOn(string(o.Machine))
	case fleet.OrderUndo:
		r.swapped[o.Machine] = true
	case fleet.OrderDelete:
		r.leaving[o.Machine] = true
	case fleet.OrderRolloutUndo:
		r.undoes = true
	case fleet.OrderRolloutMend:
		r.mends = true
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
	if to := string(cmp.Or(fleet.Name(o.Machine), o.Fleet)); o.Kind != fleet.OrderCancel {
		r.last[to] = o.ID
	}
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

func dies(r *room, s *server, _ script.Event) func() {
	s.kill()
	return func() { r.revive(s) }
}

// diesWriting lets the server die at the n-th of its next writes, before or after that is stored.
func diesWriting(r *room, s *server, e script.Event) func() {
	n, _ := strconv.Atoi(e.Arg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dieIn, s.atDeath = n, memory.Stall
	if r.dice.IntN(2) == 0 {
		s.atDeath = memory.StallAfter
	}
	return nil
}
