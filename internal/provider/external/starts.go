package external

import (
	"context"
	"errors"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Starts implements provider.StartReader.
func (p *Provider) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	r := request{Operation: opStarts, Start: &startNamed{Installation: string(of)}}
	var said noted
	if err := p.call(ctx, r, &said); err != nil {
		return nil, err
	}
	if len(said.Starts) == 0 {
		return nil, p.fail(r, fault.Transient,
			errors.New("its result names no host that answers; one without a note has an empty list"))
	}
	starts := make(map[fleet.HostName][]fleet.StartName, len(said.Starts))
	for host, names := range said.Starts {
		starts[fleet.HostName(host)] = nil
		for _, text := range names {
			name, err := fleet.ParseStart(text)
			if err != nil {
				return nil, p.fail(r, fault.Permanent, err)
			}
			starts[fleet.HostName(host)] = append(starts[fleet.HostName(host)], name)
		}
		slices.SortFunc(starts[fleet.HostName(host)], fleet.StartName.Compare)
	}
	return starts, nil
}

// NoteStart implements provider.StartNoter.
func (p *Provider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.noteCall(ctx, opNoteStart, of, name)
}

// ForgetStart implements provider.StartNoter.
func (p *Provider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.noteCall(ctx, opForgetStart, of, name)
}

func (p *Provider) noteCall(ctx context.Context, op operation, of fleet.Installation, name fleet.StartName) error {
	r := request{Operation: op, Start: &startNamed{Installation: string(of), Name: string(name)}}
	if _, err := fleet.ParseStart(string(name)); err != nil {
		return p.fail(r, fault.Invalid, err)
	}
	return p.call(ctx, r, &nothing{})
}
