package engine_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/engine/poller"
	"hale/internal/hook"
	"hale/internal/notify"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/state"
)

// fusedStore is the store behind a fuse.
type fusedStore struct {
	state.Store
	fuse *fuse
	late state.Store // of nobody: what was on its way
}

// Commit implements state.Store.
func (s fusedStore) Commit(ctx context.Context, txn state.Txn) (rev int64, err error) {
	err = s.fuse.through(ctx, sortWrite, written(txn), deed{
		now: func(ctx context.Context) error {
			rev, err = s.Store.Commit(ctx, txn)
			return err
		},
		late: func(ctx context.Context) { _, _ = s.late.Commit(ctx, txn) },
	})
	return rev, err
}

// Grant implements state.Store.
func (s fusedStore) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	l, err := s.Store.Grant(ctx, ttl)
	return fusedLease{l, s.fuse}, err
}

// fusedLease is given back by the living only.
type fusedLease struct {
	state.Lease
	fuse *fuse
}

// Revoke implements state.Lease.
func (l fusedLease) Revoke(ctx context.Context) error {
	if l.fuse.spent() {
		return fault.New(fault.UnknownOutcome, "fuse.revoke", "", nil)
	}
	return l.Lease.Revoke(ctx)
}

// written names a write by what it says: its records, or else its keys.
func written(txn state.Txn) string {
	var said []string
	add := func(word string) {
		if !slices.Contains(said, word) {
			said = append(said, word)
		}
	}
	for _, w := range txn.Then {
		var r record.Record
		if strings.HasPrefix(w.Key, "journal/") && json.Unmarshal(w.Value, &r) == nil {
			add(strings.TrimSpace(string(r.Kind) + " " + string(r.Op)))
		}
	}
	if len(said) > 0 {
		return strings.Join(said, ", ")
	}
	for _, w := range txn.Then {
		family, _, _ := strings.Cut(w.Key, "/")
		if family == "fleets" {
			family = strings.Split(w.Key, "/")[2]
		}
		add(family)
	}
	return strings.Join(said, ", ")
}

// fused returns the provider behind a fuse. late is another handle, for what was on its way.
func fused(p, late provider.Provider, f *fuse) *provider.Relay {
	type do = func(context.Context, provider.Provider) error
	return provider.NewRelay(p, func(ctx context.Context, c provider.Call, do do) error {
		d := deed{
			now:  func(ctx context.Context) error { return do(ctx, p) },
			late: func(ctx context.Context) { _ = do(ctx, late) },
		}
		switch {
		case c.Op == provider.OpGet, c.Op == provider.OpConsole, c.Op == provider.OpScreenshot:
			d.late = nil
			return f.through(ctx, sortQuestion, string(c.Op), d)
		case c.Asks():
			return do(ctx, p)
		}
		return f.through(ctx, sortCall, string(c.Op), d)
	})
}

// fusedRunner executes commands behind a fuse.
type fusedRunner struct {
	program.Runner
	fuse *fuse
	late program.Runner
}

// Run implements program.Runner.
func (r fusedRunner) Run(ctx context.Context, job program.Job) (result program.Result, err error) {
	err = r.fuse.through(ctx, sortCall, string(fleet.OpRun), deed{
		now: func(ctx context.Context) error {
			result, err = r.Runner.Run(ctx, job)
			return err
		},
		late: func(ctx context.Context) { _, _ = r.late.Run(ctx, job) },
	})
	return result, err
}

// fusedHooks runs hooks behind a fuse.
type fusedHooks struct {
	hook.Runner
	fuse *fuse
	late hook.Runner
}

// Run implements hook.Runner.
func (h fusedHooks) Run(ctx context.Context, e *situation.Errand) (result program.Result, err error) {
	job := *e
	err = h.fuse.through(ctx, sortCall, "hook "+string(job.Moment.Hook(job.Hook.Name)), deed{
		now: func(ctx context.Context) error {
			result, err = h.Runner.Run(ctx, &job)
			return err
		},
		late: func(ctx context.Context) { _, _ = h.late.Run(ctx, &job) },
	})
	return result, err
}

// hookTally counts how often each hook was begun in each repair.
type hookTally struct {
	mu sync.Mutex
	of map[effect]int
}

// counted returns the runner as one whose hooks are counted.
func (t *hookTally) counted(r hook.Runner) hook.Runner { return countedHooks{r, t} }

// counts returns what was counted.
func (t *hookTally) counts() map[effect]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.of)
}

type countedHooks struct {
	hook.Runner
	tally *hookTally
}

// Run implements hook.Runner.
func (h countedHooks) Run(ctx context.Context, e *situation.Errand) (program.Result, error) {
	h.tally.mu.Lock()
	if h.tally.of == nil {
		h.tally.of = map[effect]int{}
	}
	h.tally.of[effect{fleet.OpHook, e.Facts.Instance, e.Repair + " " + string(e.Moment.Hook(e.Hook.Name))}]++
	h.tally.mu.Unlock()
	return h.Runner.Run(ctx, e)
}

// fusedFencer fences hosts behind a fuse.
type fusedFencer struct {
	poller.Fencer
	fuse *fuse
}

// Fence implements engine.Fencer.
func (f fusedFencer) Fence(ctx context.Context, host fleet.HostName, try int) (done poller.Fenced, err error) {
	err = f.fuse.through(ctx, sortCall, string(fleet.OpFence), deed{
		now: func(ctx context.Context) error {
			done, err = f.Fencer.Fence(ctx, host, try)
			return err
		},
		late: func(ctx context.Context) { _, _ = f.Fencer.Fence(ctx, host, try) },
	})
	return done, err
}

// find puts targets behind the fuse.
func (f *fuse) find(target func(policy.TargetName) notify.Target) func(policy.TargetName) notify.Target {
	if target == nil {
		return nil
	}
	return func(name policy.TargetName) notify.Target {
		if t := target(name); t != nil {
			return fusedTarget{t, f}
		}
		return nil
	}
}

// fusedTarget takes messages behind a fuse.
type fusedTarget struct {
	notify.Target
	fuse *fuse
}

// Send implements notify.Target.
func (t fusedTarget) Send(ctx context.Context, m notify.Message) (a notify.Answer, err error) {
	err = t.fuse.through(ctx, sortMessage, "send", deed{
		now: func(ctx context.Context) error {
			a, err = t.Target.Send(ctx, m)
			return err
		},
		late: func(ctx context.Context) { _, _ = t.Target.Send(ctx, m) },
	})
	return a, err
}
