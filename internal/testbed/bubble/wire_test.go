package bubble

import (
	"context"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/core/tenure"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/world"
)

// lateSuffix marks, in the provider's log, what was held up between the reading of the lease and the sending.
const lateSuffix = ", held up"

func heldUp(client string) bool { return strings.HasSuffix(client, lateSuffix) }

// newWire returns what lies between a server and its provider: what is on its way arrives, whatever becomes of its
// sender, and a disruptive call can be held up right before it is sent. late sends what was held up.
func newWire(near, late provider.Provider, server *server) *provider.Relay {
	w := wire{near: near, late: late, server: server}
	return provider.NewRelay(near, w.carry)
}

type wire struct {
	near, late provider.Provider
	server     *server
}

// carry sends a call. What changes no instance is sent as it is; what was true of an instance that is asked for, hale
// can have known from then on.
func (w wire) carry(ctx context.Context, c provider.Call, do func(context.Context, provider.Provider) error) error {
	if c.Op == provider.OpGet {
		r := w.server.room
		r.truth(func(t *world.World) { r.looked[c.Ref.ID] = t.Now() })
	}
	if c.Asks() || c.Op == provider.OpNoteStart || c.Op == provider.OpForgetStart {
		return do(ctx, w.near)
	}
	far, limit := w.near, policy.BuildCallLimit
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	if left := w.server.remaining(); c.Op.Disruptive() && left <= limit+tenure.Margin {
		w.server.room.t.Errorf("L7: %s of %s by %s may take %v, and its lease has %v left",
			c.Op, c.Ref.ID, w.server.name, limit, left)
	}
	held := w.server.takePause(c.Op)
	answer := make(chan error, 1)
	// It ends with its limit, after what holds it up.
	go func() {
		ctx := context.WithoutCancel(ctx)
		if held > 0 {
			pause(ctx, held)
			far = w.late
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		answer <- do(ctx, far)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fault.New(fault.UnknownOutcome, "wire."+string(c.Op), string(c.Ref.ID), ctx.Err())
	}
}

// What the simulated provider can do, it can do over the wire.
func TestTheWireHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWire(simulated.NewWorld(simulated.Options{}).Open("test"), nil, nil)
	for _, a := range provider.Abilities() {
		if !a.Of(w) {
			t.Errorf("%s is hidden", a.Name)
		}
	}
}
