package sim

import (
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/picture"
	"hale/internal/sim/prober"
	"hale/internal/sim/world"
)

// Rival is a naive policy in the manner of what others do, to be compared with hale in the same world, under the same
// faults.
type Rival string

// The rivals. Each copies a way that is really used; none is anybody's program.
const (
	// RestartOnPing restarts a machine after its ping failed three times in a row: cron scripts and simple watchdogs.
	RestartOnPing Rival = "restart-on-ping"
	// ReplaceOnStatus replaces a machine at the first status of the provider that is not running: a lifecycle hook.
	ReplaceOnStatus Rival = "replace-on-status"
	// Sequential polls one machine after the other and recreates what is not running or does not answer, without a
	// brake: Senlin's health policy.
	Sequential Rival = "sequential-polling"
	// OncePerTransition acts once when a check goes from good to bad, by a restart, and never again until it was good:
	// Monit.
	OncePerTransition Rival = "once-per-transition"
)

// Rivals lists them.
func Rivals() []Rival { return []Rival{RestartOnPing, ReplaceOnStatus, Sequential, OncePerTransition} }

// rival plays one of them.
type rival struct {
	s      *stage
	kind   Rival
	client *world.Client
	probes *prober.Prober
	ids    int
	epoch  uint64
	gens   []uint64
	down   []bool // by its checks
	acted  []bool // since it was last good
}

// rivalPoll is how often a rival asks the provider; Senlin's default is 60 s, too.
const rivalPoll = time.Minute

func newRival(s *stage, kind Rival) *rival {
	r := &rival{
		s: s, kind: kind, client: s.w.Client("rival"), gens: make([]uint64, s.spec.Size),
		down: make([]bool, s.spec.Size), acted: make([]bool, s.spec.Size),
	}
	r.probes = prober.New(s.w, "hale-1", prober.WithoutTells(s.spec), s.spec.Size, r.hear)
	r.probes.CountEdges(&s.score.Edges)
	return r
}

func (r *rival) start() {
	for i := range r.gens {
		r.gens[i] = 1
		r.aim(i)
	}
	switch r.kind {
	case Sequential:
		r.s.w.After(time.Second, func() { r.poll(0) })
	case RestartOnPing, ReplaceOnStatus, OncePerTransition:
		r.s.w.After(rivalPoll, r.sweep)
	}
}

func (r *rival) name(i int) string { return string(r.s.spec.Name.Machine(i + 1)) }

// Aim points the checks at the machine's instance, as a file of addresses that is kept up to date.
func (r *rival) aim(i int) {
	vm := r.s.w.Current(r.name(i))
	if vm == nil {
		return
	}
	a := vm.Status.Address
	r.epoch++
	r.probes.Aim(i, picture.Aim{Instance: fleet.InstanceID(vm.ID), Address: a, Epoch: r.epoch})
	r.down[i] = false
}

func (r *rival) hear(i int, row prober.Row) {
	switch row.Tally.Standing {
	case fleet.StandingDown:
		r.failed(i, row)
	case fleet.StandingUp:
		r.down[i], r.acted[i] = false, false
	case fleet.StandingFailing, fleet.StandingUnknown:
	}
}

func (r *rival) failed(i int, row prober.Row) {
	r.down[i] = true
	vm := r.s.w.Current(r.name(i))
	switch {
	case vm == nil:
	case r.kind == RestartOnPing && row.Check.Kind == policy.CheckPing:
		r.restart(i, vm.Status)
	case r.kind == OncePerTransition && !r.acted[i]:
		r.acted[i] = true
		r.restart(i, vm.Status)
	}
}

// sweep asks the provider for each machine in turn, all at once.
func (r *rival) sweep() {
	for i := range r.gens {
		r.check(i, func() {})
	}
	r.s.w.After(rivalPoll, r.sweep)
}

// poll goes from machine to machine and waits for each.
func (r *rival) poll(i int) {
	r.check(i, func() {
		next, wait := i+1, time.Duration(0)
		if next == len(r.gens) {
			next, wait = 0, rivalPoll
		}
		r.s.w.After(wait, func() { r.poll(next) })
	})
}

// Check looks at one machine by the provider, and acts as its kind does.
func (r *rival) check(i int, then func()) {
	vm := r.s.w.Current(r.name(i))
	if vm == nil {
		if r.kind == ReplaceOnStatus || r.kind == Sequential {
			r.build(i, r.s.w.Hosts()[0].Name, then)
			return
		}
		then()
		return
	}
	r.client.Get(vm.ID, vm.Host, 5*time.Second, func(s world.Status, end world.End) {
		bad := end == world.NotFound || end == world.Done && s.Power != world.Running
		if end == world.Done && s.Power == world.Running && s.Address.IsValid() &&
			r.probes.Address(i) != s.Address {
			r.aim(i)
		}
		switch {
		case bad && (r.kind == ReplaceOnStatus || r.kind == Sequential), r.kind == Sequential && r.down[i]:
			r.replace(i, vm.Status, then)
		case bad && r.kind == OncePerTransition && !r.acted[i], bad && r.kind == RestartOnPing:
			r.acted[i] = true
			r.restart(i, vm.Status)
			then()
		default:
			then()
		}
	})
}

func (r *rival) send(op world.Op, s world.Status, then func()) {
	r.client.Send(world.Call{Op: op, ID: s.ID, Host: s.Host, Name: s.Name, Mark: s.Mark}, time.Minute,
		func(world.End) { then() })
}

// restart resets what runs and starts what does not.
func (r *rival) restart(i int, s world.Status) {
	op := world.Reboot
	if vm := r.s.w.VM(s.ID); vm != nil && vm.Power == world.Off {
		op = world.Start
	}
	r.send(op, s, func() { r.s.w.After(time.Minute, func() { r.aim(i) }) })
}

// replace deletes and builds anew, and asks for no proof in between.
func (r *rival) replace(i int, s world.Status, then func()) {
	r.send(world.PowerOff, s, func() { r.send(world.Delete, s, func() { r.build(i, s.Host, then) }) })
}

func (r *rival) build(i int, host string, then func()) {
	r.ids++
	r.gens[i]++
	r.send(world.Create, world.Status{
		ID: "rival." + strconv.Itoa(r.ids), Host: host, Name: r.name(i),
		Mark: world.Mark{Installation: installation, Fleet: string(r.s.spec.Name), Machine: r.name(i),
			Generation: r.gens[i], Certified: true},
	}, func() {
		r.s.w.After(time.Minute, func() { r.aim(i) })
		then()
	})
}
