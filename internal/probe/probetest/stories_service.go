package probetest

import (
	"io"
	"maps"
	"net"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"hale/internal/core/policy"
	"hale/internal/probe"
)

// service is one question to a service, the answer, and how the check stands for it.
type service struct {
	spec   policy.Check
	answer Answer
	want   string
}

// served is as pinged, with a check of the service.
func served(n int, spec policy.Check) probe.Target {
	t := pinged(n)
	like := t.Spec
	spec.Name, spec.Every, spec.Timeout = like.Name, like.Every, like.Timeout
	spec.DownAfter, spec.UpAfter = like.DownAfter, like.UpAfter
	t.Spec = &spec
	return t
}

// kinds are the checks of services, each with the answer that it likes.
func (s *stage) kinds() map[string]service {
	const serving = grpc_health_v1.HealthCheckResponse_SERVING
	return map[string]service{
		"ssh": {policy.Check{Kind: policy.CheckSSH, Port: 22},
			Answer{After: moment, Serve: says("SSH-2.0-OpenSSH_9.2p1\r\n")}, "up ok"},
		"tls": {policy.Check{Kind: policy.CheckTLS, Port: 636, Certificate: anybodys(0)},
			Answer{After: moment, Serve: selfSigned(s)}, "up ok"},
		"udp": {policy.Check{Kind: policy.CheckUDP, Port: 27015, UDP: policy.UDPCheck{Send: []byte("ping")}},
			Answer{After: moment, Serve: packets("pong")}, "up ok"},
		"dns": {policy.Check{Kind: policy.CheckDNS, Port: 53, DNS: wantsA()},
			Answer{After: moment, Serve: names(goodA)}, "up ok"},
		"grpc": {policy.Check{Kind: policy.CheckGRPC, Port: 50051},
			Answer{After: moment, Serve: healthy(serving, serving)}, "up ok"},
	}
}

// serviceAnswers are those of every kind, and what only one has to know.
func serviceAnswers(s *stage) {
	cases := s.sshAnswers()
	for _, more := range []map[string]service{s.tlsAnswers(), udpAnswers(), dnsAnswers(), grpcAnswers()} {
		maps.Copy(cases, more)
	}
	for name, k := range s.kinds() {
		cases[name+": as it should be"] = k
		for what, a := range map[string]service{
			"silence":            {answer: Silent(), want: "down timeout"},
			"refuses":            {answer: Answer{Err: syscall.ECONNREFUSED}, want: "down refused"},
			"no way to the host": {answer: Answer{Err: syscall.EHOSTUNREACH}, want: "down unreachable"},
			"accepts and hangs":  {answer: Answer{Serve: hang}, want: "down timeout"},
			"no descriptor left": {answer: Answer{Err: probe.LocalError{Err: syscall.EMFILE}}, want: "unknown local"},
			"no route from here": {answer: Answer{Err: syscall.ENETUNREACH}, want: "unknown local"},
		} {
			cases[name+": "+what] = service{k.spec, a.answer, a.want}
		}
	}
	ids := make(map[string]probe.ID)
	n := 0
	for name, c := range cases {
		n++
		a := served(n, c.spec)
		s.net.Script(a.Address, c.answer)
		ids[name] = a.ID
		s.engine.Set(a)
	}
	s.listen()
	s.pass(time.Minute)
	for name, c := range cases {
		s.stands(name, ids[name], c.want)
	}
}

// serviceRows: rise, fall and window are the same for all of them.
func serviceRows(s *stage) {
	n := 0
	targets := make(map[string]probe.Target)
	windows := make(map[string]probe.Target)
	for name, k := range s.kinds() {
		n += 2
		row, window := served(n, k.spec), served(n+1, k.spec)
		window.Spec.DownIn = 5
		good, bad := k.answer, Answer{After: moment, Err: syscall.ECONNREFUSED}
		s.net.Script(row.Address, good, bad, bad, good, bad, Silent(), bad, good)
		s.net.Script(window.Address, good, bad, good, bad, good, bad, good)
		targets[name], windows[name] = row, window
		s.engine.Set(row, window)
	}
	s.listen()
	s.pass(2 * time.Minute)
	for name := range targets {
		s.told(targets[name].ID, "up ok", "failing refused",
			"up ok", "failing refused", "failing timeout", "down refused", "up ok")
		s.told(windows[name].ID, "up ok", "failing refused",
			"up ok", "failing refused", "up ok", "down refused", "up ok")
	}
}

func (s *stage) sshAnswers() map[string]service {
	any2 := policy.Check{Kind: policy.CheckSSH, Port: 22}
	debian := policy.Check{Kind: policy.CheckSSH, Port: 22, SSH: policy.SSHCheck{Banner: "Debian"}}
	line := func(n int) string { return "SSH-2.0-" + strings.Repeat("x", n-len("SSH-2.0-\r\n")) + "\r\n" }
	return map[string]service{
		"ssh: the one that is wanted": {debian, Answer{Serve: says("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")}, "up ok"},
		"ssh: another one":            {debian, Answer{Serve: says("SSH-2.0-dropbear_2022.83\r\n")}, "down body"},
		"ssh: lines before it": {any2, Answer{Serve: says("Welcome.\r\nDo not log in.\nSSH-2.0-x\n")},
			"up ok"},
		"ssh: far too many before it": {any2,
			Answer{Serve: says(strings.Repeat("Welcome.\r\n", 100) + "SSH-2.0-x\r\n")}, "down protocol"},
		"ssh: a foreword without end":   {any2, Answer{Serve: says(strings.Repeat("x", 100_000))}, "down protocol"},
		"ssh: as long as may be":        {any2, Answer{Serve: says(line(255))}, "up ok"},
		"ssh: too long":                 {any2, Answer{Serve: says(line(256))}, "down protocol"},
		"ssh: an old server, and a new": {any2, Answer{Serve: says("SSH-1.99-x\n")}, "up ok"},
		"ssh: an old server":            {any2, Answer{Serve: says("SSH-1.5-x\r\n")}, "down protocol"},
		"ssh: half a line":              {any2, Answer{Serve: says("SSH-2.0-x")}, "down protocol"},
		"ssh: another protocol":         {any2, Answer{Serve: says("220 mail.example.org ESMTP\r\n")}, "down protocol"},
		"ssh: closes at once":           {any2, Answer{}, "down protocol"},
	}
}

func (s *stage) tlsAnswers() map[string]service {
	strict := policy.Check{Kind: policy.CheckTLS, Port: 636}
	left := int(certificateLasts / (24 * time.Hour))
	self := selfSigned(s)
	lasting := func(days int) policy.Check {
		return policy.Check{Kind: policy.CheckTLS, Port: 636, Certificate: anybodys(days)}
	}
	return map[string]service{
		"tls: no authority for it": {strict, Answer{Serve: self}, "down tls"},
		"tls: it lasts":            {lasting(left - 1), Answer{Serve: self}, "up ok"},
		"tls: not long enough":     {lasting(left + 1), Answer{Serve: self}, "down tls"},
		"tls: another protocol":    {lasting(0), Answer{Serve: says("220 mail.example.org ESMTP\r\n")}, "down tls"},
		"tls: closes at once":      {lasting(0), Answer{}, "down tls"},
	}
}

// anybodys is content with any certificate that lasts.
func anybodys(days int) policy.CertificateCheck {
	return policy.CertificateCheck{TLSCheck: policy.TLSCheck{Insecure: true, Days: days}}
}

// says speaks first, whatever it hears.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }() // it ends with the connection
		_, _ = io.WriteString(conn, text)
	}
}
