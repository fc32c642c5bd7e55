package keepalive_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state/keepalive"
)

const ttl = 9 * time.Second

// store is the far side: it notes when it was asked, and answers as told.
type store struct {
	began  time.Time
	asked  []time.Duration
	renew  func(ctx context.Context) (time.Duration, error)
	revoke error
}

func (s *store) lease() *keepalive.Lease {
	s.began = time.Now()
	return keepalive.New(keepalive.Options{
		ID: 7, TTL: ttl, SentAt: s.began,
		Renew: func(ctx context.Context) (time.Duration, error) {
			s.asked = append(s.asked, time.Since(s.began))
			return s.renew(ctx)
		},
		Revoke: func(context.Context) error { return s.revoke },
	})
}

func lost(l *keepalive.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

func TestARenewalCountsFromBeforeItWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{renew: func(context.Context) (time.Duration, error) {
			time.Sleep(2 * time.Second) // on its way, there and back
			return ttl, nil
		}}
		l := s.lease()
		ctx, cancel := context.WithCancel(t.Context())
		go l.Run(ctx)
		for _, c := range []struct {
			at, left time.Duration
			why      string
		}{
			{0, 9 * time.Second, "granted"},
			{3 * time.Second, 6 * time.Second, "a renewal is on its way and does not count yet"},
			{5*time.Second - 1, 4*time.Second + 1, "nor just before its answer"},
			{5*time.Second + 1, 7*time.Second - 1, "it was sent 2s before its answer, at 3s"},
		} {
			time.Sleep(time.Until(s.began.Add(c.at)))
			synctest.Wait()
			if got := l.Remaining(); got != c.left {
				t.Errorf("at %v: %v left, want %v: %s", c.at, got, c.left, c.why)
			}
		}
		cancel()
		<-l.Lost()
		if l.Remaining() != 0 {
			t.Error("a lease that is no longer renewed has time left")
		}
	})
}

func TestALeaseIsLostAtItsDeadlineAndNotBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{renew: func(ctx context.Context) (time.Duration, error) {
			<-ctx.Done()
			return 0, fault.New(fault.Transient, "state.renew", "", ctx.Err())
		}}
		l := s.lease()
		go l.Run(t.Context())
		time.Sleep(ttl - 1)
		synctest.Wait()
		if lost(l) || l.Remaining() != 1 {
			t.Errorf("1 ns before its deadline: lost %v, %v left", lost(l), l.Remaining())
		}
		time.Sleep(1)
		synctest.Wait()
		if !lost(l) || l.Remaining() != 0 {
			t.Errorf("at its deadline: lost %v, %v left", lost(l), l.Remaining())
		}
		if len(s.asked) < 2 {
			t.Errorf("asked at %v: one lost answer must leave time for another attempt", s.asked)
		}
	})
}

func TestAFailedRenewalIsTriedAgainSooner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failures := 2
		s := &store{renew: func(context.Context) (time.Duration, error) {
			if failures--; failures >= 0 {
				return 0, fault.New(fault.Transient, "state.renew", "", nil)
			}
			return ttl, nil
		}}
		l := s.lease()
		go l.Run(t.Context())
		time.Sleep(8 * time.Second)
		synctest.Wait()
		want := []time.Duration{
			3 * time.Second, 3900 * time.Millisecond, 4800 * time.Millisecond, 7800 * time.Millisecond,
		}
		if len(s.asked) != len(want) {
			t.Fatalf("asked at %v, want %v", s.asked, want)
		}
		for i := range want {
			if s.asked[i] != want[i] {
				t.Errorf("asked at %v, want %v", s.asked, want)
			}
		}
		if lost(l) {
			t.Error("the lease was lost although it was renewed in time")
		}
	})
}

func TestALeaseThatIsGoneIsLostAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{renew: func(context.Context) (time.Duration, error) {
			return 0, fault.New(fault.NotFound, "state.renew", "", nil)
		}}
		l := s.lease()
		go l.Run(t.Context())
		<-l.Lost()
		if at := time.Since(s.began); at != 3*time.Second || l.Remaining() != 0 {
			t.Errorf("lost after %v with %v left, want at the first renewal, with none", at, l.Remaining())
		}
	})
}

func TestARevokedLeaseIsLostWhateverTheStoreSays(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct{ answer, want fault.Kind }{
		"it was gone already": {fault.NotFound, ""},
		"the store is away":   {fault.Transient, fault.Transient},
		"the answer was lost": {fault.UnknownOutcome, fault.UnknownOutcome},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{revoke: fault.New(c.answer, "state.revoke", "", nil)}
				l := s.lease()
				go l.Run(t.Context())
				if err := l.Revoke(t.Context()); fault.KindOf(err) != c.want {
					t.Errorf("revoke = %v, want kind %q", err, c.want)
				}
				if !lost(l) || l.Remaining() != 0 {
					t.Errorf("lost %v, %v left", lost(l), l.Remaining())
				}
			})
		})
	}
}
