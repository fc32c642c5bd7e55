package netprobe

import (
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type execDraft struct {
	command keys.At[[]keys.At[string]]
	env     keys.At[[]keys.Named[keys.TextDraft]]
	warning keys.At[policy.Warning]
}

var execKeys = kinds.CheckOf(policy.CheckExec, "command: […]",
	"Run a program on hale's side: a script of your own, or a monitoring plugin. Exit code 0 is a success; 3, and "+
		"what a shell says that cannot run it (126, 127), count neither way; every other one is a failure.",
	execShape(),
	func(c kinds.Asked, d keys.At[execDraft]) { c.Check.Exec = execOf(c, d.Value) }, writeExec)

func execShape() keys.Object[execDraft] {
	return keys.Object[execDraft]{Fields: []keys.Field[execDraft]{
		keys.Must("command", "[/usr/lib/hale/probe, \"{ip}\"]", "The program and its arguments, without a shell. "+
			kinds.PlaceholdersSaid+"When its time is over, it is killed with everything that it started. The first line "+
			"that it says is kept with the result. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command", "/usr/lib/hale/probe")},
			func(e *execDraft) *keys.At[[]keys.At[string]] { return &e.command }),
		keys.May("env", kinds.EnvSaid,
			keys.Mapping[keys.TextDraft]{
				Key: "VARIABLE", Names: keys.VariableNames, Each: keys.TextOrSecret("the variable's value",
					"production"),
			}, func(e *execDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &e.env }),
		keys.Or("warning", policy.WarningFails, "What exit code 1 means. `fail`: a failure, as with most programs. "+
			"`ok`: a success, as fits monitoring plugins, for which it is a warning.",
			keys.Choice(nil, policy.WarningFails, policy.WarningOK),
			func(e *execDraft) *keys.At[policy.Warning] { return &e.warning }),
	}}
}

func execOf(c kinds.Asked, d execDraft) policy.ExecCheck {
	var out policy.ExecCheck
	out.Command, out.Env = kinds.Command(c.Finder, keys.ProgramDraft{Command: d.command, Env: d.env}, c.Placeholders)
	if d.warning.Given() && d.warning.Value != policy.WarningFails {
		out.Warning = d.warning.Value
	}
	return out
}

func writeExec(check *policy.Check, p *keys.Pairs) {
	var env keys.Pairs
	c := &check.Exec
	words := make([]string, len(c.Command))
	for i, w := range c.Command {
		words[i] = keys.Quoted(w)
	}
	for _, v := range c.Env {
		env.Add(v.Name, "%s", keys.PlainOrSecret(v.Value, v.Secret))
	}
	p.Add("command", "[%s]", strings.Join(words, ", "))
	p.May("env", "%s", env)
	p.May("warning", "%s", c.Warning)
}
