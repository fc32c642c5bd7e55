package provider

import (
	"context"
	"errors"

	"hale/internal/core/fault"
)

// ReadOnly returns the provider with its eyes and without its hands: reads pass, every call that changes something is
// fault.Unsupported and never reaches it. Close passes.
func ReadOnly(p Provider) Provider {
	return readOnly{NewRelay(p, func(ctx context.Context, c Call, do func(context.Context, Provider) error) error {
		if !c.Asks() {
			return fault.New(fault.Unsupported, "provider."+string(c.Op), string(c.Ref.ID), errReadOnly)
		}
		return do(ctx, p)
	})}
}

type readOnly struct{ *Relay }

var errReadOnly = errors.New("this provider is opened for reading only")

// Has implements Chooser.
func (r readOnly) Has(name string) bool {
	a, known := abilityNamed(name)
	return known && a.Reads() && a.Of(r.behind)
}
