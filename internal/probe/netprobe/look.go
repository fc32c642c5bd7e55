package netprobe

import (
	"context"
	"time"

	"hale/internal/fleet"
	"hale/internal/probe"
)

// lookEvery is the time from one question of a look to the next.
const lookEvery = 250 * time.Millisecond

// insist asks again and again until the check's timeout is over, and in vain at least as often as makes the check down; the
// first success ends it. So a machine that comes back while it is looked at, or that loses one packet of a hundred, is not
// taken for dead, and the time in which it could recover unseen is lookEvery instead of the whole timeout.
// A program is run once: nobody knows what it costs.
func (k asker) insist(parent context.Context, t probe.Target) answer {
	if t.Spec.Kind == fleet.CheckExec {
		return k.askBounded(parent, t)
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	began, limit := time.Now(), limitOf(t.Spec)
	enough := min(limit, time.Duration(atLeastOne(t.Spec.DownAfter)-1)*lookEvery)
	answers, pending := make(chan answer), 0
	ask := func(within time.Duration) {
		pending++
		again, spec := t, *t.Spec
		spec.Timeout = within
		again.Spec = &spec
		go func() { // it ends with ctx
			a := k.askBounded(ctx, again)
			select {
			case answers <- a:
			case <-ctx.Done():
			}
		}()
	}
	ask(limit)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var failed answer
	for {
		select {
		case a := <-answers:
			pending--
			if meaningOf(a.reason) != meansFailure {
				return a
			}
			if failed.reason == fleet.ResultNone {
				failed = a
			}
		case <-tick.C:
			if rest := limit - time.Since(began); rest >= lookEvery/2 {
				ask(rest)
			}
		case <-parent.Done():
			return answer{reason: fleet.ResultLate, detail: "cut short", at: time.Now()}
		}
		if pending == 0 && time.Since(began) >= enough {
			return failed
		}
	}
}
