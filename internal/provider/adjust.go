package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Adjuster is a provider that can change what an instance has where it is.
type Adjuster interface {
	// Adjust gives the order's instance what the order's template says of memory, processors or flavor, metadata and
	// tags (policy.Template.Parts). Nothing else of the template is looked at. A size changes only while the instance
	// is off, and counts from its next start; texts and tags change in any state. The instance stays as it is
	// otherwise: on or off, with its id, name, mark, disks and addresses. Texts and tags that the template does not
	// name stay, and so does a size that it leaves open. What is so already is success. fault.Conflict: its size is to
	// change and it is not off, it was put aside, or it bears another mark; nothing was changed. fault.Invalid: it can
	// never have that. It may be called again after any error.
	Adjust(ctx context.Context, order Blueprint) error
}

// Adjust implements Adjuster.
func (r *Relay) Adjust(ctx context.Context, o Blueprint) error {
	return pass(ctx, r, Call{Op: fleet.OpAdjust, Ref: o.Ref, Blueprint: o},
		func(ctx context.Context, p Adjuster) error {
			return p.Adjust(ctx, o)
		})
}
