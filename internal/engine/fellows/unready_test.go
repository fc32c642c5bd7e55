package fellows_test

import (
	"iter"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/engine/fellows"
	"hale/internal/owner/published"
)

// L04: a fleet that comes first serves only where that is known now: by its owner here, while that looks at its probes,
// or by what another server stored, for half a minute after the store was asked. What is older may be over.
func TestL04WhatWasHeardOfAFleetThatComesFirstGrowsOld(t *testing.T) {
	t.Parallel()
	const now = fleet.Instant(time.Hour)
	ago := func(d time.Duration) fleet.Instant { return now.Add(-d) }
	serves := func(at fleet.Instant) *fellows.Afar {
		return &fellows.Afar{Ahead: situation.Ahead{Fleet: "db", Known: true, Size: 2, Well: 2}, At: at}
	}
	elsewhere := fleet.ReasonNotOwner
	for name, c := range map[string]struct {
		acting fleet.Reason
		lived  fleet.Instant
		asOf   time.Time // what is shown is of an earlier term
		afar   *fellows.Afar
		serves bool
	}{
		"its owner here looks at it":             {lived: now, serves: true},
		"its owner here has not looked for long": {lived: ago(fellows.Late + 1)},
		"its owner here shows what was":          {lived: now, asOf: time.Unix(1, 0)},
		"another server said so":                 {acting: elsewhere, lived: now, afar: serves(now), serves: true},
		"another server said so within half a minute": {acting: elsewhere, lived: now,
			afar: serves(ago(30 * time.Second)), serves: true},
		"another server said so more than half a minute ago": {acting: elsewhere, lived: now,
			afar: serves(ago(30*time.Second + 1))},
		"another server was not heard":                     {acting: elsewhere, lived: now},
		"another server said so before its owner was here": {lived: ago(time.Minute), afar: serves(now)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := policy.Spec{Name: "db", Provider: "lab", Size: 1}
			shown := &published.Fleet{
				State: situation.State{Acting: c.acting, Spec: spec},
				AsOf:  c.asOf,
				Machines: []situation.View{{Machine: belief.Machine{Name: "db-1",
					Current: belief.Incarnation{ID: "i", Certified: true},
					Health:  belief.Health{Verdict: belief.VerdictHealthy}}}},
			}
			fleets := fellows.New(func() iter.Seq[fellows.Shown] {
				return slices.Values([]fellows.Shown{{Fleet: shown, Told: spec, Lived: c.lived, Afar: c.afar}})
			}, func() fleet.Now { return fleet.Now{Mono: now} })
			unready := fleets.Unready([]fleet.Name{"db"})
			if (len(unready) == 0) != c.serves {
				t.Errorf("what does not serve: %+v", unready)
			}
			if len(unready) == 1 && unready[0].Known {
				t.Errorf("it is known how it stands: %+v", unready[0])
			}
		})
	}
}

// Only the fleets that others come after are asked for in the store. Of a fleet that is not there nothing is known.
func TestWhichFleetsComeFirst(t *testing.T) {
	t.Parallel()
	web := fellows.Shown{Fleet: &published.Fleet{}, Told: policy.Spec{Name: "web", After: []fleet.Name{"db", "cache"}}}
	fleets := fellows.New(func() iter.Seq[fellows.Shown] {
		return slices.Values([]fellows.Shown{{Fleet: &published.Fleet{}, Told: policy.Spec{Name: "db"}}, web})
	}, func() fleet.Now { return fleet.Now{} })
	for name, first := range map[fleet.Name]bool{"db": true, "cache": true, "web": false} {
		if got := fleets.Precedes(name); got != first {
			t.Errorf("another fleet comes after %s: %t", name, got)
		}
	}
	if got := fleets.Unready([]fleet.Name{"cache"}); len(got) != 1 || got[0].Fleet != "cache" || got[0].Known {
		t.Errorf("of a fleet that is not there it is known: %+v", got)
	}
	if got := fleets.Unready(nil); got != nil {
		t.Errorf("a fleet that waits for none waits: %+v", got)
	}
}
