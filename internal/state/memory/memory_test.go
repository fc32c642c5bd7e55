package memory_test

import (
	"testing"
	"testing/synctest"

	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/statetest"
)

func TestConformanceInTheBubble(t *testing.T) {
	t.Parallel()
	statetest.Run(t, statetest.Setup{
		Open:   func(*testing.T) state.Store { return memory.New(memory.Options{}).Open(nil) },
		Around: synctest.Test,
	})
}
