package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/state/outbox"
)

// healing is a fleet of three, with targets that are told of what was healed: each is told of each, and daily once a
// day at one, as often on days without as empty says.
func healing(empty bool) policy.Spec {
	spec := web(3)
	spec.Repair.AttemptsIn = time.Minute
	spec.Notify.To = []policy.Recipient{
		{Target: "daily", Events: []policy.NotifyEvent{policy.NotifyDaily}, Attempts: 5, AttemptsIn: time.Hour,
			Daily: policy.Daily{At: time.Hour, Zone: time.UTC, Empty: empty}},
		{Target: "each", Events: []policy.NotifyEvent{policy.NotifyRepair}, Attempts: 5, AttemptsIn: time.Hour},
	}
	return spec
}

// summed has the messages go to the targets, and summaries say how many repairs they tell of.
func (s *story) summed(targets map[policy.TargetName]*memory.Target) {
	s.people(targets)
	s.post.Words = func(l outbox.Letter, _ []record.Record) notify.Message {
		m := notify.Message{Key: l.Key, Event: notify.Event(l.Event), Machine: string(l.Record.Machine)}
		if sum := l.Record.Summary; sum != nil {
			m.Subject = fmt.Sprintf("%d %v", sum.Count, sum.Steps)
		}
		return m
	}
}

// crashes lets a machine crash, and waits until it is healed.
func (s *story) crashes(n int) {
	s.t.Helper()
	s.inject(simulated.Crash{Instance: s.id(n)})
	s.await(time.Minute, "the crash is noticed", func() bool { return !s.healthy(n) })
	s.await(10*time.Minute, "and healed", s.allHealthy)
}

// At lets time pass until the hour of the day.
func (s *story) at(hour time.Duration) {
	now := time.Now().UTC()
	s.pass((hour - now.Sub(now.Truncate(24*time.Hour)) + 48*time.Hour) % (24 * time.Hour))
}

// Of repairs that worked, who wants that is told each time, or once a day: also when hale was not there at that hour,
// once, and not on a day without.
func TestRepairsAreToldEachOrOnceADay(t *testing.T) {
	t.Parallel()
	daily, each := &memory.Target{}, &memory.Target{}
	tell(t, simulated.Options{}, healing(false), func(s *story) {
		s.summed(map[policy.TargetName]*memory.Target{"daily": daily, "each": each})
		s.grown()
		s.crashes(1)
		s.crashes(2)
		s.at(50 * time.Minute)
		s.kill()
		s.at(70 * time.Minute)
		if n := len(daily.Taken()); n != 0 {
			t.Fatalf("%d summaries before their time", n)
		}
		s.start()
		s.await(5*time.Minute, "the summary is sent", func() bool { return len(daily.Taken()) == 1 })
		s.kill() // the next one to look after the fleet knows that it was told
		s.start()
		s.at(2 * time.Hour) // a day without repairs
		var said []string
		for _, m := range daily.Taken() {
			said = append(said, m.Subject)
		}
		if want := []string{"2 [{start 2}]"}; !slices.Equal(said, want) {
			t.Errorf("the summaries say %q", said)
		}
		var healed []string
		for _, m := range each.Taken() {
			healed = append(healed, string(m.Event)+" "+m.Machine)
		}
		if want := []string{"repairs web-1", "repairs web-2"}; !slices.Equal(healed, want) {
			t.Errorf("each was told %q", healed)
		}
	})
}

// Who asks for it is told on a day without repairs, too.
func TestAnEmptySummaryIsSentWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	daily := &memory.Target{}
	tell(t, simulated.Options{}, healing(true), func(s *story) {
		s.summed(map[policy.TargetName]*memory.Target{"daily": daily, "each": {}})
		s.grown()
		s.at(time.Hour + time.Minute)
		if n := len(daily.Taken()); n != 1 {
			t.Errorf("%d summaries of a day without repairs", n)
		}
	})
}
