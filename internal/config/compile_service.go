package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
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
		{fleet.CheckUDP, d.udp.written(), func() { out.Port, out.UDP = d.udp.value.port.value, c.udp(d.udp) }},
		{fleet.CheckHeartbeat, d.heartbeat.written(), func() { out.Heartbeat = c.heartbeat(d.heartbeat) }},
		{fleet.CheckGRPC, d.grpc.written(), func() { out.Port, out.GRPC = d.grpc.value.port.value, c.grpc(d.grpc.value) }},
		{fleet.CheckDNS, d.dns.written(), func() { out.Port, out.DNS = d.dns.value.port.value, c.dns(d.dns.value) }},
	}
}

func (c *fleetCompiler) ssh(d sshDraft) (int, fleet.SSHCheck) {
	return d.port.value, fleet.SSHCheck{Banner: c.pattern(d.banner)}
}

func (c *fleetCompiler) certificate(d certificateDraft) (int, fleet.CertificateCheck) {
	c.hostName(d.host)
	return d.port.value, fleet.CertificateCheck{Host: d.host.value, TLSCheck: c.demand(d.ca, d.days, d.insecure)}
}

func (c *fleetCompiler) grpc(d grpcDraft) fleet.GRPCCheck {
	c.hostName(d.host)
	if d.tls.known() && !d.tls.value {
		c.plain("tls", "tls: true", d.ca, d.certificateDays, d.insecure)
	}
	return fleet.GRPCCheck{Service: d.service.value, Host: d.host.value, Secure: d.tls.value, TLS: c.demand(d.ca, d.certificateDays, d.insecure)}
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

// maxSend is what fits into one packet on any way, in bytes.
const maxSend = 1200

func (c *fleetCompiler) udp(at at[udpDraft]) fleet.UDPCheck {
	d := at.value
	out := fleet.UDPCheck{Send: []byte(d.send.value), Answer: c.pattern(d.answer)}
	switch {
	case d.send.written() && d.sendHex.written():
		c.add(d.sendHex.spot, "comes beside send", "take one of the two out")
	case d.sendHex.written():
		out.Send = []byte(d.sendHex.value)
	case at.how == given && d.send.how == absent:
		c.add(at.under("send"), "is missing", "say what the machine answers to: add send: ping, or send_hex: \"ff ff\"")
	}
	if len(out.Send) > maxSend {
		c.add(at.spot, fmt.Sprintf("sends %d bytes", len(out.Send)), fmt.Sprintf("send %d at most, which is one packet", maxSend))
	}
	return out
}

func (c *fleetCompiler) dns(d dnsDraft) fleet.DNSCheck {
	out := fleet.DNSCheck{Name: d.name.value, Type: d.record.value, TCP: d.tcp.value}
	if d.name.given() && !domainName(d.name.value) {
		c.add(d.name.spot, fmt.Sprintf("%q is not a name in DNS", d.name.value), "write for example www.example.org, and xn--… for what is not ASCII")
	}
	for _, a := range d.answer.value {
		if a.given() && d.record.known() {
			if example, bad := recordFlaw(d.record.value, a.value); bad {
				c.add(a.spot, fmt.Sprintf("%q is not what a record of type %s says", a.value, d.record.value), "write for example "+example)
			}
		}
		out.Answer = append(out.Answer, a.value)
	}
	return out
}

// domainName reports whether the text can be asked for (RFC 1035, 2.3.4).
func domainName(text string) bool {
	text = strings.TrimSuffix(text, ".")
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ':' || r == '@' }) {
			return false
		}
	}
	return len(text) <= 253
}

// recordFlaw reports whether no record of the type can say that, and what one could.
func recordFlaw(kind fleet.RecordType, text string) (example string, bad bool) {
	words := strings.Fields(text)
	numbers := func(n int) bool {
		if len(words) != n+1 {
			return false
		}
		for _, w := range words[:n] {
			if _, err := strconv.ParseUint(w, 10, 16); err != nil {
				return false
			}
		}
		return domainName(words[n])
	}
	address, err := netip.ParseAddr(text)
	switch kind {
	case fleet.RecordA:
		return "192.0.2.1", err != nil || !address.Is4()
	case fleet.RecordAAAA:
		return "2001:db8::1", err != nil || !address.Is6() || address.Zone() != ""
	case fleet.RecordMX:
		return "\"10 mail.example.org\"", !numbers(1)
	case fleet.RecordSRV:
		return "\"0 5 5060 sip.example.org\"", !numbers(3)
	case fleet.RecordTXT:
		return "\"v=spf1 -all\"", false
	case fleet.RecordCNAME, fleet.RecordNS, fleet.RecordSOA, fleet.RecordPTR:
	}
	return "ns1.example.org", !numbers(0)
}
