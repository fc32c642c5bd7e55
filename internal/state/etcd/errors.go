package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// intent says what a call was for, because the same error means different things: a lost
// answer is harmless after a read and an unknown outcome after a write.
type intent int

const (
	reading intent = iota
	writing
	watching
	granting // a lost answer leaves at worst a lease that is not renewed
	renewing // or revoking
)

// refusals are the errors with which etcd says that it did nothing.
var refusals = map[error]fault.Kind{
	rpctypes.ErrEmptyKey:         fault.Invalid,
	rpctypes.ErrTooManyOps:       fault.Invalid,
	rpctypes.ErrDuplicateKey:     fault.Invalid,
	rpctypes.ErrRequestTooLarge:  fault.Invalid,
	rpctypes.ErrLeaseTTLTooLarge: fault.Invalid,
	rpctypes.ErrTooManyRequests:  fault.Throttled,
	rpctypes.ErrNoLeader:         fault.Transient,
	rpctypes.ErrPermissionDenied: fault.Unauthorised,
	rpctypes.ErrInvalidAuthToken: fault.Unauthorised,
	rpctypes.ErrUserEmpty:        fault.Unauthorised,
	rpctypes.ErrCompacted:        fault.NotFound,
}

// kindOf classifies an error of etcd's client. Whatever is not surely a refusal leaves the
// outcome of a write unknown: a deadline, a lost connection, a change of leader, a stop. So
// does the quota alarm, because the write that raises it while being applied is kept.
func kindOf(err error, what intent) fault.Kind {
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		if what == writing {
			return fault.LeaseLost
		}
		return fault.NotFound
	}
	if errors.Is(err, rpctypes.ErrNoSpace) && what == granting {
		return fault.NoSpace
	}
	for refusal, kind := range refusals {
		if errors.Is(err, refusal) {
			return kind
		}
	}
	if what == writing {
		return fault.UnknownOutcome
	}
	return fault.Transient
}

// explain turns an error of etcd's client into one of the port. If the store ended
// meanwhile, the reason for that is the better cause.
func (s *calls) explain(ctx context.Context, err error, what intent, op, subject string) error {
	kind := kindOf(err, what)
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		err = state.ErrCompacted
	case s.ctx.Err() != nil:
		err = context.Cause(s.ctx)
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return fault.New(kind, op, subject, err)
}
