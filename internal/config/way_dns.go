package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"hale/internal/fleet"
)

type dnsDraft struct {
	port   at[int]
	name   at[string]
	record at[fleet.RecordType]
	answer at[[]at[string]]
	tcp    at[bool]
}

var dnsWay = wayOf(fleet.CheckDNS, "name: www.example.org", "Ask the name server on the machine itself for a record.",
	dnsShape(),
	func(c *fleetCompiler, d at[dnsDraft], out *fleet.Check) {
		out.Port, out.DNS = d.value.port.value, c.dns(d.value)
	}, writeDNS)

func dnsShape() object[dnsDraft] {
	return object[dnsDraft]{fields: []field[dnsDraft]{
		must("name", "www.example.org", "The name that is asked for.", text("a name", "www.example.org"),
			func(d *dnsDraft) *at[string] { return &d.name }),
		or("type", defaultRecord, "The type of record. That there is none is a failure.",
			choice(nil, fleet.RecordA, fleet.RecordAAAA, fleet.RecordCNAME, fleet.RecordMX,
				fleet.RecordTXT, fleet.RecordSRV, fleet.RecordNS, fleet.RecordSOA, fleet.RecordPTR),
			func(d *dnsDraft) *at[fleet.RecordType] { return &d.record }),
		may("answer", "What the records must say, all of it, as `[192.0.2.1]`, `[\"10 mail.example.org\"]` for MX, "+
			"`[\"0 5 5060 sip.example.org\"]` for SRV; of SOA the primary server. Further records are no failure.",
			list[string]{noun: "one record", each: text("a record",
				"192.0.2.1")}, func(d *dnsDraft) *at[[]at[string]] { return &d.answer }).
			said("anything"),
		or("port", defaultDNSPort, "The port.", integer(1, 65535), func(d *dnsDraft) *at[int] { return &d.port }),
		or("tcp", false, "Ask by TCP at once. Otherwise only what is too long for a datagram is asked for by it.",
			boolean(), func(d *dnsDraft) *at[bool] { return &d.tcp }),
	}}
}

func (c *fleetCompiler) dns(d dnsDraft) fleet.DNSCheck {
	out := fleet.DNSCheck{Name: d.name.value, Type: d.record.value, TCP: d.tcp.value}
	if d.name.given() && !domainName(d.name.value) {
		c.add(d.name.spot, fmt.Sprintf("%q is not a name in DNS", d.name.value),
			"write for example www.example.org, and xn--… for what is not ASCII")
	}
	for _, a := range d.answer.value {
		if a.given() && d.record.known() {
			if example, bad := recordFlaw(d.record.value, a.value); bad {
				c.add(a.spot, fmt.Sprintf("%q is not what a record of type %s says", a.value, d.record.value),
					"write for example "+example)
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
		if label == "" || len(label) > 63 || strings.ContainsFunc(label,
			func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ':' || r == '@' }) {
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

func writeDNS(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	answers := make([]string, len(c.DNS.Answer))
	for i, a := range c.DNS.Answer {
		answers[i] = quoted(a)
	}
	p.add("name", "%s", quoted(c.DNS.Name))
	p.add("type", "%s", c.DNS.Type)
	p.unless(len(answers) == 0, "answer", "[%s]", strings.Join(answers, ", "))
	p.unless(!c.DNS.TCP, "tcp", "true")
}
