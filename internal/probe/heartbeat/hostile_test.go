package heartbeat_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe/heartbeat"
	"hale/internal/secret"
	"hale/internal/testbed/nettest"
)

// TestStrangersLeaveThePlacesToMachines: clients without a token hold a few places, however often they come, and
// machines are heard meanwhile.
func TestStrangersLeaveThePlacesToMachines(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	h.engine.Set(h.target(1))
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, token, "") })
	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 5 * time.Second}
	held := 0
	for range 200 {
		conn, err := stranger.DialContext(t.Context(), "tcp", h.address)
		if err != nil {
			continue // shut before it was open
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			held++
		}
	}
	if held == 0 || held > 40 {
		t.Errorf("a stranger holds %d places", held)
	}
	h.client.CloseIdleConnections() // a new connection has to be let in
	if code, said := h.report(beatPath, token, ""); code != http.StatusNoContent {
		t.Errorf("a machine is answered %d %s", code, said)
	}
}

// TestWhoShowsNoTokenIsSentAway: the answer to a stranger ends its connection, that to a machine does not.
func TestWhoShowsNoTokenIsSentAway(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	h.engine.Set(h.target(1))
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, token, "") })
	for shown, stays := range map[string]bool{token: true, token + "x": false} {
		conn, err := net.Dial("tcp", h.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.WriteString(conn, "POST "+beatPath+" HTTP/1.1\r\nHost: x\r\nContent-Length: "+
			"0\r\nAuthorization: Bearer "+shown+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Close == stays {
			t.Errorf("token %s: status %d, the connection ends: %v", shown, resp.StatusCode, resp.Close)
		}
	}
}

// TestAMachineReportsForItselfOnly, where each has a token of its own: neither another one's nor the secret that they
// are derived from opens anything.
func TestAMachineReportsForItselfOnly(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	check := *h.check()
	check.Heartbeat.PerMachine = true
	target := h.target(1)
	target.Spec = &check
	h.receiver.Take(heartbeat.Place{Listen: h.address}, []policy.Spec{{Name: "web", Checks: []policy.Check{check}}})
	h.engine.Set(target)
	own := func(m string) string { return secret.Derived(token, "web/"+m+"/beat") }
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, own("web-1"), "") })
	for who, c := range map[string]struct {
		shown string
		want  int
	}{
		"itself": {own("web-1"), http.StatusNoContent}, "a peer": {own("web-2"), http.StatusUnauthorized},
		"with another check's": {secret.Derived(token, "web/web-1/page"), http.StatusUnauthorized},
		"who has the secret":   {token, http.StatusUnauthorized},
	} {
		if code, _ := h.report(beatPath, c.shown, `{"ok": false}`); code != c.want {
			t.Errorf("%s: status %d, want %d", who, code, c.want)
		}
	}
}

// TestHaleTestsItselfWhereMachinesReport: silence is no machine's failure while the address of the machines leads
// nowhere, or to another server.
func TestHaleTestsItselfWhereMachinesReport(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	says := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	other := &http.Server{Handler: http.HandlerFunc(says), ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- other.Serve(listener) }()
	t.Cleanup(func() {
		_ = other.Shutdown(context.WithoutCancel(t.Context()))
		<-ended
	})
	for address, says := range map[string]string{nettest.Free(t): "hale does not hear its own heartbeats",
		listener.Addr().String(): "another server answers"} {
		h := open(t, heartbeat.Place{Address: address})
		h.engine.Set(h.target(1))
		h.report(beatPath, token, "") // so that one machine of the fleet was heard
		h.becomes(fleet.StandingUnknown, fleet.ResultLocal, says, nil)
	}
}
