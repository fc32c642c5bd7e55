package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	notified "hale/internal/notify/memory"
	"hale/internal/owner/published"
	"hale/internal/provider/simulated"
	"hale/internal/state/outbox"
)

// thirty is a story of 30 fleets on one provider: all of them tell ops, every third one tells hook, too, and the last
// one tells lone alone.
func thirty(t *testing.T, tale func(s *story, targets map[policy.TargetName]*notified.Target),
	edits ...func(*policy.Spec)) {
	t.Helper()
	thirtyOn(t, simulated.Options{}, tale, edits...)
}

func thirtyOn(t *testing.T, world simulated.Options,
	tale func(s *story, targets map[policy.TargetName]*notified.Target), edits ...func(*policy.Spec)) {
	t.Helper()
	targets := map[policy.TargetName]*notified.Target{"ops": {}, "hook": {}, "lone": {}}
	first := web(1)
	first.Notify = told(0, "ops").Notify
	tell(t, world, first, func(s *story) {
		s.people(targets)
		s.post.Words = countFleets
		for i := 1; i < 30; i++ {
			spec := web(1)
			spec.Name = fleet.Name(fmt.Sprintf("f%d", i))
			spec.Notify = told(0, "ops").Notify
			switch {
			case i == 29:
				spec.Notify = told(0, "lone").Notify
			case i%3 == 0:
				spec.Notify = told(0, "hook", "ops").Notify
			}
			s.beside = append(s.beside, spec)
		}
		for _, edit := range edits {
			edit(&s.spec)
			for i := range s.beside {
				edit(&s.beside[i])
			}
		}
		s.start()
		s.await(10*time.Minute, "all stand", func() bool {
			return !slices.ContainsFunc(
				s.hale.engine.Status(),
				func(f published.Fleet) bool { return f.Tally.Failing+f.Tally.InBuild > 0 || len(f.Machines) == 0 },
			)
		})
		s.pass(time.Minute)
		tale(s, targets)
	})
}

// countFleets are words that say why people are told, and of how many fleets.
func countFleets(l outbox.Letter, _ []record.Record) notify.Message {
	return notify.Message{
		Key: l.Key, Event: notify.Event(l.Event), Reason: string(l.Record.Reason), Text: fmt.Sprint(len(l.Fleets)),
	}
}

// wantEach wants each target to have been told exactly that.
func wantEach(t *testing.T, targets map[policy.TargetName]*notified.Target, want ...string) {
	t.Helper()
	for name, target := range targets {
		if got := reasons(target); !slices.Equal(got, want) {
			t.Errorf("%s was told %q, want %q", name, got, want)
		}
	}
}

func TestAProviderThatFailsIsOnePageForAllItsFleets(t *testing.T) {
	t.Parallel()
	thirty(t, func(s *story, targets map[policy.TargetName]*notified.Target) {
		lift := s.inject(simulated.Outage{})
		s.pass(30 * time.Minute)
		wantEach(t, targets, "pages down")
		if said := targets["ops"].Taken()[0].Text; said != "30" {
			t.Errorf("the page is about %s fleets", said)
		}
		lift()
		s.pass(time.Hour)
		wantEach(t, targets, "pages down", "healed up")
		s.inject(simulated.Outage{}) // another outage is told again
		s.pass(6 * time.Minute)
		wantEach(t, targets, "pages down", "healed up", "pages down")
	})
}

func TestAProvidersOutageIsToldOnceAlsoWhenHaleIsStartedAnew(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]bool{"and the provider is still down": true,
		"and the provider answers since": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thirty(t, func(s *story, targets map[policy.TargetName]*notified.Target) {
				lift := s.inject(simulated.Outage{})
				s.pass(6 * time.Minute)
				s.kill()
				if !during {
					lift()
				}
				s.start()
				s.pass(10 * time.Minute)
				lift()
				s.pass(10 * time.Minute)
				wantEach(t, targets, "pages down", "healed up")
			})
		})
	}
}

func TestAClaimOfAFleetThatLeftKeepsNoPageBack(t *testing.T) {
	t.Parallel()
	thirty(t, func(s *story, targets map[policy.TargetName]*notified.Target) {
		lift := s.inject(simulated.Outage{})
		s.pass(6 * time.Minute)
		s.kill()
		lift()
		all := s.beside
		s.beside = nil // with the only fleet that tells lone, and that would tell it of the end
		s.start()
		s.pass(5 * time.Minute)
		s.kill()
		s.beside = all[27:28]
		s.beside[0].Notify = told(0, "lone").Notify
		s.start()
		s.pass(5 * time.Minute)
		s.inject(simulated.Outage{})
		s.pass(6 * time.Minute)
		if got := reasons(targets["lone"]); !slices.Contains(got[1:], "pages down") {
			t.Errorf("lone was told %q", got)
		}
	})
}
