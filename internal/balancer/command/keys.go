package command

import (
	"hale/internal/balancer"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the balancer command.
func Kind() kinds.Balancer {
	return kinds.WayOf("command", "command: […]",
		"An own program. With `HALE_ACTION=list` it prints `{\"members\": [{\"name\": \"web-1\", \"address\": "+
			"\"10.0.0.5\", \"port\": 80, \"state\": \"serving\", \"connections\": 3, \"verdict\": \"up\"}]}`. With "+
			"`HALE_ACTION=set` it has `HALE_MEMBER` be in `HALE_STATE` (`serving`, at `HALE_ADDRESS` and `HALE_PORT`; "+
			"`draining`; `out`). It ends with 0, done; 4, there is no such pool or no room; anything else, later.",
		keys.Program(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Balancing.
func (s Settings) Secrets() []secret.Secret { return secret.In(s.Env) }

// Program implements kinds.Running.
func (s Settings) Program() []string { return s.Command }

// Pool implements kinds.Balancing.
func (s Settings) Pool(o kinds.BalancerOptions) balancer.Pool {
	how := s.Options
	how.Name = o.Name
	return New(how)
}

func compileKeys(f *keys.Finder, v keys.At[keys.ProgramDraft]) kinds.Balancing {
	var o Options
	o.Command, o.Env = f.Program(v.Value)
	return Settings{o}
}
