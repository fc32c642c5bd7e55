package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/balancertest"
	"hale/internal/balancer/memory"
	"hale/internal/balancer/webhook"
	"hale/internal/core/fault"
	"hale/internal/outlet/post"
	"hale/internal/secret"
)

// member is one in an answer.
type member struct {
	Name    string           `json:"name"`
	Address string           `json:"address,omitempty"`
	Port    uint16           `json:"port,omitempty"`
	State   balancer.State   `json:"state"`
	Verdict balancer.Verdict `json:"verdict"`
	Failed  bool             `json:"failed,omitempty"`
}

// service is a receiver with a pool behind it.
type service struct {
	pool *memory.Pool
	is   atomic.Pointer[balancertest.Fault]
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q balancer.Question
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	is := *s.is.Load()
	switch is {
	case balancertest.Dead:
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	case balancertest.Frozen:
		<-r.Context().Done()
		return
	case balancertest.Garbage:
		_, _ = io.WriteString(w, "{}")
		return
	case balancertest.Slow:
		<-time.After(100 * time.Millisecond)
	}
	if q.Action == balancer.List {
		all, _ := s.pool.Members(r.Context())
		out := []member{}
		for _, m := range all {
			out = append(out, member{string(m.Name), m.At.Addr().String(), m.At.Port(), m.State, m.Verdict, m.Failed})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"members": out})
		return
	}
	want := balancer.Want{State: q.State}
	if a, err := netip.ParseAddr(q.Address); err == nil {
		want.At = netip.AddrPortFrom(a, q.Port)
	}
	err := s.pool.Set(r.Context(), q.Member, want)
	switch {
	case is == balancertest.Fails: // it says so when it is asked
	case fault.Is(err, fault.NotFound):
		http.Error(w, "no room", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case is == balancertest.AnswerLost:
		<-r.Context().Done()
	}
}

func newPool(t *testing.T) (p *webhook.Pool, s *service) {
	t.Helper()
	s = &service{pool: memory.New()}
	works := balancertest.Works
	s.is.Store(&works)
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	p = webhook.New(post.New(post.Options{Op: "webhook.send", URL: secret.Value{Plain: at.URL},
		Identity: post.Identity{Name: "edge", Timeout: 10 * time.Second, Version: "test"}}))
	t.Cleanup(p.Close)
	return p, s
}

func TestAWebhookPassesTheExam(t *testing.T) {
	t.Parallel()
	balancertest.Run(t, func(t *testing.T) balancertest.Bench {
		p, s := newPool(t)
		return balancertest.Bench{Pool: p, Put: s.pool.Put, Forget: s.pool.Forget,
			Break: func(f balancertest.Fault) {
				s.is.Store(&f)
				s.pool.Break(memory.Faults{Full: f == balancertest.Full, Fails: f == balancertest.Fails})
			}}
	})
}

// TestWhatIsAcceptedAndNotDoneIsNoSuccess: a yes proves nothing, the list does.
func TestWhatIsAcceptedAndNotDoneIsNoSuccess(t *testing.T) {
	t.Parallel()
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"members": []}`)
	}))
	t.Cleanup(at.Close)
	p := webhook.New(post.New(post.Options{Op: "webhook.send", URL: secret.Value{Plain: at.URL},
		Identity: post.Identity{Timeout: 10 * time.Second}}))
	err := p.Set(t.Context(), "web-1", balancer.Want{State: balancer.Serving, At: balancertest.At("127.0.0.1:80")})
	if !fault.Is(err, fault.Transient) {
		t.Errorf("it says %v", err)
	}
}

// TestAnAnswerIsReadStrictly: whatever is not a whole list is none.
func TestAnAnswerIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		``, `[]`, `{}`, `{"members": null}`, `{"members": [{"state": "serving"}]}`,
		`{"members": [{"name": "web-1"}]}`, `{"members": [{"name": "web-1", "state": "up"}]}`,
		`{"members": [{"name": "web-1", "state": "out", "verdict": "fine"}]}`,
		`{"members": [{"name": "web-1", "state": "out", "address": "nowhere"}]}`,
		`{"members": [{"name": "web-1", "state": "out"}, {"name": "web-1", "state": "serving"}]}`,
	} {
		if all, err := balancer.ParseMembers([]byte(said)); err == nil {
			t.Errorf("%s is taken for %v", said, all)
		}
	}
	all, err := balancer.ParseMembers([]byte(`{"members": [{"name": "web-2", "state": "out"}, {"name": "web-1", ` +
		`"state": "serving", "address": "::ffff:10.0.0.5", "port": 80, "connections": 3, "verdict": "down"}]}`))
	if err != nil || len(all) != 2 || all[0].At.String() != "10.0.0.5:80" || all[0].Connections != 3 ||
		all[1].Verdict != balancer.Unknown || all[1].Connections != balancer.UnknownConnections {
		t.Errorf("%+v, %v", all, err)
	}
	if strings.Contains(string(all[0].Name), "2") {
		t.Error("they are not in order")
	}
}
