package scenario

import (
	"fmt"
	"strings"

	"hale/internal/fleet"
)

// serviceOf is what a check asks that belongs to one protocol. As with http, authorities are left out.
func serviceOf(c *fleet.Check) string {
	if c.Kind == fleet.CheckHeartbeat {
		return heartbeatOf(&c.Heartbeat)
	}
	p := pairs{fmt.Sprintf("port: %d", c.Port)}
	switch c.Kind { //nolint:exhaustive // the others have their own ways
	case fleet.CheckSSH:
		p.unless(c.SSH.Banner == "", "banner", "%s", quoted(c.SSH.Banner))
	case fleet.CheckTLS:
		p.unless(c.Certificate.Host == "", "host", "%s", quoted(c.Certificate.Host))
		p.add("certificate_days", "%d", c.Certificate.Days)
		p.unless(!c.Certificate.Insecure, "insecure", "true")
	case fleet.CheckUDP:
		p.add("send_hex", `"%x"`, c.UDP.Send)
		p.unless(c.UDP.Answer == "", "answer", "%s", quoted(c.UDP.Answer))
	case fleet.CheckGRPC:
		p.unless(c.GRPC.Service == "", "service", "%s", quoted(c.GRPC.Service))
		p.unless(c.GRPC.Host == "", "host", "%s", quoted(c.GRPC.Host))
		p.unless(!c.GRPC.Secure, "tls", "true")
		p.unless(c.GRPC.TLS.Days == 0, "certificate_days", "%d", c.GRPC.TLS.Days)
		p.unless(!c.GRPC.TLS.Insecure, "insecure", "true")
	case fleet.CheckDNS:
		answers := make([]string, len(c.DNS.Answer))
		for i, a := range c.DNS.Answer {
			answers[i] = quoted(a)
		}
		p.add("name", "%s", quoted(c.DNS.Name))
		p.add("type", "%s", c.DNS.Type)
		p.unless(len(answers) == 0, "answer", "[%s]", strings.Join(answers, ", "))
		p.unless(!c.DNS.TCP, "tcp", "true")
	}
	return p.String()
}

// heartbeatOf is where the token is kept. Simulated machines have none to show.
func heartbeatOf(h *fleet.HeartbeatCheck) string {
	key := "token"
	if h.PerMachine {
		key = "secret"
	}
	if h.Token.File != "" {
		return fmt.Sprintf("{%s: {file: %s}}", key, quoted(h.Token.File))
	}
	return fmt.Sprintf("{%s: {env: %s}}", key, quoted(h.Token.Env))
}
