package openstack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// stuck is a scene with one server, which is off and could not be deleted.
func stuck(t *testing.T, story func(s *scene, next provider.Blueprint)) {
	t.Helper()
	play(t, 1, func(s *scene) {
		s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodDelete {
				return effect{status: 204}
			}
			return effect{}
		})
		began := time.Now()
		s.want("delete", s.p.Delete(s.Context(), s.orders[0].Ref), fault.Permanent)
		if took := time.Since(began); took > 5*time.Second || len(s.living()) != 1 {
			s.Errorf("after %s there are %d", took, len(s.living()))
		}
		s.makeTrouble(nil)
		next := s.order(1)
		next.ID, next.Mark.Generation = "00000000-0000-4000-8000-00000000ffff", 2
		story(s, next)
	})
}

// TestS50WhatCannotBeDeletedMakesRoom: it is not waited for until the time is over, says so by its name, and the
// machine's next server has name and port.
func TestS50WhatCannotBeDeletedMakesRoom(t *testing.T) {
	t.Parallel()
	for _, owner := range []bool{true, false} {
		stuck(t, func(s *scene, next provider.Blueprint) {
			s.look(func() { s.owner = owner })
			s.must("create", s.p.Create(s.Context(), next))
			s.pass(5 * time.Second)
			seen := s.list()
			if len(seen) != 2 {
				s.Fatalf("there are %+v", seen)
			}
			for _, i := range seen {
				if old := i.ID == s.orders[0].ID; old != strings.HasSuffix(i.Name, "(could not be deleted)") {
					s.Errorf("it is %+v", i)
				}
			}
			s.look(func() {
				for _, p := range s.ports {
					if len(s.ports) != 1 || s.servers[p.Device].Metadata["hale_id"] != string(next.ID) {
						s.Errorf("of %d ports one is %+v", len(s.ports), p)
					}
				}
			})
		})
	}
}

// TestS50WhatRunsAgainKeepsItsPort: the name or port stays taken by a server that is foreign, another machine's, of a
// later generation, or running.
func TestS50WhatRunsAgainKeepsItsPort(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*twinServer){
		"it runs":                   func(s *twinServer) { s.Status, s.Power = "ACTIVE", 1 },
		"its state is not known":    func(s *twinServer) { s.Status, s.Power = "ERROR", 1 },
		"Nova is busy with it":      func(s *twinServer) { s.Task = "powering-on" },
		"it has its name again":     func(s *twinServer) { s.Name = "web-1" },
		"another hale's":            func(s *twinServer) { s.Metadata["hale_installation"] = "other" },
		"another machine's":         func(s *twinServer) { s.Metadata["hale_machine"] = "web-7" },
		"of a later generation yet": func(s *twinServer) { s.Metadata["hale_generation"] = "2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stuck(t, func(s *scene, next provider.Blueprint) {
				s.look(func() {
					for _, server := range s.servers {
						change(server)
					}
				})
				s.want("create", s.p.Create(s.Context(), next), fault.Conflict)
				if n := len(s.living()); n != 1 {
					s.Errorf("there are %d", n)
				}
			})
		})
	}
}
