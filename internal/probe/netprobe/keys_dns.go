package netprobe

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type dnsDraft struct {
	port   keys.At[int]
	name   keys.At[string]
	record keys.At[policy.RecordType]
	answer keys.At[[]keys.At[string]]
	tcp    keys.At[bool]
}

var dnsKeys = kinds.CheckOf(policy.CheckDNS, "name: www.example.org",
	"Ask the name server on the machine itself for a record.",
	dnsShape(),
	func(c kinds.Asked, d keys.At[dnsDraft]) {
		c.Check.Port, c.Check.DNS = d.Value.port.Value, dnsOf(c, d.Value)
	}, writeDNS)

func dnsShape() keys.Object[dnsDraft] {
	return keys.Object[dnsDraft]{Fields: []keys.Field[dnsDraft]{
		keys.Must("name", "www.example.org", "The name that is asked for.", keys.Text("a name", "www.example.org"),
			func(d *dnsDraft) *keys.At[string] { return &d.name }),
		keys.Or("type", policy.RecordA, "The type of record. That there is none is a failure.",
			keys.Choice(nil, policy.RecordA, policy.RecordAAAA, policy.RecordCNAME, policy.RecordMX,
				policy.RecordTXT, policy.RecordSRV, policy.RecordNS, policy.RecordSOA, policy.RecordPTR),
			func(d *dnsDraft) *keys.At[policy.RecordType] { return &d.record }),
		keys.May("answer", "What the records must say, all of it, as `[192.0.2.1]`, `[\"10 mail.example.org\"]` for "+
			"MX, `[\"0 5 5060 sip.example.org\"]` for SRV; of SOA the primary server. Further records are no failure.",
			keys.List[string]{Noun: "one record", Each: keys.Text("a record",
				"192.0.2.1")}, func(d *dnsDraft) *keys.At[[]keys.At[string]] { return &d.answer }).
			Said("anything"),
		keys.Or("port", 53, "The port.", keys.Integer(1, 65535),
			func(d *dnsDraft) *keys.At[int] { return &d.port }),
		keys.Or("tcp", false, "Ask by TCP at once. Otherwise only what is too long for a datagram is asked for by it.",
			keys.Boolean(), func(d *dnsDraft) *keys.At[bool] { return &d.tcp }),
	}}
}

func dnsOf(c kinds.Asked, d dnsDraft) policy.DNSCheck {
	out := policy.DNSCheck{Name: d.name.Value, Type: d.record.Value, TCP: d.tcp.Value}
	if d.name.Given() && !domainName(d.name.Value) {
		c.Add(d.name.Spot, fmt.Sprintf("%q is not a name in DNS", d.name.Value),
			"write for example www.example.org, and xn--… for what is not ASCII")
	}
	for _, a := range d.answer.Value {
		if a.Given() && d.record.Known() {
			if example, bad := recordFlaw(d.record.Value, a.Value); bad {
				c.Add(a.Spot, fmt.Sprintf("%q is not what a record of type %s says", a.Value, d.record.Value),
					"write for example "+example)
			}
		}
		out.Answer = append(out.Answer, a.Value)
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
func recordFlaw(kind policy.RecordType, text string) (example string, bad bool) {
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
	case policy.RecordA:
		return "192.0.2.1", err != nil || !address.Is4()
	case policy.RecordAAAA:
		return "2001:db8::1", err != nil || !address.Is6() || address.Zone() != ""
	case policy.RecordMX:
		return "\"10 mail.example.org\"", !numbers(1)
	case policy.RecordSRV:
		return "\"0 5 5060 sip.example.org\"", !numbers(3)
	case policy.RecordTXT:
		return "\"v=spf1 -all\"", false
	case policy.RecordCNAME, policy.RecordNS, policy.RecordSOA, policy.RecordPTR:
	}
	return "ns1.example.org", !numbers(0)
}

func writeDNS(c *policy.Check, p *keys.Pairs) {
	p.Add("port", "%d", c.Port)
	answers := make([]string, len(c.DNS.Answer))
	for i, a := range c.DNS.Answer {
		answers[i] = keys.Quoted(a)
	}
	p.Add("name", "%s", keys.Quoted(c.DNS.Name))
	p.Add("type", "%s", c.DNS.Type)
	p.May("answer", "[%s]", strings.Join(answers, ", "))
	p.May("tcp", "%t", c.DNS.TCP)
}
