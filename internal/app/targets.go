package app

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/prose"
)

// teller is the targets of the configuration as it is now. The zero value sends nothing.
type teller struct {
	version string
	words   prose.Words
	panics  defect.Witness
	targets atomic.Pointer[map[policy.TargetName]listed]
}

// listed is one target of the configuration.
type listed struct {
	notify.Target
	aliveEvery time.Duration // 0: it is sent no signs of life
}

func newTeller(c *config.Config, version, server string, defects *defect.Register) *teller {
	t := &teller{version: version, words: prose.Words{Server: server}, panics: defects.Witness(defect.Target, "")}
	t.take(c)
	return t
}

// take makes the targets those of the configuration.
func (t *teller) take(c *config.Config) {
	out := make(map[policy.TargetName]listed, len(c.Targets))
	for _, target := range c.Targets {
		made := target.Settings.Target(kinds.TargetOptions{
			Name: string(target.Name), Timeout: target.Timeout, Version: t.version,
		})
		out[target.Name] = listed{notify.Guarded(made, string(target.Name), t.panics), target.AliveEvery}
	}
	t.targets.Store(&out)
}

func (t *teller) all() map[policy.TargetName]listed {
	if all := t.targets.Load(); all != nil {
		return *all
	}
	return nil
}

// find returns the target; nil: there is none such.
func (t *teller) find(name policy.TargetName) notify.Target { return t.all()[name].Target }

// names returns the targets' names, sorted.
func (t *teller) names() []policy.TargetName { return slices.Sorted(maps.Keys(t.all())) }

// Test tells a target that this is a test, and returns what it answered. fault.NotFound: there is no such target.
func (t *teller) Test(ctx context.Context, name policy.TargetName) (notify.Answer, error) {
	target := t.find(name)
	if target == nil {
		return notify.Answer{}, fault.New(fault.NotFound, "notify.test", string(name), nil)
	}
	return target.Send(ctx, t.words.Test(name, time.Now()))
}
