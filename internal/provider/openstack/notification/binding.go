package notification

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// errNoExchange: there is no such exchange, yet or any more.
var errNoExchange = errors.New("there is no such exchange")

// binding binds the queue to the exchanges, and keeps it bound: an exchange that is removed and made again has lost its
// bindings, without a word to the clients.
type binding struct {
	link      link
	keys      []string
	exchanges []string
	log       *slog.Logger

	missing map[string]bool // was not to be bound when last tried
	tried   bool
	pause   time.Duration
}

// bind binds to all exchanges. It reports whether one was bound that was not before, and when to try again. One that
// cannot be bound is tried again after a growing pause, the others are bound once more at the longest one.
func (b *binding) bind(ctx context.Context) (began bool, pause time.Duration) {
	failed := false
	for _, exchange := range b.exchanges {
		err := b.link.bind(exchange, b.keys)
		was := b.missing[exchange]
		b.missing[exchange] = err != nil
		switch {
		case err == nil && (was || !b.tried):
			began = true
		case err != nil:
			failed = true
			if !was {
				b.log.LogAttrs(ctx, slog.LevelWarn,
					"an exchange of the message bus cannot be listened to; hale tries again",
					slog.String("exchange", exchange), slog.Any("err", err))
			}
		}
	}
	b.tried = true
	if !failed {
		b.pause = 0
		return began, maxBackoff
	}
	b.pause = min(max(2*b.pause, minBackoff), maxBackoff)
	return began, b.pause
}
