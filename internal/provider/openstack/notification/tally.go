package notification

import (
	"context"
	"errors"
	"log/slog"
	"sync"
)

// Tally is how many notifications there were.
type Tally struct {
	Heard  uint64 // that were passed on
	Other  uint64 // about something else
	Broken uint64 // that could not be read
	Huge   uint64 // that were not read
}

type tally struct {
	mu sync.Mutex
	t  Tally
}

func (t *tally) now() Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.t
}

// count counts what became of a body. A broken one is logged when their number is a power of two: a source of nothing
// but rubbish fills no disk. What was in it is not repeated.
func (t *tally) count(ctx context.Context, log *slog.Logger, err error) {
	t.mu.Lock()
	bad := uint64(0)
	switch {
	case err == nil:
		t.t.Heard++
	case errors.Is(err, errOther):
		t.t.Other++
	case errors.Is(err, errHuge):
		t.t.Huge++
		bad = t.t.Huge
	default:
		t.t.Broken++
		bad = t.t.Broken
	}
	t.mu.Unlock()
	if bad != 0 && bad&(bad-1) == 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "a notification cannot be read",
			slog.Any("err", err), slog.Uint64("so_far", bad))
	}
}
