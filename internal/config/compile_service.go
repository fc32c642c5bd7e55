package config

import (
	"fmt"
	"regexp"
	"strings"

	"hale/internal/fleet"
)

// way is one of the ways in which a check can ask.
type way struct {
	kind    fleet.CheckKind
	written bool
	compile func() // puts what is written into the check
}

// ways are all of them, in the order of the tables.
func (c *fleetCompiler) ways(out *fleet.Check, d checkDraft) []way {
	nothing := func() {}
	return []way{
		{fleet.CheckPing, d.ping.written(), nothing},
		{fleet.CheckTCP, d.tcp.written(), func() { out.Port, out.Full = d.tcp.value.port.value, d.tcp.value.full.value }},
		{fleet.CheckHTTP, d.http.written(), func() { out.Port, out.HTTP = c.http(d.http.value) }},
		{fleet.CheckExec, d.exec.written(), func() { out.Exec = c.exec(d.exec.value) }},
		{fleet.CheckAgent, d.agent.written(), nothing},
		{fleet.CheckSSH, d.ssh.written(), func() { out.Port, out.SSH = c.ssh(d.ssh.value) }},
		{fleet.CheckTLS, d.tls.written(), func() { out.Port, out.Certificate = c.certificate(d.tls.value) }},
	}
}

func (c *fleetCompiler) ssh(d sshDraft) (int, fleet.SSHCheck) {
	return d.port.value, fleet.SSHCheck{Banner: c.pattern(d.banner)}
}

func (c *fleetCompiler) certificate(d certificateDraft) (int, fleet.CertificateCheck) {
	c.hostName(d.host)
	return d.port.value, fleet.CertificateCheck{Host: d.host.value, TLSCheck: c.demand(d.ca, d.days, d.insecure)}
}

// demand is what a certificate must be.
func (c *fleetCompiler) demand(ca at[string], days at[int], insecure at[bool]) fleet.TLSCheck {
	if ca.written() && insecure.value {
		c.add(insecure.spot, "comes beside ca", "take insecure out: ca says whom to trust")
	}
	return fleet.TLSCheck{CA: c.authorities(ca), Days: days.value, Insecure: insecure.value}
}

// pattern returns a regular expression as it is written.
func (c *fleetCompiler) pattern(p at[string]) string {
	if !p.given() {
		return ""
	}
	if _, err := regexp.Compile(p.value); err != nil {
		c.add(p.spot, strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write a regular expression of RE2's kind; \\. stands for a dot")
	}
	return p.value
}

// hostName reports what is no name of a host.
func (c *fleetCompiler) hostName(h at[string]) {
	if h.known() && strings.ContainsAny(h.value, "/ @\t\r\n") {
		c.add(h.spot, fmt.Sprintf("%q is not a host name", h.value), "write for example www.example.org")
	}
}
