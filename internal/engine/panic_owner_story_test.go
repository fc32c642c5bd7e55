package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/notify"
	"hale/internal/notify/memory"
	"hale/internal/probe"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
	"hale/internal/state/outbox"
)

// trap is a probe engine that panics on the owner's own goroutine, when it is told what to probe, as long as it is set.
type trap struct {
	probe.Engine
	set    atomic.Bool
	deeper atomic.Bool
	caught atomic.Int64
}

func (t *trap) Set(targets ...probe.Target) {
	if t.set.Load() {
		t.caught.Add(1)
		panic("boom")
	}
	t.Engine.Set(targets...)
}

// ambush starts hale with a trap between the fleet's owner and its probes.
func (s *story) ambush() (*trap, *memory.Target) {
	bell := &memory.Target{}
	s.people(map[policy.TargetName]*memory.Target{"bell": bell})
	trapped := &trap{}
	s.engineOf = func(e probe.Engine) probe.Engine {
		trapped.Engine = e
		return trapped
	}
	s.grown()
	return trapped, bell
}

func panicked(r record.Record) bool { return strings.HasSuffix(string(r.Reason), "-panicked") }

// TestAnOwnerThatPanicsBeginsAnew: the term ends, and not hale. It is told once, also where each term ends so at once;
// nobody is said to have taken the fleet over; and when it panics no more, the fleet is healed as ever.
func TestAnOwnerThatPanicsBeginsAnew(t *testing.T) {
	t.Parallel()
	spec := told(time.Hour, "bell")
	tell(t, simulated.Options{}, spec, func(s *story) {
		trapped, bell := s.ambush()
		trapped.set.Store(true)
		s.inject(simulated.Happens{Verb: verbs.Readdressed, Instance: s.id(2)}) // the probes are to follow it
		s.pass(10 * time.Minute)
		if n := trapped.caught.Load(); n < 20 {
			t.Errorf("it panicked %d times in ten minutes: the owner does not try again", n)
		}
		if why := s.status().Acting; why != fleet.ReasonOwnerPanicked {
			t.Errorf("while it panics, hale does not act because of %q", why)
		}
		if n, pages := s.count(because(record.Defect, fleet.ReasonOwnerPanicked)),
			s.count(because(record.Paged, fleet.ReasonOwnerPanicked)); n != 1 || pages != 1 {
			t.Errorf("%d records and %d pages, want one of each", n, pages)
		}
		if got := happened(bell); len(got) != 1 {
			t.Errorf("the person was told %v, want one page", got)
		}
		if n := s.count(because(record.Owner, fleet.ReasonTookOver)); n != 1 {
			t.Errorf("the fleet was taken over %d times", n)
		}
		trapped.set.Store(false)
		s.await(2*time.Minute, "the fleet stands again", s.allHealthy)
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(5*time.Minute, "the failure is seen", func() bool { return !s.healthy(2) })
		s.await(5*time.Minute, "it is healed", s.allHealthy)
	})
}

// TestAPlaceThatIsCalmAgainIsSaidToBe: with how often it panicked; when it does so again, that is told again.
func TestAPlaceThatIsCalmAgainIsSaidToBe(t *testing.T) {
	t.Parallel()
	b := &bomb{every: 1}
	tell(t, simulated.Options{}, told(time.Hour, "bell"), func(s *story) {
		bell := &memory.Target{}
		s.people(map[policy.TargetName]*memory.Target{"bell": bell})
		s.adapter = func(p provider.Provider) provider.Provider { return rough{p.(*simulated.Provider), b} }
		s.grown()
		for spell := 1; spell <= 2; spell++ {
			was := b.blown.Load()
			b.armed.Store(true)
			s.pass(3 * time.Minute)
			b.armed.Store(false)
			times := int(b.blown.Load() - was)
			if times < 10 {
				t.Fatalf("it panicked %d times", times)
			}
			s.pass(defect.Calm + time.Minute)
			if n := s.count(because(record.Defect, fleet.ReasonProviderPanicked)); n != spell {
				t.Errorf("spell %d: %d records", spell, n)
			}
			over := s.count(func(r record.Record) bool {
				return r.Kind == record.DefectOver && r.Size == times && r.Paged && r.Took > 2*time.Minute
			})
			if over < 1 {
				t.Errorf("spell %d: the %d panics of it are not said to be over", spell, times)
			}
		}
		if n := s.count(kind(record.DefectOver)); n != 2 {
			t.Errorf("%d ends", n)
		}
	})
}

// clumsy runs commands, and panics when it has.
type clumsy struct {
	program.Runner
	runs atomic.Int64
}

func (c *clumsy) Run(ctx context.Context, job program.Job) (program.Result, error) {
	c.runs.Add(1)
	_, _ = c.Runner.Run(ctx, job)
	panic("boom")
}

// TestACommandThatPanicsIsNotRepeated: nobody knows how far it ran, so the machine is left to a person, as always then.
func TestACommandThatPanicsIsNotRepeated(t *testing.T) {
	t.Parallel()
	run := rung(fleet.StepRun)
	run.Run = policy.Command{Args: []string{"fix"}}
	spec := rungs(web(3), run, web(3).Repair.Steps[2])
	tell(t, simulated.Options{}, spec, func(s *story) {
		c := &clumsy{Runner: s.world.Open("hands").Commands()}
		s.runner = c
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "it is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		s.pass(5 * time.Minute)
		if c.runs.Load() != 1 || s.count(func(r record.Record) bool {
			return r.Op == fleet.OpRun &&
				r.Outcome == fleet.OutcomeUnknown
		}) != 1 {
			t.Errorf("the command ran %d times", c.runs.Load())
		}
		if n := s.count(because(record.Defect, fleet.ReasonCommandPanicked)); n != 1 {
			t.Errorf("%d records", n)
		}
	})
}

// TestWordsThatPanicAreATryThatFailed: the message is tried again, and the fleet goes on.
func TestWordsThatPanicAreATryThatFailed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, told(time.Hour, "bell"), func(s *story) {
		bell := &memory.Target{}
		s.people(map[policy.TargetName]*memory.Target{"bell": bell})
		words, b := s.post.Words, &bomb{every: 1, most: 2}
		b.armed.Store(true)
		s.post.Words = func(l outbox.Letter, story []record.Record) (m notify.Message) {
			b.tick(func() { m = words(l, story) })
			return m
		}
		s.grown()
		s.incurable()
		s.await(20*time.Minute, "the page arrives", func() bool { return len(happened(bell)) > 0 })
		if b.blown.Load() != 2 || s.count(because(record.Defect, fleet.ReasonOwnerPanicked)) != 1 {
			t.Errorf("%d panics, %d records", b.blown.Load(), s.count(panicked))
		}
	})
}

// Standings panics where deeper is set: at the very beginning of a term.
func (t *trap) Standings() []probe.Edge {
	if t.deeper.Load() {
		t.caught.Add(1)
		panic("boom")
	}
	return t.Engine.Standings()
}

// TestAnOwnerThatPanicsAtItsBeginningLetsGo: what it held by its lease is free for its next try.
func TestAnOwnerThatPanicsAtItsBeginningLetsGo(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, told(time.Hour, "bell"), func(s *story) {
		trapped, _ := s.ambush()
		trapped.deeper.Store(true)
		trapped.set.Store(true)
		s.inject(simulated.Happens{Verb: verbs.Readdressed, Instance: s.id(2)})
		s.pass(2 * time.Minute)
		if n := trapped.caught.Load(); n < 10 {
			t.Errorf("it panicked %d times in two minutes: the owner does not try again", n)
		}
		trapped.deeper.Store(false)
		trapped.set.Store(false)
		s.await(2*time.Minute, "the fleet stands again", s.allHealthy)
	})
}
