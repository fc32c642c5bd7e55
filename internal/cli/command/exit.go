package command

import (
	"errors"
	"strings"

	"hale/api"
)

// Exit codes.
const (
	ExitDone       = 0
	ExitFailure    = 1
	ExitUsage      = 2
	ExitNotRunning = 3
	ExitPending    = 4
)

// ExitCode is how hale ends when a command returned err.
func ExitCode(err error) int {
	var absent api.NotRunning
	var refused api.Problem
	switch {
	case isUsage(err), errors.As(err, &refused) && refused.Code == api.CodeConfiguration:
		return ExitUsage
	case errors.As(err, &absent), errors.As(err, new(api.Unreachable)), errors.Is(err, ErrStopping):
		return ExitNotRunning
	case errors.As(err, new(pendingError)), errors.As(err, &refused) && refused.Code == api.CodeSecondPerson:
		return ExitPending
	}
	return ExitFailure
}

// ErrStopping keeps what a controller saw last from passing for how things stand.
var ErrStopping = errors.New("the controller is stopping: nothing is watched or repaired until one is started again")

// pendingError says that an order is stored and not taken up yet.
type pendingError struct{ about []string }

// Pending says so of an order that is about these.
func Pending(about []string) error { return pendingError{about} }

func (p pendingError) Error() string {
	return "accepted, and not taken up yet: no hale looks after " + strings.Join(p.about, ", ") +
		" now; it takes effect when one does"
}
