package netprobe_test

import (
	"testing"

	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

func TestExam(t *testing.T) {
	t.Parallel()
	probetest.Run(t, func(t *testing.T, transport probe.Transport) probe.Engine {
		return start(t, transport, netprobe.Options{})
	})
}

// start runs an engine until the test ends.
func start(t *testing.T, transport probe.Transport, options netprobe.Options) *netprobe.Engine {
	t.Helper()
	e := netprobe.New(transport, options)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	return e
}
