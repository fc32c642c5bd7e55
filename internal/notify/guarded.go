package notify

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/defect"
)

// Guarded returns the target as one that does not panic, and tells the witness when the one behind it does: such a try
// failed, and may have been taken.
func Guarded(t Target, name string, told defect.Witness) Target {
	if t == nil {
		return nil
	}
	return guarded{t, name, told}
}

type guarded struct {
	behind Target
	name   string
	told   defect.Witness
}

// Send implements Target.
func (g guarded) Send(ctx context.Context, m Message) (a Answer, err error) {
	defer g.told.Catch(g.name, "send", func(p *defect.Panic) {
		err = fault.New(fault.UnknownOutcome, "notify.send", g.name, p)
	})
	return g.behind.Send(ctx, m)
}
