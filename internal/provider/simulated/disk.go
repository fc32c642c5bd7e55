package simulated

import (
	"cmp"
	"fmt"
	"slices"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Disk is a kept disk of a machine, as it truly is: it belongs to no instance, and outlives them all.
type Disk struct {
	Machine fleet.MachineName
	Name    string
	// Content is what was first written to it, another for each disk that there ever was.
	Content uint64
	// Writers counts the instances that are powered on and have it; Most is the greatest number that it ever was.
	Writers, Most int
}

// volume is where a kept disk is found: on its host, or on what hosts share.
type volume struct {
	host         fleet.HostName
	storage      string
	installation fleet.Installation
	machine      fleet.MachineName
	name         string
}

func (w *World) volume(host fleet.HostName, of fleet.Mark, name string) volume {
	v := volume{storage: w.options.Places[host].Storage, installation: of.Installation, machine: of.Machine, name: name}
	if v.storage == "" {
		v.host = host
	}
	return v
}

// missing returns Invalid when a disk is not there that the order takes for granted.
func (w *World) missing(o provider.Order) error {
	for _, d := range o.Template.Disks {
		if d.Attached() && slices.Contains(o.Made, d.Name) && w.disks[w.volume(o.Host, o.Mark, d.Name)] == nil {
			return fault.New(fault.Invalid, "simulated.attach", string(o.ID), fmt.Errorf("the disk %s of %s is missing", d.Name, o.Mark.Machine))
		}
	}
	return nil
}

// attach gives the guest, which is off, the machine's kept disks; those that are not there are made empty.
func (w *World) attach(g *guest, t fleet.Template) {
	for _, d := range t.Disks {
		if !d.Attached() {
			continue
		}
		at := w.volume(g.host, g.mark, d.Name)
		if w.disks[at] == nil {
			w.written++
			w.disks[at] = &Disk{Machine: g.mark.Machine, Name: d.Name, Content: w.written}
		}
		g.disks = append(g.disks, w.disks[at])
	}
}

// write books that the guest's disks have a writer more, or less.
func (g *guest) write(by int) {
	for _, d := range g.disks {
		d.Writers += by
		d.Most = max(d.Most, d.Writers)
	}
}

// carry moves the disks with a guest that moved.
func (w *World) carry(g *guest) {
	for at, d := range w.disks {
		if slices.Contains(g.disks, d) {
			delete(w.disks, at)
			w.disks[w.volume(g.host, g.mark, d.Name)] = d
		}
	}
}

// Disks returns the kept disks that there are, by machine and name.
func (w *World) Disks() []Disk {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Disk
	for _, d := range w.disks {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Disk) int { return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Attached returns the contents of the kept disks that the instance has, by name.
func (w *World) Attached(id fleet.InstanceID) map[string]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]uint64{}
	if g := w.guests[id]; g != nil {
		for _, d := range g.disks {
			out[d.Name] = d.Content
		}
	}
	return out
}

// DestroyDisks removes the machine's kept disks behind everybody's back.
func (w *World) DestroyDisks(machine fleet.MachineName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at := range w.disks {
		if at.machine == machine {
			delete(w.disks, at)
		}
	}
}
