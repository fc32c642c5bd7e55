package process

import (
	"context"

	"hale/internal/state"
	"hale/internal/state/starts"
)

// Turn holds one of those who ask, as a mutex would: the engine holds none across a call.
type Turn chan struct{}

// Enter waits for the turn, unless ctx ends.
func (t Turn) Enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives it to the next.
func (t Turn) Leave() { <-t }

// Beginning counts this engine's start in the store, once, before anything is done: at Run's beginning, or as soon as
// a store that is full or does not answer takes it.
type Beginning struct {
	store state.Store
	turn  Turn
	began starts.Start
}

// NewBeginning returns a start that is not counted yet.
func NewBeginning(s state.Store) *Beginning {
	return &Beginning{store: s, turn: make(Turn, 1)}
}

// Start returns this engine's start. The errors are those of starts.Begin: it is not counted yet.
func (b *Beginning) Start(ctx context.Context) (starts.Start, error) {
	if err := b.turn.Enter(ctx); err != nil {
		return starts.Start{}, err
	}
	defer b.turn.Leave()
	if b.began.Number != 0 {
		return b.began, nil
	}
	var err error
	b.began, err = starts.Begin(ctx, b.store)
	return b.began, err
}
