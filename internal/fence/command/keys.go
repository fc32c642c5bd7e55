package command

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kinds are the fences command, which turns hosts off, and cut, which leaves them their power.
func Kinds() []kinds.Fence {
	return []kinds.Fence{
		kinds.WayOf("command", "command: […]",
			"An own program. With `HALE_ACTION=status` it ends with 0, the host is on, or 4, it "+
				"is off; anything else says nothing. With `HALE_ACTION=off` it turns `HALE_HOST` off, and ends with "+
				"0 when that was accepted.", keys.Program(), compileCommand),
		kinds.WayOf("cut", "command: […], of: …",
			"An own program that leaves the host its power, and cuts it from storage or network. With "+
				"`HALE_ACTION=status` it ends with 0, `HALE_HOST` reaches them, or 4, it does not; anything else "+
				"says nothing. With `HALE_ACTION=cut` it cuts, and with `HALE_ACTION=uncut`, at a person's order, it "+
				"undoes that; both end with 0 when that was accepted. It proves access-cut.", cutShape(), compileCut),
	}
}

// Settings are what the keys of command come to.
type Settings struct{ Options }

// Secrets implements kinds.Fencing.
func (s Settings) Secrets() []secret.Secret { return secret.In(s.Env) }

// TellsHosts implements kinds.Fencing: HALE_HOST tells it.
func (s Settings) TellsHosts() bool { return true }

// Program implements kinds.Running.
func (s Settings) Program() []string { return s.Command }

// Arm implements kinds.Fencing.
func (s Settings) Arm(name string, host fleet.HostName) kinds.Armed {
	o := s.Options
	o.Name, o.Host, o.Command = name, string(host), slices.Clone(o.Command)
	for i := range o.Command {
		o.Command[i] = kinds.ForHost(o.Command[i], host)
	}
	c := New(o)
	if o.Cut {
		return kinds.Armed{Controller: c, Uncut: c.Uncut}
	}
	return kinds.Armed{Controller: c}
}

// CutSettings are what the keys of cut come to.
type CutSettings struct {
	Settings
	Of kinds.Access
}

// Cuts implements kinds.Cutting.
func (s CutSettings) Cuts() kinds.Access { return s.Of }

type cutDraft struct {
	program keys.ProgramDraft
	of      keys.At[kinds.Access]
}

func cutShape() keys.Object[cutDraft] {
	return keys.Object[cutDraft]{Fields: append(
		keys.Within(keys.Program().Fields, func(d *cutDraft) *keys.ProgramDraft { return &d.program }),
		keys.Must("of", "storage", "What it cuts the host from. Machines with disks that are kept need `storage` or "+
			"`both`, others `network` or `both`: else the old one could write.",
			keys.Choice(nil, kinds.AccessStorage, kinds.AccessNetwork, kinds.AccessBoth),
			func(d *cutDraft) *keys.At[kinds.Access] { return &d.of }))}
}

func compileCommand(f *keys.Finder, v keys.At[keys.ProgramDraft]) kinds.Fencing {
	return settings(f, v.Value)
}

func compileCut(f *keys.Finder, v keys.At[cutDraft]) kinds.Fencing {
	s := settings(f, v.Value.program)
	s.Cut = true
	return CutSettings{s, v.Value.of.Value}
}

func settings(f *keys.Finder, d keys.ProgramDraft) Settings {
	var o Options
	o.Command, o.Env = f.Program(d)
	return Settings{o}
}
