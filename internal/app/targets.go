package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/prose"
	"hale/internal/secret"
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

// warnOf says at each start what the configuration allows and should not be left so, and which secrets everybody can
// read: not when a page is due.
func warnOf(c *config.Config, log *slog.Logger) {
	for _, w := range c.Warnings(adapters.All()) {
		log.Warn("the configuration allows what should not be left so", "problem", w)
	}
	for _, s := range secretsIn(c) {
		if exposed := s.secret.Exposed(); exposed != "" {
			s.log(log).Warn("a secret is not kept well", "problem", exposed)
		}
	}
}

// placed is a secret with what needs it.
type placed struct {
	api.Trouble
	secret secret.Secret
}

// log returns a logger that names what needs the secret.
func (s placed) log(log *slog.Logger) *slog.Logger {
	switch s.Part {
	case api.TroubleProvider:
		return log.With("provider", s.Of)
	case api.TroubleBalancer:
		return log.With("balancer", s.Name)
	case api.TroubleStream:
		return log.With("stream", s.Name)
	case api.TroubleTarget:
		return log.With("target", s.Name)
	case api.TroubleFence:
		return log.With("method", s.Name)
	}
	return log.With("fleet", s.Of, "check", s.Name)
}

// secretsIn returns the secrets of the configuration that are read when they are needed.
func secretsIn(c *config.Config) []placed {
	var all []placed
	add := func(part, of, name string, secrets ...secret.Secret) {
		for _, s := range secrets {
			all = append(all, placed{api.Trouble{Part: part, Of: of, Name: name}, s})
		}
	}
	for _, p := range c.Providers {
		if c, ok := p.Settings.(kinds.Confiding); ok {
			add(api.TroubleProvider, string(p.Name), "", c.Secrets()...)
		}
	}
	for _, t := range c.Targets {
		add(api.TroubleTarget, "", string(t.Name), t.Settings.Secrets()...)
	}
	for _, b := range c.Balancers {
		add(api.TroubleBalancer, "", b.Name, b.Settings.Secrets()...)
	}
	for name, secrets := range c.Telemetry.Secrets() {
		add(api.TroubleStream, "", name, secrets...)
	}
	for _, f := range c.Fences {
		add(api.TroubleFence, "", f.Name, f.Settings.Secrets()...)
	}
	for _, f := range c.Fleets {
		for _, c := range f.Asked() {
			add(api.TroubleCheck, string(f.Name), string(c.Name), secretsOfCheck(c)...)
		}
	}
	return all
}

func secretsOfCheck(c *policy.Check) []secret.Secret {
	var all []secret.Secret
	add := func(where fleet.Secret) {
		if s, err := secret.Of(where); err == nil && !s.None() {
			all = append(all, s)
		}
	}
	for _, h := range c.HTTP.Headers {
		add(h.Secret)
	}
	for _, v := range c.Exec.Env {
		add(v.Secret)
	}
	add(c.Heartbeat.Token)
	return all
}
