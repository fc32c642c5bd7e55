package fence

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/defect"
)

// Guarded returns the controller as one that does not panic, and tells the witness when the one behind it does. A
// question that panicked has no answer (fault.Transient), and an order has an unknown outcome (fault.UnknownOutcome).
func Guarded(c Controller, name string, told defect.Witness) Controller {
	return guarded{c, name, told}
}

type guarded struct {
	behind Controller
	name   string
	told   defect.Witness
}

// Power implements Controller.
func (g guarded) Power(ctx context.Context) (power Power, err error) {
	defer g.told.Catch(g.name, "power", func(p *defect.Panic) {
		power, err = PowerUnknown, fault.New(fault.Transient, "fence.power", g.name, p)
	})
	return g.behind.Power(ctx)
}

// Off implements Controller.
func (g guarded) Off(ctx context.Context) (err error) {
	defer g.told.Catch(g.name, "off", func(p *defect.Panic) {
		err = fault.New(fault.UnknownOutcome, "fence.off", g.name, p)
	})
	return g.behind.Off(ctx)
}
