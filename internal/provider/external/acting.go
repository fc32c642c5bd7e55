package external

import (
	"context"

	"hale/internal/provider"
)

// Start implements provider.Power.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opStart, ref), &nothing{})
}

// Reboot implements provider.Power.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opReboot, ref), &nothing{})
}

// PowerOff implements provider.Power.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opPowerOff, ref), &nothing{})
}

// Create implements provider.Builder.
func (p *Provider) Create(ctx context.Context, order provider.Blueprint) error {
	order.Mark.Instance = order.ID
	return p.call(ctx, ordered(opCreate, order), &nothing{})
}

// Delete implements provider.Builder.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opDelete, ref), &nothing{})
}

// Certify implements provider.Builder.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opCertify, ref), &nothing{})
}

// Resume implements provider.Resumer.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opResume, ref), &nothing{})
}

// RebootSoft implements provider.SoftRebooter.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opSoftReboot, ref), &nothing{})
}

// Rebuild implements provider.Rebuilder.
func (p *Provider) Rebuild(ctx context.Context, order provider.Blueprint) error {
	return p.call(ctx, ordered(opRebuild, order), &nothing{})
}

// Adjust implements provider.Adjuster.
func (p *Provider) Adjust(ctx context.Context, order provider.Blueprint) error {
	return p.call(ctx, ordered(opAdjust, order), &nothing{})
}

// Keep implements provider.Keeper.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	r := about(opKeep, ref)
	r.Name = name
	return p.call(ctx, r, &nothing{})
}

// Restore implements provider.Keeper.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	r := about(opRestore, ref)
	r.Name = name
	return p.call(ctx, r, &nothing{})
}
