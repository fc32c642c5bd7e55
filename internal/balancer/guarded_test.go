package balancer_test

import (
	"context"
	"testing"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
)

// clumsy is a pool that panics whatever it is asked.
type clumsy struct{}

func (clumsy) Members(context.Context) ([]balancer.Member, error) { panic("boom") }

func (clumsy) Set(context.Context, fleet.MachineName, balancer.Want) error { panic("boom") }

func (clumsy) Close() { panic("boom") }

// TestAPoolThatPanicsSaysNothing: a question has no answer, so nobody is taken for gone, and an order may have been
// heard.
func TestAPoolThatPanicsSaysNothing(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	p := balancer.Guarded(clumsy{}, "edge", func(name, doing string, _ *defect.Panic) { told[name+" "+doing]++ })
	if all, err := p.Members(t.Context()); all != nil || !fault.Is(err, fault.Transient) {
		t.Errorf("members: %v, %v", all, err)
	}
	if err := p.Set(t.Context(), "web-1", balancer.Want{State: balancer.Out}); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("set: %v", err)
	}
	p.Close()
	for _, doing := range []string{"members", "set", "close"} {
		if told["edge "+doing] != 1 {
			t.Errorf("told of %v", told)
		}
	}
	if balancer.Guarded(nil, "edge", nil) != nil {
		t.Error("no pool became one")
	}
}
