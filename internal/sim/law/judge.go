// Package law judges what is done to the machines of a simulated world, and what becomes of them, by the truth alone.
// It is the one judge of simulator and bubble: there as it happens, here when what was seen can be told in order.
//
// It promises to share no code with the judgement that it judges, and to change nothing in the world. What only the two
// can know it asks its court for: what a person ordered, and what hale had seen. What hale believes, and what it writes
// down, is for their own judges.
package law

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Court is what the judge asks the place in which it sits, simulator or bubble.
type Court interface {
	// Broken is told of a broken law, again and again.
	Broken(law, machine, what string)
	// Called is the instance's name in what is said.
	Called(id string) string
	// Named reports whether a person's order has the instance of the deed go, or be replaced.
	Named(d *Deed) bool
	// Swapped reports whether it gives way to an older one of its machine, as a person ordered.
	Swapped(d *Deed) bool
	// Undone reports whether a person ever wanted an older instance of the deed's machine back.
	Undone(d *Deed) bool
	// InCare reports whether hale had adopted the instance, which existed before.
	InCare(d *Deed) bool
	// SaidOff reports whether a person ever took the host for off.
	SaidOff(host string) bool
	// Apart is how far the clocks of the deed's servers are apart.
	Apart(d *Deed) time.Duration
	// Excused reports whether the court cannot hold it against hale that the deed hit a healthy machine.
	Excused(d *Deed) bool
}

// Fleet is what is judged.
type Fleet struct {
	Spec *policy.Spec
	Poll time.Duration // how often hale asks the provider for everything
	Most int           // the largest size that it is ever asked to have
	// Naive says that a rival looks after it, who promises only what is true of machines.
	Naive bool
	// Away reports whether no hale looks after it now; nil: one always does.
	Away func() bool
}

// unseen reports whether what happens on the host now is out of hale's sight.
func (f *Fleet) unseen(w *world.World, host string) bool {
	return !w.Reaches("", host) || f.Away != nil && f.Away()
}

// Judge knows the truth of a play, as far as it was told.
type Judge struct {
	Fleet
	court Court
	tally *Tally

	personal map[string]bool            // stopped by a person, and not started again
	stops    map[string]time.Duration   // when a person stopped the machine last
	parked   map[string]bool            // by hale, as a person ordered: whatever the policy makes of other stops
	chores   map[string]fleet.OrderKind // what people have hale do with machines
	rests    map[string]bool            // turned off as spares, and by no person since
	// unread are machines with a stop that hale cannot read as a person's: it came so soon after a reset that the two
	// cannot be told apart, or hale has started them since, for another reason that it was told.
	unread   map[string]bool
	unshown  map[string]bool          // machines that a person stopped out of hale's sight
	lost     map[string]bool          // of those that a person stopped, where the provider forgot it since
	willed   map[string]time.Duration // when a person ordered the machine's repair last
	reset    map[string]time.Duration // when a reset took effect last, by instance
	given    map[string]time.Duration // when a person gave a host its access back
	told     map[string]time.Duration // when a person was last told that a second instance may write
	shelf    map[string]time.Duration // when instances were put aside, by id
	contents map[heldDisk]uint64      // what was first written to the disks that are kept
	runs     runs                     // of hooks
}

// heldDisk names a kept disk of a machine.
type heldDisk struct{ machine, name string }

// Tally counts what must never happen, and what nearly did.
type Tally struct {
	HealthyDestroyed int `json:"healthy_destroyed"` // disruptive calls sent to what would have passed its checks
	// HealthyByOrder are the same of what hale did not see, and a person ordered to be repaired. They are not among
	// those.
	HealthyByOrder   int `json:"healthy_by_order"`
	CaughtRecovering int `json:"caught_recovering"` // sent to one that served again, for less time than its checks need
	WindowActs       int `json:"window_acts"`       // sent late by a process that stood still after it read its lease
	DoubleInstances  int `json:"double_instances"`
	Actions          int `json:"actions"`          // changing calls that took effect
	Snapshots        int `json:"snapshots"`        // copies of disks that were made
	Reattached       int `json:"disks_reattached"` // kept disks that went on to the next instance, and all on them
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.HealthyDestroyed += o.HealthyDestroyed
	t.HealthyByOrder += o.HealthyByOrder
	t.CaughtRecovering += o.CaughtRecovering
	t.WindowActs += o.WindowActs
	t.DoubleInstances += o.DoubleInstances
	t.Actions += o.Actions
	t.Snapshots += o.Snapshots
	t.Reattached += o.Reattached
}

// New returns a judge of the fleet, who counts in the tally.
func New(court Court, f Fleet, t *Tally) *Judge {
	return &Judge{
		Fleet: f, court: court, tally: t, personal: map[string]bool{}, parked: map[string]bool{},
		stops:  map[string]time.Duration{},
		chores: map[string]fleet.OrderKind{}, unread: map[string]bool{}, unshown: map[string]bool{},
		lost:   map[string]bool{},
		willed: map[string]time.Duration{}, rests: map[string]bool{},
		reset: map[string]time.Duration{}, given: map[string]time.Duration{}, told: map[string]time.Duration{},
		shelf: map[string]time.Duration{}, contents: map[heldDisk]uint64{},
		runs: newRuns(),
	}
}

// Foresees has the judge know of what is about to happen to the subject. What follows from it later is judged by way
// of later.
func (j *Judge) Foresees(w *world.World, subject string, v verbs.Verb, later func(judge func())) {
	switch v {
	case verbs.IsStopped, verbs.IsShutDown:
		if vm := w.Current(subject); vm != nil && (vm.Power != world.Off || w.Reaches("", vm.Host)) {
			j.stopped(vm.Mark.Machine, vm.ID, w.Now())
			j.unshown[vm.Mark.Machine] = j.unseen(w, vm.Host)
		}
	case verbs.LosesPower, verbs.TakesHale, verbs.TurnedOff:
		j.hostForgets(w, subject)
	case verbs.GivesAccess:
		since := w.Now()
		for _, h := range w.Hosts() {
			if d, err := verbs.ParseDomain(subject); err == nil && world.Has([]world.Host{h}, d) {
				j.given[h.Name] = since
			}
		}
		w.After(tellWithin, func() {
			crowds := Crowds(w)
			later(func() { j.gave(crowds, since) })
		})
	default:
	}
}

// Over has the judge know that what happened to the subject is over: who stopped a machine turns it on again, but for
// what hale has turned off since.
func (j *Judge) Over(subject string, v verbs.Verb) {
	if (v == verbs.IsStopped || v == verbs.IsShutDown) && !j.parked[subject] {
		j.WantedOn(subject)
	}
}

// stopped notes that a person stops the machine's instance. A reset powers it off, too: until a listing has shown it
// running since, a stop is taken for the reset's own, which did not bring it up again.
func (j *Judge) stopped(machine, id string, now time.Duration) {
	at, reset := j.reset[id]
	j.personal[machine], j.unread[machine], j.stops[machine] = true, reset && now-at < j.Poll, now
	delete(j.lost, machine)
}

// hostForgets notes that what loses its power forgets who stopped its machines: where it did not answer then, nor
// does now, or no hale was there, hale never hears of it; and one whose store is put back does not know it any more.
func (j *Judge) hostForgets(w *world.World, domain string) {
	d, err := verbs.ParseDomain(domain)
	for _, h := range w.Hosts() {
		if err != nil || !world.Has([]world.Host{h}, d) {
			continue
		}
		for machine := range j.personal {
			if vm := w.Current(machine); vm != nil && vm.Host == h.Name {
				j.lost[machine] = true
				j.unread[machine] = j.unread[machine] || j.unshown[machine] && j.unseen(w, h.Name)
			}
		}
	}
}

// WantedOn notes that the machine is to run, whatever a person wanted before: it serves, or they said so.
func (j *Judge) WantedOn(machine string) {
	delete(j.personal, machine)
	delete(j.parked, machine)
}

// Ordered notes an order by which the machine is to run, whatever a person wanted before.
func (j *Judge) Ordered(o *fleet.Order, now time.Duration) {
	switch o.Kind {
	case fleet.OrderHeal:
		j.RepairOrdered(string(o.Machine), now)
	case fleet.OrderStart:
		j.WantedOn(string(o.Machine))
	default:
	}
}

// RepairOrdered notes that a person orders the machine's repair: it is to run, and where hale does not see it, the
// order stands for a look as long as it lasts.
func (j *Judge) RepairOrdered(machine string, now time.Duration) {
	j.WantedOn(machine)
	j.willed[machine] = now
}

// isWilled reports whether a person's order of the deed's machine lasts.
func (j *Judge) isWilled(d *Deed) bool {
	at, ever := j.willed[d.Machine]
	return ever && d.now-at <= fleet.OrderLife
}

// Personal reports whether a person stopped the machine, and it was not started again.
func (j *Judge) Personal(machine string) bool { return j.personal[machine] }

// Sent judges a call as it leaves its sender.
func (j *Judge) Sent(d *Deed) {
	if d.Op == world.Hook || d.Hook != "" { // it is run beside the instance, and not on it
		j.runsHook(d)
		return
	}
	j.strangers(d)
	if d.Copied && d.Op != world.Create {
		j.broken("L2", d, "which a person copied, mark and all")
	} else if d.Op.Disruptive() && d.Stranger {
		j.broken("L2", d, "which is of another owner")
	}
	if d.Op == world.Create || d.Op == world.Certify || d.Op == world.DropSnapshot {
		return
	}
	j.touches(d)
	left := j.personal[d.Machine] && !j.unread[d.Machine] && !j.heals() || j.parked[d.Machine]
	if left && !j.isLate(d) && !j.rests[d.Machine] && d.current && !j.court.Named(d) && j.chores[d.Machine] == "" {
		j.broken("L10", d, "which a person stopped")
	}
}

// isLate reports whether the deed is a reset whose sender looked before a person stopped the machine, and stood still
// since, right before it sent it (L7). It changes nothing of what is off; any other call would.
func (j *Judge) isLate(d *Deed) bool {
	return d.Held && d.Op == world.Reboot && j.stops[d.Machine] >= d.Looked
}

// heals reports whether the policy takes what a person did for a failure.
func (j *Judge) heals() bool { return j.Spec.Repair.OnExternalStop == policy.ExternalStopHeal }

// strangers checks what is done to an instance that existed before hale (L2): nothing before it was adopted, nothing is
// written on it, and it is destroyed only where the policy says so.
func (j *Judge) strangers(d *Deed) {
	if !d.unmarked || j.Naive {
		return
	}
	switch destroys := d.Op == world.PowerOff || d.Op == world.Delete || d.Op == world.Rebuild ||
		d.Op == world.Revert; {
	case !j.court.InCare(d):
		j.broken("L2", d, "before it was adopted")
	case d.Op == world.Certify:
		j.broken("L2", d, "a mark on what hale did not build")
	case destroys && !j.Spec.Adopt.Replaceable && j.chores[d.Machine] != fleet.OrderStop:
		j.broken("L2", d, "which existed before and is not replaceable")
	}
}

// touches checks what is done to an instance that stands still with its memory intact, and did so when hale last
// looked: it may go on where it was, if no person ordered the pause, or if the policy takes such an order for a
// failure, and never when a write to its disk would fail again. Only an unfinished build may go.
func (j *Judge) touches(d *Deed) {
	if !d.there || j.Naive || !d.Status.Mark.Certified || d.Status.Power != world.Paused || j.court.Named(d) ||
		j.chores[d.Machine] != "" || d.halted >= d.Looked {
		return
	}
	switch by := d.Status.Stop; {
	case by == world.StopIOError:
		j.broken("L10", d, "which cannot write its disk")
	case by == world.StopRescue:
		if d.Op != world.Rescue {
			j.broken("L10", d, "which a person repairs")
		}
	case d.Op != world.Resume:
		j.broken("L10", d, "which is paused")
	case by != world.StopGuest && !j.heals():
		j.broken("L10", d, "which a person paused")
	}
}

// Acted judges a call that reached the provider, and says whether it was wrong.
func (j *Judge) Acted(d *Deed) Wrong {
	if !d.Effect {
		return ""
	}
	j.tally.Actions++
	switch d.Op {
	case world.Create:
		if n, ok := fleet.MachineName(d.Machine).Ordinal(); ok && n > j.Most {
			j.broken("L13", d, "which the fleet was never asked to have")
		}
		j.WantedOn(d.Machine) // what a person stopped is gone
		j.Equipped(d.Machine, d.disks)
	case world.Restore:
		j.Equipped(d.Machine, d.disks)
	case world.Start:
		j.unread[d.Machine] = true
	case world.Reboot:
		j.reset[d.ID] = d.now
	case world.PowerOff:
		if j.chores[d.Machine] == fleet.OrderStop {
			j.personal[d.Machine], j.parked[d.Machine] = true, true
		}
	case world.Fence:
		delete(j.given, d.Host)
	case world.Snapshot:
		j.tally.Snapshots++
		return ""
	case world.DropSnapshot:
		return ""
	default:
	}
	if d.Robbed {
		j.tally.HealthyDestroyed++
		j.broken("harm", d, "took the disk from under the one that another host runs")
	}
	j.shelved(d)
	return j.wronged(d)
}

// Wrong is what was wrong with an act, or nearly so.
type Wrong string

// What can be wrong with an act.
const (
	WrongHealthy Wrong = "healthy" // it was sent to a machine that would have passed its checks
	WrongWindow  Wrong = "window"  // so it was, by a process that stood still after it read its lease
	Recovering   Wrong = "recovering"
)

// wronged judges a call that took effect on something that served.
func (j *Judge) wronged(d *Deed) Wrong {
	switch {
	case !d.Op.Disruptive() && d.Op != world.Run || d.Again, j.isOrdered(d):
	case j.runs.raw[d.ID] && d.Op != world.Fence: // it serves no one yet
	case d.Held && (d.Serving || d.Op == world.Fence && d.Healthy): // of a host: anything on it
		j.tally.WindowActs++
		return WrongWindow
	case d.Healthy && j.isWilled(d):
		j.tally.HealthyByOrder++
	case d.Healthy:
		j.tally.HealthyDestroyed++
		if !j.court.Excused(d) {
			j.broken("harm", d, "although it was healthy")
		}
		return WrongHealthy
	case d.Serving:
		j.tally.CaughtRecovering++
		return Recovering
	}
	return ""
}

// isOrdered reports whether a person's order has the call in it: a confirmed plan, or the old instance that is wanted
// back.
func (j *Judge) isOrdered(d *Deed) bool {
	return (d.Op == world.PowerOff || d.Op == world.Delete) && j.court.Named(d) ||
		d.Op == world.PowerOff && j.court.Swapped(d) || orderedBy(j.chores[d.Machine], d.Op)
}

// shelved checks that an instance that was put aside stays so for its whole time, unless a person wants it back.
func (j *Judge) shelved(d *Deed) {
	at, kept := j.shelf[d.ID]
	switch {
	case d.Op == world.Keep:
		j.shelf[d.ID] = d.now
	case !kept:
	case d.Op == world.Restore:
		delete(j.shelf, d.ID)
		if !j.court.Undone(d) {
			j.broken("L3", d, "which no person wanted back")
		}
	case d.Op == world.Delete:
		delete(j.shelf, d.ID)
		if lasted, whole := d.now-at, j.Spec.Repair.KeepTime(); lasted < whole-j.court.Apart(d) {
			j.broken("L15", d, fmt.Sprintf("which was to be kept for %s, after %s", whole, lasted))
		}
	default:
		j.broken("L2", d, "which was put aside")
	}
}

// Equipped judges what disks an instance came to have, and counts those that went on to it.
func (j *Judge) Equipped(machine string, disks map[string]uint64) {
	j.tally.Reattached += j.Holds(machine, disks)
}

// Holds checks that an instance has every disk that its machine is to keep, with what was ever written to it, and
// returns how many of them were written to before.
func (j *Judge) Holds(machine string, disks map[string]uint64) (known int) {
	for _, d := range j.Spec.Template.Disks {
		if !d.Attached() {
			continue
		}
		k := heldDisk{machine, d.Name}
		switch content := disks[d.Name]; {
		case content == 0:
			j.court.Broken("disk", machine, "it was built without its disk "+d.Name)
		case j.contents[k] == 0:
			j.contents[k] = content
		case j.contents[k] != content:
			j.court.Broken("disk", machine, fmt.Sprintf("its disk %s is another one, without the data", d.Name))
		default:
			known++
		}
	}
	return known
}

// Crowded judges that the number of a machine's instances that run has changed (L1).
func (j *Judge) Crowded(c *Crowd) {
	if c.N < 2 {
		return
	}
	j.tally.DoubleInstances++
	j.Stands(c)
}

// Stands judges the same of how it is, whenever that came about.
func (j *Judge) Stands(c *Crowd) {
	if c.N < 2 || j.vouched(c) {
		return
	}
	j.court.Broken("L1", c.Machine, fmt.Sprintf("%d instances run at once", c.N))
	if c.shares != "" {
		j.court.Broken("disk", c.Machine, "several instances write to its disk "+c.shares)
	}
}

// vouched reports whether all instances of the machine that can write, but one, are on hosts that a person said to be
// off: the policy took the word, and it was wrong; or on hosts that a person gave their access back when the others
// were there already.
func (j *Judge) vouched(c *Crowd) bool {
	others, excused := 0, 0
	for _, w := range c.writers {
		if j.Spec.Repair.Fence.Word && j.court.SaidOff(w.host) || j.wasGiven(w, c.writers) {
			excused++
		} else {
			others++
		}
	}
	return others <= 1 && excused > 0
}

// wasGiven reports whether a person gave the writer's host its access back, beside all the others.
func (j *Judge) wasGiven(w writer, beside []writer) bool {
	at, given := j.given[w.host]
	return given && !slices.ContainsFunc(beside, func(o writer) bool { return o.born > at })
}

// tellWithin is how long hale may take to tell a person that something which was left behind cut can write again.
const tellWithin = time.Minute

// Told notes that a person was told that a second instance of the machine may write.
func (j *Judge) Told(machine string, now time.Duration) { j.told[machine] = now }

// gave sees that hale told of whatever can write beside another since hosts got their access back (L1).
func (j *Judge) gave(crowds []*Crowd, since time.Duration) {
	for _, c := range crowds {
		if told, ever := j.told[c.Machine]; c.N > 1 && j.vouched(c) && (!ever || told < since) {
			j.court.Broken("L1", c.Machine, "two can write since a host got its access back, and no person was told")
		}
	}
}

// Believed checks what must hold of each belief by itself.
func (j *Judge) Believed(m *belief.Machine) {
	name := string(m.Name)
	j.finished(m)
	if err := m.Check(); err != nil {
		j.court.Broken("belief", name, err.Error())
	}
	if m.Waiting == fleet.ReasonLawBroken {
		j.court.Broken("belief", name, "hale itself found a law broken and stopped touching it")
	}
	if m.Quarantine != nil && (m.Incident == nil || !m.Incident.Paged) {
		j.court.Broken("L8", name, "in quarantine, and no person was told")
	}
}

func (j *Judge) broken(law string, d *Deed, why string) {
	j.court.Broken(law, d.Machine, fmt.Sprintf("%s of %s, %s", d.Op, j.court.Called(d.ID), why))
}
