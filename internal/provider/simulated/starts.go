package simulated

import (
	"context"
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// notes are the starts of hale that a host has been told of.
type notes map[note]bool

type note struct {
	of   fleet.Installation
	name fleet.StartName
	host fleet.HostName
}

// Starts implements provider.StartReader. Each host keeps notes of its own.
func (p *Provider) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	found := make(map[fleet.HostName][]fleet.StartName)
	err := p.onHosts(ctx, OpStarts, func(w *World, host fleet.HostName) {
		found[host] = nil
		for n := range w.notes {
			if n.of == of && n.host == host {
				found[host] = append(found[host], n.name)
			}
		}
		slices.SortFunc(found[host], fleet.StartName.Compare)
	})
	return found, err
}

// NoteStart implements provider.StartNoter.
func (p *Provider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	if _, err := fleet.ParseStart(string(name)); err != nil {
		return fault.New(fault.Invalid, "simulated.note-start", string(name), err)
	}
	return p.onHosts(ctx, OpNoteStart, func(w *World, host fleet.HostName) { w.notes[note{of, name, host}] = true })
}

// ForgetStart implements provider.StartNoter.
func (p *Provider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.onHosts(ctx, OpForgetStart, func(w *World, host fleet.HostName) { delete(w.notes, note{of, name, host}) })
}

// onHosts lets something happen on each host that answers. Notes are no instance's, so that they are not among the world's calls.
func (p *Provider) onHosts(ctx context.Context, op fleet.Op, do func(w *World, host fleet.HostName)) error {
	err := p.read(ctx, op, provider.Ref{}, func(time.Time) error {
		some := false
		for _, host := range p.world.options.Hosts {
			if !p.world.unreachable(p.client, host) {
				do(p.world, host)
				some = true
			}
		}
		if !some {
			return fault.New(fault.Transient, "simulated."+string(op), "", errUnreachable)
		}
		return nil
	})
	if err == nil {
		p.waitForAll(ctx)
	}
	return err
}

// Noted returns the starts of the installation that hosts have been told of, each once, oldest first.
func (w *World) Noted(of fleet.Installation) []fleet.StartName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []fleet.StartName
	for n := range w.notes {
		if n.of == of && !slices.Contains(names, n.name) {
			names = append(names, n.name)
		}
	}
	slices.SortFunc(names, fleet.StartName.Compare)
	return names
}
