// Package command reads metrics by a program on hale's side.
//
// It promises that the program is run without a shell, and with nothing of hale's environment but a PATH; that only
// exit code 0 is a word; that a program which takes too long is killed with all that it started; that what it prints is
// bounded; and that no secret of its environment is in any error.
package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/notify"
	"hale/internal/program"
)

// Reader runs one program.
type Reader struct {
	metric fleet.MetricName
	args   []string
	env    []policy.Variable
}

var _ gauge.Reader = (*Reader)(nil)

// fleetVariable tells the program which fleet asks.
const fleetVariable = "HALE_FLEET"

// New makes a reader. It runs nothing yet.
func New(of fleet.Name, m policy.Metric) *Reader {
	return &Reader{metric: m.Name, args: m.Command.Args,
		env: append([]policy.Variable{{Name: fleetVariable, Value: string(of)}}, m.Command.Env...)}
}

const (
	op = "command.read"
	// longestOutput bounds what is read of its output, in bytes: more is no answer. Of what it says to its standard
	// error less is kept.
	longestOutput = 1 << 20
	longestErrors = 4 << 10
)

// Read implements gauge.Reader. The program prints one number, or a line MACHINE VALUE for each machine, by its name or
// its address; empty lines, and what follows a #, do not count.
func (r *Reader) Read(ctx context.Context, machines []gauge.Machine) (gauge.Reading, error) {
	env, hidden, err := program.Environment(ctx, r.env)
	switch {
	case ctx.Err() != nil:
		return r.fail(fault.Transient, "there was no time to run it")
	case err != nil:
		return gauge.Reading{}, fault.New(fault.Permanent, op, string(r.metric), err)
	}
	said, complaint := &program.Head{Most: longestOutput + 1}, &program.Head{Most: longestErrors}
	code, err := program.Run(ctx, program.Process{Args: r.args, Env: env, Output: said, Errors: complaint})
	var never program.NotStarted
	switch clean := notify.Clean(complaint.String(), hidden...); {
	case ctx.Err() != nil:
		return r.fail(fault.Transient, "its time was over, and it was killed "+clean)
	case errors.As(err, &never):
		kind, why := never.Judge()
		if kind != fault.Transient { // there is none, or hale may not run it
			kind = fault.Invalid
		}
		return r.fail(kind, why)
	case err != nil:
		return r.fail(fault.Transient, err.Error())
	case code < 0:
		return r.fail(fault.Transient, "a signal killed it "+clean)
	case code > 0:
		return r.fail(fault.Transient, fmt.Sprintf("exit code %d %s", code, clean))
	case len(said.String()) > longestOutput:
		return r.fail(fault.Invalid, fmt.Sprintf("it prints more than %d bytes", longestOutput))
	}
	return r.parse(said.String(), machines, hidden)
}

// parse reads what it printed.
func (r *Reader) parse(said string, machines []gauge.Machine, hidden []string) (out gauge.Reading, err error) {
	names, strangers := gauge.NamesOf(machines), 0
	for line := range strings.Lines(said) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		value, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || len(words) > 2 {
			return r.fail(fault.Invalid, "this is neither a number nor MACHINE NUMBER: "+notify.Clean(line, hidden...))
		}
		if len(words) == 1 {
			out.Whole = append(out.Whole, value)
			continue
		}
		if m, known := names.Find(words[0]); known {
			out.Each = append(out.Each, fleet.MachineValue{Machine: m, Value: value})
		} else {
			strangers++
		}
	}
	if len(out.Whole)+len(out.Each) == 0 {
		why := "it printed no number"
		if strangers > 0 {
			why = fmt.Sprintf("none of the %d lines is of a machine of the fleet", strangers)
		}
		return r.fail(fault.NotFound, why)
	}
	return out, nil
}

func (r *Reader) fail(kind fault.Kind, why string) (gauge.Reading, error) {
	return gauge.Reading{}, fault.New(kind, op, string(r.metric), errors.New(strings.TrimSpace(why)))
}
