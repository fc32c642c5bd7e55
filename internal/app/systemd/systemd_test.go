package systemd

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
)

// systemd hears that hale is up, that it lives for as long as each fleet is looked after, and that it ends.
func TestSystemdHearsOfLifeUntilAFleetIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		stuckAt, began := 2*time.Minute, time.Now()
		s := Supervised{
			tell:     func(state string) error { heard = append(heard, state); return nil },
			watchdog: 40 * time.Second, log: slog.New(slog.DiscardHandler),
			stuck: func(longerThan time.Duration) (fleet.Name, bool) {
				return "web", time.Since(began) > stuckAt+longerThan
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		s.Run(ctx)
		signs := slices.DeleteFunc(slices.Clone(heard), func(s string) bool { return s != "WATCHDOG=1" })
		if heard[0] != "READY=1" || heard[len(heard)-1] != "STOPPING=1" || len(signs) != 14 || len(heard) != 16 {
			t.Errorf("heard %q", heard) // every 10 s of 2 min 20 s
		}
	})
}

// A server that is not the active one any more does not end.
func TestSystemdHearsOfNoEndWhereHaleGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		Supervised{tell: func(state string) error { heard = append(heard, state); return nil },
			Ends: func() bool { return false }}.Run(ctx)
		if !slices.Equal(heard, []string{"READY=1"}) {
			t.Errorf("heard %q", heard)
		}
	})
}

func TestWithoutAWatchdogThereAreNoSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		Supervised{tell: func(state string) error { heard = append(heard, state); return nil }}.Run(ctx)
		if !slices.Equal(heard, []string{"READY=1", "STOPPING=1"}) {
			t.Errorf("heard %q", heard)
		}
	})
}
