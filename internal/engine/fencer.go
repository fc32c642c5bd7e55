package engine

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
)

// serves returns a function that says whether a machine of any fleet on the provider is not known to fail on the host.
// Of a fleet that another server looks after nothing is known here: then there may be one.
func (e *Engine) serves(of fleet.ProviderName) func(fleet.HostName) bool {
	return func(host fleet.HostName) bool {
		for _, f := range e.Status() {
			if f.Spec.Provider != of {
				continue
			}
			if f.Acting == fleet.ReasonNotOwner {
				return true
			}
			for i := range f.Machines {
				m := &f.Machines[i].Machine
				if m.Current.Host == host && !m.Current.None() && m.Health.Verdict != belief.VerdictUnhealthy {
					return true
				}
			}
		}
		return false
	}
}

// rests returns a function that says on which hosts' being cut a machine of any fleet on the provider rests, as far as
// this server looks after it.
func (e *Engine) rests(of fleet.ProviderName) func() []fleet.HostName {
	return func() []fleet.HostName {
		var out []fleet.HostName
		for _, f := range e.Status() {
			if f.Spec.Provider != of {
				continue
			}
			for i := range f.Machines {
				out = f.Machines[i].Machine.RestsOn(out)
			}
		}
		return out
	}
}

// New returns a poller of the provider that knows what the engine's fleets know.
func (e *Engine) newPoller(src poller.Source, opts Options) *poller.Poller {
	return poller.New(poller.Options{
		Source: src, Clock: e.clock, Begun: e.begun, Store: opts.Store, Log: opts.Logger, Defects: opts.Defects,
		Called: opts.Called, Serves: e.serves(src.Name), Rests: e.rests(src.Name), Cares: e.cares(src.Name),
	})
}
