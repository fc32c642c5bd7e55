package memory_test

import (
	"errors"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify/memory"
	"hale/internal/notify/notifytest"
)

func TestTheTwinPassesTheExam(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(*testing.T) notifytest.Stage {
		target := &memory.Target{}
		return notifytest.Stage{
			Target: target, Taken: target.Taken,
			Trouble: func(n int) {
				for range n {
					target.Fail(fault.New(fault.Transient, "memory.send", "", errors.New("503")))
				}
			},
			Refuse: func() { target.Down(fault.New(fault.Invalid, "memory.send", "", errors.New("400"))) },
			Hang:   func() { target.Latency = time.Hour },
		}
	})
}
