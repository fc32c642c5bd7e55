package decide

import (
	"slices"
	"testing"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// TestL04SilenceNeedsAWitness: a host is mute when several of the fleet's machines should be heard there, and none is.
func TestL04SilenceNeedsAWitness(t *testing.T) {
	t.Parallel()
	down := func(r fleet.ResultReason) fleet.View {
		return fleet.View{
			Machine: fleet.Machine{
				Current: fleet.Incarnation{ID: "i", Host: "h1"},
				Health:  fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks},
			},
			Checks: []fleet.CheckState{{Check: "alive", Standing: fleet.StandingDown, Result: r}},
		}
	}
	silent, refuses, well, suspect, off, away, elsewhere := down(fleet.ResultTimeout), down(fleet.ResultRefused),
		down(""), down(""), down(""), down(fleet.ResultTimeout), down("")
	well.Machine.Health, well.Checks = fleet.Health{Verdict: fleet.VerdictHealthy}, nil
	suspect.Machine.Health.Verdict, suspect.Checks[0].Standing = fleet.VerdictSuspect, fleet.StandingFailing
	off.Machine.Health.Cause, off.Checks = fleet.CauseCrashed, nil
	away.Machine.Quarantine = &fleet.Quarantine{}
	elsewhere.Machine, elsewhere.Checks = well.Machine, nil
	elsewhere.Machine.Current.Host = "h2"
	for name, c := range map[string]struct {
		on   []fleet.View
		mute bool
	}{
		"one alone has no witness":            {[]fleet.View{silent}, false},
		"two are silent":                      {[]fleet.View{silent, silent}, true},
		"one is silent, and one not heard":    {[]fleet.View{silent, suspect}, true},
		"one is well":                         {[]fleet.View{silent, silent, well}, false},
		"one refuses connections":             {[]fleet.View{silent, silent, refuses}, false},
		"both refuse connections":             {[]fleet.View{refuses, refuses}, false},
		"the other is off":                    {[]fleet.View{silent, off}, false},
		"the other is in quarantine":          {[]fleet.View{silent, away}, false},
		"who is well elsewhere is no witness": {[]fleet.View{silent, silent, elsewhere}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			views := slices.Clone(c.on)
			var r round
			var works []*work
			for i := range views {
				views[i].Machine.Name = fleet.Name("web").Machine(i + 1)
				if views[i].Machine.Health.Verdict != fleet.VerdictHealthy {
					w := &work{index: i}
					w.M, w.View = &views[i].Machine, &views[i]
					works = append(works, w)
				}
			}
			r.s.Spec.Size = len(views)
			s := guard.Situation{Spec: r.s.Spec, Hosts: []fleet.Host{{Name: "h1", Up: true}, {Name: "h2", Up: true}}}
			if got := mute(works, views, &s, r.cannotAnswer); (len(got) == 1 && got[0] == "h1") != c.mute || len(got) > 1 {
				t.Errorf("mute: %v", got)
			}
		})
	}
}
