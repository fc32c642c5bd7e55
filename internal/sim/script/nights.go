package script

import (
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Nights are the kinds of faults that came after the others: what happens to a small installation, and several things
// at once.
func nightKinds() []Kind {
	return []Kind{KindReboot, KindSeveral, KindGateway, KindAgent, KindQuarantine, KindHands,
		KindRefusal, KindHouse, KindSize, KindHook}
}

// FirstKinds are the kinds without those: seeds that once found something still draw the same of them.
func FirstKinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return slices.Contains(nightKinds(), k) })
}

// night draws one of them.
func (d *drawing) night(k Kind, at time.Duration) {
	switch k {
	case KindReboot:
		d.add(at, "host "+pick(d.random, d.hosts...).Name, verbs.LosesPower, "", d.lasting(time.Minute, 5*time.Minute))
	case KindSeveral:
		d.several(at)
	case KindGateway:
		d.gateway(at)
	case KindAgent:
		d.agent(at)
	case KindQuarantine:
		d.add(at, "template", verbs.IsBad, "", d.lasting(30*time.Minute, 3*time.Hour))
		for range 1 + d.random.IntN(2) {
			d.add(at+d.lasting(time.Second, 10*time.Minute), d.machine(), verbs.LosesDisk, "", 0)
		}
	case KindHands:
		d.hands(at)
	case KindRefusal:
		d.refusal(at)
	case KindSize:
		d.sizes(at)
	case KindHook:
		d.hooks(at)
	case KindRollout:
		d.rollouts(at)
	case KindHouse:
		d.add(at, "host "+pick(d.random, d.hosts...).Name, verbs.TakesHale, d.server(),
			d.lasting(time.Minute, 30*time.Minute))
	default:
	}
}

// several lets two or three hosts fail at once, or within five minutes, in the same way.
func (d *drawing) several(at time.Duration) {
	verb := pick(d.random, verbs.LosesPower, verbs.LosesPower, verbs.IsCutOff, verbs.IsOutOfSight, verbs.IsOutOfSight,
		verbs.GoesDark, verbs.IsParted)
	spread := pick(d.random, time.Second, 5*time.Minute)
	for _, i := range d.random.Perm(len(d.hosts))[:min(len(d.hosts), 2+d.random.IntN(2))] {
		arg := ""
		if verb == verbs.IsOutOfSight {
			arg = d.server()
		}
		d.add(at+d.lasting(0, spread), "host "+d.hosts[i].Name, verb, arg, d.lasting(time.Minute, time.Hour))
	}
}

// gateway draws what a gateway or switch does that dies, and one that does so for a few seconds only: to a network, to
// all, or to one machine.
func (d *drawing) gateway(at time.Duration) {
	lasts := d.lasting(10*time.Second, 30*time.Minute)
	if d.random.IntN(2) == 0 {
		lasts = d.lasting(2*time.Second, 10*time.Second)
	}
	subject := "all"
	if h := pick(d.random, d.hosts...); h.Network != "" && d.random.IntN(2) == 0 {
		subject = "network " + h.Network
	}
	switch d.random.IntN(3) {
	case 0:
		d.add(at, subject, verbs.IsCutOff, "", lasts)
	case 1:
		d.add(at, subject, verbs.IsOutOfSight, d.server(), lasts)
	case 2:
		d.add(at, d.machine(), verbs.LosesNet, "", lasts)
	}
}

// agent draws agents that lie: they fall silent in guests that are well, and answer in those that hang. A fleet that
// asks none is spared.
func (d *drawing) agent(at time.Duration) {
	name, lasts := d.machine(), d.lasting(time.Minute, 6*time.Hour)
	later := at + d.lasting(time.Second, 10*time.Minute)
	if !d.spec.Asks(policy.CheckAgent) {
		return
	}
	switch d.random.IntN(3) {
	case 0:
		d.add(at, name, verbs.AgentSilent, "", lasts)
	case 1:
		d.add(at, name, verbs.AgentSilent, "", lasts)
		d.ail(later, name)
	case 2:
		d.add(at, name, verbs.AgentAnswers, "", lasts)
		d.add(later, name, verbs.Hangs, "", 0)
	}
}

// hands draws an operator in the middle of a night: who holds, retries, and takes brakes off.
func (d *drawing) hands(at time.Duration) {
	switch d.random.IntN(4) {
	case 0:
		d.add(at, Operator, Holds, d.held(), d.lasting(time.Minute, 2*time.Hour))
	case 1:
		name := d.machine()
		d.ail(at, name)
		d.add(at+d.lasting(time.Second, 10*time.Minute), Operator, Retries, name, 0)
	case 2:
		d.storm(at)
		d.add(at+d.lasting(time.Minute, time.Hour), Operator, Unbrakes, "", 0)
	case 3:
		name := d.machine()
		d.add(at, Operator, Holds, name, d.lasting(time.Minute, time.Hour))
		d.ail(at+d.lasting(time.Second, 30*time.Minute), name)
		d.add(at+d.lasting(time.Minute, time.Hour), Operator, Releases, name, 0)
	}
}

// refusal draws what does not do as it is told. A fleet that moves nothing, or has no fences, is spared those.
func (d *drawing) refusal(at time.Duration) {
	name, host, lasts := d.machine(), "host "+pick(d.random, d.hosts...).Name, d.lasting(10*time.Minute, 3*time.Hour)
	later := at + d.lasting(time.Second, 10*time.Minute)
	switch d.random.IntN(6) {
	case 0, 1:
		d.add(at, name, verbs.IsLocked, "", lasts)
		d.ail(later, name)
	case 2:
		d.add(at, host, verbs.BuildsNone, "", lasts)
		d.add(later, name, pick(d.random, verbs.Vanishes, verbs.LosesDisk), "", 0)
	case 3:
		d.add(at, host, verbs.SpoilsOwn, "", lasts)
		d.add(later, name, pick(d.random, verbs.Vanishes, verbs.LosesDisk), "", 0)
	case 4:
		if d.spec.Repair.Has(fleet.StepEvacuate) {
			d.add(at, "provider", verbs.DropsMoves, pick(d.random, "50%", "100%"), lasts)
			d.add(later, host, verbs.TurnedOff, "", lasts)
		}
	case 5:
		if d.hosts[0].Fence > 0 {
			d.add(at, host, verbs.DeadFirst, "", lasts)
			d.add(later, host, verbs.TurnedOff, "", lasts)
		}
	}
}

// Fenced returns the exemplar's policy and hosts as where each host has two power controllers, which may be used, and
// machines can go on elsewhere.
func Fenced(spec policy.Spec, hosts []world.Host) (policy.Spec, []world.Host) {
	spec.Repair.Fence.Hosts = true
	move := policy.Step{Kind: fleet.StepEvacuate, Timeout: time.Minute, VerifyWithin: 5 * time.Minute}
	last := len(spec.Repair.Steps) - 1
	spec.Repair.Steps = slices.Insert(slices.Clone(spec.Repair.Steps), last, move)
	hosts = slices.Clone(hosts)
	for i := range hosts {
		hosts[i].Fence = 4
	}
	return spec, hosts
}

// Vary returns the exemplar's policy as a seed has it: as it is, with a page that depends on the ping, with pings of
// which a single lost one is a failure, with an agent that is asked, too; and on how many of the hosts its fleet
// stands.
func Vary(spec policy.Spec, hosts []world.Host, seed uint64) (policy.Spec, []world.Host) {
	spec.Checks = slices.Clone(spec.Checks)
	words := [...]string{"", "depends", "one", "agent", "depends agent", "one agent"}
	how := words[seed%uint64(len(words))]
	if strings.Contains(how, "depends") {
		spec.Checks[1].DependsOn = []fleet.CheckName{spec.Checks[0].Name}
	}
	if strings.Contains(how, "one") {
		spec.Checks[0].DownAfter = 1
	}
	if strings.Contains(how, "agent") {
		spec.Checks = append(spec.Checks, policy.Check{
			Name: "agent", Kind: policy.CheckAgent, Every: spec.Checks[0].Every, Timeout: spec.Checks[0].Timeout,
			DownAfter: 3, UpAfter: 2,
		})
	}
	if n := uint64(len(hosts)); n > 0 {
		hosts = hosts[:n-seed/uint64(len(words))%n]
	}
	return spec, hosts
}
