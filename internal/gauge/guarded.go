package gauge

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
)

// Guarded returns the reader as one that does not panic, and tells the witness when the one behind it does: such a
// reading has no value.
func Guarded(r Reader, name fleet.MetricName, told defect.Witness) Reader {
	if r == nil {
		return nil
	}
	return guarded{r, name, told}
}

type guarded struct {
	behind Reader
	name   fleet.MetricName
	told   defect.Witness
}

// Read implements Reader.
func (g guarded) Read(ctx context.Context, machines []Machine) (r Reading, err error) {
	defer g.told.Catch(string(g.name), "read", func(p *defect.Panic) {
		r, err = Reading{}, fault.New(fault.Transient, "gauge.read", string(g.name), p)
	})
	return g.behind.Read(ctx, machines)
}
