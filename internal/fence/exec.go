package fence

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/process"
	"hale/internal/secret"
)

// longestSaid is how much of a program's words is kept, in bytes.
const longestSaid = 1 << 10

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
	var out bytes.Buffer
	code, err = process.Run(ctx, process.Program{
		Args:   p.Args,
		Env:    p.Env,
		Input:  strings.NewReader(p.Input),
		Output: &bounded{to: &out},
	})
	said = clean(out.String(), p.Secrets)
	switch {
	case err == nil && code < 0:
		return code, said, p.fail(fault.UnknownOutcome, "a signal killed it")
	case err == nil:
		return code, said, nil
	case ctx.Err() != nil:
		return 0, said, p.fail(fault.UnknownOutcome, "it took too long and was killed")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return 0, said, p.fail(fault.NotFound, "there is no program "+p.Args[0])
	case errors.Is(err, fs.ErrPermission):
		return 0, said, p.fail(fault.Unauthorised, "hale may not run "+p.Args[0])
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

// bounded lets the first part of an output through, and drops the rest.
type bounded struct {
	to   *bytes.Buffer
	seen int
}

const longestOutput = 1 << 20

// Write implements io.Writer; it cannot fail.
func (b *bounded) Write(p []byte) (int, error) {
	if room := longestOutput - b.seen; room > 0 {
		b.to.Write(p[:min(room, len(p))])
	}
	b.seen += len(p)
	return len(p), nil
}
