package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/state"
	"hale/internal/state/journal"
)

// narratePause is the wait before a broken stream of records is taken up again.
const narratePause = time.Second

// revision returns where the store stands, or 0 when it does not say.
func revision(ctx context.Context, store state.Store) int64 {
	_, now, err := store.List(ctx, "installation")
	if err != nil {
		return 0
	}
	return now
}

// narrate writes every record that is stored after the revision to the log, until ctx ends.
func narrate(ctx context.Context, store state.Store, after int64, log *slog.Logger) {
	told := map[fleet.Name]uint64{}
	for ctx.Err() == nil {
		for r, err := range journal.Follow(ctx, store, "", after) {
			if err != nil {
				log.Warn("some records do not appear in this log; hale events has them", "err", err)
				if errors.Is(err, state.ErrCompacted) {
					after = revision(ctx, store)
				}
				break
			}
			if r.Seq > told[r.Fleet] { // else told before the stream broke
				tell(ctx, log, r.Record)
				told[r.Fleet] = r.Seq
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(narratePause):
		}
	}
}

func tell(ctx context.Context, log *slog.Logger, r fleet.Record) {
	level := slog.LevelInfo
	if r.Kind == fleet.RecordPaged && !r.Joined() {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("text", prose.Sentence(r)), slog.String("kind", string(r.Kind)),
		slog.String("fleet", string(r.Fleet)),
	}
	for _, a := range []slog.Attr{
		slog.String("machine", string(r.Machine)), slog.String("reason", string(r.Reason)),
		slog.String("incident", r.Incident),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	log.LogAttrs(ctx, level, "record", attrs...)
}
