// Package drains judges how the machines of a simulated world leave the pools of load balancers: by the truth of who
// uses them, whatever hale was told.
//
// It promises to share no code with the judgement that it judges, and to change nothing in the world.
package drains

import (
	"fmt"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/sim/pool"
	"hale/internal/sim/world"
)

// Judge knows since when machines leave, as far as it was told.
type Judge struct {
	w      *world.World
	pools  []*pool.Balancer
	broken func(law, machine, what string)
	leaves map[fleet.MachineName]leave
}

// leave is the repair by which a machine leaves, and since when it does.
type leave struct {
	repair string
	since  time.Duration
}

// New returns the judge of the pools, who tells of broken laws.
func New(w *world.World, pools []*pool.Balancer, broken func(law, machine, what string)) *Judge {
	return &Judge{w: w, pools: pools, broken: broken, leaves: map[fleet.MachineName]leave{}}
}

// Stored notes what hale has written down of a machine.
func (j *Judge) Stored(is *belief.Machine) {
	if r := is.Repair; r != nil && r.Phase == belief.PhaseLeave && j.leaves[is.Name].repair != r.ID {
		j.leaves[is.Name] = leave{r.ID, j.w.Now()}
	}
}

// Sends judges a call at the moment when it leaves. While users are sent to a machine, or have connections to it, it is
// disrupted only once the pool's wait is over since it began to leave; or nothing else serves, and it fails (S61). What
// hale was told is off, or on a host that does not answer, has no users to wait for.
func (j *Judge) Sends(spec *policy.Spec, client string, beliefs []belief.Machine, l *belief.Ledger,
	a *situation.Action) {
	n, _ := a.Machine.Ordinal()
	m := &beliefs[n-1]
	op, r := a.Intent.Op, m.Repair
	vm := j.w.Definition(string(a.Instance), string(a.Host))
	if r == nil || vm == nil || !op.Disruptive() || op == fleet.OpFence || vm.Power != world.Running ||
		a.Instance != m.Current.ID || m.Health.Cause.Stopped() || !j.w.Reaches(client, vm.Host) {
		return
	}
	for i, b := range j.pools {
		j.Leaves(spec, b, m.Name, beliefs, l)
		if !b.Uses(string(m.Name), vm.Address) || r.Kind == belief.RepairHeal && j.alone(b, m.Name) {
			continue
		}
		switch l, wait := j.leaves[m.Name], spec.Pools[i].Wait; {
		case l.repair != r.ID:
			j.broken("S61", string(m.Name),
				fmt.Sprintf("%s of what balancer %s has users on, and it has not begun to leave",
					op, b.Name))
		case j.w.Now()-l.since < wait:
			j.broken("S61", string(m.Name),
				fmt.Sprintf("%s of what balancer %s has users on, %s after it began to leave",
					op, b.Name, j.w.Now()-l.since))
		}
	}
}

// alone reports whether the balancer sends to no other machine.
func (j *Judge) alone(b *pool.Balancer, name fleet.MachineName) bool {
	for _, m := range b.Members() {
		if m.State == pool.Serving && m.Name != string(name) {
			return false
		}
	}
	return true
}

// Leaves judges that hale takes a machine out of a pool, or disrupts it there. By an update it does so only while the
// balancer sends to so many of the others as are to serve, if so many are well (S39). Machines that are to go do not
// count. One that serves no user, or is the update's own new instance, may go.
func (j *Judge) Leaves(spec *policy.Spec, b *pool.Balancer, name fleet.MachineName, beliefs []belief.Machine,
	l *belief.Ledger) {
	size := spec.Size
	if l != nil {
		size = min(size, l.Staying()-l.Idle())
	}
	least, well, in := spec.Update.InService.Of(size), 0, 0
	if spec.Update.Surge > 0 {
		least = size
	}
	vm := j.w.Current(string(name))
	if least == 0 || !b.Admits(string(name)) || vm == nil || !vm.Serving() {
		return
	}
	for i := range beliefs {
		switch m := &beliefs[i]; {
		case m.Name == name && (m.Repair == nil || m.Repair.Kind != belief.RepairUpdate ||
			!m.Current.Certified):
			return
		case m.Name == name:
		case m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil && m.Repair == nil:
			if well++; b.Admits(string(m.Name)) {
				in++
			}
		}
	}
	if well >= least && in < least {
		j.broken("S39", string(name), fmt.Sprintf("balancer %s sends to %d others, and to %d it should", b.Name, in,
			least))
	}
}
