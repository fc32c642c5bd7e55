package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine/beside"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// halls are twelve hosts, four in each of three racks.
func halls() simulated.Options {
	o := simulated.Options{Places: map[fleet.HostName]fleet.Place{}}
	for h := range 12 {
		name := fleet.HostName(fmt.Sprintf("h%02d", h))
		o.Hosts = append(o.Hosts, name)
		o.Places[name] = fleet.Place{Rack: fmt.Sprintf("r%d", h/4)}
	}
	return o
}

// crowd is a fleet that fills the halls.
func crowd(then policy.FateAnswer) policy.Spec {
	spec := web(60)
	spec.Limits.InRepair, spec.Limits.InBuild = 2, 12
	spec.SharedFate = policy.SharedFate{Then: then, AtLeast: 3, Wait: 10 * time.Minute}
	spec.Template.Network = "default"
	return spec
}

// rack returns the hosts of the rack, and the ordinals of the machines on them.
func (s *story) rack(n int) (hosts map[fleet.HostName]bool, machines []int) {
	hosts = map[fleet.HostName]bool{}
	for h := range 4 {
		hosts[fleet.HostName(fmt.Sprintf("h%02d", n*4+h))] = true
	}
	for m := 1; m <= s.spec.Size; m++ {
		if hosts[s.machine(m).Current.Host] {
			machines = append(machines, m)
		}
	}
	return hosts, machines
}

// children counts the machines with an incident under an open parent.
func (s *story) children() int {
	n := 0
	f := s.status()
	for _, v := range f.Machines {
		if i := v.Machine.Incident; i != nil && f.Whole.Parent(i.Parent) != nil {
			n++
		}
	}
	return n
}

// touched returns the changing calls since the time.
func (s *story) touched(since time.Time) []simulated.Call {
	var out []simulated.Call
	for _, c := range s.world.Calls() {
		if !c.At.Before(since) {
			out = append(out, c)
		}
	}
	return out
}

func (s *story) wantUntouched(since time.Time, why string) {
	s.t.Helper()
	for _, c := range s.touched(since) {
		s.t.Errorf("%s of %s although %s", c.Op, c.Machine, why)
	}
}

// S74: a rack's switch dies, its machines run on and nobody reaches them: one incident, its machines under it, one
// page, no call. A controller that dies meanwhile changes nothing. When the switch is back, so is everything.
func TestS74ARacksSwitchDies(t *testing.T) {
	t.Parallel()
	tell(t, halls(), crowd(policy.FatePage), func(s *story) {
		s.grown()
		at := time.Now()
		hosts, machines := s.rack(1)
		var lifts []func()
		for h := range hosts {
			lifts = append(lifts, s.inject(simulated.CutOff{Host: h}))
		}
		s.await(time.Minute, "one incident for all of them", func() bool { return s.children() == len(machines) })
		s.pass(20 * time.Minute)
		s.kill()
		s.start()
		s.pass(20 * time.Minute)
		if p := s.status().Whole.Parents; len(p) != 1 || p[0].Domain != (fleet.Domain{Kind: fleet.DomainRack,
			Name: "r1"}) || p[0].Failing != len(machines) {
			t.Errorf("open parents: %+v", p)
		}
		if n := s.count(kind(record.Paged)); n != 1 {
			t.Errorf("%d pages for one cause", n)
		}
		s.wantUntouched(at, "the switch is dead")
		for _, lift := range lifts {
			lift()
		}
		s.await(5*time.Minute, "all stand, and the incident is closed", func() bool {
			return s.allHealthy() &&
				len(s.status().Whole.Parents) == 0
		})
		s.wantUntouched(at, "they came back by themselves")
	})
}

// S74, S43: a host loses power and comes back with its machines off: the cause is over, and they are started.
func TestS74AHostLosesPowerAndComesBack(t *testing.T) {
	t.Parallel()
	tell(t, halls(), crowd(policy.FatePage), func(s *story) {
		s.grown()
		at := time.Now()
		lift := s.inject(simulated.Happens{Verb: verbs.LosesPower, Host: "h05"})
		s.await(time.Minute, "one incident", func() bool { return len(s.status().Whole.Parents) == 1 })
		s.pass(20 * time.Minute)
		s.wantUntouched(at, "its host is dead")
		lift()
		s.await(10*time.Minute, "all stand, and the incident is closed",
			func() bool { return s.allHealthy() && len(s.status().Whole.Parents) == 0 })
		for _, c := range s.touched(at) {
			if c.Op != fleet.OpStart {
				t.Errorf("%s of %s, which only had to be started", c.Op, c.Machine)
			}
		}
		if n := s.count(kind(record.Paged)); n != 1 {
			t.Errorf("%d pages for one cause", n)
		}
	})
}

// S74, S43: the policy is to evacuate, on silence, too, and the host's control plane still answers: after the wait its
// machines are built anew elsewhere.
func TestS74AHostThatStaysCutOffIsEvacuated(t *testing.T) {
	t.Parallel()
	spec := crowd(policy.FateEvacuate)
	spec.Repair.Silence = policy.SilenceActs
	tell(t, halls(), spec, func(s *story) {
		s.grown()
		at := time.Now()
		lift := s.inject(simulated.CutOff{Host: "h05"})
		s.await(time.Minute, "one incident", func() bool { return len(s.status().Whole.Parents) == 1 })
		s.pass(9 * time.Minute)
		s.wantUntouched(at, "the wait is not over")
		s.await(20*time.Minute, "all stand elsewhere", s.allHealthy)
		for n := 1; n <= s.spec.Size; n++ {
			if m := s.machine(n); m.Current.Host == "h05" {
				t.Errorf("%s is on the host that is cut off", m.Name)
			}
		}
		for _, c := range s.touched(at) {
			if c.Op == fleet.OpReboot {
				t.Errorf("%s of %s is no evacuation", c.Op, c.Machine)
			}
		}
		lift()
		s.pass(5 * time.Minute)
		if n := s.count(kind(record.Paged)); n != 1 {
			t.Errorf("%d pages for one cause", n)
		}
	})
}

// A machine elsewhere that fails for itself is healed while the rack is out.
func TestS74AStrangerIsHealedWhileARackIsOut(t *testing.T) {
	t.Parallel()
	spec := crowd(policy.FatePage)
	spec.Limits.Brake.Percent = 50 // a rack alone does not engage it
	tell(t, halls(), spec, func(s *story) {
		s.grown()
		hosts, machines := s.rack(1)
		for h := range hosts {
			s.inject(simulated.CutOff{Host: h})
		}
		s.await(time.Minute, "one incident for all of them", func() bool { return s.children() == len(machines) })
		_, strangers := s.rack(2)
		s.inject(simulated.Broken{Instance: s.id(strangers[0]), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "the stranger is healed", func() bool {
			return s.heals(strangers[0]) == 1 &&
				s.healthy(strangers[0])
		})
	})
}

var canaries = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}

// silent is a vantage with a network that can fall silent without an error: what it asks is lost.
type silent struct {
	cut
	lost atomic.Bool
}

func (c *silent) Ping(ctx context.Context, a netip.Addr) error {
	if c.lost.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, known := range canaries {
		if a == known {
			return nil
		}
	}
	return c.cut.Ping(ctx, a)
}

func (c *silent) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.lost.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.cut.Dial(ctx, network, address)
}

// The vantage is cut off from all machines, and from its canaries: nobody is touched, whatever it seems, and one page
// tells of it. A machine that really dies meanwhile is healed afterwards.
func TestAVantageThatIsCutOffTouchesNobody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 5} {
		vantage := &silent{}
		tell(t, simulated.Options{}, web(size), func(s *story) {
			vantage.Transport = s.world
			s.transport = vantage
			s.vantage = beside.Vantage{Canaries: canaries, Every: time.Second, Timeout: 500 * time.Millisecond}
			s.grown()
			if v := s.status().Vantage; v.Standing != fleet.VantageOK {
				t.Fatalf("the vantage stands %+v", v)
			}
			at := time.Now()
			vantage.lost.Store(true)
			s.await(30*time.Second, "hale knows that it is cut off",
				func() bool { return s.status().Whole.Doubt.Reason == fleet.ReasonVantageIsolated })
			s.pass(time.Hour)
			s.wantUntouched(at, "hale is cut off")
			s.inject(simulated.Crash{Instance: s.id(1)})
			s.kill()
			s.start()
			s.pass(time.Hour)
			s.wantUntouched(at, "hale is cut off")
			if n := s.count(kind(record.Paged)); n != 1 {
				t.Errorf("%d pages of one isolation", n)
			}
			vantage.lost.Store(false)
			s.await(5*time.Minute, "seen again, and web-1 is healed", func() bool {
				return s.allHealthy() &&
					s.heals(1) == 1
			})
			if n := len(s.touched(at)); n != 1 {
				t.Errorf("%d calls, want the one start", n)
			}
		})
	}
}

// The same without canaries: the provider says that all of them run, so hale doubts itself.
func TestAVantageWithoutCanariesDoubtsItself(t *testing.T) {
	t.Parallel()
	vantage := &silent{}
	tell(t, simulated.Options{}, web(5), func(s *story) {
		vantage.Transport = s.world
		s.transport = vantage
		s.grown()
		at := time.Now()
		vantage.lost.Store(true)
		s.await(time.Minute, "doubt",
			func() bool { return s.status().Whole.Doubt.Reason == fleet.ReasonVantageDoubtful })
		s.pass(time.Hour)
		vantage.lost.Store(false)
		s.await(5*time.Minute, "seen again", func() bool {
			return s.allHealthy() &&
				s.status().Whole.Doubt.Reason == ""
		})
		s.wantUntouched(at, "only hale was cut off")
	})
}
