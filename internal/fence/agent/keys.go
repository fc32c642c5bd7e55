package agent

import (
	"path/filepath"
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the fence agent.
func Kind() kinds.Fence {
	return kinds.WayOf("agent", "program: …",
		"A program of the fence-agents family: switched outlets, blade chassis, hypervisors and "+
			"more. `hale fence describe AGENT` lists its options.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Fencing.
func (s Settings) Secrets() []secret.Secret { return secret.In(s.Values) }

// TellsHosts implements kinds.Fencing.
func (s Settings) TellsHosts() bool {
	return slices.ContainsFunc(s.Values, func(v secret.Named) bool { return strings.Contains(v.Plain, kinds.HostWord) })
}

// Arm implements kinds.Fencing.
func (s Settings) Arm(name string, host fleet.HostName) kinds.Armed {
	o := s.Options
	o.Name, o.Values = name, slices.Clone(o.Values)
	for i := range o.Values {
		o.Values[i].Plain = kinds.ForHost(o.Values[i].Plain, host)
	}
	c := New(o)
	return kinds.Armed{Controller: c, Check: c.Check, Unverified: c.Unverified()}
}

type draft struct {
	program keys.At[string]
	options keys.At[[]keys.Named[keys.TextDraft]]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("program", "fence_apc", "The program: its name, or its path.", keys.Text("a program",
			"fence_apc"), func(d *draft) *keys.At[string] { return &d.program }),
		keys.May("options", "Its options, as `hale fence describe` lists them, without the action: a text, or "+
			"`{file: PATH}` or `{env: NAME}` for what is secret. They are handed to its standard input. In a text, "+
			"`{host}` stands for the host's name.", keys.Mapping[keys.TextDraft]{Key: "OPTION", Each: optionShape(),
			Names: optionNames},
			func(d *draft) *keys.At[[]keys.Named[keys.TextDraft]] { return &d.options }),
	}}
}

// optionShape reads a text, for which a number or a truth will do, or a reference to a secret.
func optionShape() keys.Shorthand[keys.TextDraft, string] {
	v := keys.TextOrSecret("a text", "10.0.0.20")
	v.Short.Forms = []keys.Form{keys.FormText, keys.FormNumber, keys.FormBool}
	return v
}

// secretOptions are the agents' options that hold a secret.
var secretOptions = []string{"password", "passwd", "passphrase", "token", "snmp_auth_prot_passwd",
	"snmp_priv_passwd", "hexadecimal_kg", "secret_key", "login_passwd"}

func secretOption(name string) bool { return slices.Contains(secretOptions, name) }

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Fencing {
	d := v.Value
	o := Options{Program: d.program.Value}
	if strings.ContainsRune(o.Program, filepath.Separator) {
		o.Program = keys.Path(d.program)
	}
	for _, n := range d.options.Value {
		switch {
		case !n.OK:
			continue
		case n.Name == "action":
			f.Add(n.Spot, "is hale's own to set", "take it out")
		case f.Spelt(n, secretOption):
		case strings.ContainsAny(n.Value.Plain.Value, "\r\n"):
			f.Add(n.Spot, "has more than one line", "write it on one")
		}
		o.Values = append(o.Values, f.Named(n))
	}
	if d.program.Known() && Leaks(d.program.Value) && len(secret.In(o.Values)) > 0 {
		f.Add(d.program.Spot, d.program.Value+" hands the password to ipmitool in its arguments, where everybody on "+
			"the server can read it",
			"write ipmi: {host: …, user: …, password: …}, which does the same without that")
	}
	slices.SortFunc(o.Values, func(a, b secret.Named) int { return strings.Compare(a.Name, b.Name) })
	return Settings{o}
}

// optionNames are those of agents' options.
var optionNames = keys.KeyForm{Noun: "the name of an option", Pattern: "^[A-Za-z0-9_-]+$"}
