package netprobe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"hale/internal/probe"
)

// TestProgramThatHadToWaitIsLocal: it did not have the whole time of its check, so its timeout says nothing.
func TestProgramThatHadToWaitIsLocal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := Network()
		for range maxPrograms {
			n.programs <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		// Ends with its context; awaited below.
		go func() {
			_, _, err := n.Run(ctx, probe.Program{Args: []string{"sleep", "1000"}})
			ended <- err
		}()
		synctest.Wait()
		<-n.programs // one ends, and its place is taken at once by the one that waits
		cancel()
		var local probe.LocalError
		if err := <-ended; !errors.As(err, &local) {
			t.Errorf("a program that waited and then hung: %v, want a local error", err)
		}
	})
}
