package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/evidence"
	"hale/internal/state/memory"
)

// ail lets web-2's page fail for good, until it is replaced.
func (s *story) ail() {
	s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByRecreate}})
}

// exhibits returns what is kept of web-2, with the last one's bytes.
func (s *story) exhibits() ([]evidence.Exhibit, evidence.Bytes) {
	s.t.Helper()
	store := s.backing.Open(nil)
	all, err := evidence.Of(s.t.Context(), store, "web-2")
	if err != nil {
		s.t.Fatal(err)
	}
	var b evidence.Bytes
	if len(all) > 0 {
		if b, err = evidence.Open(s.t.Context(), store, all[len(all)-1]); err != nil {
			s.t.Fatal(err)
		}
	}
	return all, b
}

// kept returns the only record of evidence.
func (s *story) kept() record.Record {
	s.t.Helper()
	var found []record.Record
	for _, r := range s.records() {
		if r.Kind == record.Evidence {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%d records of evidence, want one", len(found))
	}
	return found[0]
}

// Before the first disruptive call the console's end, the screen and what the checks said are in the store; the later
// rungs do not ask again, and a replaced instance leaves its console behind.
func TestEvidenceIsKeptBeforeAnythingIsDestroyed(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), softly(), rung(fleet.StepReboot), rung(fleet.StepRecreate))
	tell(t, simulated.Options{Latency: 20 * time.Millisecond}, spec, func(s *story) {
		s.grown()
		old := s.id(2)
		s.ail()
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		rec := s.kept()
		if rec.Reason != fleet.ReasonGathered || rec.Evidence.Console.Bytes == 0 ||
			rec.Evidence.Screenshot.Bytes == 0 ||
			rec.Evidence.Findings.Why != "" {
			t.Errorf("%+v %+v", rec, rec.Evidence)
		}
		all, b := s.exhibits()
		if len(all) != 1 || all[0].Instance != old || all[0].Incident != rec.Incident ||
			all[0].Power != fleet.PowerRunning {
			t.Fatalf("%+v", all)
		}
		if !strings.Contains(string(b.Console), "failure") || len(b.Screenshot) != rec.Evidence.Screenshot.Bytes {
			t.Errorf("console %q, %d bytes of screenshot", b.Console, len(b.Screenshot))
		}
		if c := all[0].Checks; len(c) != 2 || c[1].Check != "page" || c[1].Standing != fleet.StandingDown ||
			c[1].Result != fleet.ResultRefused {
			t.Errorf("findings: %+v", c)
		}
		for _, r := range s.records() {
			if r.Kind == record.Intent && r.Op.Disruptive() && r.Seq < rec.Seq {
				t.Errorf("%s before the evidence was kept", r.Op)
			}
		}
	})
}

// A start destroys nothing, so nothing is asked for.
func TestNoEvidenceIsGatheredBeforeAGentleStep(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepStart), func(s *story) {
		s.grown()
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if all, _ := s.exhibits(); len(all) != 0 || s.count(kind(record.Evidence)) != 0 {
			t.Errorf("%+v", all)
		}
	})
}

// stuck is a provider with a console that hangs, whatever its context says.
type stuck struct {
	provider.Provider
	until chan struct{}
}

func (p stuck) Console(context.Context, provider.Ref, int) ([]byte, error) {
	<-p.until
	return nil, nil
}

// Whatever becomes of the gathering, the repair goes on within the limit, and the record says what was not kept and
// why.
func TestARepairDoesNotWaitLongForEvidence(t *testing.T) {
	t.Parallel()
	calls := func(e simulated.Effect, k fault.Kind) func(s *story) {
		return func(s *story) {
			s.inject(simulated.Calls{Op: provider.OpConsole, Effect: e, Kind: k})
			s.inject(simulated.Calls{Op: provider.OpScreenshot, Effect: e, Kind: k})
		}
	}
	for name, c := range map[string]struct {
		prepare  func(s *story) // before hale starts
		spoil    func(s *story) // before the machine fails
		why      fleet.Reason   // of the console
		findings fleet.Reason
	}{
		"it fails":               {spoil: calls(simulated.Fails, fault.Permanent), why: fleet.ReasonCallFailed},
		"it cannot be done here": {spoil: calls(simulated.Fails, fault.Unsupported), why: fleet.ReasonUnsupported},
		"it hangs":               {spoil: calls(simulated.Hangs, ""), why: fleet.ReasonTooLate},
		"the provider never can": {why: fleet.ReasonUnsupported, prepare: func(s *story) {
			s.adapter = func(p provider.Provider) provider.Provider { return deprived{p} }
		}},
		"it hangs and cannot be stopped": {why: fleet.ReasonTooLate, findings: fleet.ReasonTooLate,
			prepare: func(s *story) {
				p := stuck{until: make(chan struct{})}
				s.adapter = func(behind provider.Provider) provider.Provider { p.Provider = behind; return p }
				time.AfterFunc(time.Hour, func() { close(p.until) })
			}},
		"the store has no room": {why: fleet.ReasonStoreFull, findings: fleet.ReasonStoreFull, prepare: func(s *story) {
			s.faults = fullForEvidence
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, ladder(web(3), fleet.StepReboot, fleet.StepRecreate), func(s *story) {
				if c.prepare != nil {
					c.prepare(s)
				}
				s.grown()
				if c.spoil != nil {
					c.spoil(s)
				}
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByReboot}})
				s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				rec := s.kept()
				if rec.Evidence.Console.Why != c.why || rec.Evidence.Findings.Why != c.findings {
					t.Errorf("%+v", rec.Evidence)
				}
				if waited := rec.At.Sub(s.chosen(fleet.StepReboot)); waited > fleet.GatherLimit+100*time.Millisecond {
					t.Errorf("the repair waited %v", waited)
				}
			})
		})
	}
}

// chosen returns when the step was chosen for web-2 last.
func (s *story) chosen(step fleet.StepKind) (at time.Time) {
	for _, r := range s.records() {
		if r.Kind == record.StepChosen && r.Machine == "web-2" && r.Step == step {
			at = r.At
		}
	}
	return at
}

// fullForEvidence is a store that has no room for evidence.
func fullForEvidence(_ context.Context, c memory.Call) memory.Effect {
	if c.Op == memory.OpCommit {
		for _, w := range c.Txn.Then {
			if strings.HasPrefix(w.Key, "evidence/") {
				return memory.NoSpace
			}
		}
	}
	return memory.Normal
}

// S71: hale is killed while it gathers. The next one does not begin with that again, in case it was what killed it, and
// heals.
func TestS71KilledWhileEvidenceIsGathered(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepReboot), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: provider.OpConsole, Effect: simulated.Hangs})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(time.Minute, "evidence is gathered", func() bool {
			r := s.machine(2).Repair
			return r != nil &&
				r.Gather != ""
		})
		s.kill()
		s.start()
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if rec := s.kept(); rec.Reason != fleet.ReasonNotGathered ||
			rec.Evidence.Console.Why != fleet.ReasonInterrupted {
			t.Errorf("%+v %+v", rec, rec.Evidence)
		}
	})
}

// The policy says what is kept, how much of it, and how long a repair waits.
func TestEvidenceIsKeptAsThePolicySays(t *testing.T) {
	t.Parallel()
	spec := ladder(web(3), fleet.StepReboot)
	spec.Evidence = policy.Evidence{Console: 7, NoScreenshot: true, Wait: 2 * time.Second}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if rec := s.kept(); rec.Evidence.Console.Bytes != 7 || rec.Evidence.Screenshot.Why != fleet.ReasonNotWanted {
			t.Errorf("%+v", rec.Evidence)
		}
		s.inject(simulated.Calls{Op: provider.OpConsole, Effect: simulated.Hangs})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "web-2 is healed again", func() bool { return s.heals(2) == 2 && s.healthy(2) })
		var last record.Record
		for _, r := range s.records() {
			if r.Kind == record.Evidence {
				last = r
			}
		}
		if waited := last.At.Sub(s.chosen(fleet.StepReboot)); waited > 2*time.Second ||
			last.Evidence.Console.Why != fleet.ReasonTooLate {
			t.Errorf("it waited %v: %+v", waited, last.Evidence)
		}
	})
	spec.Evidence = policy.Evidence{Off: true}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if all, _ := s.exhibits(); len(all) != 0 || s.count(kind(record.Evidence)) != 0 {
			t.Errorf("switched off, and kept: %+v", all)
		}
	})
}
