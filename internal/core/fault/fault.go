// Package fault is the error vocabulary of hale: every error that crosses a port
// says which operation failed, on which subject, of which kind, and why.
//
// Callers decide by Kind, never by text. UnknownOutcome is a kind of its own: the
// call may or may not have taken effect, so it must be observed, never retried blindly.
//
// It promises to import nothing of hale. It does not log and does not translate for people.
package fault

import (
	"context"
	"errors"
	"strings"
)

// Kind classifies an error by what may be done about it.
type Kind string

// The kinds. The zero value means an unclassified error; KindOf reports it as Permanent.
const (
	NotFound    Kind = "not found"   // the subject does not exist
	Conflict    Kind = "conflict"    // the subject exists already, or is not what the caller believes it to be
	Unsupported Kind = "unsupported" // this adapter can never do it
	// people keep everybody from the subject until they unlock it; nothing was done
	Locked         Kind = "locked"
	Throttled      Kind = "throttled"       // asked too often; nothing was done
	Quota          Kind = "quota"           // a limit of the account is reached; nothing was done
	Transient      Kind = "transient"       // nothing was done; the same call may work later
	Permanent      Kind = "permanent"       // nothing was done; the same call will fail again
	Unauthorised   Kind = "unauthorised"    // credentials are missing, wrong or insufficient
	Invalid        Kind = "invalid"         // the request itself is wrong
	UnknownOutcome Kind = "unknown outcome" // the call may have taken effect: observe before anything else
	NoSpace        Kind = "no space"        // the disk or the store is full; nothing was done
	LeaseLost      Kind = "lease lost"      // the caller is no longer the owner; nothing was done
)

// Error is the one error type that crosses hale's ports.
type Error struct {
	Op      string // the operation, as "provider.create"
	Subject string // what it was done to, as "web-2"; may be empty
	Kind    Kind
	Err     error // the cause; may be nil
}

// New makes an Error. A nil cause is allowed where the kind says it all.
func New(kind Kind, op, subject string, cause error) *Error {
	return &Error{Op: op, Subject: subject, Kind: kind, Err: cause}
}

// Error renders "op subject: kind: cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		b.WriteString(" ")
		b.WriteString(e.Subject)
	}
	b.WriteString(": ")
	b.WriteString(string(e.Kind))
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Plain says what went wrong, without operation, subject and kind, for people who know those.
func Plain(err error) string {
	switch e := err.(type) { //nolint:errorlint // each layer is peeled off by itself
	case nil:
		return ""
	case *Error:
		if e.Err == nil {
			return string(e.Kind)
		}
		return Plain(e.Err)
	case interface{ Unwrap() error }:
		return peeled(err.Error(), e.Unwrap())
	case interface{ Unwrap() []error }:
		said := err.Error()
		for _, cause := range e.Unwrap() {
			said = peeled(said, cause)
		}
		return said
	}
	return err.Error()
}

// peeled is what was said with its cause in plain words.
func peeled(said string, cause error) string {
	if cause == nil {
		return said
	}
	return strings.Replace(said, cause.Error(), Plain(cause), 1)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost Error in err's chain. A context that ended
// without a classification is Transient; any other unclassified error is Permanent;
// nil has the empty kind.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) && e.Kind != "" {
		return e.Kind
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Transient
	}
	return Permanent
}

// Is reports whether err is of the kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
