package fellows

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
)

const (
	// Late is the age of an owner's last look at its probes beyond which nothing is known by its checks.
	Late = 4 * time.Second
	// Every is how often it is asked who is heard near machines that are silent: there may be thousands.
	Every = 200 * time.Millisecond
	// lag is how old what an owner shows may be beside what it knows.
	lag = time.Second
)

// Shown is what an owner showed last of its fleet, with what it is told to look after, and when it last looked at its
// probes.
type Shown struct {
	*published.Fleet
	Told  policy.Spec
	Lived fleet.Instant
	// Afar is how it stood at another server, where one looks after it and that is known.
	Afar *Afar
}

// Afar is how a fleet stood that another server looks after, when the store was asked for it last.
type Afar struct {
	situation.Ahead
	At fleet.Instant
}

// Fleets are all that the engine looks after.
type Fleets struct {
	tolls
	lots lots
	all  func() iter.Seq[Shown]
	now  func() fleet.Now
}

// New returns the fleets that all lists at each time.
func New(all func() iter.Seq[Shown], now func() fleet.Now) *Fleets {
	return &Fleets{tolls: newTolls(), lots: lots{last: map[fleet.ProviderName]*gathering{}}, all: all, now: now}
}

// owned are those on the provider that this server owns.
func (f *Fleets) owned(provider fleet.ProviderName) iter.Seq[Shown] {
	return func(yield func(Shown) bool) {
		for s := range f.on(provider) {
			if s.Acting != fleet.ReasonNotOwner && !yield(s) {
				return
			}
		}
	}
}

// Everyone is all fleets, or those on the provider, as this engine was told.
func (f *Fleets) Everyone(on fleet.ProviderName) []policy.Spec {
	var all []policy.Spec
	for s := range f.all() {
		if on == "" || s.Told.Provider == on {
			all = append(all, s.Told)
		}
	}
	return all
}

// Struck returns the fleets on the provider that have an incident of the domain.
func (f *Fleets) Struck(on fleet.ProviderName, d fleet.Domain) []policy.Spec {
	var all []policy.Spec
	for s := range f.all() {
		is := func(p belief.Parent) bool { return p.Domain == d }
		if s.Spec.Provider == on && slices.ContainsFunc(s.Whole.Parents, is) {
			all = append(all, s.Spec)
		}
	}
	slices.SortFunc(all, func(a, b policy.Spec) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Hear returns what the fleets on the provider hear in the neighbourhoods, but the one that asks. An owner that has not
// looked at its probes of late is no witness.
func (f *Fleets) Hear(on fleet.ProviderName, asks fleet.Name, silenced []fleet.Neighbourhood) []fleet.Hearing {
	if len(silenced) == 0 {
		return nil
	}
	some := make(map[fleet.Neighbourhood]bool, len(silenced))
	for _, n := range silenced {
		some[n] = true
	}
	wanted := func(n fleet.Neighbourhood) bool { return some[n] }
	all, now := guard.Sights{}, f.now()
	for s := range f.owned(on) {
		if s.Spec.Name == asks {
			continue
		}
		late := now.Mono.Sub(s.Lived) > Late
		hears := guard.Sights{}
		hears.Hear(now, &s.Spec, s.Believed(), wanted)
		for _, h := range hears {
			if h.Delay += lag; late {
				h.Heard = 0
			}
			all.Add(h)
		}
	}
	out := make([]fleet.Hearing, 0, len(all))
	for _, n := range silenced {
		if h, known := all[n]; known {
			out = append(out, h)
		}
	}
	return out
}
