package app

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/notify"
	"hale/internal/notify/memory"
	"hale/internal/prose"
)

// Signs of life come as often as the target wants them, and stay away while hale does not act in a fleet. The heartbeat
// that monitoring sees moves and stands still with them.
func TestSignsOfLifeStayAwayWhileHaleDoesNotAct(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		patient, hurried, other := &memory.Target{}, &memory.Target{Latency: 90 * time.Second}, &memory.Target{}
		tells := &teller{words: prose.Words{Server: "nest"}}
		tells.targets.Store(&map[policy.TargetName]listed{
			"patient": {patient, time.Minute}, "hurried": {hurried, 10 * time.Second}, "other": {other, 0},
		})
		began := time.Now()
		var beats []time.Duration
		l := lifeSigns{
			teller: tells,
			acting: func(at time.Time) { beats = append(beats, at.Sub(began)) },
			log:    slog.New(slog.DiscardHandler),
			idle: func(time.Duration) (fleet.Name, string, bool) {
				since := time.Since(began)
				return "web", "store-full", since < 30*time.Second || since > 5*time.Minute && since < 8*time.Minute
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
		defer cancel()
		l.run(ctx)
		signs := patient.Taken()
		if len(signs) != 8 { // from 30 s to 5 min, and from 8 min to 10 min
			t.Errorf("%d signs in the 6 min and a half in which hale acted, want 8", len(signs))
		}
		for _, m := range signs {
			if at := m.At.Sub(began); m.Event != notify.EventAlive || at < 30*time.Second ||
				at > 5*time.Minute && at < 8*time.Minute {
				t.Errorf("%s after %v: %s", m.Event, at, m.Subject)
			}
		}
		if n := len(beats); n < 388 || n > 393 { // one a second in those 6 min and a half
			t.Errorf("%d heartbeats", n)
		}
		for _, at := range beats {
			if at < 30*time.Second || at > 5*time.Minute && at < 8*time.Minute {
				t.Errorf("a heartbeat after %v", at)
			}
		}
		// One that takes a minute and a half for an answer holds up itself only.
		if n := len(hurried.Taken()); n < 3 || n > 6 {
			t.Errorf("the slow target took %d signs", n)
		}
		if n := len(other.Taken()); n != 0 {
			t.Errorf("a target that wants no signs of life took %d", n)
		}
	})
}

func TestATargetForSignsOfLifeGetsNoPages(t *testing.T) {
	t.Parallel()
	const text = `
notify:
  ops: {command: {command: [/bin/true]}}
  watchdog: {command: {command: [/bin/true]}, alive_every: 1m, events: none}
providers: {lab: {type: simulated}}
fleets: {web: {provider: lab, size: 1, checks: {page: {http: {}}}}}
`
	c, err := config.Parse("hale.yaml", []byte(text), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	if to := c.Fleets[0].Notify.To; len(to) != 1 || to[0].Target != "ops" {
		t.Errorf("pages go to %v", to)
	}
	tells := newTeller(c, "1", "nest", nil)
	if every := tells.all()["watchdog"].aliveEvery; every != time.Minute {
		t.Errorf("a sign of life every %v", every)
	}
}
