package command

import (
	"errors"
	"fmt"
	"strings"

	"hale/internal/core/fault"
)

// usageError is a mistake in how hale was called or configured.
type usageError struct{ err error }

// Usage says that err is such a mistake.
func Usage(err error) error { return usageError{err} }

// isUsage reports whether err is such a mistake.
func isUsage(err error) bool { return errors.As(err, new(usageError)) }

func (u usageError) Error() string { return u.err.Error() }

func (u usageError) Unwrap() error { return u.err }

// Message says what to do about the errors that people meet, and leaves the others as they are.
func Message(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Err == nil {
		return err.Error()
	}
	switch {
	case f.Op == "state.open" && f.Kind == fault.Conflict:
		return fmt.Sprintf("data folder %s: %v; stop the hale that runs there, or name another folder with --data-dir",
			f.Subject, f.Err)
	case f.Op == "state.copy" && f.Kind == fault.Conflict:
		return fmt.Sprintf("a controller uses data folder %s, but does not listen on the socket: name its socket "+
			"with --socket", f.Subject)
	case f.Op == "state.replace" && f.Kind == fault.Conflict:
		return fmt.Sprintf("data folder %s: %v; put it aside with --force, or name another folder with --data-dir",
			f.Subject, f.Err)
	case f.Op == "state.moved":
		return f.Err.Error()
	case f.Op == "format.open", f.Op == "backup.read", f.Op == "app.backup", f.Op == "app.restore":
		return fmt.Sprintf("%s: %v", f.Subject, f.Err)
	case strings.HasPrefix(f.Op, "cluster.") && f.Subject != "", strings.HasPrefix(f.Op, "papers."):
		return fmt.Sprintf("%s: %v", f.Subject, fault.Plain(f.Err))
	case strings.HasPrefix(f.Op, "cluster."):
		return fault.Plain(f.Err)
	case f.Op == "api.listen":
		return fmt.Sprintf("socket %s: %v", f.Subject, f.Err)
	}
	return err.Error()
}
