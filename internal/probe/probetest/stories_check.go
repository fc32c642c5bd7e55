package probetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

func threeInARow(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("off")...)
	s.listen()
	s.engine.Set(a)
	s.pass(2 * time.Minute)
	s.told(a.ID, "up ok", "failing refused", "down refused")
	edges := s.heardOf(a.ID)
	if got := edges[2].At.Sub(edges[1].At); got != 2*a.Spec.Every {
		s.t.Errorf("down came %v after the first failure, want %v", got, 2*a.Spec.Every)
	}
}

func threeWithinFive(s *stage) {
	a, b := pinged(1), pinged(2)
	a.Spec.DownIn = 5
	b.Spec.DownAfter = 2
	for _, t := range []probe.Target{a, b} {
		s.net.Script(t.Address, answers("ofofofo")...)
		s.engine.Set(t)
	}
	s.listen()
	s.pass(2 * time.Minute)
	s.told(a.ID, "up ok", "failing refused", "up ok", "failing refused", "up ok", "down refused", "up ok")
	s.told(b.ID, "up ok", "failing refused", "up ok", "failing refused", "up ok", "failing refused", "up ok")
}

func brokenRow(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("offoffo")...)
	s.listen()
	s.engine.Set(a)
	s.pass(2 * time.Minute)
	s.told(a.ID, "up ok", "failing refused", "up ok", "failing refused", "up ok")
}

func httpAnswers(s *stage) {
	local := Answer{Err: probe.LocalError{Err: syscall.EMFILE}}
	self := selfSigned(s)
	cases := map[string]struct {
		scheme string
		answer Answer
		want   string
	}{
		"200":                  {"http", Status(200), "up ok"},
		"204":                  {"http", Status(204), "up ok"},
		"503":                  {"http", Status(503), "down status"},
		"a redirect":           {"http", Status(302), "down status"},
		"silence":              {"http", Silent(), "down timeout"},
		"accepts and hangs":    {"http", Answer{Serve: hang}, "down timeout"},
		"refuses":              {"http", Answer{Err: syscall.ECONNREFUSED}, "down refused"},
		"no way to the host":   {"http", Answer{Err: syscall.EHOSTUNREACH}, "down unreachable"},
		"another protocol":     {"http", Answer{Serve: says("SSH-2.0-OpenSSH_9.2p1\r\n")}, "down protocol"},
		"closes at once":       {"http", Answer{}, "down protocol"},
		"a bad certificate":    {"https", Answer{Serve: self}, "down tls"},
		"no TLS at all":        {"https", Answer{Serve: says("SSH-2.0-OpenSSH_9.2p1\r\n")}, "down tls"},
		"no descriptor left":   {"http", local, "unknown local"},
		"no port of our own":   {"http", Answer{Err: syscall.EADDRNOTAVAIL}, "unknown local"},
		"no route from here":   {"http", Answer{Err: syscall.ENETUNREACH}, "unknown local"},
		"forbidden to us":      {"http", Answer{Err: syscall.EPERM}, "unknown local"},
		"no buffer of our own": {"http", Answer{Err: syscall.ENOBUFS}, "unknown local"},
	}
	n := 0
	ids := make(map[string]probe.ID)
	for name, c := range cases {
		n++
		a := paged(n, c.scheme)
		s.net.Script(a.Address, c.answer)
		ids[name] = a.ID
		s.engine.Set(a)
	}
	s.listen()
	s.pass(time.Minute)
	for name, c := range cases {
		if e := s.stands(name, ids[name], c.want); name == "503" && e.Detail != "503" {
			s.t.Errorf("detail of a 503: %q", e.Detail)
		}
	}
}

// httpDemands asks for more than any 2xx: the answers are the same, what they mean is the check's affair.
func httpDemands(s *stage) {
	n := 0
	ask := func(check policy.HTTPCheck, answer Answer, want string) {
		n++
		a := paged(n, "http")
		check.Scheme, check.Path = "http", "/"
		a.Spec.HTTP = check
		s.net.Script(a.Address, answer)
		s.engine.Set(a)
		s.pass(time.Minute)
		if e := s.now(a.ID); string(e.Standing)+" "+string(e.Result) != want {
			s.t.Errorf("%+v: %s %s (%s), want %s", check, e.Standing, e.Result, e.Detail, want)
		}
	}
	s.listen()
	codes := policy.HTTPCheck{Status: []policy.StatusRange{{First: 401, Last: 401}, {First: 500, Last: 599}}}
	ask(codes, Status(401), "up ok")
	ask(codes, Status(503), "up ok")
	ask(codes, Status(200), "down status")
	passing := policy.HTTPCheck{Body: `"status": *"pass`}
	ask(passing, Page(`{"status": "passing"}`), "up ok")
	ask(passing, Page(`{"status": "failing"}`), "down body")
	ask(passing, Status(503), "down status")
	ignoring := policy.HTTPCheck{NoConnection: policy.NoConnectionIgnore}
	ask(ignoring, Answer{Err: syscall.ECONNREFUSED}, "unknown not-connected")
	ask(ignoring, Silent(), "unknown not-connected")
	ask(ignoring, Answer{Serve: hang}, "down timeout")
}

func hang(conn net.Conn) {
	defer conn.Close()
	b := make([]byte, 1024)
	for {
		if _, err := conn.Read(b); err != nil {
			return
		}
	}
}

// certificateLasts is from the beginning of a story on.
const certificateLasts = 1000 * time.Hour

// selfSigned serves TLS with a certificate that no authority signed.
func selfSigned(s *stage) func(net.Conn) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certificateLasts),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	config := &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true, // a pipe has no room for unread data
	}
	return func(conn net.Conn) {
		defer conn.Close()
		_ = tls.Server(conn, config).HandshakeContext(s.t.Context())
	}
}

func oneOfTen(s *stage) {
	const closed = 7
	s.listen()
	for n := range 10 {
		a := pinged(n + 1)
		a.Spec.Kind, a.Spec.Port = policy.CheckTCP, 22
		if n+1 == closed {
			s.net.Script(a.Address, answers("f")...)
		}
		s.engine.Set(a)
	}
	s.pass(time.Minute)
	for n := range 10 {
		want := fleet.StandingUp
		if n+1 == closed {
			want = fleet.StandingDown
		}
		if e := s.now(pinged(n + 1).ID); e.Standing != want {
			s.t.Errorf("%s is %s (%s %s), want %s", e.Machine, e.Standing, e.Result, e.Detail, want)
		}
	}
}

func program(n int) probe.Target {
	a := pinged(n)
	a.Instance = "4711"
	a.Spec.Kind, a.Spec.Every, a.Spec.Timeout = policy.CheckExec, 20*time.Second, 15*time.Second
	a.Spec.Exec.Command = []string{"ask", "{ip}", "--name={name}", "{id}"}
	return a
}

func hangingProgram(s *stage) {
	a := program(1)
	s.net.Script(a.Address, Silent())
	s.listen()
	s.engine.Set(a)
	s.pass(2 * time.Minute)
	s.told(a.ID, "failing timeout", "down timeout")
	starts := s.net.Starts(a.Address)
	if len(starts) < 5 {
		s.t.Fatalf("the program ran %d times in two minutes", len(starts))
	}
	for i := 2; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-1]); gap != a.Spec.Every {
			s.t.Errorf("start %d came %v after the one before, want %v", i, gap, a.Spec.Every)
		}
	}
}

func programArguments(s *stage) {
	a, b := program(1), program(2)
	s.net.Script(b.Address, Answer{Code: 2})
	s.listen()
	s.engine.Set(a)
	s.pass(time.Second)
	want := []string{"ask", a.Address.String(), "--name=web-1", "4711"}
	if got := s.net.Programs(); len(got) != 1 || !slices.Equal(got[0].Args, want) {
		s.t.Errorf("ran %q, want once %q", got, want)
	}
	s.engine.Set(b)
	s.pass(2 * time.Minute)
	s.told(a.ID, "up ok")
	s.told(b.ID, "failing exit", "down exit")
}

// exitCodes are those of monitoring plugins: a warning is what the check makes of it, and who cannot tell says nothing.
func exitCodes(s *stage) {
	s.listen()
	for code, want := range []string{"up ok", "down exit", "down exit", "unknown undecided", "down exit"} {
		a, lenient := program(2*code+1), program(2*code+2)
		lenient.Spec.Exec.Warning = policy.WarningOK
		s.net.Script(a.Address, Answer{Code: code, Output: "said\n"})
		s.net.Script(lenient.Address, Answer{Code: code, Output: "said\n"})
		s.engine.Set(a, lenient)
		s.pass(2 * time.Minute)
		if code == 1 {
			s.told(lenient.ID, "up ok")
		}
		if e := s.now(a.ID); string(e.Standing)+" "+string(e.Result) != want || !strings.HasSuffix(e.Detail, "said") {
			s.t.Errorf("code %d: %s %s (%s), want %s and what the program said",
				code, e.Standing, e.Result, e.Detail, want)
		}
	}
}

func noAddress(s *stage) {
	a := pinged(1)
	at := a.Address
	s.net.Script(at, answers("o")...)
	a.Address = netip.Addr{}
	s.listen()
	s.engine.Set(a)
	s.pass(time.Minute)
	s.told(a.ID, "unknown no-address")
	if e := s.now(a.ID); e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultNoAddress {
		s.t.Errorf("the standing says %+v", e)
	}
	a.Address = at
	s.engine.Set(a)
	s.pass(time.Minute)
	a.Address = netip.Addr{}
	s.engine.Set(a)
	s.pass(time.Minute)
	s.told(a.ID, "unknown no-address", "unknown ", "up ok", "unknown no-address")
	probed := len(s.net.Starts(at))
	s.pass(time.Minute)
	if n := len(s.net.Starts(at)); n != probed {
		s.t.Errorf("the lost address was probed %d times more", n-probed)
	}
}

func upAfterTwo(s *stage) {
	a := pinged(1)
	a.Spec.UpAfter = 2
	s.net.Script(a.Address, answers("oofffofffoo")...)
	s.listen()
	s.engine.Set(a)
	s.pass(5 * time.Minute)
	s.told(a.ID, "up ok", "failing refused", "down refused", "up ok")
	edges := s.heardOf(a.ID)
	if got := edges[3].At.Sub(edges[2].At); got != 6*a.Spec.Every {
		s.t.Errorf("up came %v after down, want the sixth probe after it (%v)", got, 6*a.Spec.Every)
	}
}

// goodAnswers: between down and up, an engine that counts says how many of the good answers are there.
func goodAnswers(s *stage) {
	able, ok := s.engine.(probe.Counter)
	if !ok {
		return
	}
	a, unknown := pinged(1), pinged(2).ID
	a.Spec.UpAfter = 3
	s.net.Script(a.Address, answers("fffoofooo")...)
	s.listen()
	s.engine.Set(a)
	var got []int
	for s.pass(a.Spec.Every / 2); len(got) < 9; s.pass(a.Spec.Every) {
		counted := able.Good(s.t.Context(), a.ID, unknown)
		if _, known := counted[unknown]; known {
			s.t.Error("a target that is not watched is counted")
		}
		got = append(got, counted[a.ID])
	}
	// The first probe may be as late as its interval.
	if want := []int{0, 0, 0, 1, 2, 0, 1, 2, 3}; !slices.Equal(got, want) && !slices.Equal(got[1:], want[:8]) {
		s.t.Errorf("good answers %v, want %v", got, want)
	}
}

func removed(s *stage) {
	a, b := pinged(1), pinged(2)
	s.net.Script(a.Address, answers("of")...)
	s.listen()
	s.engine.Set(a, b)
	s.pass(a.Spec.Every * 3 / 2)
	s.engine.Remove(a.ID)
	synctest.Wait()
	edges, probes := len(s.heardOf(a.ID)), len(s.net.Starts(a.Address))
	s.pass(time.Minute)
	if n := len(s.heardOf(a.ID)); n != edges {
		s.t.Errorf("%d edges after Remove", n-edges)
	}
	if n := len(s.net.Starts(a.Address)); n != probes {
		s.t.Errorf("%d probes after Remove", n-probes)
	}
	if standings := s.engine.Standings(); len(standings) != 1 || standings[0].ID != b.ID {
		s.t.Errorf("standings after Remove: %v", standings)
	}
}

func movedAddress(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, Silent())
	s.listen()
	s.engine.Set(a)
	s.pass(a.Spec.Every * 3)
	old := a.Address
	before := len(s.net.Starts(old))
	a.Address = address(99)
	s.net.Script(a.Address, answers("o")...)
	moved := time.Now()
	s.engine.Set(a)
	s.pass(time.Minute)
	if starts := s.net.Starts(a.Address); len(starts) == 0 || !starts[0].Equal(moved) {
		s.t.Errorf("the new address was probed at %v, want first at %v", starts, moved)
	}
	if n := len(s.net.Starts(old)); n != before {
		s.t.Errorf("the old address was probed %d times more", n-before)
	}
	edges := s.heardOf(a.ID)
	last := edges[len(edges)-2:]
	if last[0].Standing != fleet.StandingUnknown || last[1].Standing != fleet.StandingUp {
		s.t.Errorf("after the move: %+v, want unknown, then up", last)
	}
}

func look(s *stage) {
	for i, tc := range []struct {
		script   string
		in       int // of a window
		standing fleet.Standing
		result   fleet.ResultReason
	}{
		{"f", 0, fleet.StandingDown, fleet.ResultRefused},
		{"o", 0, fleet.StandingUp, fleet.ResultOK},
		{"l", 0, fleet.StandingUnknown, fleet.ResultLocal},
		{"s", 0, fleet.StandingDown, fleet.ResultTimeout},
		{"ffo", 0, fleet.StandingUp, fleet.ResultOK}, // it came back while it was looked at
		{"so", 0, fleet.StandingUp, fleet.ResultOK},  // one packet was lost
		{"fl", 0, fleet.StandingUnknown, fleet.ResultLocal},
		{script: "fofof", in: 5, standing: fleet.StandingDown, result: fleet.ResultRefused},
		{script: "ofoff", in: 5, standing: fleet.StandingDown, result: fleet.ResultRefused},
		{script: "foofo", in: 5, standing: fleet.StandingUp, result: fleet.ResultOK},
		{script: "so", in: 5, standing: fleet.StandingUp, result: fleet.ResultOK},
		{script: "s", in: 5, standing: fleet.StandingDown, result: fleet.ResultTimeout},
		{script: "fol", in: 5, standing: fleet.StandingUnknown, result: fleet.ResultLocal},
	} {
		a := pinged(i + 1)
		a.Spec.DownIn = tc.in
		longest := a.Spec.Timeout
		if tc.in > 0 {
			longest *= 2
		}
		s.net.Script(a.Address, answers(tc.script)...)
		begun := time.Now()
		got := s.engine.Look(s.t.Context(), a)
		if got.Check != a.Check || got.Standing != tc.standing || got.Result != tc.result {
			s.t.Errorf("%s: look says %+v, want %s, %s", tc.script, got, tc.standing, tc.result)
		}
		if took := time.Since(begun); took > longest {
			s.t.Errorf("%s: look took %v", tc.script, took)
		}
		if n := len(s.net.Starts(a.Address)); got.Standing == fleet.StandingDown && n < a.Spec.DownAfter {
			s.t.Errorf("%s: down after %d questions", tc.script, n)
		}
	}
	if len(s.engine.Standings()) != 0 {
		s.t.Error("a look made a target")
	}
}

func lookBeside(s *stage) {
	a := pinged(1)
	s.listen()
	s.engine.Set(a)
	s.pass(a.Spec.Every / 2)
	s.net.Script(a.Address, answers("f")...)
	for range 5 {
		if got := s.engine.Look(s.t.Context(), a); got.Standing != fleet.StandingDown {
			s.t.Errorf("look says %+v, want down", got)
		}
	}
	s.net.Script(a.Address, answers("o")...)
	s.pass(time.Minute)
	s.told(a.ID, "up ok")
}

func lookCutShort(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, Silent())
	ctx, cancel := context.WithTimeout(s.t.Context(), a.Spec.Timeout-1)
	defer cancel()
	begun := time.Now()
	got := s.engine.Look(ctx, a)
	if got.Standing != fleet.StandingUnknown {
		s.t.Errorf("look says %+v, want unknown", got)
	}
	if took := time.Since(begun); took != a.Spec.Timeout-1 {
		s.t.Errorf("look took %v", took)
	}
}

func lookDeaf(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, Answer{Deaf: true, After: time.Hour})
	begun := time.Now()
	got := s.engine.Look(s.t.Context(), a)
	if got.Standing != fleet.StandingUnknown {
		s.t.Errorf("look says %+v, want unknown", got)
	}
	if took := time.Since(begun); took > a.Spec.Timeout+5*time.Second {
		s.t.Errorf("look took %v", took)
	}
	s.pass(2 * time.Hour) // the transport lets go at last
}

// sharedAddress has another instance come to the target's address and leave it: what answers meanwhile says nothing of
// the target.
func sharedAddress(s *stage) {
	a, rival := pinged(1), fleet.InstanceID("the-other")
	s.net.Script(a.Address, answers("o")...)
	s.listen()
	s.engine.Set(a)
	s.pass(time.Minute)
	a.Rival, a.Epoch = rival, a.Epoch+1
	s.engine.Set(a)
	s.pass(time.Minute)
	e := s.now(a.ID)
	if e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultSharedAddress || e.Detail != string(rival) {
		s.t.Errorf("with another instance at its address: %+v", e)
	}
	probed := len(s.net.Starts(a.Address))
	s.pass(time.Minute)
	if n := len(s.net.Starts(a.Address)); n != probed {
		s.t.Errorf("an address that two instances have was probed %d times", n-probed)
	}
	a.Rival, a.Epoch = "", a.Epoch+1
	s.engine.Set(a)
	s.pass(time.Minute)
	if e := s.now(a.ID); e.Standing != fleet.StandingUp {
		s.t.Errorf("alone at its address again: %+v", e)
	}
}

func lookSharedAddress(s *stage) {
	a := pinged(1)
	a.Rival = "the-other"
	s.net.Script(a.Address, answers("o")...)
	got := s.engine.Look(s.t.Context(), a)
	if got.Standing != fleet.StandingUnknown || got.Result != fleet.ResultSharedAddress {
		s.t.Errorf("look says %+v, want unknown, shared-address", got)
	}
}

func lookNoAddress(s *stage) {
	a := pinged(1)
	a.Address = netip.Addr{}
	got := s.engine.Look(s.t.Context(), a)
	if got.Standing != fleet.StandingUnknown || got.Result != fleet.ResultNoAddress {
		s.t.Errorf("look says %+v, want unknown, no-address", got)
	}
}
