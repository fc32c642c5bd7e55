package openstack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// scene is a cloud with servers in it, and a handle.
type scene struct {
	*testing.T
	harness
	p      provider.Provider
	orders []provider.Blueprint
}

// play runs the story in a bubble, on a cloud with n machines that run.
func play(t *testing.T, n int, story func(s *scene)) {
	t.Helper()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, harness: h, p: h.New(t)}
		for i := range n {
			s.orders = append(s.orders, s.order(i+1))
			s.must("create", s.p.Create(t.Context(), s.orders[i]))
		}
		time.Sleep(10 * time.Second)
		story(s)
	})
}

func (s *scene) order(ordinal int) provider.Blueprint {
	machine := fleet.Name("web").Machine(ordinal)
	return provider.Blueprint{
		Ref: provider.Ref{ID: fleet.InstanceID(fmt.Sprintf("00000000-0000-4000-8000-%012d", ordinal)), Mark: fleet.Mark{
			Instance:     fleet.InstanceID(fmt.Sprintf("00000000-0000-4000-8000-%012d", ordinal)),
			Installation: "inst", Fleet: "web", Machine: machine, Generation: 1, Built: time.Now().UTC(),
		}},
		Name: string(machine), Template: s.Template(),
	}
}

func (s *scene) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *scene) want(what string, err error, kinds ...fault.Kind) {
	s.Helper()
	for _, k := range kinds {
		if fault.Is(err, k) {
			return
		}
	}
	s.Errorf("%s: %v (%s), want %s", what, err, fault.KindOf(err), kinds)
}

// pass lets time pass in the bubble.
func (s *scene) pass(d time.Duration) { time.Sleep(d) }

func (s *scene) list() []fleet.Instance {
	s.Helper()
	l, err := s.p.List(s.Context())
	s.must("list", err)
	return l.Instances
}

const nginx = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<center>nginx</center>\r\n</html>\r\n"

const quotaReached = `{"forbidden": {"code": 403, "message": ` +
	`"Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"}}`

func TestAProxyWithoutItsServiceSaysNothing(t *testing.T) {
	t.Parallel()
	play(t, 3, func(s *scene) {
		s.list()
		for name, body := range map[string]string{
			"a page":     nginx,
			"nothing":    "",
			"other JSON": `{"message":"no route"}`,
		} {
			s.makeTrouble(func(*http.Request) effect { return effect{status: 404, body: body} })
			_, err := s.p.Get(s.Context(), s.orders[0].Ref)
			s.want("get, with "+name, err, fault.Transient)
			_, err = s.p.List(s.Context())
			s.want("list, with "+name, err, fault.Transient)
			_, err = s.p.Identity(s.Context())
			s.want("identity, with "+name, err, fault.Transient)
			s.want("power off, with "+name, s.p.PowerOff(s.Context(), s.orders[0].Ref), fault.Transient)
			s.want("delete, with "+name, s.p.Delete(s.Context(), s.orders[0].Ref), fault.Transient)
			s.want("create, with "+name, s.p.Create(s.Context(), s.order(4)), fault.Transient)
		}
		s.makeTrouble(nil)
		if n := len(s.list()); n != 3 || len(s.living()) != 3 {
			s.Errorf("afterwards there are %d of 3", n)
		}
	})
}

func TestNovaOwnNotFoundOfAListSaysNothing(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		s.makeTrouble(func(q *http.Request) effect {
			if strings.HasSuffix(q.URL.Path, "/detail") {
				return effect{
					status: 404,
					body:   `{"itemNotFound": {"code": 404, "message": "The resource could not be found."}}`,
				}
			}
			return effect{}
		})
		_, err := s.p.List(s.Context())
		s.want("list", err, fault.Transient)
	})
}

func TestAMassDisappearanceIsDoubtful(t *testing.T) {
	t.Parallel()
	play(t, 4, func(s *scene) {
		if n := len(s.list()); n != 4 {
			s.Fatalf("there are %d", n)
		}
		hidden := map[string]*twinServer{}
		s.look(func() { s.servers, hidden = hidden, s.servers })
		time.Sleep(2 * time.Minute) // the next list is a full one
		for range 3 {
			_, err := s.p.List(s.Context())
			s.want("an empty list", err, fault.Transient)
			if !errors.Is(err, provider.ErrDoubtful) {
				s.Errorf("an empty list is not doubtful: %v", err)
			}
			time.Sleep(5 * time.Second)
		}
		s.look(func() { s.servers = hidden })
		if n := len(s.list()); n != 4 {
			s.Errorf("when they are back there are %d", n)
		}
	})
}

// Wrong credentials in clouds.yaml, and nothing that would make hale ask for a new token: it looks there by itself.
func TestAnotherProjectInTheFileIsDoubtfulUntilItIsPutRight(t *testing.T) {
	t.Parallel()
	play(t, 3, func(s *scene) {
		s.list()
		who := func() string {
			s.Helper()
			ids, err := s.p.Identity(s.Context())
			s.must("identity", err)
			return ids[""]
		}
		mine := who()
		lead := func(user, project string, servers map[string]*twinServer) (was map[string]*twinServer) {
			s.Helper()
			s.must("clouds.yaml",
				os.WriteFile(s.file, []byte(strings.Replace(twinClouds, "username: u", "username: "+user, 1)), 0o600))
			s.look(func() { was, s.servers, s.project = s.servers, servers, project })
			return was
		}
		project, _, _ := strings.Cut(mine, "@")
		hidden := lead("v", "another", map[string]*twinServer{})
		for _, ask := range []func() error{
			func() error { _, err := s.p.Identity(s.Context()); return err },
			func() error { _, err := s.p.List(s.Context()); return err },
		} {
			if err := ask(); !errors.Is(err, provider.ErrDoubtful) || !fault.Is(err, fault.Transient) {
				s.Errorf("with another account in the file: %v", err)
			}
		}
		if now := who(); now != "another@R" || len(s.list()) != 0 {
			s.Errorf("it is %s with %d servers", now, len(s.list()))
		}

		lead("u", project, hidden)
		_, err := s.p.Identity(s.Context())
		s.want("put right", err, fault.Transient)
		_, err = s.p.List(s.Context())
		s.want("the first list after it", err, fault.Transient)
		if now := who(); now != mine || len(s.list()) != 3 {
			s.Errorf("it is %s with %d servers, and was %s", now, len(s.list()), mine)
		}
	})
}

// A new password does not change the identity, nor does a file that is only half written.
func TestTheSameProjectByOtherCredentialsIsTheSame(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.list()
		for _, text := range []string{
			"clouds:\n  twin:\n    au",
			strings.Replace(twinClouds, "username: u", "username: another", 1),
		} {
			s.must("clouds.yaml", os.WriteFile(s.file, []byte(text), 0o600))
			if ids, err := s.p.Identity(s.Context()); err != nil || len(s.list()) != 1 {
				s.Errorf("with %q: %v, %v", text, ids, err)
			}
		}
		s.look(func() {
			if s.logins != 2 {
				s.Errorf("%d logins: the new credentials were not used", s.logins)
			}
		})
	})
}

func TestServersThatWereDeletedAreGone(t *testing.T) {
	t.Parallel()
	play(t, 4, func(s *scene) {
		s.list()
		s.look(func() {
			for _, server := range s.servers {
				s.deleteServer(server, nil)
			}
		})
		time.Sleep(2 * time.Second)
		if left := s.list(); len(left) != 0 {
			s.Errorf("by its changes there are %d", len(left))
		}
		time.Sleep(2 * time.Minute)
		if left := s.list(); len(left) != 0 {
			s.Errorf("by a full list there are %d", len(left))
		}
		_, err := s.p.Get(s.Context(), s.orders[0].Ref)
		s.want("get", err, fault.NotFound)
	})
}

func TestAllDeletedBetweenTwoFullListsAreGone(t *testing.T) {
	t.Parallel()
	play(t, 3, func(s *scene) {
		s.list()
		s.look(func() {
			for _, server := range s.servers {
				s.deleteServer(server, nil)
			}
		})
		time.Sleep(90 * time.Second) // nothing was asked in between
		if left := s.list(); len(left) != 0 {
			s.Errorf("there are %d", len(left))
		}
	})
}

// TestWhatIsOnlySetAsideIsOff: a soft-deleted server is in no full list, and is no reason to doubt the cloud.
func TestWhatIsOnlySetAsideIsOff(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.list()
		s.look(func() {
			s.softly = true
			for _, server := range s.servers {
				s.deleteServer(server, nil)
			}
		})
		for _, after := range []time.Duration{2 * time.Second, 2 * time.Minute, 2 * time.Minute} {
			time.Sleep(after)
			if seen := s.list(); len(seen) != 1 || seen[0].Power != fleet.PowerOff ||
				seen[0].Stop != fleet.StopExternal {
				s.Fatalf("%s later the list has %+v", after, seen)
			}
		}
		s.must("start", s.p.Start(s.Context(), s.orders[0].Ref))
	})
}

// TestADeleteOfACloudThatSetsAside ends the server all the same.
func TestADeleteOfACloudThatSetsAside(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.look(func() { s.softly = true })
		s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
		s.must("delete", s.p.Delete(s.Context(), s.orders[0].Ref))
		if left := s.living(); len(left) != 0 {
			s.Errorf("%d are left", len(left))
		}
	})
}

// TestManyWhoAskAtOnceShareAList: each gets one that was asked for after it asked; ten that come while one is under
// way, the next one.
func TestManyWhoAskAtOnceShareAList(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		s.list()
		s.look(func() { clear(s.lists) })
		hold := make(chan struct{})
		s.makeTrouble(func(*http.Request) effect { return effect{wait: hold} })
		var asking sync.WaitGroup
		ask := func() {
			if l, err := s.p.List(s.Context()); err != nil || len(l.Instances) != 2 {
				s.Errorf("it has %d, %v", len(l.Instances), err)
			}
		}
		asking.Go(ask)
		synctest.Wait()
		for range 10 {
			asking.Go(ask)
		}
		synctest.Wait()
		s.makeTrouble(nil)
		close(hold)
		asking.Wait()
		s.look(func() {
			if n := s.lists["full"] + s.lists["changes"]; n != 2 {
				s.Errorf("%d lists were asked for", n)
			}
		})
		s.look(func() {
			for _, server := range s.servers {
				s.deleteServer(server, nil)
			}
		})
		time.Sleep(2 * time.Second)
		if left := s.list(); len(left) != 0 {
			s.Errorf("a list of now has %+v", left)
		}
	})
}

// TestWhoComesFirstLogsIn: for all who come with it.
func TestWhoComesFirstLogsIn(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		p, was := s.New(s.T), 0
		s.look(func() { was = s.logins })
		s.makeTrouble(func(*http.Request) effect { return effect{late: true} })
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				_, err := p.Identity(s.Context())
				s.must("identity", err)
			})
		}
		asking.Wait()
		s.look(func() {
			if n := s.logins - was; n != 1 {
				s.Errorf("%d logins", n)
			}
		})
	})
}

// TestWhoDoesNotWaitForASharedList goes alone: the others have theirs.
func TestWhoDoesNotWaitForASharedList(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.list()
		hold := make(chan struct{})
		s.makeTrouble(func(*http.Request) effect { return effect{wait: hold} })
		var asking sync.WaitGroup
		ask := func(limit time.Duration, kinds ...fault.Kind) {
			ctx, cancel := context.WithTimeout(s.Context(), limit)
			defer cancel()
			if _, err := s.p.List(ctx); len(kinds) > 0 {
				s.want("list", err, kinds...)
			} else if err != nil {
				s.Errorf("list: %v", err)
			}
		}
		asking.Go(func() { ask(time.Minute) })
		synctest.Wait()
		asking.Go(func() { ask(time.Second, fault.Transient) }) // it would put the next question
		synctest.Wait()
		asking.Go(func() { ask(time.Minute, fault.Transient) }) // and this one waits for that
		synctest.Wait()
		time.Sleep(2 * time.Second)
		asking.Go(func() { ask(time.Minute) })
		synctest.Wait()
		s.makeTrouble(nil)
		close(hold)
		asking.Wait()
	})
}

// TestWhoStoppedItIsAskedOfManyAtOnce: where Nova does not answer for one server, only that one is unknown. While Nova
// deletes it, hale does not ask again.
func TestWhoStoppedItIsAskedOfManyAtOnce(t *testing.T) {
	t.Parallel()
	play(t, 9, func(s *scene) {
		for _, o := range s.orders[1:] {
			s.must("power off", s.p.PowerOff(s.Context(), o.Ref))
		}
		asked := 0
		s.makeTrouble(func(q *http.Request) effect {
			if !strings.HasSuffix(q.URL.Path, "/os-instance-actions") {
				return effect{}
			}
			if asked++; asked == 1 {
				return effect{status: 503, body: "busy"}
			}
			return effect{late: true} // each takes two seconds
		})
		began := time.Now()
		off, unknown := 0, 0
		for _, i := range s.list() {
			switch {
			case i.Power == fleet.PowerOff && i.Stop == fleet.StopExternal:
				off++
			case i.Power == fleet.PowerUnknown:
				unknown++
			}
		}
		if took := time.Since(began); off != 7 || unknown != 1 || took > 3*time.Second {
			s.Errorf("%d are off, of %d it is not known, after %s", off, unknown, took)
		}
		if s.list(); asked != 9 {
			s.Errorf("asked %d times, want 8 and one again", asked)
		}
		s.look(func() {
			for _, server := range s.servers {
				if server.Status == "SHUTOFF" {
					s.deleteServer(server, nil)
				}
			}
		})
		if s.list(); asked != 9 {
			s.Errorf("asked %d times, while they are deleted, too", asked)
		}
	})
}

func TestAnotherProjectIsDoubtful(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		before, err := s.p.Identity(s.Context())
		s.must("identity", err)
		// what Nova lists is another project's, and the token is still for ours
		s.look(func() { s.project = strings.Repeat("f", 32) })
		_, err = s.p.List(s.Context())
		if !errors.Is(err, provider.ErrDoubtful) {
			s.Errorf("list: %v", err)
		}
		after, err := s.p.Identity(s.Context())
		s.must("identity", err)
		if before[""] == after[""] {
			s.Errorf("the identity is %s still", after[""])
		}
	})
}

func TestOnlyChangesAreAskedForBetweenFullLists(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		s.list()
		s.look(func() { clear(s.lists) })
		for range 24 { // two minutes
			time.Sleep(5 * time.Second)
			if n := len(s.list()); n != 2 {
				s.Fatalf("there are %d", n)
			}
		}
		s.look(func() {
			if s.lists["full"] != 2 || s.lists["changes"] != 22 || s.logins != 1 {
				s.Errorf("asked for: %v; %d logins", s.lists, s.logins)
			}
		})
		s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
		for _, i := range s.list() {
			if off := i.ID == s.orders[0].ID; off != (i.Power == fleet.PowerOff) {
				s.Errorf("%s is %s", i.Name, i.Power)
			}
		}
		s.makeTrouble(func(*http.Request) effect { return effect{status: 503, body: "busy"} })
		_, err := s.p.List(s.Context())
		s.want("list", err, fault.Transient)
		s.makeTrouble(nil)
		s.look(func() { clear(s.lists) })
		s.list()
		s.look(func() {
			if s.lists["full"] != 1 {
				s.Errorf("after an error asked for: %v", s.lists)
			}
		})
	})
}

// TestAChangeThatIsCommittedLateIsSeen: it bears a time before the last list, and was not in that.
func TestAChangeThatIsCommittedLateIsSeen(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.list()
		time.Sleep(10 * time.Second)
		s.list()
		s.look(func() {
			for _, server := range s.servers {
				server.Status, server.Updated = "ERROR", time.Now().Add(-5*time.Second)
			}
		})
		if seen := s.list(); len(seen) != 1 || seen[0].Power != fleet.PowerError {
			s.Errorf("the list has %+v", seen)
		}
	})
}

func TestTokensAreRenewedAndSecretsNeverTold(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.look(func() { clear(s.tokens) })
		s.must("power off with an old token", s.p.PowerOff(s.Context(), s.orders[0].Ref))
		s.look(func() { clear(s.tokens) })
		if _, err := s.p.Identity(s.Context()); err != nil {
			s.Errorf("identity with an old token: %v", err)
		}
		s.look(func() { clear(s.tokens) })
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/auth/tokens") {
				return effect{status: 401, body: `{"error": {"code": 401, "message": "The password is wrong."}}`}
			}
			return effect{}
		})
		_, err := s.p.List(s.Context())
		s.want("list with a password that was changed", err, fault.Unauthorised)
		if strings.Contains(err.Error(), "secret-word") {
			s.Errorf("the error tells the password: %v", err)
		}
		gone := effect{
			status: 404,
			body:   `{"error": {"code": 404, "message": "Could not find Application Credential: 1f52b17e."}}`,
		}
		s.makeTrouble(func(q *http.Request) effect {
			if strings.HasSuffix(q.URL.Path, "/auth/tokens") {
				return gone
			}
			return effect{}
		})
		_, err = s.p.Identity(s.Context())
		s.want("identity with a credential that was taken back", err, fault.Unauthorised)
		_, err = s.p.List(s.Context())
		s.want("list with it", err, fault.Unauthorised)
		s.makeTrouble(nil)
		s.list()
	})
}

func TestAFrozenLoginEndsWithItsCall(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"/auth/tokens", "/image/", "/network/", "/compute/"} {
		h := newHarness(t, func(*twin) {})
		synctest.Test(t, func(t *testing.T) {
			p := h.New(t)
			h.makeTrouble(func(q *http.Request) effect {
				return effect{hang: strings.HasSuffix(q.URL.Path, part) || strings.HasPrefix(q.URL.Path, part)}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			if _, err := p.List(ctx); !fault.Is(err, fault.Transient) || time.Since(began) > 4*time.Second {
				t.Errorf("%s: after %v: %v", part, time.Since(began), err)
			}
			h.makeTrouble(nil)
			if _, err := p.List(t.Context()); err != nil {
				t.Errorf("%s: afterwards: %v", part, err)
			}
		})
	}
}

func TestPausesThatTheCloudAsksForAreMade(t *testing.T) {
	t.Parallel()
	for _, status := range []int{413, 429} {
		play(t, 1, func(s *scene) {
			asked := 0
			s.makeTrouble(func(*http.Request) effect {
				asked++
				return effect{
					status: status,
					body:   `{"overLimit": {"code": 429, "message": "This request was rate-limited."}}`,
					header: "20",
				}
			})
			_, err := s.p.List(s.Context())
			s.want("list", err, fault.Throttled)
			s.want("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref), fault.Throttled)
			if asked != 1 {
				s.Errorf("%d: %d requests were sent", status, asked)
			}
			s.makeTrouble(nil)
			time.Sleep(19 * time.Second)
			_, err = s.p.List(s.Context())
			s.want("list before the pause is over", err, fault.Throttled)
			time.Sleep(2 * time.Second)
			s.list()
		})
	}
}

func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   string
		said effect
		want fault.Kind
	}{
		"a quota of Nova's": {
			"/servers",
			effect{status: 403, body: quotaReached},
			fault.Quota,
		},
		"a quota of Neutron's": {
			"/ports",
			effect{
				status: 409,
				body:   `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`,
			},
			fault.Quota,
		},
		"a right": {
			"/servers",
			effect{
				status: 403,
				body:   `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:servers:create to be performed."}}`,
			},
			fault.Unauthorised,
		},
		"a bad flavor": {
			"/servers",
			effect{status: 400, body: `{"badRequest": {"code": 400, "message": "Flavor's disk is too small"}}`},
			fault.Invalid,
		},
		"a failure": {
			"/servers",
			effect{status: 500, body: `{"computeFault": {"code": 500, "message": "Unexpected API Error."}}`},
			fault.UnknownOutcome,
		},
		"a gateway's time": {"/servers", effect{status: 504, body: nginx}, fault.UnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				s.makeTrouble(func(q *http.Request) effect {
					if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, c.at) {
						return c.said
					}
					return effect{}
				})
				s.want("create", s.p.Create(s.Context(), s.order(1)), c.want)
				s.makeTrouble(nil)
				s.look(func() {
					if len(s.ports) > 0 && c.want != fault.UnknownOutcome {
						s.Errorf("%d ports are left", len(s.ports))
					}
				})
			})
		})
	}
}

// TestAServerThatEndedAMomentAgo: Nova has heard that it ended, and has not stopped it yet. It is between two states: a
// step of repair that is for what is off must not be passed over in that moment, for the next one takes the disk.
func TestAServerThatEndedAMomentAgo(t *testing.T) {
	t.Parallel()
	for name, power := range map[string]int{"shut down": 4, "crashed": 6} {
		play(t, 1, func(s *scene) {
			server := s.living()[0]
			s.look(func() { server.Power = power })
			if now := s.list()[0]; now.Power != fleet.PowerUnknown || now.Stop != fleet.StopUnknown {
				s.Errorf("%s: it is %s, by %s", name, now.Power, now.Stop)
			}
			s.want("start", s.p.Start(s.Context(), s.orders[0].Ref), fault.Transient)
			go func() { // ends with the bubble
				s.pass(3 * time.Second)
				s.look(func() { server.Status, server.Power = "SHUTOFF", 4 })
			}()
			asked := 0
			s.makeTrouble(func(q *http.Request) effect {
				if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/action") {
					asked++
				}
				return effect{}
			})
			s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
			if now := s.list()[0]; now.Power != fleet.PowerOff || asked > 0 {
				s.Errorf("%s: then it is %s, and Nova was asked for %d things", name, now.Power, asked)
			}
		})
	}
}
