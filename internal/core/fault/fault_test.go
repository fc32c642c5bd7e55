package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"hale/internal/core/fault"
)

func TestTheKindOfAnErrorIsWhatMayBeDoneAboutIt(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.UnknownOutcome, "libvirt.create", "web-2", io.EOF)
	for name, c := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"none":                  {nil, ""},
		"said":                  {lost, fault.UnknownOutcome},
		"said, and wrapped":     {fmt.Errorf("while building: %w", lost), fault.UnknownOutcome},
		"the outermost counts":  {fault.New(fault.Transient, "engine.look", "", lost), fault.Transient},
		"a context that ended":  {fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Transient},
		"it is unclassified":    {errors.New("oops"), fault.Permanent},
		"said without any kind": {fault.New("", "x", "", nil), fault.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.KindOf(c.err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if fault.Is(c.err, c.want) != (c.err != nil) {
				t.Errorf("Is(%v, %q) disagrees", c.err, c.want)
			}
		})
	}
	if !errors.Is(lost, io.EOF) {
		t.Error("the cause is lost")
	}
	if got, want := lost.Error(), "libvirt.create web-2: unknown outcome: EOF"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPeopleAreToldTheCauseAlone(t *testing.T) {
	t.Parallel()
	cause := errors.New("Network not found")
	inner := fault.New(fault.UnknownOutcome, "libvirt.create", "c2d9", cause)
	for want, err := range map[string]error{
		"":                           nil,
		"Network not found":          fault.New(fault.Invalid, "libvirt.create", "c2d9", inner),
		"on h1: Network not found":   fault.New(fault.Invalid, "libvirt.create", "", fmt.Errorf("on h1: %w", inner)),
		"not found":                  fault.New(fault.NotFound, "libvirt.start", "c2d9", nil),
		"Network not found\nEOF":     errors.Join(inner, fault.New(fault.Transient, "x", "", io.EOF)),
		"while building: it is gone": fmt.Errorf("while building: %w", errors.New("it is gone")),
	} {
		if got := fault.Plain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
