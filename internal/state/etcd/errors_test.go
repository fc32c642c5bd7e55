package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"hale/internal/core/fault"
)

func TestWhatEtcdsErrorsMean(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		err  error
		what intent
		want fault.Kind
	}{
		"the deadline passed while writing":  {context.DeadlineExceeded, writing, fault.UnknownOutcome},
		"the caller left while writing":      {context.Canceled, writing, fault.UnknownOutcome},
		"the server timed out while writing": {rpctypes.ErrTimeout, writing, fault.UnknownOutcome},
		"the connection was lost while writing": {rpctypes.ErrTimeoutDueToConnectionLost, writing,
			fault.UnknownOutcome},
		"the leader changed while writing":           {rpctypes.ErrLeaderChanged, writing, fault.UnknownOutcome},
		"the server stopped while writing":           {rpctypes.ErrStopped, writing, fault.UnknownOutcome},
		"something unheard of while writing":         {errors.New("?"), writing, fault.UnknownOutcome},
		"the write that raises the alarm is kept":    {rpctypes.ErrNoSpace, writing, fault.UnknownOutcome},
		"without a leader nothing was done":          {rpctypes.ErrNoLeader, writing, fault.Transient},
		"too many requests, so nothing was done":     {rpctypes.ErrTooManyRequests, writing, fault.Throttled},
		"too large, so nothing was done":             {rpctypes.ErrRequestTooLarge, writing, fault.Invalid},
		"no rights, so nothing was done":             {rpctypes.ErrPermissionDenied, writing, fault.Unauthorised},
		"written under a lease that is gone":         {rpctypes.ErrLeaseNotFound, writing, fault.LeaseLost},
		"renewed a lease that is gone":               {rpctypes.ErrLeaseNotFound, renewing, fault.NotFound},
		"renewing got no answer":                     {context.DeadlineExceeded, renewing, fault.Transient},
		"a lease was refused by the alarm":           {rpctypes.ErrNoSpace, granting, fault.NoSpace},
		"reading got no answer":                      {context.DeadlineExceeded, reading, fault.Transient},
		"reading a revision that is compacted":       {rpctypes.ErrCompacted, reading, fault.NotFound},
		"watching from a revision that is compacted": {rpctypes.ErrCompacted, watching, fault.NotFound},
	} {
		if got := kindOf(c.err, c.what); got != c.want {
			t.Errorf("%s: %v is %q, want %q", reason, c.err, got, c.want)
		}
	}
}
