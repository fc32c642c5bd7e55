package config

import (
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
)

// The keys of an exec provider, and what they say. See tables.go.

type programDraft struct {
	command  at[[]at[string]]
	env      at[[]named[valueDraft]]
	timeout  at[time.Duration]
	parallel at[int]
}

// The defaults of an exec provider.
const (
	defaultExecTimeout  = time.Minute
	defaultExecParallel = 8
)

func execFields() []field[providerDraft] {
	return []field[providerDraft]{
		may("command", "exec only, and needed there: the program and its arguments, without a shell. What it reads "+
			"and writes is in [the contract](exec-provider.md). A relative path begins at the folder of this file. "+
			"Put no secrets here: everybody on the server can read them.",
			list[string]{noun: "the program", each: text("a word of the command", "/usr/local/lib/hale/my-cloud")},
			func(p *providerDraft) *at[[]at[string]] { return &p.program.command }),
		may("env", "exec only: the program's environment, beside a PATH: a text, or `{file: PATH}` or `{env: NAME}` "+
			"for what is secret, which is read for each call.",
			mapping[valueDraft]{key: "VARIABLE", each: valueShape("a text", "https://cloud.example.org"),
				names: variableNames},
			func(p *providerDraft) *at[[]named[valueDraft]] { return &p.program.env }),
		or("timeout", defaultExecTimeout, "exec only: when a program is killed whose call has no limit by its step.",
			duration(time.Second, time.Hour),
			func(p *providerDraft) *at[time.Duration] { return &p.program.timeout }),
		or("parallel", defaultExecParallel,
			"exec only: how many programs run at once to change something, and how many to read.", integer(1, 256),
			func(p *providerDraft) *at[int] { return &p.program.parallel }),
	}
}

func templateOptions() field[templateDraft] {
	return may("options", "exec only: whatever else the provider's program wants to know, by its own names.",
		mapping[string]{
			key: "OPTION", each: text("the option's value", "ssd"), names: keyForm{noun: "the name of an option",
				pattern: "^[A-Za-z0-9_.-]+$"},
		}, func(t *templateDraft) *at[[]named[string]] { return &t.options })
}

// compileExec judges an exec provider.
func compileExec(n named[providerDraft], f *finder) Exec {
	d := n.value.program
	if !d.command.written() || d.command.known() && len(d.command.value) == 0 {
		f.add(n.under("command"), "is missing", "add command: [/path/to/the/program]")
	}
	c := compileCommand(at[commandDraft]{value: commandDraft{command: d.command}}, f)
	e := Exec{Command: c.Command, Timeout: d.timeout.value, Parallel: d.parallel.value}
	for _, v := range d.env.value {
		x := ExecVariable{Name: v.name, Value: v.value.plain.value}
		f.value(v.value) // finds what is wrong with a reference
		if hushed(v.name) && v.value.plain.written() {
			f.add(v.spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		}
		if s := v.value.secret; s.file.given() {
			x.File = resolve(s.file)
		} else if s.env.given() {
			x.Env = s.env.value
		}
		e.Env = append(e.Env, x)
	}
	sortBy(e.Env, func(v ExecVariable) string { return v.Name })
	return e
}

// settings returns the template's options, sorted by name.
func (c *fleetCompiler) settings() []fleet.Setting {
	var out []fleet.Setting
	for _, n := range c.draft.template.value.options.value {
		out = append(out, fleet.Setting{Name: n.name, Value: n.value})
	}
	sortBy(out, func(s fleet.Setting) string { return s.Name })
	return out
}

// execTemplate reports what is of no use to a provider of the other kind.
func (c *fleetCompiler) execTemplate() {
	d := c.draft.template.value
	kind := c.providers[c.draft.provider.value]
	switch {
	case !kind.known():
	case kind.value == ProviderExec:
		foreign(c.finder, ProviderExec, d.seed)
		foreign(c.finder, ProviderExec, d.xml)
		foreign(c.finder, ProviderExec, d.accel)
	case kind.value != ProviderExec:
		foreign(c.finder, kind.value, d.options)
	}
}

func sortBy[V any](all []V, key func(V) string) {
	slices.SortFunc(all, func(a, b V) int { return strings.Compare(key(a), key(b)) })
}
