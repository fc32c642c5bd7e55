package fence_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/fence"
)

// clumsy is a host's controller that panics at every second question, and whenever it has turned the host off.
type clumsy struct {
	asked int
	off   bool
}

func (c *clumsy) Power(context.Context) (fence.Power, error) {
	if c.asked++; c.asked%2 == 0 {
		panic("boom")
	}
	if c.off {
		return fence.PowerOff, nil
	}
	return fence.PowerOn, nil
}

func (c *clumsy) Off(context.Context) error {
	c.off = true
	panic("boom")
}

// TestAControllerThatPanicsIsAskedOn: its order may have been heard, and a question that panicked proves nothing. So
// the host counts as off only when the controller said so for long enough.
func TestAControllerThatPanicsIsAskedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		c := fence.Guarded(&clumsy{}, "power", func(name, doing string, _ *defect.Panic) { told[name+" "+doing]++ })
		m := fence.Method{
			Name:       "power",
			Controller: c,
			Yields:     fleet.ProofHostOff,
			Attempts:   1,
			Timeout:    30 * time.Second,
			Settle:     0,
			Poll:       500 * time.Millisecond,
		}
		done, err := fence.Attempt(t.Context(), m)
		if err != nil || done.Orders != 1 || done.Already {
			t.Errorf("%+v, %v", done, err)
		}
		m.Settle, m.Controller = 2*time.Second, fence.Guarded(&clumsy{off: true}, "power", nil)
		if done, err := fence.Attempt(t.Context(), m); err == nil {
			t.Errorf("a controller that panics in between is taken for proof: %+v", done)
		}
		if asked := told["power"+" power"]; asked == 0 || told["power off"] != 1 {
			t.Errorf("told of %v", told)
		}
		if err := c.Off(t.Context()); !fault.Is(err, fault.UnknownOutcome) {
			t.Errorf("an order that panicked: %v", err)
		}
	})
}
