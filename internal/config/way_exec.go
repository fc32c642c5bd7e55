package config

import (
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/keys"
)

type execDraft struct {
	command keys.At[[]keys.At[string]]
	env     keys.At[[]keys.Named[keys.TextDraft]]
	warning keys.At[fleet.Warning]
}

var execWay = wayOf(fleet.CheckExec, "command: […]",
	"Run a program on hale's side: a script of your own, or a monitoring plugin. Exit code 0 is a success; 3, and "+
		"what a shell says that cannot run it (126, 127), count neither way; every other one is a failure.", execShape(),
	func(c *fleetCompiler, d keys.At[execDraft], out *fleet.Check) { out.Exec = c.exec(d.Value) }, writeExec)

func execShape() keys.Object[execDraft] {
	return keys.Object[execDraft]{Fields: []keys.Field[execDraft]{
		keys.Must("command", "[/usr/lib/hale/probe, \"{ip}\"]", "The program and its arguments, without a shell. "+
			placeholdersSaid+"When its time is over, it is killed with everything that it started. The first line "+
			"that it says is kept with the result. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command", "/usr/lib/hale/probe")},
			func(e *execDraft) *keys.At[[]keys.At[string]] { return &e.command }),
		keys.May("env", envSaid,
			keys.Mapping[keys.TextDraft]{
				Key: "VARIABLE", Names: keys.VariableNames, Each: keys.TextOrSecret("the variable's value",
					"production"),
			}, func(e *execDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &e.env }),
		keys.Or("warning", fleet.WarningFails, "What exit code 1 means. `fail`: a failure, as with most programs. "+
			"`ok`: a success, as fits monitoring plugins, for which it is a warning.",
			keys.Choice(nil, fleet.WarningFails, fleet.WarningOK),
			func(e *execDraft) *keys.At[fleet.Warning] { return &e.warning }),
	}}
}

func (c *fleetCompiler) exec(d execDraft) fleet.ExecCheck {
	var out fleet.ExecCheck
	for _, word := range d.command.Value {
		c.placeholders(word.Spot, word.Value)
		out.Command = append(out.Command, word.Value)
	}
	for _, n := range d.env.Value {
		value, kept := c.TextPlace(n)
		c.placeholders(n.Spot, value)
		out.Env = append(out.Env, fleet.Variable{Name: n.Name, Value: value, Secret: kept})
	}
	slices.SortFunc(out.Env, func(a, b fleet.Variable) int { return strings.Compare(a.Name, b.Name) })
	if d.warning.Given() && d.warning.Value != fleet.WarningFails {
		out.Warning = d.warning.Value
	}
	return out
}

func writeExec(check *fleet.Check, p *pairs) {
	var env pairs
	c := &check.Exec
	words := make([]string, len(c.Command))
	for i, w := range c.Command {
		words[i] = quoted(w)
	}
	for _, v := range c.Env {
		env.add(v.Name, "%s", plainOrSecret(v.Value, v.Secret))
	}
	p.add("command", "[%s]", strings.Join(words, ", "))
	p.unless(len(env) == 0, "env", "%s", env.String())
	p.unless(c.Warning == "", "warning", "%s", c.Warning)
}
