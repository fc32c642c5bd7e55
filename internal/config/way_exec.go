package config

import (
	"slices"
	"strings"

	"hale/internal/fleet"
)

type execDraft struct {
	command at[[]at[string]]
	env     at[[]named[valueDraft]]
	warning at[fleet.Warning]
}

var execWay = wayOf(fleet.CheckExec, "command: […]",
	"Run a program on hale's side: a script of your own, or a monitoring plugin. Exit code 0 is a success; 3, and "+
		"what a shell says that cannot run it (126, 127), count neither way; every other one is a failure.", execShape(),
	func(c *fleetCompiler, d at[execDraft], out *fleet.Check) { out.Exec = c.exec(d.value) }, writeExec)

func execShape() object[execDraft] {
	return object[execDraft]{fields: []field[execDraft]{
		must("command", "[/usr/lib/hale/probe, \"{ip}\"]", "The program and its arguments, without a shell. "+
			placeholdersSaid+"When its time is over, it is killed with everything that it started. The first line "+
			"that it says is kept with the result. Put no secrets here: everybody on the server can read them.",
			list[string]{noun: "the program", each: text("a word of the command", "/usr/lib/hale/probe")},
			func(e *execDraft) *at[[]at[string]] { return &e.command }),
		may("env", envSaid,
			mapping[valueDraft]{
				key: "VARIABLE", names: variableNames, each: valueShape("the variable's value", "production"),
			}, func(e *execDraft) *at[[]named[valueDraft]] { return &e.env }),
		or("warning", fleet.WarningFails, "What exit code 1 means. `fail`: a failure, as with most programs. `ok`: a "+
			"success, as fits monitoring plugins, for which it is a warning.",
			choice(nil, fleet.WarningFails, fleet.WarningOK),
			func(e *execDraft) *at[fleet.Warning] { return &e.warning }),
	}}
}

func (c *fleetCompiler) exec(d execDraft) fleet.ExecCheck {
	var out fleet.ExecCheck
	for _, word := range d.command.value {
		c.placeholders(word.spot, word.value)
		out.Command = append(out.Command, word.value)
	}
	for _, n := range d.env.value {
		value, kept := c.kept(n)
		c.placeholders(n.spot, value)
		out.Env = append(out.Env, fleet.Variable{Name: n.name, Value: value, Secret: kept})
	}
	slices.SortFunc(out.Env, func(a, b fleet.Variable) int { return strings.Compare(a.Name, b.Name) })
	if d.warning.given() && d.warning.value != fleet.WarningFails {
		out.Warning = d.warning.value
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
