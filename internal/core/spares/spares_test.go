package spares_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/spares"
)

// row writes machines in short: S serves, B stands by; + is ready, ? is not known, o is off, - cannot serve.
func row(words string) []spares.One {
	var out []spares.One
	for i, w := range strings.Split(words, "|") {
		out = append(out, spares.One{Machine: fleet.Name("web").Machine(i + 1), Spare: w[0] == 'B',
			Fitness: map[byte]spares.Fitness{'+': spares.Ready, '?': spares.Unsure, 'o': spares.Resting,
				'-': spares.Lost}[w[1]]})
	}
	return out
}

func roles(all []spares.One) string {
	var out []string
	for _, o := range all {
		role := "S"
		if o.Spare {
			role = "B"
		}
		out = append(out, role+string("-o?+"[o.Fitness]))
	}
	return strings.Join(out, "|")
}

// A place goes from a machine that cannot serve to a spare that is well, and from none other.
func TestPlacesGoToTheWell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		story, was, is  string
		serving, spares int
	}{
		{"all are well", "S+|S+|S+|B+", "S+|S+|S+|B+", 3, 1},
		{"one fails", "S+|S-|S+|B+", "S+|B-|S+|S+", 3, 1},
		{"one may fail", "S+|S?|S+|B+", "S+|S?|S+|B+", 3, 1},
		{"one fails, and the spare is off", "S+|S-|S+|Bo", "S+|S-|S+|Bo", 3, 1},
		{"the size rose, and the spares are off, or fail", "S+|S+|S+|B-|Bo", "S+|S+|S+|B-|So", 4, 1},
		{"the spare fails, too", "S+|S-|S+|B-", "S+|S-|S+|B-", 3, 1},
		{"of the spare too little is known", "S+|S-|S+|B?", "S+|S-|S+|B?", 3, 1},
		{"two fail, and one stands by", "S-|S-|S+|B+", "S-|B-|S+|S+", 3, 1},
		{"two fail, and two stand by", "S-|S-|S+|B+|B+", "B-|B-|S+|S+|S+", 3, 2},
		{"what was repaired stands by", "S+|B+|S+|S+", "S+|B+|S+|S+", 3, 1},
		{"the size rose, and the new one is not built yet", "S+|S+|S+|B+|S-", "S+|S+|S+|S+|B-", 4, 1},
		{"the size rose, and there are to be no spares", "S+|S+|S+|B+", "S+|S+|S+|S+", 4, 0},
		{"a failing spare went with a smaller size", "S+|S+|S+", "S+|S+|B+", 2, 1},
		{"there are to be spares, of machines that are there", "S+|S?|S+|S+", "S+|B?|S+|S+", 3, 1},
		{"there are to be fewer spares", "S+|S+|B+|B+", "S+|S+|B+|B+", 2, 1},
		{"fewer are asked for, and a person has not said so yet", "S+|S+|S+|B+", "S+|S+|S+|B+", 2, 1},
	} {
		t.Run(c.story, func(t *testing.T) {
			t.Parallel()
			all := row(c.was)
			spares.Assign(all, spares.Need{Serving: c.serving, Spares: c.spares})
			if got := roles(all); got != c.is {
				t.Errorf("%s became %s, and not %s", c.was, got, c.is)
			}
		})
	}
}

// Whatever there is: no more machines that can serve are idle than need be, nothing well gives its place away but where
// too many serve, and what was settled stays so.
func TestRolesSettle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := row(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"S+", "S?", "So", "S-", "B+", "B?", "Bo",
			"B-"}), 1, 8).
			Draw(t, "machines"), "|"))
		was := append([]spares.One(nil), all...)
		need := spares.Need{Serving: rapid.IntRange(1, 8).Draw(t, "serving"),
			Spares: rapid.IntRange(0, 3).Draw(t, "spares")}
		served := 0
		for _, o := range was {
			if !o.Spare {
				served++
			}
		}
		spares.Assign(all, need)
		serving, lost, idle := 0, 0, 0
		for i, o := range all {
			switch {
			case !o.Spare && o.Fitness == spares.Lost:
				lost++
			case o.Spare && o.Fitness == spares.Ready:
				idle++
			}
			if !o.Spare {
				serving++
			}
			if o.Spare && !was[i].Spare && o.Fitness == spares.Ready && served <= need.Serving {
				t.Fatalf("%s of %s gave its place away", o.Machine, roles(was))
			}
		}
		if lost > 0 && idle > 0 {
			t.Fatalf("%s leaves a spare idle", roles(all))
		}
		if serving < min(served, need.Serving) {
			t.Fatalf("%s became %s, and %d are to serve", roles(was), roles(all), need.Serving)
		}
		if again := spares.Assign(all, need); len(again) > 0 {
			t.Fatalf("%s is not settled", roles(all))
		}
	})
}

// While hale doubts what it sees, no machine changes its role; the brake is no reason.
func TestRolesStayWhileHaleDoubts(t *testing.T) {
	t.Parallel()
	sound := func() *guard.Situation {
		s := &guard.Situation{}
		s.Provider.Standing, s.Now.Mono, s.SteadyAt = fleet.ProviderUp, 10, 5
		return s
	}
	braked, doubting, fresh, away := sound(), sound(), sound(), sound()
	braked.Brake = belief.Brake{Engaged: true}
	doubting.Whole.Doubt.Reason = fleet.ReasonVantageDoubtful
	fresh.SteadyAt = 20
	away.Provider.Standing = fleet.ProviderDown
	for s, want := range map[*guard.Situation]fleet.Reason{braked: "", doubting: fleet.ReasonVantageDoubtful,
		fresh: fleet.ReasonAmnesty, away: fleet.ReasonProviderDown} {
		if got := spares.Withheld(s); got != want {
			t.Errorf("withheld for %q, and not %q", got, want)
		}
	}
}
