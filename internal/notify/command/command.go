// Package command tells people by a program on hale's side.
//
// It promises that the program is run without a shell, with the message as JSON on its standard input and as HALE_… in
// its environment, and with nothing else of hale's environment but PATH; that only exit code 0 is a yes; that a program
// which takes too long is killed with all that it started; that what it prints is bounded; and that no secret is in its
// arguments, or in any answer or error.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/program"
	"hale/internal/secret"
)

// Options are what a Target is made of.
type Options struct {
	Name    string
	Command []string // the program and its arguments
	Env     []secret.Named
	Timeout time.Duration // of one try
}

// Target runs one program.
type Target struct{ o Options }

// New makes a target. It runs nothing yet.
func New(o Options) *Target { return &Target{o} }

const op = "command.send"

// Send implements notify.Target.
func (t *Target) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	env, secrets, err := t.environment(ctx, m)
	if err != nil {
		return notify.Answer{}, err
	}
	input, err := json.Marshal(m)
	if err != nil {
		return notify.Answer{}, fault.New(fault.Invalid, op, t.o.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	output := &program.Tail{Most: longestOutput}
	code, err := program.Run(ctx, program.Process{
		Args:   t.o.Command,
		Env:    env,
		Input:  bytes.NewReader(input),
		Output: output,
	})
	said := notify.Clean(output.String(), secrets...)
	switch {
	case err != nil:
		return notify.Answer{}, t.failure(ctx, err, said)
	case code < 0:
		return notify.Answer{}, t.fail(fault.Transient, "a signal killed it "+said)
	case code > 0:
		return notify.Answer{}, t.fail(fault.Transient, fmt.Sprintf("exit code %d %s", code, said))
	}
	return notify.Answer{Said: strings.TrimSpace("exit code 0 " + said)}, nil
}

func (t *Target) failure(ctx context.Context, err error, said string) error {
	var never program.NotStarted
	switch {
	case ctx.Err() != nil:
		return t.fail(fault.UnknownOutcome, "it took longer than "+t.o.Timeout.String()+" and was killed "+said)
	case errors.As(err, &never):
		return t.fail(never.Judge())
	}
	return t.fail(fault.Transient, err.Error())
}

func (t *Target) fail(kind fault.Kind, said string) error {
	return fault.New(kind, op, t.o.Name, errors.New(strings.TrimSpace(said)))
}

// environment returns what the program finds in its environment, and the secrets that are in it.
func (t *Target) environment(ctx context.Context, m notify.Message) (env, secrets []string, err error) {
	env = []string{"PATH=" + os.Getenv("PATH")}
	for _, v := range []struct{ name, value string }{
		{"KEY", m.Key}, {"EVENT", string(m.Event)}, {"AT", m.At.UTC().Format(time.RFC3339)}, {"SERVER", m.Server},
		{"FLEET", m.Fleet}, {"MACHINE", m.Machine}, {"INCIDENT", m.Incident}, {"REASON", m.Reason},
		{"SUBJECT", m.Subject}, {"TEXT", m.Text},
	} {
		env = append(env, fmt.Sprintf("HALE_%s=%s", v.name, strings.ReplaceAll(v.value, "\x00", "")))
	}
	own, secrets, err := secret.Environment(ctx, t.o.Env)
	return append(env, own...), secrets, err
}

// longestOutput is how much of the end of a program's output is kept, in bytes.
const longestOutput = 4096
