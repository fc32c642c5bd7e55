package netprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

func TestWeigh(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	var (
		refused = &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		local   = fmt.Errorf("ping: %w", probe.LocalError{Err: syscall.EPERM})
		expired = context.DeadlineExceeded
	)
	for name, tc := range map[string]struct {
		err, ended error
		took       time.Duration
		want       fleet.ResultReason
	}{
		"a success":                      {nil, nil, limit - 1, fleet.ResultOK},
		"a success at the timeout":       {nil, nil, limit, fleet.ResultTimeout},
		"a success after the timeout":    {nil, expired, limit + 1, fleet.ResultLate},
		"a refusal":                      {refused, nil, limit - 1, fleet.ResultRefused},
		"a refusal after the timeout":    {refused, expired, limit + 1, fleet.ResultTimeout},
		"the timeout":                    {expired, expired, limit, fleet.ResultTimeout},
		"the timeout, read just in time": {expired, expired, limit + overrun, fleet.ResultTimeout},
		"the timeout, read too late":     {expired, expired, limit + overrun + 1, fleet.ResultLate},
		"a refusal, read too late":       {refused, expired, limit + overrun + 1, fleet.ResultLate},
		"our own fault":                  {local, nil, limit - 1, fleet.ResultLocal},
		"our own fault, late":            {local, expired, limit, fleet.ResultLocal},
		"called off":                     {context.Canceled, context.Canceled, limit - 1, fleet.ResultLate},
	} {
		if got := weigh(tc.err, tc.ended, tc.took, limit); got.reason != tc.want {
			t.Errorf("%s: %s, want %s", name, got.reason, tc.want)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want fleet.ResultReason
	}{
		"reset":                      {syscall.ECONNRESET, fleet.ResultRefused},
		"no answer to the neighbour": {syscall.EHOSTUNREACH, fleet.ResultUnreachable},
		"no descriptor":              {syscall.EMFILE, fleet.ResultLocal},
		"no descriptor at all":       {syscall.ENFILE, fleet.ResultLocal},
		"no port":                    {syscall.EADDRNOTAVAIL, fleet.ResultLocal},
		"no route":                   {syscall.ENETUNREACH, fleet.ResultLocal},
		"an unexpected error":        {syscall.EXDEV, fleet.ResultLocal},
		"the kernel's own timeout":   {syscall.ETIMEDOUT, fleet.ResultTimeout},
		"a deadline":                 {os.ErrDeadlineExceeded, fleet.ResultTimeout},
		"closed by ourselves":        {net.ErrClosed, fleet.ResultLocal},
		"not an address":             {&net.AddrError{Err: "missing port"}, fleet.ResultLocal},
		"the end":                    {io.ErrUnexpectedEOF, fleet.ResultProtocol},
		"an exit code":               {failure{fleet.ResultExit, "exit code 1"}, fleet.ResultExit},
	} {
		if got := classify(fmt.Errorf("probe: %w", tc.err)); got.reason != tc.want {
			t.Errorf("%s: %s, want %s", name, got.reason, tc.want)
		}
	}
}

func TestDetailsAreBrief(t *testing.T) {
	t.Parallel()
	got := classify(errors.New(strings.Repeat("ü", 1000)))
	if len(got.detail) > 130 || strings.ContainsRune(got.detail, '�') {
		t.Errorf("detail of %d bytes: %q", len(got.detail), got.detail)
	}
}
