package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"hale/internal/app/troubles"
	"hale/internal/config"
	"hale/internal/core/change"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// reload turns the running site into that of another configuration. It makes the new parts aside, and lets go of the
// old ones only when the new ones stand: after an error everything is as it was. A provider with a changed address
// keeps its old connection, unless it is the confirmed one.
func (s *site) reload(ctx context.Context, c *config.Config, confirmed fleet.ProviderName) error {
	select {
	case <-s.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	adapters, fresh, err := s.adaptersFor(ctx, c, confirmed)
	if err != nil {
		return err
	}
	setup, all := s.setup(c, adapters, c.Fleets)
	setup.Vantage = vantageOf(c.Vantage, s.log)
	for name, w := range all {
		if s.watches[name] != w {
			s.launch(w)
		}
	}
	err = s.noteConnections(ctx, adapters)
	if err == nil {
		s.teller.take(c) // first, so that an edited fleet finds its notifiers
		err = s.engine.Reload(ctx, setup)
	}
	if err != nil {
		s.teller.take(s.config)
		all.stopBut(s.watches)
		for _, a := range fresh {
			s.disconnect(a)
		}
		return err
	}
	s.watches.stopBut(all)
	for _, a := range s.adapters {
		if !slices.ContainsFunc(adapters, func(b adapter) bool { return b.Provider == a.Provider }) {
			s.disconnect(a)
		}
	}
	s.hand(c)
	s.config, s.adapters, s.vantage, s.watches = c, adapters, setup.Vantage, all
	return nil
}

// hand gives another configuration to the parts that go by it on their own.
func (s *site) hand(c *config.Config) {
	troubles.Warn(c, s.log)
	if s.troubles != nil {
		s.troubles.Take(c)
	}
	s.machines.Store(c.Metrics.Machines)
	s.fencing.Take(c)
	s.streams.Take(c)
	s.pools.Take(c)
	s.lists.Take(c)
	s.receiver.Take(placeOf(c.Heartbeats), c.Fleets)
	s.satellites.Take(satellitesOf(c.Satellites, s.how.server))
	s.eyes.Take(c)
	s.porter.Take(c)
}

// stopBut ends the work of those that are not among the others.
func (ws watches) stopBut(others watches) {
	for name, w := range ws {
		if others[name] != w {
			w.stop()
		}
	}
}

// adaptersFor returns the configuration's adapters: those that there are, and fresh ones for what is new.
func (s *site) adaptersFor(ctx context.Context, c *config.Config,
	confirmed fleet.ProviderName) (all, fresh []adapter, err error) {
	for _, p := range c.Providers {
		was := adapterOf(s.adapters, p.Name)
		known := was.Provider != nil
		if known && (p.SameConnection(was.config) || !p.SameAddress(was.config) && p.Name != confirmed) {
			was.widen(c, s)
			all = append(all, was)
			continue
		}
		a, err := s.connect(c, p)
		if err == nil {
			fresh = append(fresh, a)
			err = a.restore(ctx, s.how.store, c.Fleets)
		}
		if err != nil {
			for _, f := range fresh {
				s.disconnect(f)
			}
			return nil, nil, err
		}
		all = append(all, a)
	}
	return all, fresh, nil
}

// widen lets a simulated world serve what the configuration's checks ask for.
func (a adapter) widen(c *config.Config, s *site) {
	if a.world != nil {
		a.world.Serve(checksOf(a.config.Name, c.Fleets), vantageOf(c.Vantage, s.log).Canaries)
	}
}

// errMoved says that a fleet names another provider than its machines are on.
var errMoved = errors.New("hale does not move machines between providers: give the fleet another name, and its old " +
	"machines are let go")

// errStore says that another store is named than the one in use.
var errStore = errors.New("state: hale goes on with the state that it has until it is started again; take the change " +
	"back, or stop hale, see docs/guide/shared-state.md, and start it again")

// movable is fault.Invalid when a fleet names another provider than before, or the state is to be elsewhere: it can
// neither be applied, nor wait.
func movable(was, is *config.Config) error {
	var moved []error
	if !reflect.DeepEqual(was.Etcd, is.Etcd) || was.Cluster != is.Cluster {
		moved = append(moved, errStore)
	}
	for _, d := range change.Fleets(was.Fleets, is.Fleets) {
		if d.Kind == change.ProviderChanged {
			moved = append(moved,
				fmt.Errorf("fleet %s is on provider %s, and is said to be on %s: %w", d.Subject, d.Was, d.Is, errMoved))
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "app.reload", "", errors.Join(moved...))
}

// unmoved is movable for what runs next: the store knows where the machines of each fleet are.
func unmoved(ctx context.Context, store state.Store, is *config.Config) error {
	was := &config.Config{Etcd: is.Etcd, Cluster: is.Cluster}
	for _, f := range is.Fleets {
		ledger, err := beliefs.InForce(ctx, store, f.Name)
		if err != nil {
			return err
		}
		if ledger != nil {
			f.Provider = ledger.Provider
		}
		was.Fleets = append(was.Fleets, f)
	}
	return movable(was, is)
}
