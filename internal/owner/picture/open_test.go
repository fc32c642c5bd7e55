package picture_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
	"hale/internal/owner/picture"
)

// Whatever is told and decided, in whatever order, a situation names the machines that are open, and no other; and it
// says so when one lies elsewhere.
func TestASnapshotNamesTheOpenMachines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		beliefs, hosts, list := webs()
		for len(beliefs) < 70 { // more than a word of bits
			m := beliefs[0]
			m.Name, m.Current.ID = fleet.Name("web").Machine(len(beliefs)+1), ""
			beliefs = append(beliefs, m)
		}
		p := picture.New(picture.Options{Spec: spec(), Beliefs: beliefs,
			FreshID: func() fleet.InstanceID { return "fresh" }}, noon(0))
		now := time.Second
		index := rapid.SampledFrom([]int{0, 1, 2, 63, 64, 69})
		standing := rapid.SampledFrom([]fleet.Standing{fleet.StandingUp, fleet.StandingDown})
		var placed uint64 // as the last situation had it, when the machines lay there
		lay := make([]belief.Incarnation, 70)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s := p.Situation(noon(now))
				want, moved := []int{}, false
				for i := range s.Machines {
					lies := s.Machines[i].Machine.Lies()
					moved, lay[i] = moved || lies.Apart(&lay[i]), lies
					if s.Machines[i].Open() {
						want = append(want, i)
					}
				}
				if s.Open == nil || !slices.Equal(s.Open, want) {
					t.Fatalf("open are %v, and the snapshot names %v", want, s.Open)
				}
				if moved && s.Placed == placed {
					t.Fatal("somebody moved, and the snapshot says that all lie where they lay")
				}
				placed = s.Placed
			},
			"a while": func(t *rapid.T) { now += time.Duration(rapid.IntRange(1, 20).Draw(t, "s")) * time.Second },
			"a decision": func(t *rapid.T) {
				for _, m := range decide.Decide(p.Situation(noon(now))).Machines {
					if rapid.Bool().Draw(t, "stored") {
						p.Adopt(m)
					}
				}
			},
			"another belief": func(t *rapid.T) {
				i := index.Draw(t, "index")
				m := p.View(i).Machine.Clone()
				m.Health.Verdict = rapid.SampledFrom([]belief.Verdict{belief.VerdictHealthy,
					belief.VerdictSuspect}).Draw(t, "verdict")
				m.Incident, m.Repair, m.Waiting, m.Strays = nil, nil, "", nil
				m.Current.Host = rapid.SampledFrom([]fleet.HostName{"h1", "h2"}).Draw(t, "host")
				p.Adopt(round.Decided{Index: i, Belief: m})
			},
			"an edge": func(t *rapid.T) {
				i := index.Draw(t, "index")
				p.Hear(picture.Edge{Machine: p.View(i).Machine.Name, Check: "page", Epoch: p.Aim(i).Epoch,
					Standing: standing.Draw(t, "standing")})
			},
			"a listing": func(t *rapid.T) {
				c := picture.NewCatalogue()
				c.Replace(hosts, list[:rapid.IntRange(0, 3).Draw(t, "listed")], at(now))
				p.See(c, nil)
			},
			"a sighting": func(t *rapid.T) {
				k := rapid.IntRange(0, 2).Draw(t, "index")
				p.Sight(k, fleet.Sighting{Instance: list[k], Asked: at(now)})
			},
			"a look": func(t *rapid.T) { p.TellLook(index.Draw(t, "index"), fleet.Look{ID: "look"}) },
			"an outcome": func(t *rapid.T) {
				p.TellOutcome(index.Draw(t, "index"),
					fleet.Outcome{Kind: fleet.OutcomeDone})
			},
			"the provider": func(t *rapid.T) {
				p.SetProvider(fleet.ProviderState{Standing: rapid.SampledFrom([]fleet.ProviderStanding{fleet.ProviderUp,
					fleet.ProviderDown}).Draw(t, "provider")})
			},
			"deafness":     func(*rapid.T) { p.Deafen(fleet.ResultLate); p.Listen(noon(now)) },
			"a clock step": func(*rapid.T) { p.ClockSet(noon(now)) },
		})
	})
}
