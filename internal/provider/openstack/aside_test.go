package openstack_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// stands is a machine with a disk of its own, an address of its own and security groups, whose server is off.
func stands(s *scene) provider.Blueprint {
	s.Helper()
	o := s.storing()
	o.Template.Server = &policy.Server{Flavor: "m1.nano", FloatingIP: "public", SecurityGroups: []string{"web"}}
	s.must("create", s.p.Create(s.Context(), o))
	s.pass(10 * time.Second)
	s.must("power off", s.p.PowerOff(s.Context(), o.Ref))
	return o
}

// in returns the template with another word on the server.
func in(o provider.Blueprint, change func(*policy.Server)) provider.Blueprint {
	server := *o.Template.Server
	change(&server)
	o.Template.Server = &server
	return o
}

// swap puts the old one aside and builds the other in its place, which is turned off, too.
func swapped(s *scene, old, next provider.Blueprint) {
	s.Helper()
	s.must("keep", s.p.(provider.Keeper).Keep(s.Context(), old.Ref, old.Name))
	s.must("create in its place", s.p.Create(s.Context(), next))
	s.pass(10 * time.Second)
	s.must("power off of that", s.p.PowerOff(s.Context(), next.Ref))
}

// groupsOn are the security groups of the port that the server has, or had.
func (s *scene) groupsOn(name string) []string {
	var on []string
	s.look(func() {
		for _, p := range s.ports {
			if p.Name == name {
				on = p.Groups
			}
		}
	})
	return on
}

// hears lets so many of the next orders pass, and then nothing: no order reaches the cloud.
func (s *scene) hears(orders int) {
	var sent atomic.Int64
	s.makeTrouble(func(q *http.Request) effect {
		if q.Method != http.MethodGet && sent.Add(1) > int64(orders) {
			return effect{err: errUnplugged}
		}
		return effect{}
	})
}

// TestS71HalfOfItIsPutAside: hale ends between any two of the orders by which a server is put aside. What is left of it
// is not let run without its disk and its port: it is made whole first, and has its address and its disk then.
func TestS71HalfOfItIsPutAside(t *testing.T) {
	t.Parallel()
	for orders := range 12 {
		play(t, 0, func(s *scene) {
			o, able := stands(s), s.p.(provider.Keeper)
			s.hears(orders)
			kept := able.Keep(s.Context(), o.Ref, o.Name)
			s.makeTrouble(nil)
			bare := s.stored()[0].server == "" || len(s.named(o.Name)) == 0
			for what, call := range map[string]func() error{
				"start":   func() error { return s.p.Start(s.Context(), o.Ref) },
				"reboot":  func() error { return s.p.Reboot(s.Context(), o.Ref) },
				"rescue":  func() error { return s.p.(provider.Rescuer).Rescue(s.Context(), o.Ref) },
				"rebuild": func() error { return s.p.(provider.Rebuilder).Rebuild(s.Context(), o) },
				"adjust":  func() error { return s.p.(provider.Adjuster).Adjust(s.Context(), o) },
			} {
				if bare {
					s.want(fmt.Sprintf("%s after %d orders", what, orders), call(), fault.Conflict)
				}
			}
			s.must("restore", able.Restore(s.Context(), o.Ref, o.Name))
			s.must("start", s.p.Start(s.Context(), o.Ref))
			s.pass(5 * time.Second)
			s.only()
			if seen, err := s.p.Get(s.Context(), o.Ref); err != nil || seen.Name != o.Name || seen.Mark.Kept ||
				seen.Power != fleet.PowerRunning || !strings.HasPrefix(seen.Address.String(), "172.24.") {
				s.Errorf("after %d orders (%v) it is %+v, %v", orders, kept, seen, err)
			}
		})
	}
}

// TestS71TakenBackWhileNovaStillTakesIt: hale ends in the moment in which it has Nova take a volume or a port, and
// wants all of it back at once.
func TestS71TakenBackWhileNovaStillTakesIt(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"/os-volume_attachments/", "/os-interface/"} {
		play(t, 0, func(s *scene) {
			o, able := stands(s), s.p.(provider.Keeper)
			ctx, end := context.WithCancel(s.Context())
			s.makeTrouble(func(q *http.Request) effect {
				last := q.Method == http.MethodDelete && strings.Contains(q.URL.Path, part)
				if !last {
					return effect{}
				}
				return effect{unsaid: true, then: end}
			})
			s.want("keep", able.Keep(ctx, o.Ref, o.Name), fault.UnknownOutcome)
			s.makeTrouble(nil)
			err := able.Restore(s.Context(), o.Ref, o.Name)
			if fault.Is(err, fault.Conflict) { // the port changed meanwhile: hale looks, and asks again
				err = able.Restore(s.Context(), o.Ref, o.Name)
			}
			s.must("restore", err)
			s.pass(5 * time.Second)
			s.must("start", s.p.Start(s.Context(), o.Ref))
			s.pass(5 * time.Second)
			s.only()
			if seen, err := s.p.Get(s.Context(), o.Ref); err != nil || !seen.Address.IsValid() {
				s.Errorf("without %s it is %+v, %v", part, seen, err)
			}
		})
	}
}

// named are the servers of the name.
func (s *scene) named(name string) []*twinServer {
	return slices.DeleteFunc(s.living(), func(x *twinServer) bool { return x.Name != name })
}

// TestAVolumeThatIsNotThereIsNoServerThatIsGone: that Cinder knows no such volume, and Neutron no such port, says
// nothing of the server. It is not taken for one that makes room.
func TestAVolumeThatIsNotThereIsNoServerThatIsGone(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		o, able := stands(s), s.p.(provider.Keeper)
		lost := s.stored()[0]
		s.makeTrouble(func(q *http.Request) effect {
			if strings.Contains(q.URL.Path, "/volumes/"+lost.ID) {
				return effect{status: 404, body: `{"itemNotFound": {"code": 404, "message": "Volume not found."}}`}
			}
			return effect{}
		})
		s.want("keep without its volume", able.Keep(s.Context(), o.Ref, o.Name), fault.Invalid)
		s.makeTrouble(nil)
		s.must("keep", able.Keep(s.Context(), o.Ref, o.Name))
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodPost && strings.Contains(q.URL.Path, "/os-interface") {
				return effect{status: 404, body: `{"itemNotFound": {"code": 404, "message": "Port not found."}}`}
			}
			return effect{}
		})
		s.want("restore without a port", able.Restore(s.Context(), o.Ref, o.Name), fault.Invalid)
		s.makeTrouble(nil)
		s.pass(30 * time.Second)
		s.must("restore", able.Restore(s.Context(), o.Ref, o.Name))

		nova := s.nova(o.ID)
		s.makeTrouble(func(q *http.Request) effect {
			if strings.Contains(q.URL.Path, "/volumes/"+lost.ID) {
				go s.look(func() { s.servers[nova].Status = "DELETED" })
				return effect{status: 404, late: true, body: `{"itemNotFound": {"code": 404, "message": "No."}}`}
			}
			return effect{}
		})
		s.want("keep of what goes meanwhile", able.Keep(s.Context(), o.Ref, o.Name), fault.NotFound, fault.Invalid)
	})
}

// TestAPortThatIsTakenOverHasTheGroupsThatAreWanted: those of the template that the new server is built from, of the
// old one when that comes back, and none for an order that came to nothing.
func TestAPortThatIsTakenOverHasTheGroupsThatAreWanted(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		web, db := []string{twinGroups["web"]}, []string{twinGroups["db"]}
		old, able := stands(s), s.p.(provider.Keeper)
		next := in(successor(old, "data"), func(v *policy.Server) { v.SecurityGroups = []string{"db"} })
		if on := s.groupsOn(old.Name); !slices.Equal(on, web) {
			s.Errorf("as it was built it has %v", on)
		}
		s.must("keep", able.Keep(s.Context(), old.Ref, old.Name))
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers") {
				return effect{status: 403, body: `{"forbidden": {"code": 403, "message": "Quota exceeded for cores"}}`}
			}
			return effect{}
		})
		s.want("a create without room", s.p.Create(s.Context(), next), fault.Quota)
		s.makeTrouble(nil)
		if on := s.groupsOn(old.Name); !slices.Equal(on, web) {
			s.Errorf("after an order that came to nothing it has %v", on)
		}
		s.pass(time.Minute)
		gone := in(next, func(v *policy.Server) { v.SecurityGroups = []string{"5f3f9c1c-0000-4000-8000-0000000000ff"} })
		s.want("a create with a group that is not there", s.p.Create(s.Context(), gone), fault.Invalid)
		s.pass(time.Minute)
		s.must("create", s.p.Create(s.Context(), next))
		s.pass(10 * time.Second)
		if on := s.groupsOn(old.Name); !slices.Equal(on, db) {
			s.Errorf("taken over it has %v", on)
		}
		s.must("power off", s.p.PowerOff(s.Context(), next.Ref))
		s.must("keep of that", able.Keep(s.Context(), next.Ref, next.Name))
		s.must("restore", able.Restore(s.Context(), old.Ref, old.Name))
		if on := s.groupsOn(old.Name); !slices.Equal(on, web) {
			s.Errorf("brought back it has %v", on)
		}
	})
}

// TestAnAddressComesBackWithItsServer: whatever became of it while another server had the machine.
func TestAnAddressComesBackWithItsServer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*policy.Server){
		"the other had it, too":  func(*policy.Server) {},
		"the other had none":     func(v *policy.Server) { v.FloatingIP = "" },
		"the other kept its own": func(v *policy.Server) { v.KeepPort = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				old, able := stands(s), s.p.(provider.Keeper)
				next := in(successor(old, "data"), change)
				swapped(s, old, next)
				s.must("keep of the other", able.Keep(s.Context(), next.Ref, next.Name))
				s.must("restore", able.Restore(s.Context(), old.Ref, old.Name))
				s.must("start", s.p.Start(s.Context(), old.Ref))
				s.pass(5 * time.Second)
				seen, err := s.p.Get(s.Context(), old.Ref)
				if err != nil || !strings.HasPrefix(seen.Address.String(), "172.24.") {
					s.Errorf("it answers at %s, %v", seen.Address, err)
				}
				s.look(func() {
					if len(s.addrs) != 1 {
						s.Errorf("the machine has %d addresses", len(s.addrs))
					}
				})
			})
		})
	}
}

// TestAResizeThatWasBrokenOffIsEnded: hale ended between Nova's resize and its confirmation. Whatever is wanted next of
// the server, it can be had.
func TestAResizeThatWasBrokenOffIsEnded(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*scene, provider.Blueprint) error{
		"the same size": func(s *scene, o provider.Blueprint) error {
			o.Template = s.Adjusted()
			return s.p.(provider.Adjuster).Adjust(s.Context(), o)
		},
		"another size": func(s *scene, o provider.Blueprint) error {
			return s.p.(provider.Adjuster).Adjust(s.Context(), o)
		},
		"start":     func(s *scene, o provider.Blueprint) error { return s.p.Start(s.Context(), o.Ref) },
		"power off": func(s *scene, o provider.Blueprint) error { return s.p.PowerOff(s.Context(), o.Ref) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 1, func(s *scene) {
				o := s.orders[0]
				s.must("power off", s.p.PowerOff(s.Context(), o.Ref))
				to := o
				to.Template = s.Adjusted()
				s.hears(1)
				ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
				defer cancel()
				if err := s.p.(provider.Adjuster).Adjust(ctx, to); err == nil {
					s.Error("it was confirmed")
				}
				s.makeTrouble(nil)
				s.pass(10 * time.Second)
				if was := s.living()[0].Status; was != "VERIFY_RESIZE" {
					s.Fatalf("it is %s", was)
				}
				s.must(name, next(s, o))
				s.pass(10 * time.Second)
				if is := s.living()[0].Status; is != "SHUTOFF" && (is != "ACTIVE" || name != "start") {
					s.Errorf("in the end it is %s", is)
				}
			})
		})
	}
}
