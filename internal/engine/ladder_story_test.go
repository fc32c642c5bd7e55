package engine_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// S58: what suspended itself goes on where it was; nothing is reset or replaced.
func TestS58ASuspendedMachineIsResumed(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), rung(fleet.StepStart), rung(fleet.StepResume), rung(fleet.StepReboot),
		rung(fleet.StepRecreate))
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		at, id := time.Now(), s.id(2)
		s.inject(simulated.Paused{Instance: id, By: fleet.StopGuest})
		s.await(time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if len(s.calls(fleet.OpResume, at)) != 1 || len(s.world.Calls()) == 0 || s.id(2) != id {
			t.Errorf("calls: %+v", s.world.Calls())
		}
	})
}

// A full disk is nobody's order and nothing that a resume would mend: a person is told at once, and nothing is touched.
func TestAMachineWhoseDiskIsFullIsLeftToAPersonAtOnce(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), rung(fleet.StepStart), rung(fleet.StepResume), rung(fleet.StepReboot),
		rung(fleet.StepRecreate))
	spec.Repair.OnExternalStop = policy.ExternalStopHeal
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		at := len(s.world.Calls())
		mended := s.inject(simulated.Paused{Instance: s.id(2), By: fleet.StopIOError})
		s.pass(20 * time.Second)
		if n := s.count(because(record.Paged, fleet.ReasonIOError)); n != 1 {
			t.Errorf("%d pages, want one at once", n)
		}
		s.pass(time.Hour)
		if calls := s.world.Calls()[at:]; len(calls) != 0 || s.machine(2).Waiting != fleet.ReasonIOError {
			t.Errorf("waiting for %q, calls: %+v", s.machine(2).Waiting, calls)
		}
		mended()
		s.await(2*time.Minute, "it is taken back", func() bool { return s.healthy(2) })
		if n := s.count(kind(record.Paged)); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
	})
}

// S48: a guest that hangs does not listen: the soft reboot is sent once, brings nothing, and the next step resets it.
func TestS48ASoftRebootThatNobodyHearsIsFollowedByAReset(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rungs(web(3), softly(), rung(fleet.StepReboot)), func(s *story) {
		s.grown()
		at := time.Now()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.Hung}})
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		var ops []fleet.Op
		for _, c := range s.world.Calls() {
			if c.At.After(at) {
				ops = append(ops, c.Op)
			}
		}
		if len(ops) != 2 || ops[0] != fleet.OpSoftReboot || ops[1] != fleet.OpReboot {
			t.Errorf("calls: %v", ops)
		}
		if n := s.count(because(record.StepFailed, fleet.ReasonNotVerified)); n != 1 {
			t.Errorf("%d steps failed, want the soft reboot alone", n)
		}
	})
}

// deprived is a provider without the further abilities.
type deprived struct{ provider.Provider }

// A step that the provider cannot do is skipped, with the reason; one that it only turns out not to be able to do
// fails, and the next one runs.
func TestAStepThatTheProviderCannotDoIsSkipped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lacks  bool // known from the start
		record func(record.Record) bool
	}{
		"known from the start": {true, because(record.StepSkipped, fleet.ReasonUnsupported)},
		"found out":            {false, because(record.StepFailed, fleet.ReasonUnsupported)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, rungs(web(3), softly(), rung(fleet.StepReboot)), func(s *story) {
				if c.lacks {
					s.adapter = func(p provider.Provider) provider.Provider { return deprived{p} }
				}
				s.grown()
				s.inject(simulated.Calls{Op: fleet.OpSoftReboot, Effect: simulated.Fails, Kind: fault.Unsupported})
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
				s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				if s.count(c.record) != 1 {
					t.Error("nobody is told why the step was not done")
				}
			})
		})
	}
}

// onlyFor returns the step for these checks alone.
func onlyFor(step policy.Step, checks ...fleet.CheckName) policy.Step {
	step.For = checks
	return step
}

// S20: while only the page fails, nothing that is for other checks is done, also not after every attempt failed; when
// the machine goes off as well, the quarantine ends, once, and the step for that is taken.
func TestS20StepsAreSparedForFaultsThatTheyAreNotFor(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), onlyFor(rung(fleet.StepStart), policy.ProviderTerm), onlyFor(softly(), "page"),
		onlyFor(rung(fleet.StepRecreate), "alive", policy.ProviderTerm))
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		id, at := s.id(2), len(s.world.Calls())
		cure := s.inject(simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.await(20*time.Minute, "web-2 is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		for _, c := range s.world.Calls()[at:] {
			if c.Op != fleet.OpSoftReboot {
				t.Errorf("%s for a page that fails", c.Op)
			}
		}
		s.pass(time.Hour)
		if s.id(2) != id || s.count(kind(record.Paged)) != 1 {
			t.Errorf("%d pages", s.count(kind(record.Paged)))
		}
		s.inject(simulated.Crash{Instance: id})
		s.await(time.Minute, "it is started", func() bool { return len(s.calls(fleet.OpStart, time.Time{})) == 1 })
		s.await(20*time.Minute, "it is left to a person again", func() bool { return s.machine(2).Quarantine != nil })
		s.inject(simulated.Crash{Instance: id})
		s.pass(time.Hour)
		if n := s.count(kind(record.QuarantineOver)); n != 1 || len(s.calls(fleet.OpStart, time.Time{})) != 1 {
			t.Errorf("it left its quarantine %d times, and was started %d times", n,
				len(s.calls(fleet.OpStart, time.Time{})))
		}
		cure()
		s.personStarts(2)
		s.await(5*time.Minute, "it is taken back", func() bool { return s.healthy(2) })
	})
}

// A page of the ladder gives a person time, and who mends the machine in it ends the repair.
func TestAPageGivesAPersonTime(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), policy.Step{Kind: fleet.StepPage, VerifyWithin: 10 * time.Minute}, rung(fleet.StepReboot))
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		at := len(s.world.Calls())
		cure := s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "a person is told", func() bool {
			return s.count(because(record.Paged,
				fleet.ReasonStepPage)) == 1
		})
		s.pass(8 * time.Minute)
		if v := s.machine(2).Health.Verdict; v != belief.VerdictUnhealthy {
			t.Errorf("while a person has time it is said to be %s", v)
		}
		cure()
		s.await(time.Minute, "it is healthy", func() bool { return s.healthy(2) })
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.pass(9 * time.Minute)
		if calls := s.world.Calls()[at:]; len(calls) != 0 {
			t.Errorf("calls before the time was over: %+v", calls)
		}
		s.await(5*time.Minute, "the next step helps", func() bool { return s.healthy(2) })
	})
}

func TestTheStepQuarantineLeavesTheMachineToAPerson(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rungs(web(3), rung(fleet.StepStart), policy.Step{Kind: fleet.StepQuarantine}),
		func(s *story) {
			s.grown()
			at := len(s.world.Calls())
			s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
			s.pass(time.Hour)
			q := s.machine(2).Quarantine
			if q == nil || q.Reason != fleet.ReasonStepLeave || len(s.world.Calls()) != at ||
				s.count(kind(record.Paged)) != 1 {
				t.Errorf("quarantine %+v, %d pages, calls %+v", q, s.count(kind(record.Paged)),
					s.world.Calls()[at:])
			}
		})
}

// playbook is a command that applies a machine's configuration again.
func playbook(idempotent bool) policy.Step {
	step := rung(fleet.StepRun)
	step.Run = policy.Command{Args: []string{"/usr/bin/ansible-playbook", "-i", "{ip},", "{name}.yaml"},
		Idempotent: idempotent}
	return step
}

// unconfigured lets web-2's page fail until its configuration is applied again.
func unconfigured(s *story) simulated.Fault {
	return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByCommand}}
}

// S20: the command is run once, for the machine's own address, and what it said is in the journal.
func TestS20AConfigurationIsAppliedAgain(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rungs(web(3), playbook(false), rung(fleet.StepRecreate)), func(s *story) {
		s.grown()
		id, at := s.id(2), time.Now()
		s.inject(unconfigured(s))
		s.await(time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		want := "/usr/bin/ansible-playbook -i " + s.machine(2).Address.String() + ", web-2.yaml: ok"
		said := s.count(func(r record.Record) bool {
			return r.Kind == record.Output &&
				strings.HasPrefix(r.Detail, want)
		})
		if said != 1 || len(s.calls(fleet.OpRun, at)) != 1 || s.id(2) != id {
			t.Errorf("%d records say %q; calls %+v", said, want, s.calls(fleet.OpRun, at))
		}
	})
}

// A command that does not bring health within its time has failed, and the next step runs; one that ends with another
// code than 0 has failed at once.
func TestACommandThatFailsIsFollowedByTheNextStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ill    simulated.Illness
		reason fleet.Reason
	}{
		"in vain": {simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate},
			fleet.ReasonNotVerified},
		"exit code": {simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByRecreate},
			fleet.ReasonRunFailed},
		"its time is over": {simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate},
			fleet.ReasonRunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, rungs(web(3), playbook(false), rung(fleet.StepRecreate)), func(s *story) {
				s.grown()
				if name == "its time is over" {
					s.inject(simulated.Calls{Op: fleet.OpRun, Effect: simulated.Hangs})
				}
				s.inject(simulated.Broken{Instance: s.id(2), Illness: c.ill})
				s.await(3*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				failed := s.count(func(r record.Record) bool {
					return r.Kind == record.StepFailed && r.Step == fleet.StepRun && r.Reason == c.reason
				})
				if failed != 1 {
					t.Error("nobody is told why the step failed")
				}
			})
		})
	}
}

// L12: hale dies while a command runs. Nobody knows how far it came: one that was declared idempotent is run again, and
// for any other a person is told, once, and nothing else is tried.
func TestL12ACommandIsRunAgainOnlyIfItBearsThat(t *testing.T) {
	t.Parallel()
	for name, idempotent := range map[string]bool{"idempotent": true, "not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, rungs(web(3), playbook(idempotent), rung(fleet.StepRecreate)), func(s *story) {
				s.grown()
				lift := s.inject(simulated.Calls{Op: fleet.OpRun, Times: 1, Effect: simulated.Hangs})
				s.inject(unconfigured(s))
				s.await(time.Minute, "the command runs", func() bool {
					r := s.machine(2).Repair
					return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpRun
				})
				s.pass(3 * time.Second)
				s.kill()
				lift()
				at := time.Now()
				s.start()
				s.pass(time.Hour)
				runs, q := len(s.calls(fleet.OpRun, at)), s.machine(2).Quarantine
				switch {
				case idempotent && (runs != 1 || !s.healthy(2)):
					t.Errorf("run %d times again, quarantine %+v", runs, q)
				case !idempotent && (runs != 0 || q == nil || q.Reason != fleet.ReasonRunUnclear ||
					s.count(kind(record.Paged)) != 1):
					t.Errorf("run %d times again, quarantine %+v, %d pages", runs, q, s.count(kind(record.Paged)))
				}
			})
		})
	}
}

// missing has no program.
type missing struct{}

func (missing) Run(context.Context, program.Job) (program.Result, error) {
	return program.Result{}, fault.New(fault.Invalid, "test.run", "", os.ErrNotExist)
}

// A command is told where its machine is and what it bears, and one that would have to be told what nobody knows is
// passed over.
func TestS20ACommandIsToldWhatTheInstanceBears(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"what it bears": true, "what nobody knows": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := playbook(true)
			step.Run.Args, step.Run.Env = []string{"apply", "{meta.role}@{host}"},
				[]policy.Variable{{Name: "TIER", Value: "{meta.tier}"}}
			spec := rungs(web(3), step, rung(fleet.StepRecreate))
			spec.Template.Metadata = fleet.MetadataOf(map[string]string{"role": "db", "tier": "gold"})
			if !known {
				spec.Template.Metadata = fleet.MetadataOf(map[string]string{"role": "db"})
			}
			tell(t, simulated.Options{Hosts: []fleet.HostName{"h1"}}, spec, func(s *story) {
				s.grown()
				at := time.Now()
				s.inject(unconfigured(s))
				s.await(3*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				said := s.count(func(r record.Record) bool {
					return r.Kind == record.Output && strings.HasPrefix(r.Detail, "apply db@h1: ok")
				})
				passed := s.count(func(r record.Record) bool {
					return r.Kind == record.StepSkipped && r.Reason == fleet.ReasonNoMetadata
				})
				if ran := len(s.calls(fleet.OpRun, at)); (ran == 1 && said == 1) != known || (passed == 1) == known {
					t.Errorf("run %d times, said %d times, passed over %d times", ran, said, passed)
				}
			})
		})
	}
}

// hasty cannot start its command, and meanwhile somebody takes away what it was told.
type hasty struct {
	takeAway func()
	tries    *int
}

func (h hasty) Run(context.Context, program.Job) (program.Result, error) {
	*h.tries++
	h.takeAway()
	return program.Result{}, fault.New(fault.Transient, "test.run", "", os.ErrDeadlineExceeded)
}

// What a command is to be told may be taken off the instance at any time: it is never run with something else in its
// place.
func TestACommandIsNotRunWithNothingInPlaceOfAWord(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]string{"while the look is taken": "look", "before it is tried again": "call"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := playbook(true)
			step.Run.Args = []string{"apply", "{meta.role}"}
			spec := rungs(web(3), step, rung(fleet.StepRecreate))
			for i := range spec.Checks { // so that no listing comes in between
				spec.Checks[i].Every, spec.Checks[i].Timeout = 200*time.Millisecond, 100*time.Millisecond
			}
			spec.Template.Metadata = fleet.MetadataOf(map[string]string{"role": "db"})
			tell(t, simulated.Options{}, spec, func(s *story) {
				tries := 0
				s.runner = hasty{func() { s.world.Bear(s.id(2), "") }, &tries}
				s.grown()
				s.inject(unconfigured(s))
				s.await(time.Minute, "web-2 is about to be down",
					func() bool { return s.machine(2).Health.Verdict == belief.VerdictSuspect })
				if during == "look" {
					s.world.Bear(s.id(2), "") // the provider says so when it is asked for the look
				}
				s.await(3*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				said := s.count(func(r record.Record) bool {
					return r.Reason == fleet.ReasonNoMetadata &&
						r.Detail == "{meta.role}"
				})
				if (tries == 1) != (during == "call") || said != 1 {
					t.Errorf("tried %d times; said %d times that it was not", tries, said)
				}
			})
		})
	}
}

// secretive runs nothing for want of a secret.
type secretive struct{}

func (secretive) Run(context.Context, program.Job) (program.Result, error) {
	return program.Result{}, program.NoSecret{Variable: "TOKEN", Err: os.ErrNotExist}
}

// S75: where a command's secret cannot be read a person must look, and the ladder does not go on over it.
func TestS75ACommandWithoutItsSecretDoesNotClimbTheLadder(t *testing.T) {
	t.Parallel()
	step := playbook(false)
	step.Run.Env = []policy.Variable{{Name: "TOKEN", Secret: fleet.Secret{Env: "TOKEN"}}}
	tell(t, simulated.Options{}, rungs(web(3), step, rung(fleet.StepRecreate)), func(s *story) {
		s.runner = secretive{}
		s.grown()
		id := s.id(2)
		s.inject(unconfigured(s))
		s.await(time.Minute, "web-2 is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		s.pass(time.Hour)
		if q := s.machine(2).Quarantine; q == nil || q.Reason != fleet.ReasonNoSecret || s.id(2) != id ||
			s.count(kind(record.Paged)) != 1 {
			t.Errorf("quarantine %+v, %d pages", q, s.count(kind(record.Paged)))
		}
	})
}

// A command that cannot be run at all is a person's business: the ladder does not go on over it.
func TestACommandThatIsNotThereDoesNotClimbTheLadder(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rungs(web(3), playbook(false), rung(fleet.StepRecreate)), func(s *story) {
		s.runner = missing{}
		s.grown()
		id := s.id(2)
		s.inject(unconfigured(s))
		s.await(time.Minute, "web-2 is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		s.pass(time.Hour)
		if q := s.machine(2).Quarantine; q.Reason != fleet.ReasonNoProgram || s.id(2) != id {
			t.Errorf("quarantine %+v", q)
		}
	})
}

// S48: a rebuild powers the instance off, with proof, and gives it a new disk: the same instance, at the same address.
func TestS48ARebuildKeepsTheInstance(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rungs(web(3), rung(fleet.StepRebuild), rung(fleet.StepRecreate)), func(s *story) {
		s.grown()
		id, address, at := s.id(2), s.machine(2).Address, len(s.world.Calls())
		s.inject(simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.await(time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		var ops []fleet.Op
		for _, c := range s.world.Calls()[at:] {
			ops = append(ops, c.Op)
		}
		if !slices.Equal(ops, []fleet.Op{fleet.OpPowerOff, fleet.OpRebuild}) || s.id(2) != id ||
			s.machine(2).Address != address {
			t.Errorf("calls %v, now %s at %v", ops, s.id(2), s.machine(2).Address)
		}
	})
}

// A rebuild that fails leaves the instance off, by hale's own order: the next step knows that, and without one a person
// is told. It is never taken for a person's stop. One of which nobody ever knows whether it took effect is not tried
// for ever.
func TestAFailedRebuildIsNotTakenForAPersonsStop(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]policy.Step{"with a next step": {rung(fleet.StepRecreate)},
		"without one": nil} {
		for _, why := range []fault.Kind{fault.Permanent, fault.UnknownOutcome, fault.Transient} {
			t.Run(name+", "+string(why), func(t *testing.T) {
				t.Parallel()
				spec := rungs(web(3), append([]policy.Step{rung(fleet.StepRebuild)}, more...)...)
				tell(t, simulated.Options{}, spec, func(s *story) {
					s.grown()
					s.inject(simulated.Calls{Op: fleet.OpRebuild, Effect: simulated.Fails, Kind: why})
					s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
					s.pass(3 * time.Minute)
					if why != fault.Permanent {
						s.pass(12 * time.Minute) // it was tried again and again, each time later
					}
					q := s.machine(2).Quarantine
					switch {
					case more != nil && !s.healthy(2):
						t.Errorf("not healed: waiting for %q, quarantine %+v", s.machine(2).Waiting, q)
					case more == nil && (q == nil || s.count(kind(record.Paged)) != 1):
						t.Errorf("waiting for %q, quarantine %+v, %d pages", s.machine(2).Waiting, q,
							s.count(kind(record.Paged)))
					}
				})
			})
		}
	}
}

// Quota, permission and invalid orders are no fault of the machine: whatever the step, the ladder does not go on over
// them, nothing is tried again by itself, and one person is told once.
func TestARefusalGoesToAPersonAndNotUpTheLadder(t *testing.T) {
	t.Parallel()
	ill := func(s *story) simulated.Fault {
		return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}}
	}
	for op, c := range map[fleet.Op]struct {
		first policy.Step
		fail  func(s *story) simulated.Fault
	}{
		fleet.OpStart: {rung(fleet.StepStart),
			func(s *story) simulated.Fault { return simulated.Crash{Instance: s.id(2)} }},
		fleet.OpResume: {rung(fleet.StepResume),
			func(s *story) simulated.Fault { return simulated.Paused{Instance: s.id(2), By: fleet.StopGuest} }},
		fleet.OpReboot:     {rung(fleet.StepReboot), ill},
		fleet.OpSoftReboot: {softly(), ill},
		fleet.OpRebuild:    {rung(fleet.StepRebuild), ill},
		fleet.OpRescue:     {rung(fleet.StepRescue), ill},
		fleet.OpPowerOff:   {rung(fleet.StepRecreate), ill},
		fleet.OpDelete:     {rung(fleet.StepRecreate), ill},
		fleet.OpCreate:     {rung(fleet.StepRecreate), ill},
	} {
		for _, why := range []fault.Kind{fault.Quota, fault.Unauthorised, fault.Invalid} {
			t.Run(string(op)+", "+string(why), func(t *testing.T) {
				t.Parallel()
				tell(t, simulated.Options{}, rungs(web(3), c.first, policy.Step{Kind: fleet.StepPage},
					rung(fleet.StepReboot)), func(s *story) {
					s.grown()
					s.inject(simulated.Calls{Op: op, Effect: simulated.Fails, Kind: why})
					s.inject(c.fail(s))
					s.await(time.Minute, "web-2 is left to a person",
						func() bool { return s.machine(2).Quarantine != nil })
					at := len(s.world.Calls())
					s.pass(2 * time.Hour)
					q := s.machine(2).Quarantine
					if q == nil || q.Reason != fleet.ReasonRefusedBy || s.count(kind(record.Paged)) != 1 ||
						len(s.world.Calls()) != at {
						t.Errorf("quarantine %+v, %d pages, then %+v", q, s.count(kind(record.Paged)),
							s.world.Calls()[at:])
					}
				})
			})
		}
	}
}
