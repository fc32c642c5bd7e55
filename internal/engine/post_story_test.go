package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	store "hale/internal/state/memory"
	"hale/internal/state/outbox"
)

// told is a fleet with targets that tell people: a machine that its ladder cannot heal is left to a person after two
// attempts.
func told(remind time.Duration, targets ...policy.TargetName) policy.Spec {
	spec := ladder(web(3), fleet.StepReboot)
	spec.Repair.Attempts = 2
	spec.Notify.RemindEvery = remind
	for _, name := range targets {
		spec.Notify.To = append(spec.Notify.To, policy.Recipient{
			Target: name, Events: []policy.NotifyEvent{policy.NotifyPage, policy.NotifyReminder, policy.NotifyHealed},
			Attempts: 5, AttemptsIn: time.Hour,
		})
	}
	return spec
}

// people has the messages go to the targets.
func (s *story) people(targets map[policy.TargetName]*memory.Target) {
	s.post.Find = func(name policy.TargetName) notify.Target {
		if t, ok := targets[name]; ok {
			return t
		}
		return nil
	}
	s.post.Words = func(l outbox.Letter, past []record.Record) notify.Message {
		return notify.Message{Key: l.Key, Event: notify.Event(l.Event), Incident: l.Record.Incident,
			Reason: fmt.Sprint(len(past)), Subject: string(l.Record.Kind)}
	}
}

// incurable breaks web-2 so that its ladder does not heal it.
func (s *story) incurable() (lift func()) {
	return s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByRecreate}})
}

// happened returns what a target took, each by its kind.
func happened(t *memory.Target) (kinds []string) {
	for _, m := range t.Taken() {
		kinds = append(kinds, string(m.Event))
	}
	return kinds
}

// S24: the alert and the action both occur, each once; with a reminder the alert repeats as long as it lasts, and its
// end is told.
func TestS24OneAlertItsRemindersAndItsEnd(t *testing.T) {
	t.Parallel()
	ops, hook := &memory.Target{}, &memory.Target{}
	spec := told(10*time.Minute, "hook", "ops")
	spec.Notify.To[0].Events = []policy.NotifyEvent{policy.NotifyPage}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops, "hook": hook})
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "a person is told", func() bool {
			return len(ops.Taken()) == 1 &&
				len(hook.Taken()) == 1
		})
		if n := s.heals(2); n != 2 {
			t.Errorf("%d repairs were begun", n)
		}
		s.pass(31 * time.Minute)
		s.kill() // the time of the next reminder is not hale's to forget
		s.pass(3 * time.Minute)
		s.start()
		s.pass(7 * time.Minute)
		s.inject(simulated.PersonMends{Instance: s.id(2)})
		s.await(10*time.Minute, "its end is told", func() bool { return slices.Contains(happened(ops), "healed") })
		s.pass(time.Hour)
		if got, want := happened(ops), []string{"pages", "reminders", "reminders", "reminders", "reminders",
			"healed"}; !slices.Equal(got, want) {
			t.Errorf("ops was told %v", got)
		}
		if got := happened(hook); !slices.Equal(got, []string{"pages"}) {
			t.Errorf("hook was told %v", got)
		}
		for _, m := range ops.Taken() {
			if m.Incident != "web-2/1" || m.Reason == "0" {
				t.Errorf("%+v", m)
			}
		}
		if got := s.count(kind(record.Notified)); got != 7 {
			t.Errorf("%d messages are recorded as taken", got)
		}
	})
}

// Who was told that a machine needs them is told of the end also when they ordered another try, however it became
// healthy then.
func TestS24TheEndIsToldAfterAnotherTry(t *testing.T) {
	t.Parallel()
	for name, healed := range map[string]bool{"healed by hale": true, "recovered by itself": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := &memory.Target{}
			tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
				s.people(map[policy.TargetName]*memory.Target{"ops": ops})
				s.grown()
				lift := s.inject(simulated.Calls{Op: fleet.OpReboot, Effect: simulated.Fails, Kind: fault.Quota})
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
				s.await(10*time.Minute, "a person is told", func() bool { return len(ops.Taken()) == 1 })
				lift()
				if !healed {
					s.orders(fleet.Order{Kind: fleet.OrderBrakeOn, Reason: "it is mended by hand"})
				}
				s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-2"})
				s.pass(time.Minute)
				if !healed {
					s.inject(simulated.PersonMends{Instance: s.id(2)})
				}
				s.pass(10 * time.Minute)
				if got := happened(ops); !slices.Equal(got, []string{"pages", "healed"}) {
					t.Errorf("ops was told %v", got)
				}
			})
		})
	}
}

// A person stops all machines, one after the other: the others are told by one message, reminded by one, and told once
// that it is over.
func TestS25ManyStoppedAtOnceAreOneMessage(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(30*time.Minute, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		s.grown()
		for n := 1; n <= 3; n++ {
			s.inject(simulated.PersonPowersOff{Instance: s.id(n)})
			s.pass(5 * time.Second)
		}
		s.pass(20 * time.Minute)
		if got := happened(ops); !slices.Equal(got, []string{"pages"}) {
			t.Fatalf("ops was told %v", got)
		}
		for n := 1; n <= 3; n++ {
			if i := s.machine(n).Incident; i == nil || !i.Paged || i.Joint != "web/j1" {
				t.Errorf("web-%d: %+v", n, i)
			}
		}
		s.pass(30 * time.Minute)
		for n := 1; n <= 3; n++ {
			s.inject(simulated.PersonMends{Instance: s.id(n)})
			s.pass(5 * time.Second)
		}
		s.await(10*time.Minute, "all are well", s.allHealthy)
		s.pass(time.Hour)
		if got, want := happened(ops), []string{"pages", "reminders", "healed"}; !slices.Equal(got, want) {
			t.Errorf("ops was told %v", got)
		}
	})
}

// Nobody is told of the end of what they were not told of.
func TestWhatHealsByItselfIsNotTold(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(10*time.Minute, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(5*time.Minute, "healed", func() bool { return s.count(kind(record.IncidentClosed)) == 1 })
		s.pass(time.Hour)
		if got := happened(ops); len(got) != 0 {
			t.Errorf("ops was told %v", got)
		}
	})
}

func unavailable() error {
	return fault.New(fault.Transient, "memory.send", "ops", errors.New("503 Service Unavailable"))
}

// S29: the target fails twice and takes it at the third try; another one is not held up by that.
func TestS29TheThirdTrySucceeds(t *testing.T) {
	t.Parallel()
	ops, hook := &memory.Target{}, &memory.Target{}
	tell(t, simulated.Options{}, told(0, "hook", "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops, "hook": hook})
		ops.Fail(unavailable(), unavailable())
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "hook is told", func() bool { return len(hook.Taken()) == 1 })
		s.pass(3 * time.Second)
		if p := s.status().Post; p.Waiting != 1 || p.Target != "ops" || p.Detail != "503 Service Unavailable" {
			t.Errorf("what waits is not shown: %+v", p)
		}
		s.await(time.Minute, "ops is told", func() bool { return len(ops.Taken()) == 1 })
		s.pass(time.Hour)
		if tries := ops.Tries(); len(tries) != 3 || tries[0].Key != tries[2].Key ||
			tries[2].Key != hook.Taken()[0].Key {
			t.Errorf("%+v", tries)
		}
		if s.count(func(r record.Record) bool {
			return r.Kind == record.Notified && r.Target == "ops" &&
				r.Tries == 3
		}) != 1 {
			t.Error("the third try is not recorded")
		}
		if p := s.status().Post; p.Waiting != 0 || p.Dead != 0 {
			t.Errorf("something is left: %+v", p)
		}
	})
}

// S29: after the limit the message lies among the dead letters, with the reason, and can be tried again.
func TestS29AfterTheLimitItIsADeadLetter(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		ops.Down(unavailable())
		s.grown()
		s.incurable()
		s.await(30*time.Minute, "it is given up", func() bool {
			return s.count(because(record.Undelivered,
				fleet.ReasonTriesSpent)) == 1
		})
		dead, err := outbox.DeadLetters(t.Context(), s.backing.Open(nil), "web")
		if err != nil || len(dead) != 1 || dead[0].Value.Tries != 5 ||
			dead[0].Value.Detail != "503 Service Unavailable" || len(ops.Tries()) != 5 {
			t.Fatalf("%v: %+v after %d tries", err, dead, len(ops.Tries()))
		}
		if p := s.status().Post; p.Dead != 1 || p.Waiting != 0 {
			t.Errorf("it is not shown: %+v", p)
		}
		ops.Down(nil)
		s.pass(time.Hour)
		if len(ops.Taken()) != 0 {
			t.Error("what was given up was sent")
		}
		if err := outbox.Revive(t.Context(), s.backing.Open(nil), dead[0], time.Now()); err != nil {
			t.Fatal(err)
		}
		s.hale.engine.Nudge()
		s.await(time.Minute, "it is taken after all", func() bool { return len(ops.Taken()) == 1 })
		if got := ops.Taken()[0].Key; got != dead[0].Value.Key {
			t.Errorf("its key is %s and was %s", got, dead[0].Value.Key)
		}
		s.pass(time.Minute)
		if p := s.status().Post; p.Dead != 0 || p.Waiting != 0 {
			t.Errorf("something is left: %+v", p)
		}
	})
}

// A message without an answer may come twice, and is the same one.
func TestAMessageWhoseAnswerIsLostComesUnderItsKey(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		ops.Lose(1)
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "it came twice", func() bool { return len(ops.Taken()) == 2 })
		s.pass(time.Hour)
		if got := ops.Taken(); len(got) != 2 || got[0].Key != got[1].Key {
			t.Errorf("%+v", got)
		}
	})
}

// A target that left the configuration does not hold its messages for ever.
func TestAMessageToNobodyIsADeadLetter(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		ops.Down(unavailable())
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "it was tried", func() bool { return len(ops.Tries()) > 0 })
		s.kill()
		s.spec.Notify.To = nil
		s.start()
		s.await(time.Minute, "it is given up", func() bool {
			return s.count(because(record.Undelivered,
				fleet.ReasonTargetGone)) == 1
		})
	})
}

// A full store keeps what was taken from being sent again, and lets it go when there is space.
func TestAFullStoreDoesNotDoubleMessages(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{Latency: 10 * time.Second}
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		var full atomic.Bool
		s.faults = func(_ context.Context, c store.Call) store.Effect {
			if full.Load() && c.Op == store.OpCommit {
				return store.NoSpace
			}
			return store.Normal
		}
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "it is on its way", func() bool { return s.count(kind(record.Paged)) == 1 })
		full.Store(true)
		s.pass(5 * time.Minute)
		full.Store(false)
		s.await(time.Minute, "it is written down", func() bool { return s.count(kind(record.Notified)) == 1 })
		came := 0
		for _, m := range ops.Taken() {
			if m.Incident != "" { // the other one is about the store
				came++
			}
		}
		if came != 1 {
			t.Errorf("it came %d times", came)
		}
	})
}

// A reload changes who is told: what comes from then on goes to the new target, and what still waited for one that left
// is given up.
func TestAReloadChangesWhoIsTold(t *testing.T) {
	t.Parallel()
	old, fresh := &memory.Target{}, &memory.Target{}
	tell(t, simulated.Options{}, told(0, "old"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"old": old, "fresh": fresh})
		old.Down(unavailable())
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "it was tried", func() bool { return len(old.Tries()) > 0 })
		s.reload(func(spec *policy.Spec) { spec.Notify = told(0, "fresh").Notify })
		s.await(time.Minute, "what waited is given up", func() bool {
			return s.count(because(record.Undelivered,
				fleet.ReasonTargetGone)) == 1
		})
		tries := len(old.Tries())
		s.inject(simulated.PersonMends{Instance: s.id(2)})
		s.await(10*time.Minute, "its end is told to the new one", func() bool {
			return slices.Contains(happened(fresh),
				"healed")
		})
		s.pass(time.Hour)
		if len(fresh.Taken()) != 1 || len(old.Tries()) != tries || s.status().Post.Waiting != 0 {
			t.Errorf("fresh took %v, old was tried %d times more, %d wait", happened(fresh), len(old.Tries())-tries,
				s.status().Post.Waiting)
		}
	})
}
