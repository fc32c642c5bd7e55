package sim

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/core/tenure"
	"hale/internal/owner/picture"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// list asks the provider for everything, unless it is being asked.
func (c *server) list() {
	if c.term == 0 || c.polls {
		return
	}
	c.polls = true
	c.lastPoll = c.s.w.Now()
	asked := c.now().Mono
	life := c.life
	c.client.List(listLimit, func(l world.Listing, end world.End) {
		c.enter(life, func() { c.listed(l, end, asked) })
	})
}

// listed takes in an answer, for the machines that it can say something new about; for all others it says again what
// they know (that they are equal is what world.Client.List promises).
func (c *server) listed(l world.Listing, end world.End, asked fleet.Instant) {
	c.polls = false
	next := fleet.ProviderState{Standing: fleet.ProviderUp, Since: c.state.Since}
	if end != world.Done {
		next.Standing, next.Detail = fleet.ProviderDown, string(end)
	}
	if next.Standing != c.state.Standing {
		next.Since = c.now().Mono
	}
	changed := next.Standing != c.state.Standing
	c.state = next
	c.own.SetProvider(next, c.now())
	if end == world.Done {
		c.see(l, asked, changed)
	}
	if c.client.Behind() || end != world.Done || len(l.Dark) > 0 || c.s.w.Moody() || c.owesWord() ||
		c.askedTooSoon(asked) {
		c.pollSoon()
	}
	c.heat()
}

func (c *server) see(l world.Listing, asked fleet.Instant, all bool) {
	hosts := c.s.fleetHosts(l.Dark, asked)
	if len(hosts) != len(c.hosts) || !equalHosts(hosts, c.hosts) {
		c.hosts, all = hosts, true
	}
	changed := make([]fleet.Instance, len(l.Changed))
	touched := []int{}
	for i, s := range l.Changed {
		changed[i] = instanceOf(s)
		if n, ok := c.own.Index(changed[i].Mark.Machine); ok {
			touched = append(touched, n)
		}
		all = all || s.Mark.Unmarked // only the beliefs know which machine it is of
	}
	removed := make([]fleet.InstanceID, len(l.Removed))
	for i, id := range l.Removed {
		removed[i] = fleet.InstanceID(id)
		n, ok := c.own.Index(c.cat.Bearer(removed[i]))
		touched = append(touched, n)
		all = all || !ok // as above
	}
	c.cat.Update(c.hosts, changed, removed, asked)
	indices := c.worthSeeing(touched, all)
	for _, d := range c.own.See(c.cat, indices, c.now()) {
		c.observe(d.Index, d.Instance.ID, d.Instance.Host)
	}
}

// owesWord reports whether an instance is on two hosts and no person was told yet: whether another listing shows the
// same will decide on that.
func (c *server) owesWord() bool {
	if !c.client.Contested() {
		return false
	}
	for i := range c.own.Len() {
		v := c.own.View(i)
		if (v.Machine.Contest == nil || !v.Machine.Contest.Paged) && slices.ContainsFunc(v.Seen,
			func(s fleet.Sighting) bool { return s.Instance.Contested() }) {
			return true
		}
	}
	return false
}

// askedTooSoon reports whether the listing says nothing of a machine, since it was not asked for after the last act:
// one of the same instant.
func (c *server) askedTooSoon(asked fleet.Instant) bool {
	return slices.ContainsFunc(c.own.Open(), func(i int) bool { return c.own.View(i).Machine.Acted >= asked })
}

// worthSeeing returns the machines that a listing may say something new about: those that it touched, and the open
// ones; nil: all of them.
func (c *server) worthSeeing(touched []int, all bool) []int {
	if all {
		return nil
	}
	touched = append(touched, c.own.Open()...)
	slices.Sort(touched)
	return slices.Compact(touched)
}

func equalHosts(a, b []fleet.Host) bool {
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Up != b[i].Up || a[i].Disabled != b[i].Disabled || a[i].Fence != b[i].Fence {
			return false
		}
	}
	return true
}

// pollSoon plans the next regular listing.
func (c *server) pollSoon() {
	at := max(c.lastPoll+c.s.options.Poll, c.s.w.Now())
	if c.pollAt != 0 && c.pollAt <= at {
		return
	}
	c.pollAt = at
	c.soon(at-c.s.w.Now(), func() {
		if c.pollAt == at {
			c.pollAt = 0
			c.list()
		}
	})
}

// perform starts an action after its belief was stored.
func (c *server) perform(index int, a situation.Action) {
	switch a.Kind {
	case situation.ActionLook:
		c.look(index, a)
	case situation.ActionObserve:
		c.observe(index, a.Instance, a.Host)
	case situation.ActionCall:
		c.call(index, a)
	case situation.ActionGather:
		c.soon(0, func() { c.gathered(index, a) })
	}
}

// ask gets one instance; found is false when nothing was learnt.
func (c *server) ask(index int, id fleet.InstanceID, host fleet.HostName, then func(s fleet.Sighting, found bool)) {
	life, asked := c.life, c.now().Mono
	c.client.Get(string(id), string(host), observeLimit, func(s world.Status, end world.End) {
		c.enter(life, func() {
			switch end {
			case world.Done:
				then(fleet.Sighting{Instance: instanceOf(s), Asked: asked, Alone: true}, true)
			case world.NotFound:
				c.find(index, id, host, then)
			default:
				then(fleet.Sighting{}, false)
			}
		})
	})
}

// find follows up a "not found": gone is only what a complete listing does not have either, if that shows its
// neighbours.
func (c *server) find(index int, id fleet.InstanceID, host fleet.HostName, then func(s fleet.Sighting, found bool)) {
	life, asked := c.life, c.now().Mono
	witnesses := c.own.Witnesses(index)
	c.client.Find(string(id), observeLimit, func(s world.Status, shows func(string) bool, end world.End) {
		c.enter(life, func() {
			credible := picture.Credible(witnesses, func(id fleet.InstanceID) bool { return shows(string(id)) })
			switch {
			case end == world.Done:
				then(fleet.Sighting{Instance: instanceOf(s), Asked: asked}, true)
			case end == world.NotFound && credible:
				then(fleet.Sighting{Instance: fleet.Instance{ID: id, Host: host, Power: fleet.PowerGone}, Asked: asked},
					true)
			default:
				then(fleet.Sighting{}, false)
			}
		})
	})
}

func (c *server) observe(index int, id fleet.InstanceID, host fleet.HostName) {
	c.ask(index, id, host, func(s fleet.Sighting, found bool) {
		c.own.Answered(id)
		if found {
			c.own.Sight(index, s)
			c.heat()
		} else {
			c.pollSoon()
		}
	})
}

// Look asks the provider, and then each check once at the address that it named.
func (c *server) look(index int, a situation.Action) {
	l := fleet.Look{ID: a.Look, Started: c.now().Mono}
	aim := c.own.Aim(index)
	stood := c.own.Stood(a.Instance)
	c.s.judge.Looks(a)
	c.ask(index, a.Instance, a.Host, func(s fleet.Sighting, found bool) {
		address, rival := aim.Address, aim.Rival
		l.Moves = stood != nil && c.meter(a.Instance) != *stood
		if found {
			l.Seen = s
			if a := s.Instance.Address; a.IsValid() && a != address {
				address, rival = a, ""
			}
		}
		tell := func() {
			c.own.TellLook(index, l)
			c.heat()
		}
		if a.Scope != situation.LookFull || aim.Epoch == 0 || len(c.probes.Judging()) == 0 {
			tell()
			return
		}
		checks := c.probes.Judging()
		l.Checks = make([]fleet.CheckState, len(checks))
		life, left := c.life, len(checks)
		for k := range checks {
			c.probes.Look(&checks[k], picture.Aim{Address: address, Instance: aim.Instance, Rival: rival},
				func(state fleet.CheckState) {
					l.Checks[k] = state
					if left--; left == 0 {
						c.enter(life, tell)
					}
				})
		}
	})
}

// askOnDemand asks a machine's checks once, beside the regular ones.
func (c *server) askOnDemand(index int) {
	aim, life, left := c.own.Aim(index), c.life, 0
	var said []fleet.CheckState
	if aim.Epoch != 0 {
		said = make([]fleet.CheckState, len(c.probes.Judging()))
		left = len(said)
	}
	tell := func() {
		c.own.TellAsked(index, said)
		c.heat()
	}
	if left == 0 {
		c.soon(time.Millisecond, tell)
		return
	}
	for k := range said {
		c.probes.Look(&c.probes.Judging()[k], aim,
			func(state fleet.CheckState) {
				said[k] = state
				if left--; left == 0 {
					c.enter(life, tell)
				}
			})
	}
}

// call sends a stored intent, if the remaining lease covers it.
func (c *server) call(index int, a situation.Action) {
	tell := func(o fleet.Outcome) {
		o.Intent = a.Intent.ID
		c.s.judge.Answered(a)
		c.own.TellOutcome(index, o)
		c.soon(eventPause, c.list)
		c.heat()
	}
	why := c.permit(a)
	limit, covered := tenure.Cover(a.Intent, c.lease.ends(c.s.w.Now())-c.s.w.Now())
	if why == "" && !covered {
		why = string(fleet.ReasonLeaseShort)
	}
	if why != "" {
		c.soon(0, func() { tell(fleet.Outcome{Kind: fleet.OutcomeNotSent, Detail: why}) })
		return
	}
	life := c.life
	send := func(limit time.Duration) {
		c.s.judge.Sends(c.seen(), a)
		c.s.judge.Noted(c.seen(), a)
		c.client.Send(c.callOf(a), limit, func(end world.End) {
			c.enter(life, func() {
				tell(fenceOutcome(fleet.Outcome{Kind: outcomeOf(end), Detail: string(end)}, end))
			})
		})
	}
	if d := c.pauseFor; d > 0 && a.Intent.Op.Disruptive() {
		// The process stands still exactly between the reading of the lease and the sending.
		c.pauseFor = 0
		said := fmt.Sprintf("its %s of %s", a.Intent.Op, c.s.trace.Name(a.Instance))
		c.s.trace.Say(c.s.w.Now(), string(a.Machine),
			"! "+c.name+" stands still for "+script.Span(d)+", right before it sends "+said)
		c.freeze(d)
		c.missed = append(c.missed, func() {
			c.s.trace.Say(c.s.w.Now(), string(a.Machine), "! "+c.name+" sends "+said+" only now")
			c.s.judge.Window(func() { send(time.Millisecond) })
		})
		return
	}
	if c.s.double == nil { // two hales contradict each other
		c.s.drains.Sends(&c.s.spec, c.name, c.s.store.Beliefs, c.s.store.Overall.Whole.Ledger, &a)
	}
	send(limit)
}

// fenceOutcome adds what a try to fence a host proved, and whether it had to do anything.
func fenceOutcome(o fleet.Outcome, e world.End) fleet.Outcome {
	o.Already = e == world.AlreadyOff || e == world.AlreadyCut
	if e == world.IsCut || e == world.AlreadyCut {
		o.Proof = fleet.ProofAccessCut
	}
	if e == world.IsCut {
		o.Detail = "" // it is all that there is to say
	}
	return o
}

func outcomeOf(e world.End) fleet.OutcomeKind {
	switch e {
	case world.Done, world.AlreadyOff, world.IsCut, world.AlreadyCut:
		return fleet.OutcomeDone
	case world.Lost:
		return fleet.OutcomeUnknown
	case world.Transient, world.Throttled:
		return fleet.OutcomeRetry
	case world.Conflict:
		return fleet.OutcomeConflict
	case world.Locked:
		return fleet.OutcomeLocked
	case world.NotFound:
		return fleet.OutcomeNotFound
	case world.Quota, world.Unauthorised, world.Invalid:
		return fleet.OutcomeRefused
	case world.Permanent:
	}
	return fleet.OutcomeFailed
}

// callOf returns the call as the provider gets it.
func (c *server) callOf(a situation.Action) world.Call {
	template := c.own.Spec().Template
	if l := c.own.State().Whole.Ledger; l != nil {
		template = l.TemplateOf(a.Intent.Edition, c.own.Wanted())
	}
	if a.Snapshot.ID != "" {
		a.Mark.Machine = a.Machine
	}
	if a.Adopted { // the call names no mark; the judge knows which machine it is of
		a.Mark.Machine = a.Machine
	}
	excused := make([]string, len(a.Excused))
	for i, h := range a.Excused {
		excused[i] = string(h)
	}
	call := world.Call{
		Asks: true, Excused: excused, Adopted: a.Adopted, Disks: c.s.disks, Metadata: string(template.Metadata),
		Tags: string(template.Tags), Image: template.Image, Size: world.Size(template.Size()),
		Made: a.Made, Snapshot: string(a.Snapshot.ID), Try: a.Intent.Try,
		Op: world.Op(a.Intent.Op), ID: string(a.Instance), Host: string(a.Host), Name: string(a.Machine),
		Mark: world.Mark{
			Installation: string(a.Mark.Installation), Fleet: string(a.Mark.Fleet), Machine: string(a.Mark.Machine),
			Generation: uint64(a.Mark.Generation), Certified: a.Mark.Certified, Instance: string(a.Instance),
			Built: a.Intent.At,
		},
	}
	if e := a.Errand; e != nil {
		call.Hook, call.Repair, call.Once = string(a.Intent.Hook), e.Repair, !e.Hook.Idempotent
	}
	return call
}

// instanceOf translates the provider's word, as an adapter does: a mark that was copied counts for nothing.
func instanceOf(s world.Status) fleet.Instance {
	if s.Mark.Unmarked {
		s.Mark = world.Mark{}
	}
	return fleet.Instance{
		ID: fleet.InstanceID(s.ID), Name: s.Name, Host: fleet.HostName(s.Host), Power: fleet.Power(s.Power),
		Stop: fleet.Stop(s.Stop), Address: s.Address, Network: s.Network, Storage: s.Storage,
		Metadata: fleet.Metadata(s.Metadata), Tags: fleet.Tags(s.Tags), Size: fleet.Size(s.Size),
		Mark: fleet.Mark{
			Installation: fleet.Installation(s.Mark.Installation), Fleet: fleet.Name(s.Mark.Fleet),
			Machine: fleet.MachineName(s.Mark.Machine), Generation: fleet.Generation(s.Mark.Generation),
			Certified: s.Mark.Certified,
			Kept:      s.Mark.Kept, Instance: fleet.InstanceID(s.Mark.Instance), Built: s.Mark.Built,
		}.Of(fleet.InstanceID(s.ID)),
	}
}

// gathered says that the evidence is kept: here nothing is, since what a machine said to its console changes no
// decision.
func (c *server) gathered(index int, a situation.Action) {
	c.own.TellGathered(index, situation.Gathered{ID: a.Gather})
	c.heat()
}
