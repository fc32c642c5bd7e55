package config

import (
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/keys"
)

// The keys of an exec provider, and what they say. See tables.go.

type programDraft struct {
	command  keys.At[[]keys.At[string]]
	env      keys.At[[]keys.Named[valueDraft]]
	timeout  keys.At[time.Duration]
	parallel keys.At[int]
}

// The defaults of an exec provider.
const (
	defaultExecTimeout  = time.Minute
	defaultExecParallel = 8
)

func execFields() []keys.Field[providerDraft] {
	return []keys.Field[providerDraft]{
		keys.May("command", "exec only, and needed there: the program and its arguments, without a shell. What it "+
			"reads and writes is in [the contract](exec-provider.md). A relative path begins at the folder of this "+
			"file. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command",
				"/usr/local/lib/hale/my-cloud")},
			func(p *providerDraft) *keys.At[[]keys.At[string]] { return &p.program.command }),
		keys.May("env", "exec only: the program's environment, beside a PATH: a text, or `{file: PATH}` or `{env: "+
			"NAME}` for what is secret, which is read for each call.",
			keys.Mapping[valueDraft]{Key: "VARIABLE", Each: valueShape("a text", "https://cloud.example.org"),
				Names: variableNames},
			func(p *providerDraft) *keys.At[[]keys.Named[valueDraft]] { return &p.program.env }),
		keys.Or("timeout", defaultExecTimeout,
			"exec only: when a program is killed whose call has no limit by its step.",
			keys.Duration(time.Second, time.Hour),
			func(p *providerDraft) *keys.At[time.Duration] { return &p.program.timeout }),
		keys.Or("parallel", defaultExecParallel,
			"exec only: how many programs run at once to change something, and how many to read.", keys.Integer(1, 256),
			func(p *providerDraft) *keys.At[int] { return &p.program.parallel }),
	}
}

func templateOptions() keys.Field[templateDraft] {
	return keys.May("options", "exec only: whatever else the provider's program wants to know, by its own names.",
		keys.Mapping[string]{
			Key: "OPTION", Each: keys.Text("the option's value", "ssd"),
			Names: keys.KeyForm{Noun: "the name of an option",
				Pattern: "^[A-Za-z0-9_.-]+$"},
		}, func(t *templateDraft) *keys.At[[]keys.Named[string]] { return &t.options })
}

// compileExec judges an exec provider.
func compileExec(n keys.Named[providerDraft], f *keys.Finder) Exec {
	d := n.Value.program
	if !d.command.Written() || d.command.Known() && len(d.command.Value) == 0 {
		f.Add(n.Under("command"), "is missing", "add command: [/path/to/the/program]")
	}
	c := compileCommand(keys.At[commandDraft]{Value: commandDraft{command: d.command}}, f)
	e := Exec{Command: c.Command, Timeout: d.timeout.Value, Parallel: d.parallel.Value}
	for _, v := range d.env.Value {
		x := ExecVariable{Name: v.Name, Value: v.Value.plain.Value}
		valueAt(f, v.Value) // finds what is wrong with a reference
		if hushed(v.Name) && v.Value.plain.Written() {
			f.Add(v.Spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		}
		if s := v.Value.secret; s.file.Given() {
			x.File = resolve(s.file)
		} else if s.env.Given() {
			x.Env = s.env.Value
		}
		e.Env = append(e.Env, x)
	}
	sortBy(e.Env, func(v ExecVariable) string { return v.Name })
	return e
}

// settings returns the template's options, sorted by name.
func (c *fleetCompiler) settings() []fleet.Setting {
	var out []fleet.Setting
	for _, n := range c.draft.template.Value.options.Value {
		out = append(out, fleet.Setting{Name: n.Name, Value: n.Value})
	}
	sortBy(out, func(s fleet.Setting) string { return s.Name })
	return out
}

// execTemplate reports what is of no use to a provider of the other kind.
func (c *fleetCompiler) execTemplate() {
	d := c.draft.template.Value
	kind := c.providers[c.draft.provider.Value]
	switch {
	case !kind.Known():
	case kind.Value == ProviderExec:
		foreign(c.Finder, ProviderExec, d.seed)
		foreign(c.Finder, ProviderExec, d.xml)
		foreign(c.Finder, ProviderExec, d.accel)
	case kind.Value != ProviderExec:
		foreign(c.Finder, kind.Value, d.options)
	}
}

func sortBy[V any](all []V, key func(V) string) {
	slices.SortFunc(all, func(a, b V) int { return strings.Compare(key(a), key(b)) })
}
