package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Evacuator is a provider that can let an instance go on elsewhere while its host is off.
type Evacuator interface {
	// Evacuate starts the instance on another host, which the provider chooses, with the same id, name, mark and
	// network address. It gets a new disk of its image if its disk lay on the host alone. That ref.Host is off is the
	// caller's to prove: the provider only sees that it does not answer. One that is on another host already is
	// success. fault.Conflict: the host answers, or it bears another mark; nothing was changed. It may be called again
	// after any error.
	Evacuate(ctx context.Context, ref Ref) error
}

// Migrator is a provider that can move an instance while it runs.
type Migrator interface {
	// Migrate moves the instance to another host, which the provider chooses; it runs on meanwhile, and keeps
	// everything. One that is not on ref.Host any more is success. fault.Conflict: it does not run, or bears another
	// mark; nothing was changed. It may be called again after any error.
	Migrate(ctx context.Context, ref Ref) error
}

// Evacuate implements Evacuator.
func (r *Relay) Evacuate(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpEvacuate, ref, Evacuator.Evacuate)
}

// Migrate implements Migrator.
func (r *Relay) Migrate(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpMigrate, ref, Migrator.Migrate)
}
