package netprobe

import (
	"context"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// lookEvery is the time from one question of a look to the next.
const lookEvery = 250 * time.Millisecond

// insist asks again and again until the check's timeout is over, and in vain at least as often as makes the check down;
// the first success ends it. So a machine that comes back while it is looked at, or that loses one packet of a hundred,
// is not taken for dead, and the time in which it could recover unseen is lookEvery instead of the whole timeout. A
// program is run once: its cost is unknown. A heartbeat is awaited once, and so is a load balancer's next word: there
// is nothing to ask. A check that looks back on a window is asked as often as that is long.
func (k asker) insist(parent context.Context, t probe.Target) answer {
	switch {
	case t.Spec.Kind == policy.CheckExec, t.Spec.Kind == policy.CheckHeartbeat:
		return k.askBounded(parent, t)
	case t.Spec.Kind == policy.CheckPool:
		k.afresh = true
		return k.askBounded(parent, t)
	case t.Spec.DownIn > t.Spec.DownAfter:
		return k.poll(parent, t)
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	q := k.questions(ctx, t)
	began, limit := time.Now(), limitOf(t.Spec)
	enough := min(limit, time.Duration(max(t.Spec.DownAfter, 1)-1)*lookEvery)
	q.ask(limit)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var failed answer
	for {
		select {
		case a := <-q.answers:
			q.pending--
			if probe.MeaningOf(a.reason) != probe.MeansFailure {
				return a
			}
			if failed.reason == fleet.ResultNone {
				failed = a
			}
		case <-tick.C:
			if rest := limit - time.Since(began); rest >= lookEvery/2 {
				q.ask(rest)
			}
		case <-parent.Done():
			return answer{reason: fleet.ResultLate, detail: "cut short", at: time.Now()}
		}
		if q.pending == 0 && time.Since(began) >= enough {
			return failed
		}
	}
}

// poll fills a window of its own: as many failures as make the check down confirm that it is, and when so many cannot
// come together any more, it is not. Each question has the whole timeout, so all of it takes less than two.
func (k asker) poll(parent context.Context, t probe.Target) answer {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	q := k.questions(ctx, t)
	need, of, limit := max(t.Spec.DownAfter, 1), t.Spec.DownIn, limitOf(t.Spec)
	q.ask(limit)
	tick := time.NewTicker(pollEvery(t.Spec))
	defer tick.Stop()
	asked, oks, fails := 1, 0, 0
	for {
		select {
		case a := <-q.answers:
			switch probe.MeaningOf(a.reason) {
			case probe.MeansSuccess:
				oks++
			case probe.MeansFailure:
				fails++
			case probe.MeansNothing:
				return a
			}
			if fails >= need || oks > of-need {
				return a
			}
		case <-tick.C:
			if asked < of {
				asked++
				q.ask(limit)
			}
		case <-parent.Done():
			return answer{reason: fleet.ResultLate, detail: "cut short", at: time.Now()}
		}
	}
}

// pollEvery is the time from one question of a poll to the next: all of them are put within the timeout.
func pollEvery(c *policy.Check) time.Duration {
	return max(min(lookEvery, limitOf(c)/time.Duration(c.DownIn)), time.Millisecond)
}

// questions puts the same question again and again, beside those that are not answered yet.
type questions struct {
	ask     func(within time.Duration)
	answers chan answer
	pending int
}

// questions asks the target until ctx ends.
func (k asker) questions(ctx context.Context, t probe.Target) *questions {
	q := &questions{answers: make(chan answer)}
	q.ask = func(within time.Duration) {
		q.pending++
		again, spec := t, *t.Spec
		spec.Timeout = within
		again.Spec = &spec
		go func() { // it ends with ctx
			defer k.panics.Catch(string(t.Check), "look", nil)
			a := k.askBounded(ctx, again)
			select {
			case q.answers <- a:
			case <-ctx.Done():
			}
		}()
	}
	return q
}
