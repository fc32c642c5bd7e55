package openstack_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// lose lets the nth request that changes something, of those from now on, take effect without an answer.
func (s *scene) lose(n int) {
	seen := 0
	s.makeTrouble(func(q *http.Request) effect {
		if q.Method == http.MethodGet || strings.Contains(q.URL.Path, "/identity/") {
			return effect{}
		}
		seen++
		return effect{unsaid: seen == n}
	})
}

// TestEachLostAnswerOfACreate: whichever request of a create it was, there is one server at most, and after the next
// order exactly one, with one port.
func TestEachLostAnswerOfACreate(t *testing.T) {
	t.Parallel()
	for _, owner := range []bool{true, false} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("own network %v, request %d", owner, n), func(t *testing.T) {
				t.Parallel()
				play(t, 0, func(s *scene) {
					s.look(func() { s.owner = owner })
					order := s.order(1)
					s.lose(n)
					ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
					err := s.p.Create(ctx, order)
					cancel()
					s.makeTrouble(nil)
					time.Sleep(5 * time.Second)
					built := s.living()
					if len(built) > 1 || fault.Is(err, fault.Transient) && len(built) > 0 {
						s.Fatalf("after %v there are %d servers", err, len(built))
					}
					s.next(order, len(built))
					if left := s.living(); len(left) != 1 {
						s.Errorf("in the end there are %d servers", len(left))
					}
					s.look(func() {
						if len(s.ports) != 1 {
							s.Errorf("in the end there are %d ports", len(s.ports))
						}
					})
				})
			})
		}
	}
}

// next does what hale does after an order: it finds the instance by its id, or orders another one until that is built.
func (s *scene) next(order provider.Blueprint, built int) {
	s.Helper()
	seen, err := s.p.Get(s.Context(), order.Ref)
	if built == 1 {
		s.must("get of what was built", err)
		if seen.ID != order.ID || seen.Mark != order.Mark {
			s.Errorf("it is %+v", seen)
		}
		return
	}
	s.want("get of what was not built", err, fault.NotFound)
	order.ID = "00000000-0000-4000-8000-00000000ffff"
	order.Mark.Instance = order.ID
	order.Mark.Generation++
	for range 4 {
		if err = s.p.Create(s.Context(), order); err == nil {
			break
		}
		s.want("the next create", err, fault.Conflict)
		time.Sleep(10 * time.Second)
	}
	s.must("the last of four creates", err)
	time.Sleep(5 * time.Second)
}

// TestALateCreateAndItsSuccessor: an order is held up on its way, another one takes its place, and then the first takes
// effect: while the successor is being built, when either may get the port, or later. Never do both run.
func TestALateCreateAndItsSuccessor(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 10 * time.Second} {
		play(t, 0, func(s *scene) {
			late, next := s.order(1), s.order(1)
			next.ID, next.Mark.Generation = "00000000-0000-4000-8000-00000000ffff", 2
			release := make(chan struct{})
			held := false
			s.makeTrouble(func(q *http.Request) effect {
				if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers") && !held {
					held = true
					return effect{wait: release}
				}
				return effect{}
			})
			var creates sync.WaitGroup
			var err error
			creates.Go(func() { err = s.p.Create(s.Context(), late) })
			time.Sleep(30 * time.Second)
			s.must("the successor", s.p.Create(s.Context(), next))
			time.Sleep(after)
			close(release)
			creates.Wait()
			time.Sleep(10 * time.Second)
			running := 0
			for _, server := range s.living() {
				if server.Status == "ACTIVE" {
					running++
				}
			}
			if running != 1 {
				s.Errorf("after %v: %d servers run; the late one ended with %v", after, running, err)
			}
			if after == 0 {
				return
			}
			s.want("the late one", err, fault.Conflict)
			if seen, err := s.p.Get(s.Context(), next.Ref); err != nil || seen.Power != fleet.PowerRunning {
				s.Errorf("the successor is %+v, %v", seen, err)
			}
		})
	}
}

// TestASoftDeletedServerKeepsItsPort: it is in no list, and can come back.
func TestASoftDeletedServerKeepsItsPort(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.look(func() {
			for _, server := range s.servers {
				server.Status, server.Name = "SOFT_DELETED", "renamed"
			}
		})
		next := s.order(1)
		next.ID, next.Mark.Generation = "00000000-0000-4000-8000-00000000ffff", 2
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers") {
				s.Error("a server was asked for")
			}
			return effect{}
		})
		s.want("create in its place", s.p.Create(s.Context(), next), fault.Conflict)
		s.makeTrouble(nil)
		s.look(func() {
			for _, p := range s.ports {
				if !strings.Contains(p.Description, string(s.orders[0].ID)) || p.Device == "" {
					s.Errorf("its port says %q and is bound to %q", p.Description, p.Device)
				}
			}
		})
		seen, err := s.p.Get(s.Context(), s.orders[0].Ref)
		if err != nil || seen.Power != fleet.PowerOff || seen.Stop != fleet.StopExternal {
			s.Errorf("it is %+v, %v", seen, err)
		}
		s.must("delete", s.p.Delete(s.Context(), s.orders[0].Ref))
		s.must("create", s.p.Create(s.Context(), next))
	})
}

func TestAKeptPortGoesFromInstanceToInstance(t *testing.T) {
	t.Parallel()
	for _, owner := range []bool{true, false} {
		play(t, 0, func(s *scene) {
			s.look(func() { s.owner = owner })
			order := s.order(1)
			order.Template.Server = &policy.Server{Flavor: "m1.nano", KeepPort: true}
			addresses := map[string]bool{}
			for generation := range 3 {
				order.ID = fleet.InstanceID(fmt.Sprintf("00000000-0000-4000-8000-%012d", generation))
				order.Mark.Instance = order.ID
				order.Mark.Generation = fleet.Generation(generation + 1)
				s.must("create", s.p.Create(s.Context(), order))
				time.Sleep(5 * time.Second)
				seen, err := s.p.Get(s.Context(), order.Ref)
				s.must("get", err)
				addresses[seen.Address.String()] = true
				s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
				s.must("delete", s.p.Delete(s.Context(), order.Ref))
			}
			if len(addresses) != 1 {
				s.Errorf("it had the addresses %v", addresses)
			}
			s.look(func() {
				if len(s.ports) != 1 {
					s.Errorf("%d ports are kept", len(s.ports))
				}
			})
		})
	}
}

// TestRebuildIsTakenUp: a rebuild takes two orders, and each can be lost.
func TestRebuildIsTakenUp(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		play(t, 1, func(s *scene) {
			able := s.p.(provider.Rebuilder)
			order := s.orders[0]
			s.want("rebuild of what runs", able.Rebuild(s.Context(), order), fault.Conflict)
			s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
			s.lose(n)
			ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
			s.want("rebuild without an answer", able.Rebuild(ctx, order), fault.UnknownOutcome)
			cancel()
			s.makeTrouble(nil)
			time.Sleep(5 * time.Second)
			if seen, err := s.p.Get(s.Context(), order.Ref); err != nil || seen.Power == fleet.PowerOff {
				s.must("get", err)
				s.must("rebuild again", able.Rebuild(s.Context(), order))
			}
			time.Sleep(5 * time.Second)
			seen, err := s.p.Get(s.Context(), order.Ref)
			if err != nil || seen.Power != fleet.PowerRunning || seen.Mark != order.Mark || len(s.living()) != 1 {
				s.Errorf("in the end it is %+v, %v", seen, err)
			}
		})
	}
}

// TestWhatIsPoweredOnIsNotOff: Nova says SHUTOFF until the server runs. hale, having just started it, must not take
// that for a failure.
func TestWhatIsPoweredOnIsNotOff(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		ref := s.orders[0].Ref
		s.must("power off", s.p.PowerOff(s.Context(), ref))
		s.must("start", s.p.Start(s.Context(), ref))
		if seen, err := s.p.Get(s.Context(), ref); err != nil || seen.Power != fleet.PowerUnknown {
			s.Errorf("at once it is %+v, %v", seen, err)
		}
		time.Sleep(2 * time.Second)
		if seen, err := s.p.Get(s.Context(), ref); err != nil || seen.Power != fleet.PowerRunning {
			s.Errorf("then it is %+v, %v", seen, err)
		}
	})
}

// TestARebuiltServerRuns: what Nova says while it rebuilds is not the end of it.
func TestARebuiltServerRuns(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		order := s.orders[0]
		s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
		s.must("rebuild", s.p.(provider.Rebuilder).Rebuild(s.Context(), order))
		time.Sleep(10 * time.Second)
		if seen, err := s.p.Get(s.Context(), order.Ref); err != nil || seen.Power != fleet.PowerRunning {
			s.Errorf("it is %+v, %v", seen, err)
		}
	})
}

func TestStatusesAreTranslated(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]struct {
		power fleet.Power
		stop  fleet.Stop
	}{
		"ACTIVE":                     {fleet.PowerRunning, fleet.StopUnknown},
		"BUILD":                      {fleet.PowerUnknown, fleet.StopUnknown},
		"ERROR":                      {fleet.PowerError, fleet.StopUnknown},
		"PAUSED":                     {fleet.PowerPaused, fleet.StopExternal},
		"SUSPENDED":                  {fleet.PowerPaused, fleet.StopExternal},
		"RESCUE":                     {fleet.PowerPaused, fleet.StopRescue},
		"SHELVED_OFFLOADED":          {fleet.PowerOff, fleet.StopExternal},
		"HARD_REBOOT":                {fleet.PowerRunning, fleet.StopUnknown},
		"UNKNOWN":                    {fleet.PowerUnknown, fleet.StopUnknown},
		"SHUTOFF":                    {fleet.PowerOff, fleet.StopExternal},
		"REBUILD":                    {fleet.PowerUnknown, fleet.StopUnknown},
		"SHUTOFF, without a request": {fleet.PowerOff, fleet.StopCrash},
		"PAUSED, without a request":  {fleet.PowerPaused, fleet.StopUnknown},
	} {
		play(t, 1, func(s *scene) {
			s.look(func() {
				for _, server := range s.servers {
					server.Updated = time.Now()
					server.Status, _, _ = strings.Cut(status, ",")
					server.record(cmp.Or(map[string]string{"PAUSED": "pause", "SHUTOFF": "stop"}[status], "create"),
						"an operator")
				}
			})
			if seen, err := s.p.Get(s.Context(), s.orders[0].Ref); err != nil || seen.Power != want.power ||
				seen.Stop != want.stop {
				s.Errorf("%s is %s by %q, %v", status, seen.Power, seen.Stop, err)
			}
		})
	}
}

// TestWhatWasLetRunAgainStoppedByItself: whatever a person ordered before that.
func TestWhatWasLetRunAgainStoppedByItself(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"start", "reboot", "unpause", "resume", "unshelve", "unrescue", "restore"} {
		play(t, 1, func(s *scene) {
			s.look(func() {
				for _, server := range s.servers {
					server.Status, server.Updated = "SHUTOFF", time.Now()
					for _, ordered := range []string{"stop", action, "lock"} {
						server.record(ordered, "an operator")
					}
				}
			})
			if seen, err := s.p.Get(s.Context(), s.orders[0].Ref); err != nil || seen.Power != fleet.PowerOff ||
				seen.Stop != fleet.StopCrash {
				s.Errorf("after %s it is %s by %q, %v", action, seen.Power, seen.Stop, err)
			}
		})
	}
}

func TestABuildThatFailsIsOffAndGoes(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		order := s.order(1)
		s.must("create", s.p.Create(s.Context(), order))
		s.look(func() {
			for _, server := range s.servers {
				server.later(time.Second, "", func() { server.Status = "ERROR" }) // no valid host was found
			}
		})
		time.Sleep(3 * time.Second)
		if seen, err := s.p.Get(s.Context(), order.Ref); err != nil || seen.Power != fleet.PowerOff ||
			seen.Stop != fleet.StopCrash {
			s.Errorf("it is %+v, %v", seen, err)
		}
		s.must("delete", s.p.Delete(s.Context(), order.Ref))
		if left := s.living(); len(left) != 0 {
			s.Errorf("%d servers are left", len(left))
		}
	})
}

// TestEightOrdersAndOneMachine asks the exam's question many times, with the requests in every order that the scheduler
// finds. In some rounds each change takes a while, or a failed order left a port.
func TestEightOrdersAndOneMachine(t *testing.T) {
	t.Parallel()
	for round := range 40 {
		h := newHarness(t, func(w *twin) { w.owner = round%2 == 0 })
		synctest.Test(t, func(t *testing.T) {
			s := &scene{T: t, harness: h, p: h.New(t)}
			if round%8 > 3 {
				s.leftOver()
			}
			if round%4 > 1 {
				s.makeTrouble(func(q *http.Request) effect {
					return effect{
						late: q.Method == http.MethodPut ||
							q.Method == http.MethodPost && !strings.Contains(q.URL.Path, "/identity/"),
					}
				})
			}
			var creates sync.WaitGroup
			for i := range 8 {
				order := s.order(1)
				order.ID = fleet.InstanceID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
				order.Mark.Instance = order.ID
				creates.Go(func() { _ = s.p.Create(t.Context(), order) })
			}
			creates.Wait()
			time.Sleep(10 * time.Second)
			if n := len(s.living()); n != 1 {
				t.Errorf("round %d: %d servers", round, n)
			}
			s.look(func() {
				if len(s.ports) != 1 {
					t.Errorf("round %d: %d ports", round, len(s.ports))
				}
			})
		})
	}
}

// leftOver lets an order die after its port was made.
func (s *scene) leftOver() {
	order := s.order(1)
	s.lose(1)
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	_ = s.p.Create(ctx, order)
	s.makeTrouble(nil)
	s.look(func() {
		if len(s.ports) > 0 {
			return
		}
		mac := net.HardwareAddr{0xfa, 0x16, 0x3e}
		h := sha256.Sum256([]byte(s.project + "/" + order.Name))
		port := &twinPort{
			Network:     twinNetwork,
			Name:        order.Name,
			Description: "hale order dead",
			MAC:         append(mac, h[:3]...).String(),
		}
		s.addPort(port)
	})
	time.Sleep(time.Minute)
}

func TestWhatHaleMadeIsKnownByOneID(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		nova := s.nova(s.orders[0].ID)
		ref := s.orders[0].Ref
		ref.ID = fleet.InstanceID(nova)
		_, err := s.p.Get(s.Context(), ref)
		s.want("get by Nova's id", err, fault.NotFound)
		s.want("power off by Nova's id", s.p.PowerOff(s.Context(), ref), fault.NotFound)
		for _, bad := range []fleet.InstanceID{"", "../flavors", "a b", "ID?x=y"} {
			ref.ID = bad
			_, err := s.p.Get(s.Context(), ref)
			s.want("get by "+string(bad), err, fault.Invalid)
		}
	})
}
