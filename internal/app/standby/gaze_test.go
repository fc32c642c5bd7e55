package standby

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/state/active"
)

// looked is what a server was asked to look for, and how many of its looks are under way.
type looked struct {
	at     []active.Hearing
	under  int
	fails  bool
	hangs  atomic.Bool
	tokens map[active.Token]bool
}

func (l *looked) look(ctx context.Context, at active.Hearing, token active.Token) error {
	l.at, l.tokens[token] = append(l.at, at), true
	if l.fails {
		return errors.New("there are no sockets")
	}
	l.under++
	<-ctx.Done()
	for l.hangs.Load() {
		time.Sleep(time.Second)
	}
	l.under--
	return nil
}

// A server that stands by looks for the active one, once, and for the next one when another follows. When looking
// failed, it tries again. It has ended its probes before it becomes the active one, and does not wait for those that
// hang.
func TestAServerThatStandsByLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &looked{tokens: map[active.Token]bool{}}
		g := gaze{one: &one{Options: Options{Look: l.look, Logger: slog.New(slog.DiscardHandler)}, token: "secret"}}
		is := active.Server{Name: "hale-a", Process: "a", Hears: active.Hearing{At: "192.0.2.1:7120"}}
		follow := func(what string, looks, under int) {
			t.Helper()
			g.follow(t.Context(), is)
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(l.at) != looks || l.under != under {
				t.Errorf("%s: it looked %d times, and %d are under way", what, len(l.at), l.under)
			}
		}
		follow("the active server", 1, 1)
		follow("the same again", 1, 1)
		is.Process = "b"
		follow("another one", 2, 1)
		is.Hears.Certificate = "c"
		l.fails = true
		follow("another certificate", 3, 0)
		l.fails = false
		follow("after a failure", 4, 1)
		is.Hears = active.Hearing{}
		follow("one that takes no reports", 4, 0)
		is.Hears.At = "192.0.2.2:7120"
		follow("one that does again", 5, 1)
		if l.at[4] != is.Hears || len(l.tokens) != 1 || !l.tokens["secret"] {
			t.Errorf("it looks for %+v, with %d tokens", l.at[4], len(l.tokens))
		}
		l.hangs.Store(true)
		began := time.Now()
		g.end()
		if took := time.Since(began); took != endsLooking {
			t.Errorf("it waited %v for probes that hang", took)
		}
		l.hangs.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if l.under != 0 {
			t.Errorf("%d look on", l.under)
		}
	})
}
