package netprobe

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/program"
)

// The exit codes with a meaning of their own: those of monitoring plugins, and those of a shell that could not run what
// it was told to. All others but 0 are failures.
const (
	codeWarning     = 1
	codeUndecided   = 3
	codeNotRunnable = 126
	codeNotFound    = 127
)

// run executes the target's program. The beginning of what it says goes into the detail.
func (k asker) run(ctx context.Context, t probe.Target) (said string, err error) {
	c := &t.Spec.Exec
	if len(c.Command) == 0 {
		return "", probe.LocalError{Err: errors.New("no program")}
	}
	facts := policy.Facts{
		Machine: t.Machine, Instance: t.Instance, Host: t.Host, Address: t.Address, Metadata: t.Metadata,
	}
	if lacks := facts.Unknown(c.Texts()...); lacks != "" {
		return "", failure{fleet.ResultNoMetadata, lacks}
	}
	if unfit := facts.Unfit(c.Command, c.Env); unfit != "" {
		return "", failure{fleet.ResultUnfit, unfit + " of " + string(t.Machine)}
	}
	fill := facts.Filler()
	p := probe.Program{Args: make([]string, len(c.Command))}
	for i, arg := range c.Command {
		p.Args[i] = fill.Replace(arg)
	}
	variables := slices.Clone(c.Env)
	for i := range variables {
		variables[i].Value = fill.Replace(variables[i].Value)
	}
	var hidden secrets
	if p.Env, hidden, err = program.Environment(ctx, variables); err != nil {
		return "", probe.LocalError{Err: err}
	}
	code, output, err := k.transport.Run(ctx, p)
	if err != nil {
		return "", err
	}
	said = firstLine(hidden.hideIn(output))
	switch {
	case code == 0, code == codeWarning && c.Warning == policy.WarningOK:
		return said, nil
	case code == codeUndecided:
		return "", failure{fleet.ResultUndecided, said}
	case code < 0:
		return "", probe.LocalError{Err: errors.New("a signal ended the program")}
	case code == codeNotRunnable, code == codeNotFound:
		return "", probe.LocalError{Err: errors.New(exited(code, said))}
	}
	return "", failure{fleet.ResultExit, exited(code, said)}
}

func exited(code int, said string) string {
	return strings.TrimSuffix("exit code "+strconv.Itoa(code)+": "+said, ": ")
}

// firstLine returns the first line that says something, without what follows a plugin's bar (figures for graphs), short
// and printable.
func firstLine(output string) string {
	for line := range strings.Lines(output) {
		line, _, _ = strings.Cut(line, "|")
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, strings.ToValidUTF8(line, "")))
		if line != "" {
			return brief(errors.New(line))
		}
	}
	return ""
}
