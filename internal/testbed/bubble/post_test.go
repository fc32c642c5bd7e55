package bubble

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// post is what lies between a server and the store: a write can be held up on its way, and arrive when its sender does
// not own the fleet any more.
type post struct {
	state.Store
	life *life
}

// Commit implements state.Store.
func (p post) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	s := p.life.server
	held := s.takeHold()
	if held == 0 {
		return p.Store.Commit(ctx, txn)
	}
	// It ends when the write has arrived.
	go func() {
		ctx := context.WithoutCancel(ctx)
		pause(ctx, held)
		_, err := p.Store.Commit(ctx, txn)
		s.room.arrivals <- arrival{txn, err}
	}()
	<-ctx.Done()
	return 0, fault.New(fault.UnknownOutcome, "post.commit", txn.Subject(), ctx.Err())
}

// arrival is a write that was held up, and what the store made of it.
type arrival struct {
	txn state.Txn
	err error
}

// holdWrite has the n-th of the server's next writes take so long; meanwhile the store hears nothing of the server.
func (s *server) holdWrite(n int, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeIn, s.writeFor = n, d
}

// takeHold counts a write, and returns for how long it is held up.
func (s *server) takeHold() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeIn == 0 {
		return 0
	}
	if s.writeIn--; s.writeIn > 0 {
		return 0
	}
	s.thaw = time.Now().Add(s.writeFor)
	return s.writeFor
}
