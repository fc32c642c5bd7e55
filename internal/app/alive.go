package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/notify"
)

// lifeSigns sends targets the sign that hale lives and acts, as often as each wants it. A sign is sent only while hale
// acts in every fleet: what receives them raises the alarm when they stay away.
type lifeSigns struct {
	teller *teller
	// idle names a fleet in which hale does not act, or decided nothing for longer than that.
	idle func(longerThan time.Duration) (fleet.Name, string, bool)
	// acting is told of each look by which hale acts in every fleet; nil: nothing is.
	acting func(at time.Time)
	// panics is told when a target panics.
	panics defect.Witness
	log    *slog.Logger
}

const (
	signsBeat = time.Second      // how often is looked whether a sign is due
	signsIdle = 30 * time.Second // how long an owner may be at one turn
)

// run sends signs until ctx ends.
func (l lifeSigns) run(ctx context.Context) {
	beat := time.NewTicker(signsBeat)
	defer beat.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	sent := map[policy.TargetName]time.Time{} // when the last one was due
	quiet := true                             // until every fleet is looked after, which takes a moment at each start
	under := &underWay{names: map[policy.TargetName]bool{}}
	for {
		name, why, idle := l.idle(signsIdle)
		if idle != quiet {
			l.sayQuiet(name, why, idle)
			quiet = idle
		}
		now := time.Now()
		if !idle && l.acting != nil {
			l.acting(now)
		}
		for target, to := range l.teller.all() {
			if idle || to.aliveEvery <= 0 || now.Sub(sent[target]) < to.aliveEvery || !under.begin(target) {
				continue
			}
			sent[target] = now
			wg.Go(func() {
				defer l.panics.Catch(string(target), "a sign of life", nil)
				defer under.end(target)
				l.send(ctx, target, to, now)
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}

// sayQuiet logs that no signs are sent from now on, or that they are again, where any target wants them.
func (l lifeSigns) sayQuiet(name fleet.Name, why string, idle bool) {
	wanted := false
	for _, to := range l.teller.all() {
		wanted = wanted || to.aliveEvery > 0
	}
	switch {
	case !wanted:
	case idle:
		l.log.Warn("no signs of life are sent: hale does not act in a fleet", "fleet", name, "why", why)
	default:
		l.log.Info("signs of life are sent: hale acts in every fleet")
	}
}

func (l lifeSigns) send(ctx context.Context, name policy.TargetName, to listed, at time.Time) {
	_, err := to.Send(ctx, l.teller.words.Alive(name, at, to.aliveEvery))
	if err != nil && ctx.Err() == nil {
		l.log.Warn("a sign of life was not taken", "target", name, "err", notify.Why(err))
	}
}

// UnderWay are the targets that have not answered yet: each is sent one sign at a time.
type underWay struct {
	mu    sync.Mutex
	names map[policy.TargetName]bool
}

// begin reports whether a sign may be sent to the target.
func (u *underWay) begin(name policy.TargetName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	was := u.names[name]
	u.names[name] = true
	return !was
}

func (u *underWay) end(name policy.TargetName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, name)
}
