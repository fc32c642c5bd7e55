package fence

import (
	"context"
	"errors"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/program"
	"hale/internal/secret"
)

const (
	// longestOutput is how much of what a program says is read, in bytes.
	longestOutput = 1 << 20
	// longestSaid is how much of that is kept, from its end.
	longestSaid = 1 << 10
)

// Program is one run of a program that switches power.
type Program struct {
	Op, Subject string // for its errors
	Args        []string
	Env         []string // as "NAME=value"
	Input       string
	// Secrets are hidden from what it says.
	Secrets []string
}

// Run runs it to its end, and returns its exit code and the end of what it said. An error means that there is none.
// NotFound: there is no such program. Unauthorised: hale may not run it. UnknownOutcome: it was killed when ctx ended.
// Transient: it could not be started.
func (p Program) Run(ctx context.Context) (code int, said string, err error) {
	out := program.Head{Most: longestOutput}
	code, err = program.Run(ctx, program.Process{
		Args:   p.Args,
		Env:    p.Env,
		Input:  strings.NewReader(p.Input),
		Output: &out,
	})
	said = clean(out.String(), p.Secrets)
	var never program.NotStarted
	switch {
	case err == nil && code < 0:
		return code, said, p.fail(fault.UnknownOutcome, "a signal killed it")
	case err == nil:
		return code, said, nil
	case ctx.Err() != nil:
		return 0, said, p.fail(fault.UnknownOutcome, "it took too long and was killed")
	case errors.As(err, &never):
		kind, why := never.Judge()
		return 0, said, p.fail(kind, why)
	}
	return 0, said, p.fail(fault.Transient, err.Error())
}

func (p Program) fail(kind fault.Kind, why string) error {
	return fault.New(kind, p.Op, p.Subject, errors.New(why))
}

// clean makes one line of what a program said, without secrets.
func clean(said string, secrets []string) string {
	lines := strings.FieldsFunc(said, func(r rune) bool { return r == '\n' || r == '\r' || r < ' ' })
	text := strings.ToValidUTF8(secret.Redact(strings.Join(lines, "; "), secrets...), "")
	return text[max(0, len(text)-longestSaid):]
}
