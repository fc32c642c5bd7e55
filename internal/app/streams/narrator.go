package streams

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/journal"
	"hale/internal/tracing"
)

// narratePause is the wait before a broken stream of records is taken up again.
const narratePause = time.Second

// unknown is where the store stands when it does not say.
const unknown = -1

// revision returns where the store stands.
func revision(ctx context.Context, store state.Store) int64 {
	_, now, err := store.List(ctx, "installation")
	if err != nil {
		return unknown
	}
	return now
}

// Narrator writes every record that is stored after the revision to the log, and counts it.
type Narrator struct {
	store state.Store
	after int64 // unknown: from where the store stands once it says that
	log   *slog.Logger
	count func(record.Record)
	told  map[fleet.Name]uint64 // the last one of each fleet; it outlives a broken stream, and a panic
	// installation is whose records these are; empty: that is not known yet.
	installation fleet.Installation
}

// NewNarrator returns one that tells of what is stored from now on.
func NewNarrator(ctx context.Context, store state.Store, log *slog.Logger, count func(record.Record)) *Narrator {
	return &Narrator{store: store, after: revision(ctx, store), log: log, count: count, told: map[fleet.Name]uint64{}}
}

// Run narrates until ctx ends.
func (n *Narrator) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if n.after == unknown {
			n.after = revision(ctx, n.store)
		}
		if n.after != unknown {
			n.follow(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(narratePause):
		}
	}
}

// follow narrates until the stream breaks.
func (n *Narrator) follow(ctx context.Context) {
	for r, err := range journal.Follow(ctx, n.store, "", n.after) {
		if err != nil {
			n.log.Warn("some records do not appear in this log; hale events has them", "err", err)
			if errors.Is(err, state.ErrCompacted) {
				n.after = revision(ctx, n.store)
			}
			return
		}
		n.after = r.Revision - 1     // a transaction has several, and the stream may break between two
		if r.Seq > n.told[r.Fleet] { // else told before the stream broke
			n.told[r.Fleet] = r.Seq
			n.count(r.Record)
			tell(ctx, n.log, n.of(ctx), r.Record)
		}
	}
}

// of returns whose records these are: that is known with the first one, at the latest.
func (n *Narrator) of(ctx context.Context) fleet.Installation {
	if n.installation == "" {
		n.installation, _ = beliefs.Installation(ctx, n.store) // a record without its trace is better than none
	}
	return n.installation
}

func tell(ctx context.Context, log *slog.Logger, installation fleet.Installation, r record.Record) {
	level := slog.LevelInfo
	if severe(&r) {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("text", prose.Sentence(r)), slog.String("kind", string(r.Kind))}
	if r.Reason != "" {
		attrs = append(attrs, slog.String("reason", string(r.Reason)))
	}
	attrs = append(attrs, tracing.Logged(installation, &r)...)
	log.LogAttrs(ctx, level, "record", append(attrs, slog.Uint64("seq", r.Seq))...)
}
