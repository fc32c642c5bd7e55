package poller

import (
	"errors"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// TestOfManySilentHostsAFewAreNamed: the others are counted, so that a rack without power is one line.
func TestOfManySilentHostsAFewAreNamed(t *testing.T) {
	t.Parallel()
	answers := []provider.HostAnswer{{Name: "well"}}
	for i, want := range []string{
		"",
		"host a does not answer: no route",
		"host a does not answer: no route; host b does not answer: no route",
		"host a does not answer: no route; host b does not answer: no route; host c does not answer: no route",
		"host a does not answer: no route; host b does not answer: no route; host c does not answer: no route; " +
			"and 1 more",
	} {
		if got := silence(answers); got != want {
			t.Errorf("of %d silent hosts: %q, want %q", i, got, want)
		}
		err := fault.New(fault.Transient, "libvirt.list", "", errors.New("no route"))
		answers = append(answers, provider.HostAnswer{Name: fleet.HostName(rune('a' + i)), Err: err})
	}
}
