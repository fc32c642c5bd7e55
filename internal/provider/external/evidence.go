package external

import (
	"context"
	"errors"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Snapshot implements provider.Snapshotter.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	r := about(opSnapshot, ref)
	r.Snapshot = named(name)
	var said copied
	if err := p.call(ctx, r, &said); err != nil {
		return fleet.Copy{}, err
	}
	if said.Where == "" {
		return fleet.Copy{}, p.fail(r, fault.UnknownOutcome, errors.New("its result does not say where the copy is"))
	}
	return fleet.Copy{Where: said.Where, Bytes: said.Bytes}, nil
}

// DropSnapshot implements provider.Snapshotter.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	return p.call(ctx, request{Operation: opDropSnapshot, Snapshot: named(name)}, &nothing{})
}

func named(n fleet.SnapshotName) *snapshotNamed {
	return &snapshotNamed{
		Installation: string(n.Installation),
		Machine:      string(n.Machine),
		Host:         string(n.Host),
		ID:           string(n.ID),
	}
}

// PingGuest implements provider.GuestPinger.
func (p *Provider) PingGuest(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, about(opPingGuest, ref), &nothing{})
}

// Console implements provider.ConsoleReader. Of an answer that is too long the end is taken.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	r := about(opConsole, ref)
	r.Limit = limit
	var said shown
	if err := p.call(ctx, r, &said); err != nil {
		return nil, err
	}
	text := said.Base64
	if text == nil {
		text = []byte(said.Text)
	}
	return text[max(len(text)-limit, 0):], nil
}

// Screenshot implements provider.Screenshooter.
func (p *Provider) Screenshot(ctx context.Context, ref provider.Ref, limit int) (provider.Image, error) {
	r := about(opScreenshot, ref)
	r.Limit = limit
	var said shown
	if err := p.call(ctx, r, &said); err != nil {
		return provider.Image{}, err
	}
	switch {
	case len(said.Base64) == 0 || said.Format == "":
		return provider.Image{}, p.fail(r, fault.Permanent, errors.New("its result lacks format or base64"))
	case len(said.Base64) > limit:
		return provider.Image{}, p.fail(r, fault.Invalid,
			fmt.Errorf("the picture has %d bytes, and %d are allowed", len(said.Base64), limit))
	}
	return provider.Image{Format: said.Format, Data: said.Base64}, nil
}
