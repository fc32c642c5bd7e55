package engine

import (
	"context"

	"hale/internal/starts"
	"hale/internal/state"
)

// beginning counts this engine's start in the store, once, before anything is done: at Run's beginning, or as soon as
// a store that is full or does not answer takes it.
type beginning struct {
	store state.Store
	turn  chan struct{} // holds one of those who ask, as a mutex would; the engine holds none across a call
	began starts.Start
}

func newBeginning(s state.Store) *beginning {
	return &beginning{store: s, turn: make(chan struct{}, 1)}
}

// start returns this engine's start. The errors are those of starts.Begin: it is not counted yet.
func (b *beginning) start(ctx context.Context) (starts.Start, error) {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return starts.Start{}, ctx.Err()
	}
	defer func() { <-b.turn }()
	if b.began.Number != 0 {
		return b.began, nil
	}
	var err error
	b.began, err = starts.Begin(ctx, b.store)
	return b.began, err
}
