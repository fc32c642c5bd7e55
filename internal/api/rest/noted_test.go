package rest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/defect"
	"hale/internal/state/memory"
)

// desk is a router with one call, on a store of its own.
type desk struct {
	t       *testing.T
	router  *rest.Router
	backing *memory.Backing
}

type nothing struct {
	Body struct {
		Word string `json:"word"`
	}
}

// asked makes a desk whose one call, for operators, does what the test says.
func asked(t *testing.T, faults memory.Faults, do func(context.Context) error) *desk {
	t.Helper()
	d := &desk{t: t, backing: memory.New(memory.Options{})}
	log := slog.New(slog.DiscardHandler)
	d.router = rest.New(log, defect.NewRegister(log).Witness(defect.Surface, ""), audit.New(d.backing.Open(faults), log), nil)
	rest.Serve(d.router, rest.Call{ID: "act", Method: http.MethodPost, Path: "/act", Needs: rest.Orders, Summary: "Act"},
		func(ctx context.Context, _ *nothing) (string, error) { return "done", do(ctx) })
	return d
}

func caller(kind access.Kind, role access.Role) access.Principal {
	return access.Principal{Kind: kind, Name: "ana", ID: "a", Grants: []access.Grant{{Role: role}}}
}

func (d *desk) call(p access.Principal) int {
	d.t.Helper()
	q := httptest.NewRequestWithContext(access.With(d.t.Context(), p), http.MethodPost, "/act", strings.NewReader(`{"word":"x"}`))
	q.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	d.router.Handler().ServeHTTP(w, q)
	return w.Code
}

func (d *desk) noted() []audit.Record {
	d.t.Helper()
	all, err := audit.Read(d.t.Context(), d.backing.Open(nil), audit.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func TestAnActIsNotedBeforeItIsDoneAndAfter(t *testing.T) {
	t.Parallel()
	var d *desk
	var before []audit.Record
	d = asked(t, nil, func(ctx context.Context) error {
		before = d.noted()
		audit.About(ctx, "web-2")
		return nil
	})
	if code := d.call(caller(access.ByToken, access.Operator)); code != http.StatusOK {
		t.Fatal(code)
	}
	if len(before) != 1 || before[0].Result != audit.Begun || before[0].Name != "ana" {
		t.Errorf("before: %+v", before)
	}
	after := d.noted()
	if len(after) != 1 || after[0].Result != audit.Done || after[0].About[0] != "web-2" || after[0].Request == "" {
		t.Errorf("after: %+v", after)
	}
}

func TestWhatBecameOfAnActIsNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(ctx context.Context) error
		want audit.Result
	}{
		"refused": {func(context.Context) error { return rest.Refused("as things stand") }, audit.Refused},
		"waits": {func(ctx context.Context) error {
			audit.Hold(ctx)
			return api.NewProblem(api.CodeSecondPerson, "another person")
		}, audit.Waits},
		"fails":  {func(context.Context) error { return api.NewProblem(api.CodeStore, "away") }, audit.Failed},
		"panics": {func(context.Context) error { panic("a defect") }, audit.Failed},
	} {
		d := asked(t, nil, c.do)
		d.call(caller(access.ByToken, access.Operator))
		if got := d.noted(); len(got) != 1 || got[0].Result != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhoMayNotIsNoted(t *testing.T) {
	t.Parallel()
	d := asked(t, nil, func(context.Context) error { t.Error("it is done"); return nil })
	if code := d.call(caller(access.ByToken, access.Viewer)); code != http.StatusForbidden {
		t.Error(code)
	}
	got := d.noted()
	if len(got) != 1 || got[0].Result != audit.Refused || got[0].Operation != "act" || !strings.Contains(got[0].Why, "operator") {
		t.Errorf("%+v", got)
	}
}

func TestWhoMayNotSeeProfilesIsNoted(t *testing.T) {
	t.Parallel()
	d := asked(t, nil, func(context.Context) error { return nil })
	d.router.Beside("GET /beside", rest.Governs, http.NotFoundHandler())
	q := httptest.NewRequestWithContext(access.With(t.Context(), caller(access.ByToken, access.Operator)), http.MethodGet, "/beside", nil)
	w := httptest.NewRecorder()
	d.router.Handler().ServeHTTP(w, q)
	if got := d.noted(); w.Code != http.StatusForbidden || len(got) != 1 || got[0].Operation != "GET /beside" {
		t.Errorf("%d, %+v", w.Code, got)
	}
}

// TestWhatCannotBeNotedIsNotDone, unless the caller sits at the machine.
func TestWhatCannotBeNotedIsNotDone(t *testing.T) {
	t.Parallel()
	for kind, does := range map[access.Kind]bool{access.ByToken: false, access.ByOpenID: false, access.BySocket: true} {
		done := false
		d := asked(t, func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit {
				return memory.FailBefore
			}
			return memory.Normal
		}, func(context.Context) error { done = true; return nil })
		if code := d.call(caller(kind, access.Admin)); done != does || does != (code == http.StatusOK) {
			t.Errorf("%s: %d, done %v", kind, code, done)
		}
	}
}

// pipes is a listener without a network, for bubbles.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestACallUnderWayIsNotEndedByTheDeadlineOfItsBody: it goes on as long as its caller waits.
func TestACallUnderWayIsNotEndedByTheDeadlineOfItsBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := asked(t, nil, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return fmt.Errorf("the caller has gone: %w", ctx.Err())
			case <-time.After(5 * time.Minute):
				return nil
			}
		})
		l := make(pipes)
		server := &http.Server{Handler: d.router.Handler(), ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return access.With(ctx, caller(access.BySocket, access.Admin))
		}}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(l) }()
		near, far := net.Pipe()
		l <- far
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		client := &http.Client{Transport: transport}
		resp, err := client.Post("http://hale/act", "application/json", strings.NewReader(`{"word":"x"}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", resp, err)
		}
		resp.Body.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
}
