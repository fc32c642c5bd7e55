package octavia_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/balancertest"
	"hale/internal/balancer/octavia"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/kinds"
	"hale/internal/provider/openstack"
	"hale/internal/testbed/octavia/front"
)

// twin is an Octavia that exists in memory only, as far as the adapter asks it.
type twin struct {
	mux *http.ServeMux

	mu      sync.Mutex
	members []map[string]any
	made    int
	busy    bool // it takes orders, and ends no change
	full    bool
	pools   int  // of the name
	fails   int  // so many changes of a member go wrong
	asked   int  // that is no list
	old     bool // its API knows no tags
	// odd answers in its place, or does not.
	odd func(http.ResponseWriter, *http.Request) bool
}

const poolID = "7f1d3c52-0000-4000-8000-000000000001"

func newTwin() *twin {
	w := &twin{mux: http.NewServeMux(), pools: 1}
	const members = "/v2.0/lbaas/pools/" + poolID + "/members"
	w.mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		say(out, http.StatusOK, map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT",
			"links": []any{map[string]any{"rel": "self", "href": "/load-balancer/v2.0"}}}}})
	})
	w.mux.HandleFunc("GET /v2.0/lbaas/pools", w.listPools)
	w.mux.HandleFunc("GET "+members, w.list)
	w.mux.HandleFunc("POST "+members, w.create)
	w.mux.HandleFunc("PUT "+members+"/{id}", w.update)
	w.mux.HandleFunc("DELETE "+members+"/{id}", w.remove)
	w.mux.HandleFunc("/", func(out http.ResponseWriter, _ *http.Request) {
		refuse(out, http.StatusNotFound, "Pool not found.")
	})
	return w
}

// ServeHTTP implements http.Handler.
func (w *twin) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method != http.MethodGet {
		w.asked++
	}
	if w.odd != nil && w.odd(out, r) {
		return
	}
	w.mux.ServeHTTP(out, r)
}

// turn changes it.
func (w *twin) turn(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// member returns the one of the name, as it is.
func (w *twin) member(name string) map[string]any {
	i := slices.IndexFunc(w.members, func(m map[string]any) bool { return m["name"] == name })
	if i < 0 {
		return nil
	}
	return w.members[i]
}

func refuse(out http.ResponseWriter, status int, text string) {
	say(out, status, map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil})
}

func say(out http.ResponseWriter, status int, body any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(body) // who hung up gets none
}

func (w *twin) listPools(out http.ResponseWriter, r *http.Request) {
	found := []any{}
	if r.URL.Query().Get("name") == "web" {
		for n := range w.pools {
			found = append(found, map[string]any{"id": poolID[:len(poolID)-1] + fmt.Sprint(n+1)})
		}
	}
	say(out, http.StatusOK, map[string]any{"pools": found})
}

func (w *twin) list(out http.ResponseWriter, _ *http.Request) {
	say(out, http.StatusOK, map[string]any{"members": append([]map[string]any{}, w.members...)})
}

// locked refuses what comes while a change is under way.
func (w *twin) locked(out http.ResponseWriter) bool {
	if !slices.ContainsFunc(w.members, func(m map[string]any) bool {
		return strings.HasPrefix(fmt.Sprint(m["provisioning_status"]), "PENDING")
	}) {
		return false
	}
	refuse(out, http.StatusConflict, "Load Balancer is immutable and cannot be updated.")
	return true
}

func (w *twin) change(m map[string]any, status string) {
	if m["provisioning_status"] = "ACTIVE"; w.busy {
		m["provisioning_status"] = status
	}
}

func (w *twin) create(out http.ResponseWriter, r *http.Request) {
	var asked struct{ Member map[string]any }
	_ = json.NewDecoder(r.Body).Decode(&asked) // the fields tell
	m := asked.Member
	switch {
	case w.locked(out):
		return
	case w.full:
		refuse(out, http.StatusForbidden, "Quota has been met for resources: Member")
		return
	case slices.ContainsFunc(w.members, func(o map[string]any) bool {
		return o["address"] == m["address"] && o["protocol_port"] == m["protocol_port"]
	}):
		refuse(out, http.StatusConflict, "Another member on this pool is already using ip on protocol_port")
		return
	}
	if m["tags"] = []string{}; w.old {
		delete(m, "tags")
	}
	w.made++
	m["id"], m["admin_state_up"], m["operating_status"] = fmt.Sprint("m-", w.made), true, "NO_MONITOR"
	w.change(m, "PENDING_CREATE")
	w.members = append(w.members, m)
	say(out, http.StatusCreated, map[string]any{"member": m})
}

func (w *twin) update(out http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(w.members, func(m map[string]any) bool { return m["id"] == r.PathValue("id") })
	switch {
	case i < 0:
		refuse(out, http.StatusNotFound, "Member not found.")
		return
	case w.locked(out):
		return
	}
	var asked struct{ Member map[string]any }
	_ = json.NewDecoder(r.Body).Decode(&asked) // the fields tell
	if asked.Member["tags"] != nil && w.old {
		refuse(out, http.StatusBadRequest, "Unknown attribute for argument member_.member: tags")
		return
	}
	for key, value := range asked.Member {
		w.members[i][key] = value
	}
	if w.change(w.members[i], "PENDING_UPDATE"); w.fails > 0 {
		w.fails--
		w.members[i]["provisioning_status"] = "ERROR"
	}
	say(out, http.StatusOK, map[string]any{"member": w.members[i]})
}

func (w *twin) remove(out http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(w.members, func(m map[string]any) bool { return m["id"] == r.PathValue("id") })
	switch {
	case i < 0:
		refuse(out, http.StatusNotFound, "Member not found.")
		return
	case w.locked(out):
		return
	case w.busy:
		w.change(w.members[i], "PENDING_DELETE")
	default:
		w.members = slices.Delete(w.members, i, i+1)
	}
	out.WriteHeader(http.StatusNoContent)
}

// poolOf is the adapter before the twin, by the keys of the configuration.
func poolOf(t *testing.T, c *front.Cloud, pool string) balancer.Pool {
	t.Helper()
	s := octavia.Settings{Options: octavia.Options{Pool: pool, Weight: 1},
		Cloud: openstack.Entry{Name: front.Name, File: c.File}}
	p := s.Pool(kinds.BalancerOptions{Name: "edge", Timeout: 10 * time.Second})
	t.Cleanup(p.Close)
	return p
}

func setup(t *testing.T, pool string) (*twin, *front.Cloud, balancer.Pool) {
	t.Helper()
	w := newTwin()
	c := front.Start(t, "p", w)
	return w, c, poolOf(t, c, pool)
}

func TestTheTwinPassesTheExam(t *testing.T) {
	t.Parallel()
	balancertest.Run(t, func(t *testing.T) balancertest.Bench {
		w, c, p := setup(t, "web")
		return balancertest.Bench{
			Pool: p,
			Break: func(f balancertest.Fault) {
				c.Break(f)
				w.turn(func() {
					if w.full, w.fails = f == balancertest.Full, 0; f == balancertest.Fails {
						w.fails = 1000
					}
				})
			},
			Put: func(m balancer.Member) {
				w.turn(func() {
					is := w.member(string(m.Name))
					is["weight"] = map[balancer.State]int{balancer.Serving: 1}[m.State]
					is["admin_state_up"] = m.State != balancer.Out
				})
			},
			Forget: func() { w.turn(func() { w.members = nil }) },
		}
	})
}

func serving(port int) balancer.Want {
	return balancer.Want{State: balancer.Serving, At: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(port))}
}

func set(t *testing.T, p balancer.Pool, name fleet.MachineName, w balancer.Want) {
	t.Helper()
	if err := p.Set(t.Context(), name, w); err != nil {
		t.Fatalf("%s %s: %v", name, w.State, err)
	}
}

func only(t *testing.T, p balancer.Pool) balancer.Member {
	t.Helper()
	all, err := p.Members(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("it lists %+v, %v", all, err)
	}
	return all[0]
}

// TestWhatOctaviaSaysIsRead: what it was told by the weight and the switch, what it finds by its monitor alone.
func TestWhatOctaviaSaysIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  map[string]any
		state   balancer.State
		verdict balancer.Verdict
	}{
		"it finds it up":   {map[string]any{"operating_status": "ONLINE"}, balancer.Serving, balancer.Up},
		"it finds it down": {map[string]any{"operating_status": "ERROR"}, balancer.Serving, balancer.Down},
		"it has no monitor": {map[string]any{"operating_status": "NO_MONITOR"}, balancer.Serving,
			balancer.Unknown},
		"it has not asked yet": {map[string]any{"operating_status": "OFFLINE"}, balancer.Serving,
			balancer.Unknown},
		"it says what no one knows": {map[string]any{"operating_status": "HAPPY"}, balancer.Serving, balancer.Unknown},
		"a person's weight":         {map[string]any{"weight": 7}, balancer.Serving, balancer.Unknown},
		"it drains": {map[string]any{"weight": 0, "operating_status": "DRAINING"}, balancer.Draining,
			balancer.Unknown},
		"it is off by hand": {map[string]any{"admin_state_up": false}, balancer.Out, balancer.Unknown},
		"it is still made": {map[string]any{"provisioning_status": "PENDING_CREATE"}, balancer.Out,
			balancer.Unknown},
		"it goes": {map[string]any{"provisioning_status": "PENDING_DELETE"}, balancer.Out,
			balancer.Unknown},
		"it is being changed": {map[string]any{"provisioning_status": "PENDING_UPDATE"}, balancer.Serving,
			balancer.Unknown},
		"a change of it went wrong": {map[string]any{"provisioning_status": "ERROR"}, balancer.Serving,
			balancer.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, p := setup(t, poolID)
			set(t, p, "web-1", serving(80))
			w.turn(func() {
				for key, value := range c.change {
					w.members[0][key] = value
				}
			})
			m := only(t, p)
			if m.State != c.state || m.Verdict != c.verdict || m.Connections != balancer.UnknownConnections {
				t.Errorf("it is read as %+v", m)
			}
		})
	}
}

// TestALoadBalancerTakesOneChangeAtATime: what is refused meanwhile (409) is tried until its time is over, and is no
// order then; what was accepted and is not done is one with an unknown outcome.
func TestALoadBalancerTakesOneChangeAtATime(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, "web")
	w.turn(func() { w.busy = true })
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	if err := p.Set(ctx, "web-1", serving(80)); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("it was accepted, and is not done: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	if err := p.Set(ctx, "web-2", serving(81)); !fault.Is(err, fault.Transient) {
		t.Errorf("it is busy with another: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Set(t.Context(), "web-2", serving(81)) }()
	w.turn(func() {
		w.busy = false
		for _, m := range w.members {
			m["provisioning_status"] = "ACTIVE"
		}
	})
	if err := <-ended; err != nil {
		t.Errorf("it waited for the other change, and: %v", err)
	}
}

// TestAMoveThatWasBrokenOffIsEnded: a machine that has two members serves at no single address, until the old one goes.
func TestAMoveThatWasBrokenOffIsEnded(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, "web")
	set(t, p, "web-1", serving(80))
	w.turn(func() {
		second := map[string]any{}
		for key, value := range w.members[0] {
			second[key] = value
		}
		second["id"], second["protocol_port"] = "m-old", 79
		w.members = append(w.members, second)
	})
	if m := only(t, p); m.At.IsValid() || m.State != balancer.Serving || serving(80).Met(m) {
		t.Errorf("two members are %+v", m)
	}
	set(t, p, "web-1", serving(80))
	if m := only(t, p); !serving(80).Met(m) {
		t.Errorf("in the end it is %+v", m)
	}
}

// TestWhoIsNotAskedIsNotTouched: a member without a name, and one of another at the very address.
func TestWhoIsNotAskedIsNotTouched(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, "web")
	set(t, p, "web-1", serving(80))
	w.turn(func() { w.members[0]["name"] = "" })
	if all, err := p.Members(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("it lists %+v, %v", all, err)
	}
	if err := p.Set(t.Context(), "web-2", serving(80)); !fault.Is(err, fault.Transient) {
		t.Errorf("its address is taken: %v", err)
	}
	if len(w.members) != 1 || w.members[0]["weight"] == 0 {
		t.Errorf("it was touched: %+v", w.members)
	}
}

// TestAPoolThatIsNotThereIsSaid, and so are two of one name, credentials that are not good any more, and good ones
// again.
func TestAPoolThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	w, c, p := setup(t, "web")
	for _, pool := range []string{"api", "7f1d3c52-0000-4000-8000-00000000000f"} {
		if all, err := poolOf(t, c, pool).Members(t.Context()); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v, %v", pool, all, err)
		}
		if err := poolOf(t, c, pool).Set(t.Context(), "web-1", serving(80)); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", pool, err)
		}
	}
	w.turn(func() { w.pools = 2 })
	if all, err := p.Members(t.Context()); !fault.Is(err, fault.Invalid) {
		t.Errorf("two of the name: %v, %v", all, err)
	}
	w.turn(func() { w.pools = 1 })
	c.Revoke("second")
	if all, err := p.Members(t.Context()); !fault.Is(err, fault.Unauthorised) ||
		strings.Contains(err.Error(), "first") {
		t.Errorf("by old credentials: %v, %v", all, err)
	}
	if err := p.Set(t.Context(), "web-1", serving(80)); !fault.Is(err, fault.Unauthorised) {
		t.Errorf("by old credentials: %v", err)
	}
	c.Revoke("first")
	set(t, p, "web-1", serving(80))
}

// within is the time that an order has which is told in vain.
const within = 1200 * time.Millisecond

// TestWhatGoesMeanwhileIsNotAskedForAllTheTime: Octavia lists a member, and says that there is none when it is to be
// changed. It is asked again after a pause.
func TestWhatGoesMeanwhileIsNotAskedForAllTheTime(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, poolID)
	set(t, p, "web-1", serving(80))
	w.turn(func() {
		w.asked = 0
		w.odd = func(out http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				refuse(out, http.StatusNotFound, "Member not found.")
			}
			return r.Method == http.MethodPut
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := p.Set(ctx, "web-1", balancer.Want{State: balancer.Draining}); !fault.Is(err, fault.Transient) {
		t.Errorf("it is told in vain: %v", err)
	}
	w.turn(func() {
		if w.asked > 4 {
			t.Errorf("it was told %d times in %v", w.asked, within)
		}
		w.odd = nil
	})
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
}

// TestAPoolThatGoesMeanwhileIsSaid: a member cannot be made in it.
func TestAPoolThatGoesMeanwhileIsSaid(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, poolID)
	w.turn(func() {
		w.odd = func(out http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/lbaas/") {
				refuse(out, http.StatusNotFound, "Pool not found.")
				return true
			}
			return false
		}
	})
	if err := p.Set(t.Context(), "web-1", serving(80)); !fault.Is(err, fault.NotFound) {
		t.Errorf("there is no such pool: %v", err)
	}
}

// TestPagesThatDoNotEndAreNoList, whether they lead in a circle or on and on.
func TestPagesThatDoNotEndAreNoList(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(n int) string{
		"in a circle": func(int) string { return "m-1" },
		"on and on":   func(n int) string { return fmt.Sprint("m-", n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, p := setup(t, poolID)
			n := 0
			w.turn(func() {
				w.odd = func(out http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/members") {
						return false
					}
					n++
					say(out, http.StatusOK, map[string]any{
						"members": []any{map[string]any{"id": id(n), "name": "web-1", "address": "10.0.0.1",
							"protocol_port": 80, "weight": 1, "admin_state_up": true,
							"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}},
						"members_links": []any{map[string]any{"rel": "next", "href": "http://elsewhere"}},
					})
					return true
				}
			})
			if all, err := p.Members(t.Context()); !fault.Is(err, fault.Transient) {
				t.Errorf("it lists %d, %v", len(all), err)
			}
		})
	}
}

// TestAPersonsWeightComesBack: a member that drained, was out, or moved has the weight again that a person gave it, and
// the configured one where a person gave it that; also when hale was started anew meanwhile. A person's tags stay.
func TestAPersonsWeightComesBack(t *testing.T) {
	t.Parallel()
	w, c, p := setup(t, poolID)
	restart := func() { p = poolOf(t, c, poolID) }
	weighs := func(what string, want int) {
		t.Helper()
		w.turn(func() {
			if is := fmt.Sprint(w.member("web-1")["weight"]); len(w.members) != 1 || is != fmt.Sprint(want) {
				t.Errorf("%s it weighs %s, of %d", what, is, len(w.members))
			}
		})
	}
	set(t, p, "web-1", serving(80))
	weighs("made", 1)
	w.turn(func() {
		m := w.member("web-1")
		m["weight"], m["tags"] = 7, []string{"shop"}
	})
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	weighs("drained", 0)
	restart()
	set(t, p, "web-1", serving(80))
	weighs("back again", 7)
	w.turn(func() {
		if is := fmt.Sprint(w.member("web-1")["tags"]); is != "[shop]" {
			t.Errorf("it is tagged %s", is)
		}
	})
	set(t, p, "web-1", serving(81))
	weighs("moved", 7)
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	set(t, p, "web-1", balancer.Want{State: balancer.Out})
	if m := only(t, p); m.State != balancer.Out {
		t.Errorf("out, it is %+v", m)
	}
	restart()
	set(t, p, "web-1", serving(82))
	weighs("back elsewhere", 7)
	w.turn(func() { w.member("web-1")["weight"] = 1 })
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	set(t, p, "web-1", serving(82))
	weighs("as the file has it", 1)
	set(t, p, "web-1", balancer.Want{State: balancer.Out})
	if len(w.members) != 0 {
		t.Errorf("there is nothing to be kept of it: %+v", w.members)
	}
}

// TestWhatIsOutGivesWay to a machine that has its address now; what a person disabled does not.
func TestWhatIsOutGivesWay(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, poolID)
	set(t, p, "web-1", serving(80))
	w.turn(func() { w.member("web-1")["admin_state_up"] = false })
	if err := p.Set(t.Context(), "web-2", serving(80)); !fault.Is(err, fault.Transient) {
		t.Errorf("a person has a member at its address: %v", err)
	}
	set(t, p, "web-1", serving(80))
	w.turn(func() { w.member("web-1")["weight"] = 7 })
	set(t, p, "web-1", balancer.Want{State: balancer.Out})
	set(t, p, "web-2", serving(80))
	if m := only(t, p); m.Name != "web-2" || !serving(80).Met(m) {
		t.Errorf("it is %+v", m)
	}
}

// TestAnOctaviaWithoutTagsIsToldNone: a member drains and goes there, and has the configured weight afterwards.
func TestAnOctaviaWithoutTagsIsToldNone(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, poolID)
	w.turn(func() { w.old = true })
	set(t, p, "web-1", serving(80))
	w.turn(func() { w.member("web-1")["weight"] = 7 })
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	set(t, p, "web-1", balancer.Want{State: balancer.Out})
	if len(w.members) != 0 {
		t.Errorf("it is out, and there is %+v", w.members)
	}
	set(t, p, "web-1", serving(80))
}

// TestADrainThatWentWrongIsNoDrain: it is told again, and after a pause where it goes wrong again; what is told in vain
// is said.
func TestADrainThatWentWrongIsNoDrain(t *testing.T) {
	t.Parallel()
	w, _, p := setup(t, poolID)
	set(t, p, "web-1", serving(80))
	w.turn(func() { w.fails = 2 })
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	w.turn(func() {
		if is := w.member("web-1")["provisioning_status"]; is != "ACTIVE" {
			t.Errorf("it is called done, and its change is in %v", is)
		}
		w.fails, w.asked = 1000, 0
		w.member("web-1")["provisioning_status"] = "ERROR"
	})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := p.Set(ctx, "web-1", balancer.Want{State: balancer.Draining}); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("it never drains: %v", err)
	}
	if m := only(t, p); !m.Failed || (balancer.Want{State: balancer.Draining}).Met(m) {
		t.Errorf("it is told of as %+v", m)
	}
	w.turn(func() {
		if w.asked > 5 {
			t.Errorf("it was told %d times in %v", w.asked, within)
		}
	})
}
