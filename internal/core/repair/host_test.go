package repair_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/situation"
)

// The proof that a host is off is good as long as the host does not answer, and a word as long as it counts: whatever
// is built afterwards needs another one (L1).
func TestTheProofOfAHostIsNotKept(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: 1000, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	counts := belief.HostProof{Host: "h1", Proof: fleet.ProofWord, Until: now.Wall.Add(1), Ends: now.Mono + 1}
	over := counts
	over.Ends = now.Mono
	for name, c := range map[string]struct {
		proof  fleet.Proof
		up     bool
		known  []belief.HostProof
		older  fleet.Power // of what an earlier repair left on h0, which answers
		builds bool
	}{
		"it is dark as before":          {proof: fleet.ProofHostOff, builds: true},
		"it answers":                    {proof: fleet.ProofHostOff, up: true},
		"the word counts":               {proof: fleet.ProofWord, known: []belief.HostProof{counts}, builds: true},
		"the word is over":              {proof: fleet.ProofWord, known: []belief.HostProof{over}},
		"the word is forgotten":         {proof: fleet.ProofWord},
		"the word, and it answers":      {proof: fleet.ProofWord, known: []belief.HostProof{counts}, up: true},
		"an older one runs by now":      {proof: fleet.ProofHostOff, older: fleet.PowerRunning},
		"an older one is off":           {proof: fleet.ProofHostOff, older: fleet.PowerOff, builds: true},
		"the provider saw it gone":      {proof: fleet.ProofDeleted, up: true, builds: true},
		"the provider saw it off":       {proof: fleet.ProofConfirmedOff, up: true, builds: true},
		"nothing is known, and it's up": {proof: fleet.ProofNone, up: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := belief.Incarnation{ID: "old", Host: "h1", Generation: 2, Certified: true}
			m := belief.Machine{Name: "web-1", Generation: 2, Incident: &belief.Incident{ID: "web-1/1"},
				Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseGone}}
			m.Leave(belief.Incarnation{ID: "older", Host: "h0", Generation: 1, Certified: true}, fleet.ProofHostOff,
				now)
			m.Leave(target, c.proof, now)
			m.Repair = &belief.Repair{
				ID:   "web-1/r1",
				Kind: belief.RepairHeal,
				Climb: belief.Climb{
					Step: fleet.StepRecreate,
					Aim: belief.Aim{
						Removed: true,
						Target:  target,
						Finding: belief.Finding{Confirmed: true, Proof: c.proof},
					},
					Stage: belief.Stage{Phase: belief.PhaseAct},
				},
			}
			view := &situation.View{Machine: m, FreshID: "new", Seen: []fleet.Sighting{{Asked: 999,
				Instance: fleet.Instance{ID: "older", Power: c.older}}}}
			w := repair.Work{Chart: chart.Chart{M: &m, View: view,
				Load: func() map[fleet.HostName]int { return map[fleet.HostName]int{} }, Situation: &guard.Situation{
					State: situation.State{
						Spec: policy.Spec{Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepRecreate,
							Timeout: time.Minute}}, Attempts: 3, AttemptsIn: time.Hour,
							Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff, Word: true}}},
						Now:      now,
						Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
						Whole:    belief.Whole{Fenced: c.known},
						Hosts:    []fleet.Host{{Name: "h0", Up: true}, {Name: "h1", Up: c.up}, {Name: "h2", Up: true}},
					},
					View: view,
				}}}
			w.Advance()
			built := false
			for _, a := range w.Actions {
				built = built || a.Kind == situation.ActionCall && a.Intent.Op == fleet.OpCreate
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
			target := belief.Incarnation{ID: "old", Host: "h1", Generation: 2, Certified: true}
			m := belief.Machine{Name: "web-1", Generation: 2, Incident: &belief.Incident{ID: "web-1/1"},
				Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseGone}}
			m.Leave(target, fleet.ProofAccessCut, now)
			m.Repair = &belief.Repair{
				ID:   "web-1/r1",
				Kind: belief.RepairHeal,
				Climb: belief.Climb{
					Step: fleet.StepRecreate,
					Aim: belief.Aim{
						Removed:  true,
						Target:   target,
						OffCalls: 2,
						Finding: belief.Finding{
							Confirmed: true, Proof: fleet.ProofAccessCut, ProvenAt: now.Mono.Add(-c.seen),
						},
					},
					Stage: belief.Stage{Phase: belief.PhaseAct},
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
			view := &situation.View{Machine: m, FreshID: "new"}
			w := repair.Work{Chart: chart.Chart{M: &m, View: view,
				Load: func() map[fleet.HostName]int { return map[fleet.HostName]int{} }, Situation: &guard.Situation{
					State: situation.State{
						Spec: policy.Spec{Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepRecreate,
							Timeout: time.Minute}}, Attempts: 3, AttemptsIn: time.Hour,
							Fence: fleet.Fence{Proof: c.demand,
								Hosts: true}, Silence: policy.SilenceActs}},
						Now:      now,
						Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
						Hosts: []fleet.Host{{Name: "h1", Up: c.up, Fence: c.means}, {Name: "h2", Up: c.place},
							{Name: "h3", Up: true, Fence: fleet.Means{Access: fleet.AccessCut}}},
					},
					View: view,
				}}}
			w.Advance()
			got := fleet.Op("")
			for _, a := range w.Actions {
				if a.Kind == situation.ActionCall {
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

// lost is a machine on a host that does not answer, and that hale may turn off, or else cut.
func lost(t *testing.T, step fleet.StepKind, means fleet.Means) *stage {
	t.Helper()
	st := newStage(t, steps[step], steps[fleet.StepPage])
	means.Limit = 7 * time.Second
	st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: means}
	return st
}

// silent is a look at a machine on a lost host: the provider says nothing of it.
func (st *stage) silent(page fleet.Standing) { st.show(fleet.Instance{}, page) }

// The host of a machine is turned off instead of the machine: what it leaves behind there is off, and the next one is
// built elsewhere. A person is told of the host.
func TestTheHostIsTurnedOffInstead(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 2})
	st.want("it begins", st.begin(), "repair-started heal; then recreate; LOOK; look")
	st.silent(fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL fence old; act")
	if in := st.action().Intent; in.Host != "h1" || in.Try != 1 || in.Limit != 7*time.Second ||
		in != *st.m.Repair.Intent {
		t.Errorf("it is ordered as %+v", in)
	}
	st.ends(fleet.OutcomeDone)
	st.want("its host is off", st.round(), "proven host-off; paged host-fenced; left-behind; CALL create new; act")
	l := st.m.Left
	if len(l) != 1 || l[0].ID != "old" || l[0].Proof != fleet.ProofHostOff || st.m.Repair.Next.Host != "h2" {
		t.Errorf("left behind is %+v, and it is built on %s", l, st.m.Repair.Next.Host)
	}
}

// Each try to fence a host follows a look of its own. When all are in vain, nothing takes the machine's place: the
// repair ends, and is tried again soon, since the host may be back.
func TestL1AHostThatCannotBeTurnedOff(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1, Cuts: 1})
	st.s.Spec.Repair.Fence.Proof = fleet.ProofAccessCut
	st.begin()
	for try, proof := range []fleet.Proof{"", fleet.ProofAccessCut} {
		st.silent(fleet.StandingDown)
		st.want("it fails", st.round(), "look confirmed; CALL fence old; act")
		if got := st.record(record.Intent).Proof; got != proof || st.action().Intent.Try != try+1 {
			t.Errorf("try %d is for %q", st.action().Intent.Try, got)
		}
		st.ends(fleet.OutcomeFailed)
		st.round()
		st.due()
		st.want("in vain", st.round(), "LOOK; look")
	}
	st.silent(fleet.StandingDown)
	st.want("all in vain", st.round(),
		"look confirmed; repair-ended fence-failed; held fence-failed; paged fence-failed; over, again in 5s")
	if st.m.Current.ID != "old" || len(st.m.Attempts) != 1 {
		t.Errorf("it is given up, or the try counts: %+v", st.m)
	}
}

// A call to fence that was not sent is none, and what was done before is no page; one whose answer was lost may have
// been carried out, so that it is.
func TestWhoTurnedTheHostOff(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpFence](t)
	st.ends(fleet.OutcomeNotSent)
	st.round()
	if got := st.m.Repair.OffCalls; got != 0 {
		t.Errorf("an order that was not sent counts: %d", got)
	}
	for name, c := range map[string]struct {
		struck, already bool
		want            string
	}{
		"hale": {false, false,
			"proven host-off; paged host-fenced; left-behind; CALL create new; act"},
		"it was off": {false, true, "proven host-off; left-behind; CALL create new; act"},
		"hale, as it may have been": {true, true,
			"proven host-off; paged host-fenced; left-behind; CALL create new; act"},
	} {
		st := calling[fleet.OpFence](t)
		if c.struck {
			st.ends(fleet.OutcomeUnknown)
			st.want("the answer is lost", st.round(), "look in 500ms")
			st.due()
			st.round()
			st.silent(fleet.StandingDown)
			st.want("it fails", st.round(), "look confirmed; CALL fence old; act")
		}
		st.ends(fleet.OutcomeDone)
		st.view.Outcome.Already = c.already
		st.want(name, st.round(), c.want)
	}
}

// An instance without access may still run. Hale builds beside it only if the policy takes that for proof when it
// builds, and leaves the host cut.
func TestWhatACutIsWorth(t *testing.T) {
	t.Parallel()
	for demand, want := range map[fleet.Proof]string{
		fleet.ProofAccessCut:    "proven access-cut; paged host-cut; left-behind; CALL create new; act",
		fleet.ProofConfirmedOff: "paged host-cut; act in 500ms",
	} {
		st := calling[fleet.OpFence](t)
		st.s.Spec.Repair.Fence.Proof = demand
		st.ends(fleet.OutcomeDone)
		st.view.Outcome.Proof = fleet.ProofAccessCut
		st.want(string(demand), st.round(), want)
		if cut := demand == fleet.ProofAccessCut; cut && !st.m.Left[0].Cut() {
			t.Errorf("it is left as %+v", st.m.Left)
		}
	}
}

// A host is left as it is for a while before it is fenced, so that of two hales that take each other's side for dead
// one is quicker. Only what is looked at when that time is over decides.
func TestAHostIsGivenTime(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1, Delay: 10 * time.Second})
	st.begin()
	st.silent(fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; held fence-delay; look")
	st.pass(10*time.Second - 1)
	st.want("a moment before", st.round(), "look")
	st.pass(1)
	st.want("the time is over", st.round(), "LOOK; look")
	st.silent(fleet.StandingDown)
	st.want("it fails still", st.round(), "look confirmed; CALL fence old; act")

	st = lost(t, fleet.StepRecreate, fleet.Means{Tries: 1, Delay: 10 * time.Second})
	st.begin()
	st.silent(fleet.StandingDown)
	st.round()
	st.s.Hosts[0].Up = true
	st.want("its host is back", st.round(), "then recreate; LOOK; look")
}

// A host that answers again is none to be left: what was chosen without it is chosen anew, also a gentler step.
func TestAHostThatCameBack(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1})
	st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepReboot], steps[fleet.StepRecreate]}
	st.want("it begins", st.begin(), "repair-started heal; step-skipped host-down; then recreate; LOOK; look")
	st.s.Hosts[0].Up = true
	st.want("it is back", st.round(), "then reboot; LOOK; look")

	st = lost(t, fleet.StepRecreate, fleet.Means{Tries: 1})
	st.begin()
	st.silent(fleet.StandingDown)
	st.round()
	st.ends(fleet.OutcomeFailed)
	st.s.Hosts[0].Up = true
	st.m.Repair.Phase, st.m.Repair.Confirmed = belief.PhaseAct, true
	st.want("after a try", st.round(), "look in 500ms")
	st.due()
	st.want("it is chosen anew", st.round(), "then recreate; LOOK; look")
}

// Hale does not turn off a host on which a machine answers. The repair ends, and makes room for others.
func TestAHostThatServesIsNotTurnedOff(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*guard.Situation){
		"another fleet's machine answers": func(s *guard.Situation) { s.Hosts[0].Serves = true },
		"one of this fleet answers":       func(s *guard.Situation) { s.Answering = []fleet.HostName{"h1"} },
		"the policy does not want it":     func(s *guard.Situation) { s.Spec.Repair.Fence.Hosts = false },
		"it has no means":                 func(s *guard.Situation) { s.Hosts[0].Fence = fleet.Means{} },
	} {
		st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1})
		st.begin()
		set(&st.s)
		st.want(name, st.round(), "repair-ended host-down; held host-down; over")
		if len(st.m.Attempts) != 1 {
			t.Errorf("%s: what was not done counts", name)
		}
	}
}

// A person says that the host is off, and the policy takes their word: nothing is turned off.
func TestAPersonsWordOnAHost(t *testing.T) {
	t.Parallel()
	for word, want := range map[bool]string{
		true:  "look confirmed; proven word; left-behind; CALL create new; act",
		false: "look confirmed; CALL fence old; act",
	} {
		st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1})
		st.s.Spec.Repair.Fence.Word = word
		st.s.Whole.Fenced = []belief.HostProof{{Host: "h1", Proof: fleet.ProofWord, Until: st.s.Now.Wall.Add(time.Hour),
			Ends: hour.Add(time.Hour)}}
		st.begin()
		st.silent(fleet.StandingDown)
		st.want("the policy takes it", st.round(), want)
	}
}

// Of a lost host's machine only a step that leads elsewhere is of use, and only what its loss does not take along for
// ever.
func TestWhichStepsLeaveALostHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string // of those that fit
	}{
		"it can be turned off": {func(*stage) {}, "evacuate page quarantine recreate"},
		"it can only be cut": {func(st *stage) {
			st.s.Hosts[0].Fence = fleet.Means{Cuts: 1}
			st.s.Spec.Repair.Fence.Proof = fleet.ProofAccessCut
		}, "page quarantine recreate"},
		"it can only be cut, and is said to be off": {func(st *stage) {
			st.s.Hosts[0].Fence = fleet.Means{Cuts: 1}
			st.s.Spec.Repair.Fence = fleet.Fence{Proof: fleet.ProofAccessCut, Hosts: true, Word: true}
			st.s.Whole.Fenced = []belief.HostProof{{Host: "h1", Proof: fleet.ProofWord, Until: st.s.Now.Wall.Add(1),
				Ends: hour + 1}}
		}, "evacuate page quarantine recreate"},
		"a disk would be lost": {func(st *stage) { st.s.Spec.Template.Disks = []policy.Disk{{Name: "data"}} },
			"page quarantine"},
		"a disk would be lost, which is put aside": {func(st *stage) {
			st.s.Spec.Template.Disks, st.s.Spec.Repair.Steps[0].KeepOld = []policy.Disk{{Name: "data"}}, time.Hour
		}, "page quarantine"},
		"name and address are the cloud's": {func(st *stage) { st.s.Hosts[0].Closed = true },
			"evacuate page quarantine"},
		"nothing may be done to it": {func(st *stage) { st.s.Hosts[0].Serves = true },
			"evacuate page quarantine reboot recreate"},
		"it is not lost": {func(st *stage) { st.s.Hosts[0].Up = true }, "page quarantine reboot recreate"},
		"it is not lost, and is to be empty": {func(st *stage) {
			st.s.Hosts[0].Up, st.s.Hosts[0].Disabled, st.m.Health.Cause = true, true, belief.CauseDisabled
		}, "migrate page quarantine recreate"},
	} {
		var fit []string
		for _, kind := range []fleet.StepKind{fleet.StepEvacuate, fleet.StepMigrate, fleet.StepPage,
			fleet.StepQuarantine,
			fleet.StepReboot, fleet.StepRecreate} {
			st := lost(t, fleet.StepPage, fleet.Means{Tries: 1})
			st.s.Spec.Repair.Steps = []policy.Step{{Kind: kind}}
			c.set(st)
			if _, some := ladder.FirstStep(&st.m, &st.s); some {
				fit = append(fit, string(kind))
			}
		}
		if got := strings.Join(fit, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// An evacuation turns the host off and has the instance itself go on elsewhere. A cut would not do: it would run twice.
func TestAnEvacuation(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepEvacuate, fleet.Means{Tries: 1, Cuts: 3})
	st.s.Spec.Repair.Fence.Proof = fleet.ProofAccessCut
	st.want("it begins", st.begin(), "repair-started heal; then evacuate; LOOK; look")
	st.silent(fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL fence old; act")
	st.ends(fleet.OutcomeDone)
	st.want("its host is off", st.round(), "proven host-off; paged host-fenced; CALL evacuate old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it goes on elsewhere", st.round(), "verify")
	if got := st.m.Repair.Deadline.Sub(st.s.Now.Mono); got != time.Minute || st.m.Current.ID != "old" {
		t.Errorf("it is %s, and has %v", st.m.Current.ID, got)
	}

	st = lost(t, fleet.StepEvacuate, fleet.Means{Tries: 1, Cuts: 3})
	st.s.Spec.Repair.Fence.Proof = fleet.ProofAccessCut
	st.begin()
	st.silent(fleet.StandingDown)
	st.round()
	st.ends(fleet.OutcomeFailed)
	st.round()
	st.due()
	st.round()
	st.silent(fleet.StandingDown)
	st.want("it cannot be turned off", st.round(),
		"look confirmed; repair-ended fence-failed; held fence-failed; paged fence-failed; over, again in 5s")
}

// L1: what is known of the host is old when the order is about to be given: it is back, or its word counts no more.
func TestL1AnEvacuationNeedsItsHostOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"it is off": {func(*stage) {}, "CALL evacuate old; act"},
		"it is back": {func(st *stage) { st.s.Hosts[0].Up = true },
			"step-skipped host-up; then page; LOOK; look"},
		"a word, and it counts no more": {func(st *stage) {
			st.m.Repair.Proof, st.s.Spec.Repair.Fence.Word = fleet.ProofWord, true
		}, "LOOK; look"},
		"the policy demands more by now": {func(st *stage) { st.s.Spec.Repair.Fence.Proof = fleet.ProofDeleted },
			"repair-ended host-down; held host-down; over, again in 5s"},
		"only the instance is": {func(st *stage) { st.m.Repair.Proof = fleet.ProofConfirmedOff },
			"CALL fence old; act"},
	} {
		st := calling[fleet.OpEvacuate](t)
		st.m.Repair.Intent = nil
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// L12: a move without an answer is looked for, and then sent again, if another look still wants it. What is seen on
// another host has moved.
func TestL12AMoveWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, op := range []fleet.Op{fleet.OpMigrate, fleet.OpEvacuate} {
		st := calling[op](t)
		st.ends(fleet.OutcomeUnknown)
		for range 5 {
			st.want("nothing is said of it", st.round(), "ASK old; act")
			st.due()
		}
		st.want("for long", st.round(), "look in 16s")

		st = calling[op](t)
		st.ends(fleet.OutcomeUnknown)
		st.view.Seen = []fleet.Sighting{{Asked: hour, Instance: marked("old", "h2", fleet.PowerRunning, 1)}}
		st.want("it was there before", st.round(), "ASK old; act")
		st.seen(marked("old", "h2", fleet.PowerPaused, 1))
		st.want("it is there", st.round(), "verify")
		if got := st.record(record.Outcome).Detail; got != "observed on h2" {
			t.Errorf("%s: it is said %q", op, got)
		}
	}
}

// The provider's operator wants a host to be empty, and the policy follows: a machine that serves is moved, after a
// look that finds it there still.
func TestAMigration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"it is there": {func(*stage) {}, "look confirmed; CALL migrate old; act"},
		"it moved": {func(st *stage) { st.view.Look.Seen.Instance.Host = "h2" },
			"look refuted; repair-ended refuted; over, again in 5s"},
		"its host is as any": {func(st *stage) { st.s.Hosts[0].Disabled = false },
			"look refuted; repair-ended refuted; over, again in 5s"},
		"the policy is to stay": {func(st *stage) { st.s.Spec.Repair.OnHostDisabled = policy.HostDisabledIgnore },
			"look refuted; repair-ended refuted; over, again in 5s"},
		"nothing is said of it": {func(st *stage) { st.view.Look.Seen = fleet.Sighting{} },
			"look look-unclear; held look-unclear; look in 500ms"},
	} {
		st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepMigrate]).fails(belief.CauseDisabled)
		st.s.Hosts[0].Disabled, st.s.Spec.Repair.OnHostDisabled = true, policy.HostDisabledHeal
		st.want("it begins", st.begin(), "repair-started heal; step-skipped host-disabled; then migrate; LOOK; look")
		if got := st.action().Scope; got != situation.LookProvider {
			t.Errorf("checks, which succeed, are asked: %s", got)
		}
		st.answer(fleet.PowerRunning, fleet.StandingUp)
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// L1: a repair that ends with nothing in the place of what it left behind has its machine take that back: the next one
// looks at it and proves it off anew, since its host may have been turned on meanwhile.
func TestL1WhatWasLeftIsTakenBack(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpFence](t)
	st.s.Hosts = st.s.Hosts[:1]
	st.ends(fleet.OutcomeDone)
	st.want("nowhere to build", st.round(),
		"proven host-off; paged host-fenced; left-behind; held no-host; act in 500ms")
	epoch := st.m.Epoch
	st.want("a person has it their way", st.play((*work).Overrule), "repair-ended overruled; over")
	if st.m.Current.ID != "old" || len(st.m.Left) != 0 || st.m.Epoch == epoch {
		t.Errorf("the machine has %+v, and left %+v", st.m.Current, st.m.Left)
	}
}

// L1: what was left behind off runs by now, or what was cut may write again: nothing is built beside it.
func TestL1WhatWasLeftRuns(t *testing.T) {
	t.Parallel()
	const fails = "repair-ended still-running; held backoff; over, again in 5s"
	for name, c := range map[string]struct {
		power    fleet.Power
		up, open bool
		want     string
	}{
		"it runs":                         {fleet.PowerRunning, true, false, fails},
		"it is off":                       {fleet.PowerOff, true, false, "CALL create new; act"},
		"it ran before its host was lost": {fleet.PowerRunning, false, false, "CALL create new; act"},
		"it may write":                    {fleet.PowerOff, false, true, fails},
	} {
		st := building(t, fleet.Host{Name: "h0", Up: c.up}, host("h2", ""))
		st.m.Leave(belief.Incarnation{ID: "older", Host: "h0", Generation: 1}, fleet.ProofAccessCut, st.s.Now)
		st.m.Left[0].Open = c.open
		st.view.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "older", Host: "h0", Power: c.power}}}
		st.want(name, st.round(), c.want)
	}
}

// A host that is back, and is still cut, has what was left behind there turned off like any other instance: it could
// not write. Where it was moved, or its host is not known to be cut, it is in use.
func TestWhatIsCutStillIsTurnedOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want bool
	}{
		"it is":                        {func(*stage) {}, true},
		"it was left off":              {func(st *stage) { st.m.Left[0].Proof = fleet.ProofHostOff }, false},
		"it may write":                 {func(st *stage) { st.m.Left[0].Open = true }, false},
		"it was moved":                 {func(st *stage) { st.view.Seen[0].Instance.Host = "h2" }, false},
		"its host does not answer":     {func(st *stage) { st.s.Hosts[0].Up = false }, false},
		"its host is open":             {func(st *stage) { st.s.Hosts[0].Fence.Access = fleet.AccessOpen }, false},
		"its host was cut before that": {func(st *stage) { st.s.Hosts[0].Fence.AccessAt = st.m.Left[0].Since }, false},
		"it was not left":              {func(st *stage) { st.m.Left = nil }, false},
	} {
		st := newStage(t)
		st.m.Leave(belief.Incarnation{ID: "left", Host: "h1"}, fleet.ProofAccessCut, st.s.Now)
		st.s.Hosts[0].Fence = fleet.Means{Access: fleet.AccessCut, AccessAt: st.s.Now.Mono + 1}
		st.seen(fleet.Instance{ID: "left", Host: "h1", Power: fleet.PowerRunning})
		c.set(st)
		if got := st.work().HeldCut("left"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// L1: a host is off, as its power controller says, and a check of the machine succeeds. One of the two is wrong, so
// that nothing takes the machine's place. What the check heard of an earlier start says nothing of now.
func TestAHostThatIsOffAndAMachineThatAnswers(t *testing.T) {
	t.Parallel()
	for epoch, want := range map[uint64]string{
		1: "repair-ended no-proof; quarantined no-proof; paged no-proof; over",
		0: "proven host-off; paged host-fenced; left-behind; CALL create new; act",
	} {
		st := calling[fleet.OpFence](t)
		st.view.Epoch, st.view.Checks[0].Standing = epoch, fleet.StandingUp
		st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: fleet.OutcomeDone}
		st.want("fenced", st.round(), want)
	}
}

// The policy was edited while a host was cut, and demands more by then. What comes next needs a look of its own, and so
// it does when the host answers meanwhile.
func TestACutThatIsWorthNothingByNow(t *testing.T) {
	t.Parallel()
	for up, want := range map[bool]string{false: "LOOK; look", true: "then recreate; LOOK; look"} {
		st := calling[fleet.OpFence](t)
		st.s.Spec.Repair.Fence.Proof = fleet.ProofConfirmedOff
		st.ends(fleet.OutcomeDone)
		st.view.Outcome.Proof = fleet.ProofAccessCut
		st.round()
		st.due()
		st.s.Hosts[0].Up = up
		st.want("then", st.round(), want)
	}
}

// What was left behind has to be proven off once more after a restart. Its host is given its time then, too; nothing is
// left to look at.
func TestAHostIsGivenTimeAgain(t *testing.T) {
	t.Parallel()
	st := building(t, fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 1, Limit: time.Second, Delay: 10 * time.Second}},
		host("h2", ""))
	st.m.Leave(st.m.Repair.Target, fleet.ProofHostOff, st.s.Now)
	st.restarts()
	st.want("hale died", st.round(), "held fence-delay; act in 10s")
	st.pass(10*time.Second - 1)
	st.want("a moment before", st.round(), "act in 1ns")
	st.pass(1)
	st.want("the time is over", st.round(), "CALL fence old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is off", st.round(), "proven host-off; paged host-fenced; CALL create new; act")
}

// L1: the host may not be turned off any more, when what was left behind there has to be proven off once more: it is
// waited for.
func TestL1WhatWasLeftIsWaitedFor(t *testing.T) {
	t.Parallel()
	st := building(t, fleet.Host{Name: "h1", Serves: true, Fence: fleet.Means{Tries: 1, Limit: time.Second}},
		host("h2", ""))
	st.m.Leave(st.m.Repair.Target, fleet.ProofHostOff, st.s.Now)
	st.restarts()
	st.want("hale died", st.round(), "held host-down; act")
}
