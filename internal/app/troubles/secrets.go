package troubles

import (
	"log/slog"
	"maps"
	"slices"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Warn says at each start what the configuration allows and should not be left so, and which secrets everybody can
// read: not when a page is due.
func Warn(c *config.Config, log *slog.Logger) {
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
	case api.TroubleSatellite:
		return log.With("satellite", s.Name)
	case api.TroubleHook:
		return log.With("fleet", s.Of, "hook", s.Name)
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
	for _, name := range slices.Sorted(maps.Keys(c.Satellites.Tokens)) {
		add(api.TroubleSatellite, "", name, c.Satellites.Tokens[name])
	}
	for _, f := range c.Fences {
		add(api.TroubleFence, "", f.Name, f.Settings.Secrets()...)
	}
	for _, f := range c.Fleets {
		for _, c := range f.Asked() {
			add(api.TroubleCheck, string(f.Name), string(c.Name), SecretsOf(c)...)
		}
		for id, h := range f.AllHooks() {
			add(api.TroubleHook, string(f.Name), string(id), SecretsOfHook(h)...)
		}
	}
	return all
}

// SecretsOfHook returns what a hook needs: of a playbook, and of what is copied, the key to the machine, too.
func SecretsOfHook(h *policy.Hook) []secret.Secret {
	var all []secret.Secret
	add := func(s secret.Secret, err error) {
		if err == nil && !s.None() {
			all = append(all, s)
		}
	}
	add(secret.Of(h.Request.URL.Secret))
	for _, header := range h.Request.Headers {
		add(secret.Of(header.Secret))
	}
	for _, v := range h.Run.Env {
		add(secret.Of(v.Secret))
	}
	add(secret.Key(h.Playbook.Key))
	add(secret.Key(h.Copy.Key))
	return all
}

// SecretsOf returns what a check needs.
func SecretsOf(c *policy.Check) []secret.Secret {
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
