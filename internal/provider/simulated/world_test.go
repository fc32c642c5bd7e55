package simulated_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/load"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// stage is a world with a handle and one client of its network.
type stage struct {
	*testing.T
	world *simulated.World
	p     *simulated.Provider
}

// play runs the story in a bubble.
func play(t *testing.T, o simulated.Options, story func(s *stage)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, world: simulated.NewWorld(o)}
		s.p = s.world.Open("hale-1")
		defer s.p.Close()
		story(s)
	})
}

func order(id string, generation fleet.Generation) provider.Blueprint {
	return provider.Blueprint{
		Ref: provider.Ref{ID: fleet.InstanceID(id), Mark: fleet.Mark{
			Installation: "lab", Fleet: "web", Machine: "web-1", Generation: generation,
		}},
		Name: "web-1",
	}
}

// build creates an instance of web-1 and waits until it has booted.
func (s *stage) build(id string) provider.Blueprint {
	s.Helper()
	o := order(id, 1)
	s.must(s.p.Create(s.Context(), o))
	time.Sleep(2 * time.Second)
	return o
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) inject(f simulated.Fault) func() {
	s.Helper()
	lift, err := s.world.Inject(f)
	s.must(err)
	return lift
}

func (s *stage) see(ref provider.Ref) fleet.Instance {
	s.Helper()
	i, err := s.p.Get(s.Context(), ref)
	s.must(err)
	return i
}

// moment is a context that ends in a second, the timeout of a check.
func (s *stage) moment() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	s.Cleanup(cancel)
	return ctx
}

// probed tells what a ping and an HTTP request come to, in words.
func (s *stage) probed(at netip.Addr) (ping, page string) {
	s.Helper()
	return word(s.world.Ping(s.moment(), at)), s.fetch(at)
}

func (s *stage) fetch(at netip.Addr) string {
	s.Helper()
	ctx := s.moment()
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		return s.world.Dial(ctx, network, address) // net/http's own context outlives the request
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.String()+"/", nil)
	s.must(err)
	response, err := client.Do(request)
	if err != nil {
		return word(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	s.must(err)
	if !strings.HasPrefix(string(body), "web-1 ") {
		s.Errorf("the page says %q", body)
	}
	return response.Status
}

func word(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return err.Error()
}

func (s *stage) want(what string, at netip.Addr, ping, page string) {
	s.Helper()
	if gotPing, gotPage := s.probed(at); gotPing != ping || gotPage != page {
		s.Errorf("%s: ping %q, page %q, want %q and %q", what, gotPing, gotPage, ping, page)
	}
}

const healthy = "200 OK"

func TestBootTakesItsTime(t *testing.T) {
	play(t, simulated.Options{Boot: 4 * time.Second, AddressAfter: time.Second}, func(s *stage) {
		o := order("a", 1)
		s.must(s.p.Create(s.Context(), o))
		time.Sleep(time.Second - 1)
		if at := s.see(o.Ref).Address; at.IsValid() {
			s.Errorf("address %v before the DHCP gave one", at)
		}
		time.Sleep(1)
		at := s.see(o.Ref).Address
		if !at.IsValid() {
			s.Fatal("no address when it is due")
		}
		time.Sleep(3*time.Second - 1)
		if s.world.Healthy("a") {
			s.Error("healthy one nanosecond before the boot is through")
		}
		time.Sleep(1)
		s.want("booted", at, "ok", healthy)
		if _, err := s.world.Dial(s.moment(), "tcp", netip.AddrPortFrom(at, 81).String()); word(err) != "refused" {
			s.Errorf("a closed port: %v", err)
		}
		s.want("an address that nobody has", at.Next(), "timeout", "timeout")
	})
}

func TestGuestFaults(t *testing.T) {
	t.Parallel()
	id := fleet.InstanceID("a")
	ill := func(symptom simulated.Symptom) simulated.Fault {
		return simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: symptom, Status: 503}}
	}
	cases := map[string]struct {
		fault      simulated.Fault
		power      fleet.Power
		stop       fleet.Stop
		ping, page string
	}{
		"crash":  {simulated.Crash{Instance: id}, fleet.PowerOff, fleet.StopCrash, "timeout", "timeout"},
		"person": {simulated.PersonPowersOff{Instance: id}, fleet.PowerOff, fleet.StopExternal, "timeout", "timeout"},
		"guest": {
			simulated.Happens{Verb: verbs.ShutsDown, Instance: id}, fleet.PowerOff, fleet.StopGuest, "timeout",
			"timeout",
		},
		"panic": {simulated.Panic{Instance: id}, fleet.PowerCrashed, fleet.StopCrash, "timeout", "timeout"},
		"panic, off": {simulated.Panic{Instance: id, Remains: fleet.PowerOff}, fleet.PowerOff, fleet.StopCrash,
			"timeout", "timeout"},
		"panic, boot": {simulated.Panic{Instance: id, Remains: fleet.PowerRunning}, fleet.PowerRunning, "", "timeout",
			"timeout"},
		"paused":     {simulated.Paused{Instance: id}, fleet.PowerPaused, "", "timeout", "timeout"},
		"http down":  {ill(simulated.NoHTTP), fleet.PowerRunning, "", "ok", "refused"},
		"http 503":   {ill(simulated.HTTPStatus), fleet.PowerRunning, "", "ok", "503 Service Unavailable"},
		"http hangs": {ill(simulated.HTTPHangs), fleet.PowerRunning, "", "ok", "timeout"},
		"net down":   {ill(simulated.NoNetwork), fleet.PowerRunning, "", "timeout", "timeout"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			play(t, simulated.Options{}, func(s *stage) {
				o := s.build("a")
				at := s.see(o.Ref).Address
				s.want("before", at, "ok", healthy)
				s.inject(c.fault)
				seen := s.see(o.Ref)
				if seen.Power != c.power || seen.Stop != c.stop {
					s.Errorf("the provider says %s by %q, want %s by %q", seen.Power, seen.Stop, c.power, c.stop)
				}
				s.want("broken", at, c.ping, c.page)
			})
		})
	}
}

func TestRebootCuresWhatItCan(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		at := s.see(o.Ref).Address
		s.inject(simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.NoNetwork}})
		s.must(s.p.Reboot(s.Context(), o.Ref))
		time.Sleep(2 * time.Second)
		s.want("rebooted", at, "ok", healthy)

		lift := s.inject(simulated.Broken{Instance: "a",
			Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}})
		s.must(s.p.Reboot(s.Context(), o.Ref))
		time.Sleep(2 * time.Second)
		s.want("rebooted in vain", at, "ok", "refused")
		lift()
		s.want("recovered by itself", at, "ok", healthy)
	})
}

func TestRecreatedMachineIsWellAtAnotherAddress(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		first := s.build("a")
		was := s.see(first.Ref).Address
		s.inject(simulated.Broken{Instance: "a",
			Illness: simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByRecreate}})
		s.must(s.p.PowerOff(s.Context(), first.Ref))
		s.must(s.p.Delete(s.Context(), first.Ref))
		second := order("b", 2)
		s.must(s.p.Create(s.Context(), second))
		time.Sleep(2 * time.Second)
		now := s.see(second.Ref).Address
		if now == was {
			s.Errorf("the address is still %v", was)
		}
		s.want("old address", was, "timeout", "timeout")
		s.want("new address", now, "ok", healthy)
		if most := s.world.MaxRunningCopies("web-1"); most != 1 {
			s.Errorf("%d copies ran at once, want 1", most)
		}
	})
}

func TestNextBuildsAreIll(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		s.inject(simulated.NextBuilds{Times: 1, Machine: "web-1",
			Illness: simulated.Illness{Symptom: simulated.NoAddress}})
		first := s.build("a")
		if at := s.see(first.Ref).Address; at.IsValid() {
			s.Errorf("address %v", at)
		}
		s.must(s.p.PowerOff(s.Context(), first.Ref))
		s.must(s.p.Delete(s.Context(), first.Ref))
		s.inject(simulated.NextBuilds{Times: 1, Illness: simulated.Illness{Symptom: simulated.BootsSlowly,
			Delay: time.Minute}})
		s.must(s.p.Create(s.Context(), order("b", 2)))
		time.Sleep(time.Minute + 2*time.Second - 1)
		if s.world.Healthy("b") {
			s.Error("a slow boot was through too early")
		}
		time.Sleep(1)
		if !s.world.Healthy("b") {
			s.Error("a slow boot never ends")
		}
	})
}

func TestDeadMachineLeavesItsConnectionsSilent(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		at := netip.AddrPortFrom(s.see(o.Ref).Address, 80).String()
		c, err := s.world.Dial(s.moment(), "tcp", at)
		s.must(err)
		s.inject(simulated.Crash{Instance: "a"})
		s.must(c.SetDeadline(time.Now().Add(time.Second)))
		var late net.Error
		if _, err := c.Read(make([]byte, 1)); !errors.As(err, &late) || !late.Timeout() {
			s.Errorf("read from a dead machine: %v, want a timeout", err)
		}
		s.must(c.Close())
	})
}

func TestExecChecksAreJudgedByTruth(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		p := probe.Program{Args: []string{"/usr/lib/check", s.see(o.Ref).Address.String()}}
		if code, _, err := s.world.Run(s.moment(), p); code != 0 || err != nil {
			s.Errorf("healthy: code %d, %v", code, err)
		}
		s.inject(simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		if code, _, err := s.world.Run(s.moment(), p); code != 1 || err != nil {
			s.Errorf("broken: code %d, %v", code, err)
		}
		var local probe.LocalError
		if _, _, err := s.world.Run(s.moment(), probe.Program{Args: []string{"/bin/true"}}); !errors.As(err, &local) {
			s.Errorf("a program about nothing: %v, want a LocalError", err)
		}
	})
}

func TestInjectNamesWhatIsMissing(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		if _, err := s.world.Inject(simulated.Crash{Instance: "nobody"}); !fault.Is(err, fault.NotFound) {
			s.Errorf("got %v, want not found", err)
		}
		if _, err := s.world.Inject(simulated.HostUnreachable{Host: "nowhere"}); !fault.Is(err, fault.Invalid) {
			s.Errorf("got %v, want invalid", err)
		}
	})
}

// TestAddressChangesUnderARunningMachine is the DHCP of S19.
func TestAddressChangesUnderARunningMachine(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		was := s.see(o.Ref).Address
		s.inject(simulated.Happens{Verb: verbs.Readdressed, Instance: "a"})
		now := s.see(o.Ref).Address
		s.want("old address", was, "timeout", "timeout")
		s.want("new address", now, "ok", healthy)
		if i, ok := s.world.Instance("web-1"); !ok || i.ID != "a" || i.Address != now {
			s.Errorf("the truth about web-1: %+v, %v", i, ok)
		}
		if m := s.world.Machines(); len(m) != 1 || m[0] != "web-1" {
			s.Errorf("machines: %v", m)
		}
	})
}

func TestResumedMachineServesAgain(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		at := s.see(o.Ref).Address
		resume := s.inject(simulated.Paused{Instance: "a"})
		s.want("paused", at, "timeout", "timeout")
		resume()
		s.want("resumed", at, "ok", healthy)

		s.inject(simulated.Paused{Instance: "a"})
		s.must(s.p.Start(s.Context(), o.Ref))
		s.want("started by the provider", at, "ok", healthy)
	})
}

func TestDyingServerClosesItsConnections(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		to := netip.AddrPortFrom(s.see(o.Ref).Address, 80)
		c, err := s.world.Dial(s.moment(), "tcp", to.String())
		s.must(err)
		if c.RemoteAddr().String() != to.String() {
			s.Errorf("connected to %v, want %v", c.RemoteAddr(), to)
		}
		s.inject(simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			s.Errorf("read: %v, want the end", err)
		}
		s.must(c.Close())
	})
}

// What the provider counts of a machine's processors is its share of the world's load: two bear it together, and what
// one of them leaves comes to the other.
func TestUsageFollowsTheLoadOfTheWorld(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		first, second := s.build("a"), order("b", 1)
		second.Name, second.Mark.Machine = "web-2", "web-2"
		s.must(s.p.Create(s.Context(), second))
		time.Sleep(2 * time.Second)
		counts := func(what string, first, second float64) {
			s.Helper()
			all, err := s.p.Usage(s.Context(), []provider.Ref{{ID: "a"}, {ID: "b"}})
			s.must(err)
			is, other := all["a"].Of[policy.UsageCPU].Value, all["b"].Of[policy.UsageCPU].Value
			if is != first || other != second {
				s.Errorf("%s: they use %v and %v percent, want %v and %v", what, is, other, first, second)
			}
		}
		counts("without a load", 10, 10)
		s.world.Strike(func(t *world.World) func() {
			t.Demand = load.Demand{Course: func(time.Duration) float64 { return 80 }, Capacity: 100}
			return nil
		})
		counts("under one", 40, 40)
		s.inject(simulated.Broken{Instance: "b", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		counts("when one serves no more", 80, 10)
		s.must(s.p.PowerOff(s.Context(), first.Ref))
		time.Sleep(2 * time.Second)
		counts("when none serves", 0, 10)
	})
}
