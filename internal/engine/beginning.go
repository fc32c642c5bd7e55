package engine

import (
	"context"

	"hale/internal/state"
	"hale/internal/state/starts"
)

// turn holds one of those who ask, as a mutex would: the engine holds none across a call.
type turn chan struct{}

func (t turn) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) leave() { <-t }

// beginning counts this engine's start in the store, once, before anything is done: at Run's beginning, or as soon as
// a store that is full or does not answer takes it.
type beginning struct {
	store state.Store
	turn  turn
	began starts.Start
}

func newBeginning(s state.Store) *beginning {
	return &beginning{store: s, turn: make(turn, 1)}
}

// start returns this engine's start. The errors are those of starts.Begin: it is not counted yet.
func (b *beginning) start(ctx context.Context) (starts.Start, error) {
	if err := b.turn.enter(ctx); err != nil {
		return starts.Start{}, err
	}
	defer b.turn.leave()
	if b.began.Number != 0 {
		return b.began, nil
	}
	var err error
	b.began, err = starts.Begin(ctx, b.store)
	return b.began, err
}
