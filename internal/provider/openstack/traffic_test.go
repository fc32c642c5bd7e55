package openstack_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// aboutOne reports whether the request is about one server.
func aboutOne(q *http.Request) bool {
	return strings.Contains(q.URL.Path, "/servers/") && !strings.HasSuffix(q.URL.Path, "/detail")
}

// TestABusyCloudIsNotAskedForEverythingAtOnce: forty looks wait for each other, and a list for none of them. A look
// that runs out of time while it waits sends nothing.
func TestABusyCloudIsNotAskedForEverythingAtOnce(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		hold, asked := make(chan struct{}), 0
		s.makeTrouble(func(q *http.Request) effect {
			if !aboutOne(q) {
				return effect{}
			}
			asked++
			return effect{wait: hold}
		})
		var asking sync.WaitGroup
		for range 40 {
			asking.Go(func() {
				if i, err := s.p.Get(s.Context(), s.orders[0].Ref); err != nil || i.Power != fleet.PowerRunning {
					s.Errorf("%+v, %v", i, err)
				}
			})
		}
		synctest.Wait()
		if asked != 8 {
			s.Errorf("%d requests are under way", asked)
		}
		if len(s.list()) != 1 {
			s.Error("it is not in the list")
		}
		close(hold)
		asking.Wait()
		if asked != 40 {
			s.Errorf("%d requests were made", asked)
		}
	})
}

// TestWhatHangsDoesNotBlockTheRest: consoles of a dead hypervisor, and a service that does not answer.
func TestWhatHangsDoesNotBlockTheRest(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		hanging := 0
		s.makeTrouble(func(q *http.Request) effect {
			if !strings.HasSuffix(q.URL.Path, "/action") && !strings.HasPrefix(q.URL.Path, "/network") {
				return effect{}
			}
			hanging++
			return effect{hang: true}
		})
		ctx, cancel := context.WithCancel(s.Context())
		var asking sync.WaitGroup
		for n := range 20 {
			// it comes to nothing
			asking.Go(func() { _, _ = s.p.(provider.ConsoleReader).Console(ctx, s.orders[0].Ref, 1000) })
			asking.Go(func() { _ = s.p.Create(ctx, s.order(n+2)) })
		}
		synctest.Wait()
		if hanging != 16 {
			s.Errorf("%d requests hang", hanging)
		}
		if i, err := s.p.Get(s.Context(), s.orders[0].Ref); err != nil || i.Power != fleet.PowerRunning {
			s.Errorf("%+v, %v", i, err)
		}
		cancel()
		asking.Wait()
	})
}

// TestASlowCloudIsAskedLess: an order that takes half a minute is looked after twice a second where that costs nothing,
// and seldom where each look takes seconds.
func TestASlowCloudIsAskedLess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slow     bool
		min, max int
	}{{false, 55, 65}, {true, 5, 8}} {
		play(t, 1, func(s *scene) {
			looks := 0
			s.makeTrouble(func(q *http.Request) effect {
				if q.Method != http.MethodGet || !aboutOne(q) {
					return effect{}
				}
				looks++
				return effect{late: c.slow}
			})
			s.look(func() { s.shutdown = 30 * time.Second })
			s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
			if looks < c.min || looks > c.max {
				s.Errorf("slow %v: %d looks, want %d to %d", c.slow, looks, c.min, c.max)
			}
		})
	}
}
