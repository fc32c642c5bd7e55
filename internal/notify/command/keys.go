package command

import (
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/secret"
)

// Kind is the target command.
func Kind() kinds.Target {
	return kinds.WayOf("command", "command: […]",
		"Run a program on hale's side, with the message as JSON on its standard input; exit code "+
			"0 is a success.", keys.Program(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Telling.
func (s Settings) Secrets() []secret.Secret { return secret.In(s.Env) }

// Program implements kinds.Running.
func (s Settings) Program() []string { return s.Command }

// Target implements kinds.Telling.
func (s Settings) Target(t kinds.TargetOptions) notify.Target {
	o := s.Options
	o.Name, o.Timeout = t.Name, t.Timeout
	return New(o)
}

func compileKeys(f *keys.Finder, v keys.At[keys.ProgramDraft]) kinds.Telling {
	var o Options
	o.Command, o.Env = f.Program(v.Value)
	return Settings{o}
}
