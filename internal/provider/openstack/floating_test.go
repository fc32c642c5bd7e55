package openstack_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// addressed is a scene with one order of a machine that has an address of its own.
type addressed struct {
	*scene
	order provider.Blueprint
}

func playAddressed(t *testing.T, story func(a *addressed)) {
	t.Helper()
	play(t, 0, func(s *scene) {
		a := &addressed{scene: s, order: s.order(1)}
		a.order.Template = s.Addressed()
		story(a)
	})
}

// build creates the order's instance, and returns where it answers.
func (a *addressed) build() string {
	a.Helper()
	a.must("create", a.p.Create(a.Context(), a.order))
	a.pass(5 * time.Second)
	seen, err := a.p.Get(a.Context(), a.order.Ref)
	a.must("get", err)
	return seen.Address.String()
}

// remove powers the instance off and deletes it; what follows is the machine's next one.
func (a *addressed) remove() {
	a.Helper()
	a.must("power off", a.p.PowerOff(a.Context(), a.order.Ref))
	a.must("delete", a.p.Delete(a.Context(), a.order.Ref))
	a.order.Mark.Generation++
	a.order.ID = fleet.InstanceID("00000000-0000-4000-8000-0000000000f" + string(rune('0'+a.order.Mark.Generation)))
	a.order.Mark.Instance = a.order.ID
}

// only returns the machine's one address as Neutron has it.
func (a *addressed) only() *twinFloating {
	a.Helper()
	var found []*twinFloating
	a.look(func() {
		for _, f := range a.addrs {
			if strings.HasPrefix(f.Description, "hale address of web-1 of inst") {
				found = append(found, f)
			}
		}
	})
	if len(found) != 1 {
		a.Fatalf("the machine has %d addresses", len(found))
	}
	return found[0]
}

// TestAnAddressIsNotTakenFromSomethingElse: it leads to another port, which a person chose; the machine waits, with the
// reason.
func TestAnAddressIsNotTakenFromSomethingElse(t *testing.T) {
	t.Parallel()
	playAddressed(t, func(a *addressed) {
		a.build()
		a.remove()
		f := a.only()
		var theirs *twinPort
		for _, p := range []twinPort{
			{Name: "balancer"},
			{Name: "web-1", Description: "hale instance of old", Device: "a server"},
			{Name: "web-7", Description: "hale, kept for the machine"},
		} {
			p.Network = "another"
			a.look(func() {
				theirs = a.addPort(&p)
				f.Port = &theirs.ID
			})
			err := a.p.Create(a.Context(), a.order)
			a.want("create", err, fault.Conflict)
			if err == nil || !strings.Contains(err.Error(), f.Address) || !f.leadsTo(theirs.ID) {
				a.Errorf("%s: %v, and it leads to %v", p.Name, err, f.Port)
			}
		}
		if n := len(a.living()); n != 0 {
			a.Errorf("there are %d servers", n)
		}
		gone := a.order.Ref
		gone.ForGood = true
		a.must("delete for good", a.p.Delete(a.Context(), gone))
		if !a.only().leadsTo(theirs.ID) {
			a.Error("an address was given up that leads to something else")
		}
		a.look(func() { f.Port = nil })
		a.build()
	})
}

// TestAnAddressGoesFromPortToPort: also from one that is kept, of another network or of a server that was given up.
func TestAnAddressGoesFromPortToPort(t *testing.T) {
	t.Parallel()
	playAddressed(t, func(a *addressed) {
		first := a.build()
		a.remove()
		f := a.only()
		a.look(func() {
			f.Port = &a.addPort(&twinPort{
				Network:     "another",
				Name:        "web-1",
				Description: "hale, kept for the machine",
			}).ID
		})
		if second := a.build(); second != first {
			a.Errorf("it answered at %s, and does at %s", first, second)
		}
	})
}

// TestAPersonsAddressIsEnough: who gave a kept port a floating address by hand needs no second one.
func TestAPersonsAddressIsEnough(t *testing.T) {
	t.Parallel()
	playAddressed(t, func(a *addressed) {
		a.order.Template.Server.FloatingIP, a.order.Template.Server.KeepPort = "", true
		a.build()
		theirs := &twinFloating{ID: "f", Address: "172.24.9.9", Network: twinExternal, Description: "dns: web"}
		a.look(func() {
			for id := range a.ports {
				theirs.Port = &id
			}
			a.addrs["f"] = theirs
		})
		a.order.Template = a.Addressed()
		a.order.Template.Server.KeepPort = true
		a.remove()
		if at := a.build(); at != theirs.Address {
			a.Errorf("it answers at %s", at)
		}
		gone := a.order.Ref
		gone.ForGood = true
		a.must("power off", a.p.PowerOff(a.Context(), gone))
		a.must("delete for good", a.p.Delete(a.Context(), gone))
		a.look(func() {
			if len(a.addrs) != 1 {
				a.Errorf("there are %d addresses", len(a.addrs))
			}
		})
	})
}

// TestAnAddressThatIsWantedNoMoreGoes: the template names another network, or none; or an answer was lost and came
// late.
func TestAnAddressThatIsWantedNoMoreGoes(t *testing.T) {
	t.Parallel()
	playAddressed(t, func(a *addressed) {
		first := a.build()
		a.remove()
		f := a.only()
		a.look(func() {
			late := *f
			late.ID, late.Address, late.Created = "late", "172.24.7.7", "2999-01-01T00:00:00Z"
			a.addrs["late"] = &late
		})
		if at := a.build(); at != first || a.only() != f {
			a.Errorf("it answers at %s, and did at %s", at, first)
		}
		a.remove()
		a.look(func() { f.Network = "another" })
		if at := a.build(); at == first || a.only() == f {
			a.Errorf("it answers at %s of another network", at)
		}
		a.remove()
		a.order.Template = a.Template()
		a.build()
		a.look(func() {
			if len(a.addrs) != 0 {
				a.Errorf("%d addresses are left", len(a.addrs))
			}
		})
	})
}

// TestRefusedAddresses: each for its reason, without a server, and without a port that is left.
func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *addressed)
		want   fault.Kind
	}{
		"quota":               {func(a *addressed) { a.mostAddrs = 0 }, fault.Quota},
		"no router":           {func(a *addressed) { a.noRouter = true }, fault.Invalid},
		"no such network":     {func(a *addressed) { a.order.Template.Server.FloatingIP = "nowhere" }, fault.Invalid},
		"no external network": {func(a *addressed) { a.order.Template.Server.FloatingIP = "private" }, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playAddressed(t, func(a *addressed) {
				a.look(func() { c.change(a) })
				a.want("create", a.p.Create(a.Context(), a.order), c.want)
				a.look(func() {
					if len(a.servers) != 0 || len(a.ports) != 0 || len(a.addrs) != 0 {
						a.Errorf("there are %d servers, %d ports and %d addresses",
							len(a.servers), len(a.ports), len(a.addrs))
					}
				})
			})
		})
	}
}

// TestACloudWithoutRouters: where there are no floating addresses, a machine without one is built all the same.
func TestACloudWithoutRouters(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		s.makeTrouble(func(q *http.Request) effect {
			if strings.HasSuffix(q.URL.Path, "/floatingips") {
				return effect{
					status: 404,
					body:   `{"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found.", "detail": ""}}`,
				}
			}
			return effect{}
		})
		s.must("create", s.p.Create(s.Context(), s.order(1)))
	})
}

// TestAddressesThatAFilterDidNotExcludeStay: an address that names another owner in its description is not released.
func TestAddressesThatAFilterDidNotExcludeStay(t *testing.T) {
	t.Parallel()
	playAddressed(t, func(a *addressed) {
		a.build()
		a.must("power off", a.p.PowerOff(a.Context(), a.order.Ref))
		a.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/floatingips") {
				return effect{
					status: 200,
					body:   `{"floatingips": [{"id": "f", "floating_ip_address": "172.24.9.9", "port_id": null, "description": "dns: web"}]}`,
				}
			}
			if q.Method == http.MethodDelete && strings.Contains(q.URL.Path, "/floatingips/") {
				a.Errorf("%s was deleted", q.URL.Path)
			}
			return effect{}
		})
		gone := a.order.Ref
		gone.ForGood = true
		a.must("delete for good", a.p.Delete(a.Context(), gone))
	})
}

// TestEachLostAnswerOfACreateWithAnAddress: whichever request it was, the machine has one address in the end, and it is
// that of its server.
func TestEachLostAnswerOfACreateWithAnAddress(t *testing.T) {
	t.Parallel()
	for _, owner := range []bool{true, false} {
		for n := 1; n <= 5; n++ {
			playAddressed(t, func(a *addressed) {
				a.look(func() { a.owner = owner })
				a.lose(n)
				ctx, cancel := context.WithTimeout(a.Context(), 10*time.Second)
				_ = a.p.Create(ctx, a.order)
				cancel()
				a.makeTrouble(nil)
				a.pass(30 * time.Second)
				if len(a.living()) == 0 {
					a.order.ID, a.order.Mark.Generation = "00000000-0000-4000-8000-00000000ffff", 2
					a.must("the next create", a.p.Create(a.Context(), a.order))
					a.pass(5 * time.Second)
				}
				seen, err := a.p.Get(a.Context(), a.order.Ref)
				if f := a.only(); err != nil || seen.Address.String() != f.Address || len(a.living()) != 1 {
					a.Errorf("request %d: it is %+v, %v, with %+v", n, seen, err, f)
				}
			})
		}
	}
}
