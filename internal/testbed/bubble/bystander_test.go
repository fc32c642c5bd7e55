package bubble

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/law"
	"hale/internal/sim/world"
)

// bystander writes down what is done to machines as it happens, to be judged when what was recorded meanwhile is
// known, too. The world is locked while it writes.
type bystander struct {
	world.Deaf
	t *world.World
	r *room
}

// watch has a bystander see all from now on.
func (r *room) watch() {
	r.world.Judged(func(t *world.World) world.Watcher {
		r.epoch = time.Now().Add(-t.Now())
		for n := 1; n <= r.spec.Size; n++ {
			name := string(r.spec.Name.Machine(n))
			if vm := t.Current(name); vm != nil && !r.o.Empty {
				r.judge.truth.Equipped(name, law.Disks(vm))
			}
		}
		return bystander{t: t, r: r}
	})
}

// seen returns what the bystander saw since it was asked last, as what judges it.
func (r *room) seen() (judges []func()) {
	r.truth(func(*world.World) { judges, r.unjudged = r.unjudged, nil })
	return judges
}

// note keeps what is to be judged later.
func (b bystander) note(judge func()) { b.r.unjudged = append(b.r.unjudged, judge) }

func (b bystander) saw(c *world.Call) *law.Deed {
	d := law.Saw(b.t, c)
	d.Held, d.Looked = heldUp(c.Client), b.r.looked[fleet.InstanceID(c.ID)]
	return d
}

// Sent implements world.Watcher.
func (b bystander) Sent(c *world.Call) {
	d := b.saw(c)
	b.note(func() {
		b.r.judge.truth.Sent(d)
		if d.Op.Disruptive() && !d.Held && !isSecond(d.Client) { // who owns its fleet is no question
			b.r.judge.tenure(d)
		}
	})
}

// Acted implements world.Watcher.
func (b bystander) Acted(c *world.Call) {
	d := b.saw(c)
	b.note(func() {
		b.r.judge.truth.Ended(d)
		b.r.judge.truth.Acted(d)
	})
}

// Serving implements world.Watcher.
func (b bystander) Serving(vm *world.VM) {
	if machine := vm.Mark.Machine; vm.Serving() {
		b.note(func() { b.r.judge.truth.WantedOn(machine) })
	}
}

// Copies implements world.Watcher.
func (b bystander) Copies(machine string, n int) {
	c := law.Count(b.t, machine, n)
	b.note(func() { b.r.judge.truth.Crowded(c) })
}

// Broken implements law.Court.
func (j *judge) Broken(law, machine, what string) {
	j.broken(law, fleet.MachineName(machine), "%s", what)
}

// Called implements law.Court.
func (j *judge) Called(id string) string { return id }

// Named implements law.Court: by a plan or an order of a person's.
func (j *judge) Named(d *law.Deed) bool {
	id, machine := fleet.InstanceID(d.ID), fleet.MachineName(d.Machine)
	_, renewed := j.r.renewed[id]
	return j.r.named[id] == machine && id != "" || renewed || j.r.mends || j.takenBack(machine) ||
		j.r.leaving[machine] && !j.r.spec.Adopt.Selects()
}

// takenBack reports whether an update changed the machine, and may be taken back.
func (j *judge) takenBack(machine fleet.MachineName) bool {
	if !j.r.undoes && j.r.spec.Update.OnFailure != policy.UpdateUndo {
		return false
	}
	for _, m := range j.r.renewed {
		if m == machine {
			return true
		}
	}
	return false
}

// Swapped implements law.Court.
func (j *judge) Swapped(d *law.Deed) bool { return j.r.swapped[fleet.MachineName(d.Machine)] }

// Undone implements law.Court.
func (j *judge) Undone(d *law.Deed) bool { return j.r.swapped[fleet.MachineName(d.Machine)] }

// InCare implements law.Court: the journal says when a machine was adopted.
func (j *judge) InCare(d *law.Deed) bool {
	adopted, ours := j.adopted[fleet.InstanceID(d.ID)]
	return ours && !j.r.epoch.Add(d.Sent).Before(adopted)
}

// SaidOff implements law.Court.
func (j *judge) SaidOff(host string) bool { return slices.Contains(j.r.saidOff, fleet.HostName(host)) }

// Apart implements law.Court.
func (j *judge) Apart(*law.Deed) time.Duration {
	var least, most time.Duration
	for _, s := range j.r.servers {
		least, most = min(least, s.skew), max(most, s.skew)
	}
	return most - least
}

// Excused implements law.Court.
func (j *judge) Excused(d *law.Deed) bool {
	if d.Unseen {
		j.tally.unseen++
	}
	return d.Unseen && j.r.blindly
}
