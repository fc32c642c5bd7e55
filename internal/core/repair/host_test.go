package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/repair"
)

// The proof that a host is off is good as long as the host does not answer, and a word as long as it counts: whatever
// is built afterwards needs another one (L1).
func TestTheProofOfAHostIsNotKept(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: 1000, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	counts := fleet.HostProof{Host: "h1", Proof: fleet.ProofWord, Until: now.Wall.Add(1), Ends: now.Mono + 1}
	over := counts
	over.Ends = now.Mono
	for name, c := range map[string]struct {
		proof  fleet.Proof
		up     bool
		known  []fleet.HostProof
		older  fleet.Power // of what an earlier repair left on h0, which answers
		builds bool
	}{
		"it is dark as before":          {proof: fleet.ProofHostOff, builds: true},
		"it answers":                    {proof: fleet.ProofHostOff, up: true},
		"the word counts":               {proof: fleet.ProofWord, known: []fleet.HostProof{counts}, builds: true},
		"the word is over":              {proof: fleet.ProofWord, known: []fleet.HostProof{over}},
		"the word is forgotten":         {proof: fleet.ProofWord},
		"the word, and it answers":      {proof: fleet.ProofWord, known: []fleet.HostProof{counts}, up: true},
		"an older one runs by now":      {proof: fleet.ProofHostOff, older: fleet.PowerRunning},
		"an older one is off":           {proof: fleet.ProofHostOff, older: fleet.PowerOff, builds: true},
		"the provider saw it gone":      {proof: fleet.ProofDeleted, up: true, builds: true},
		"the provider saw it off":       {proof: fleet.ProofConfirmedOff, up: true, builds: true},
		"nothing is known, and it's up": {proof: fleet.ProofNone, up: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := fleet.Incarnation{ID: "old", Host: "h1", Generation: 2, Certified: true}
			m := fleet.Machine{Name: "web-1", Generation: 2, Incident: &fleet.Incident{ID: "web-1/1"},
				Health: fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseGone}}
			m.Leave(fleet.Incarnation{ID: "older", Host: "h0", Generation: 1, Certified: true}, fleet.ProofHostOff, now)
			m.Leave(target, c.proof, now)
			m.Repair = &fleet.Repair{
				ID:   "web-1/r1",
				Kind: fleet.RepairHeal,
				Climb: fleet.Climb{
					Step: fleet.StepRecreate,
					Aim: fleet.Aim{
						Removed: true,
						Target:  target,
						Finding: fleet.Finding{Confirmed: true, Proof: c.proof},
					},
					Stage: fleet.Stage{Phase: fleet.PhaseAct},
				},
			}
			view := &fleet.View{Machine: m, FreshID: "new", Seen: []fleet.Sighting{{Asked: 999,
				Instance: fleet.Instance{ID: "older", Power: c.older}}}}
			w := repair.Work{Chart: repair.Chart{M: &m, View: view,
				Load: func() map[fleet.HostName]int { return map[fleet.HostName]int{} }, Situation: &guard.Situation{
					Spec: fleet.Spec{Repair: fleet.RepairPolicy{Steps: []fleet.Step{{Kind: fleet.StepRecreate,
						Timeout: time.Minute}}, Attempts: 3, AttemptsIn: time.Hour,
						Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff, Word: true}}},
					Now: now, View: view, Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
					Whole: fleet.Whole{Fenced: c.known},
					Hosts: []fleet.Host{{Name: "h0", Up: true}, {Name: "h1", Up: c.up}, {Name: "h2", Up: true}},
				}}}
			w.Advance()
			built := false
			for _, a := range w.Actions {
				built = built || a.Kind == fleet.ActionCall && a.Intent.Op == fleet.OpCreate
			}
			if built != c.builds {
				t.Errorf("built: %t; actions %+v, records %+v", built, w.Actions, w.Records)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A cut is built upon only right after it was seen, on a host that does not answer, by a method that the policy takes;
// or it is seen once more (L1).
func TestL1ACutIsBuiltUponOnlyAtOnce(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	open := fleet.Means{Cuts: 2, Limit: time.Second, Access: fleet.AccessOpen, AccessAt: now.Mono}
	for name, c := range map[string]struct {
		demand fleet.Proof
		seen   time.Duration // how long ago it was seen cut; negative: before a restart
		means  fleet.Means
		up     bool
		place  bool // there is somewhere to build
		want   fleet.Op
	}{
		"seen just now":                       {seen: 0, place: true, want: fleet.OpCreate},
		"seen as long ago as may be":          {seen: 5 * time.Second, place: true, want: fleet.OpCreate},
		"seen a moment longer ago":            {seen: 5*time.Second + 1, place: true, want: fleet.OpFence},
		"seen long ago, and nowhere to build": {seen: time.Minute},
		"seen before a restart":               {seen: -1, place: true, want: fleet.OpFence},
		"open since":                          {seen: time.Second, means: open, place: true, want: fleet.OpFence},
		"the host answers":                    {seen: 0, up: true, place: true},
		"and the policy demands more by now":  {demand: fleet.ProofConfirmedOff, seen: 0, place: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := fleet.Incarnation{ID: "old", Host: "h1", Generation: 2, Certified: true}
			m := fleet.Machine{Name: "web-1", Generation: 2, Incident: &fleet.Incident{ID: "web-1/1"},
				Health: fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseGone}}
			m.Leave(target, fleet.ProofAccessCut, now)
			m.Repair = &fleet.Repair{
				ID:   "web-1/r1",
				Kind: fleet.RepairHeal,
				Climb: fleet.Climb{
					Step: fleet.StepRecreate,
					Aim: fleet.Aim{
						Removed:   true,
						Target:    target,
						OffOrders: 2,
						Finding: fleet.Finding{
							Confirmed: true, Proof: fleet.ProofAccessCut, ProvenAt: now.Mono.Add(-c.seen),
						},
					},
					Stage: fleet.Stage{Phase: fleet.PhaseAct},
				},
			}
			if c.seen < 0 {
				m.Repair.ProvenAt = 0
			}
			if c.means.Cuts == 0 {
				c.means = fleet.Means{Cuts: 2, Limit: time.Second}
			}
			if c.demand == "" {
				c.demand = fleet.ProofAccessCut
			}
			view := &fleet.View{Machine: m, FreshID: "new"}
			w := repair.Work{Chart: repair.Chart{M: &m, View: view,
				Load: func() map[fleet.HostName]int { return map[fleet.HostName]int{} }, Situation: &guard.Situation{
					Spec: fleet.Spec{Repair: fleet.RepairPolicy{Steps: []fleet.Step{{Kind: fleet.StepRecreate,
						Timeout: time.Minute}}, Attempts: 3, AttemptsIn: time.Hour, Fence: fleet.Fence{Proof: c.demand,
						Hosts: true}, Silence: fleet.SilenceActs}},
					Now: now, View: view, Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
					Hosts: []fleet.Host{{Name: "h1", Up: c.up, Fence: c.means}, {Name: "h2", Up: c.place},
						{Name: "h3", Up: true, Fence: fleet.Means{Access: fleet.AccessCut}}},
				}}}
			w.Advance()
			got := fleet.Op("")
			for _, a := range w.Actions {
				if a.Kind == fleet.ActionCall {
					got = a.Intent.Op
				}
			}
			if got != c.want {
				t.Errorf("it calls %q, want %q; actions %+v, records %+v", got, c.want, w.Actions, w.Records)
			}
			if got == fleet.OpCreate && m.Repair.Next.Host != "h2" {
				t.Errorf("it is built on %s", m.Repair.Next.Host)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
