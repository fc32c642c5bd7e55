package simulated

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Snapshot is a copy of an instance's disk, as it truly is: it belongs to no instance.
type Snapshot struct {
	fleet.SnapshotName
	Instance fleet.InstanceID
	Made     time.Time
	// Boots is how often the disk had been booted from.
	Boots int
}

// snapshotBytes is what each copy takes.
const snapshotBytes = 1 << 20

// Snapshot implements provider.Snapshotter.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	err := p.change(ctx, fleet.OpSnapshot, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		switch {
		case err != nil:
			return false, err
		case name.Host != ref.Host:
			return false, fault.New(fault.Invalid, "simulated.snapshot", string(ref.ID), fmt.Errorf("a copy on host %q", name.Host))
		case w.snapshots[name] != nil:
			return false, nil
		}
		w.snapshots[name] = &Snapshot{SnapshotName: name, Instance: g.id, Made: now, Boots: g.life.DiskBoots}
		return true, nil
	})
	if err != nil {
		return fleet.Copy{}, err
	}
	return fleet.Copy{Where: fmt.Sprintf("%s.%s.snapshot", name.Machine, name.ID), Bytes: snapshotBytes}, nil
}

// DropSnapshot implements provider.Snapshotter.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	ref := provider.Ref{ID: fleet.InstanceID(name.ID), Host: name.Host, Mark: fleet.Mark{Machine: name.Machine}}
	return p.change(ctx, fleet.OpDropSnapshot, ref, func(w *World, _ time.Time) (bool, error) {
		if err := w.hostExists(name.Host); err != nil {
			return false, err
		}
		_, there := w.snapshots[name]
		delete(w.snapshots, name)
		return there, nil
	})
}

// Snapshots returns the copies that there are, by machine and name.
func (w *World) Snapshots() []Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Snapshot
	for _, s := range w.snapshots {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Snapshot) int { return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.ID, b.ID)) })
	return out
}
