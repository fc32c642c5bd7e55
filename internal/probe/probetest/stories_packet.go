package probetest

import (
	"encoding/binary"
	"net"
	"slices"

	"golang.org/x/net/dns/dnsmessage"

	"hale/internal/core/policy"
)

// packets answers each datagram with the next of the texts, and the last one again and again.
func packets(texts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		defer conn.Close()
		packet := make([]byte, 64<<10)
		for i := 0; ; i++ {
			if _, err := conn.Read(packet); err != nil {
				return
			}
			if _, err := conn.Write([]byte(texts[min(i, len(texts)-1)])); err != nil {
				return
			}
		}
	}
}

func udpAnswers() map[string]service {
	wanting := policy.Check{
		Kind: policy.CheckUDP,
		Port: 27015,
		UDP:  policy.UDPCheck{Send: []byte("ping"), Answer: "^pong [0-9]"},
	}
	open := wanting
	open.UDP.Answer = ""
	return map[string]service{
		"udp: the one that is wanted":      {wanting, Answer{Serve: packets("pong 7")}, "up ok"},
		"udp: another one":                 {wanting, Answer{Serve: packets("busy")}, "down body"},
		"udp: the first answer counts":     {wanting, Answer{Serve: packets("busy", "pong 7")}, "down body"},
		"udp: bytes that are no text":      {open, Answer{Serve: packets("\xff\xfe\x00")}, "up ok"},
		"udp: any answer to any question":  {open, Answer{Serve: packets("busy")}, "up ok"},
		"udp: an answer that is too short": {wanting, Answer{Serve: packets("pong")}, "down body"},
	}
}

func wantsA(answers ...string) policy.DNSCheck {
	return policy.DNSCheck{Name: "www.example.org", Type: policy.RecordA, Answer: answers}
}

// zone makes the messages that a name server answers a question with; framed says that it came by TCP.
type zone func(q dnsmessage.Message, framed bool) []dnsmessage.Message

// names is a name server: datagrams and a stream look alike over the scripted transport, but that one has the length in
// front.
func names(z zone) func(net.Conn) {
	return func(conn net.Conn) {
		defer conn.Close()
		packet := make([]byte, 64<<10)
		for {
			n, err := conn.Read(packet)
			if err != nil {
				return
			}
			asked := packet[:n]
			framed := n > 2 && int(asked[0])<<8|int(asked[1]) == n-2
			if framed {
				asked = asked[2:]
			}
			var q dnsmessage.Message
			if q.Unpack(asked) != nil {
				return
			}
			for _, m := range z(q, framed) {
				answer, err := m.Pack()
				if err != nil {
					return
				}
				if framed {
					length := uint16(len(answer)) //nolint:gosec // a few hundred bytes
					answer = append(binary.BigEndian.AppendUint16(nil, length), answer...)
				}
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}
	}
}

// withA is the answer that has these addresses.
func withA(q dnsmessage.Message, addresses ...[4]byte) dnsmessage.Message {
	q.Response = true
	for _, a := range addresses {
		q.Answers = append(q.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60},
			Body:   &dnsmessage.AResource{A: a},
		})
	}
	return q
}

var (
	first  = [4]byte{192, 0, 2, 1}
	second = [4]byte{192, 0, 2, 2}
)

func goodA(q dnsmessage.Message, _ bool) []dnsmessage.Message {
	return []dnsmessage.Message{withA(q, first)}
}

// altered is a good answer, but for what the function does to it.
func altered(alter func(m *dnsmessage.Message)) zone {
	return func(q dnsmessage.Message, _ bool) []dnsmessage.Message {
		m := withA(q, first)
		m.Questions = slices.Clone(m.Questions)
		alter(&m)
		return []dnsmessage.Message{m}
	}
}

func coded(code dnsmessage.RCode) zone {
	return altered(func(m *dnsmessage.Message) { m.RCode, m.Answers = code, nil })
}

// tooLong fits only into a stream.
func tooLong(q dnsmessage.Message, framed bool) []dnsmessage.Message {
	if framed {
		return []dnsmessage.Message{withA(q, first, second)}
	}
	m := withA(q)
	m.Truncated = true
	return []dnsmessage.Message{m}
}

// beside has answers to other questions come first.
func beside(q dnsmessage.Message, _ bool) []dnsmessage.Message {
	number := withA(q, second)
	number.ID++
	name := withA(q, second)
	name.Questions = []dnsmessage.Question{
		{Name: dnsmessage.MustNewName("www.example.net."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
	}
	return []dnsmessage.Message{number, name, q, withA(q, first)}
}

func dnsAnswers() map[string]service {
	check := func(c policy.DNSCheck) policy.Check { return policy.Check{Kind: policy.CheckDNS, Port: 53, DNS: c} }
	stream := wantsA()
	stream.TCP = true
	other := altered(func(m *dnsmessage.Message) { m.ID++ })
	return map[string]service{
		"dns: the address that is wanted": {check(wantsA("192.0.2.1")), Answer{Serve: names(goodA)}, "up ok"},
		"dns: another one":                {check(wantsA("192.0.2.2")), Answer{Serve: names(goodA)}, "down body"},
		"dns: one of two": {check(wantsA("192.0.2.1", "192.0.2.2")), Answer{Serve: names(goodA)},
			"down body"},
		"dns: both, and by TCP": {check(wantsA("192.0.2.1", "192.0.2.2")), Answer{Serve: names(tooLong)},
			"up ok"},
		"dns: by TCP at once": {check(stream), Answer{Serve: names(goodA)}, "up ok"},
		"dns: no such name": {check(wantsA()), Answer{Serve: names(coded(dnsmessage.RCodeNameError))},
			"down status"},
		"dns: it fails": {check(wantsA()),
			Answer{Serve: names(coded(dnsmessage.RCodeServerFailure))}, "down status"},
		"dns: it refuses": {check(wantsA()), Answer{Serve: names(coded(dnsmessage.RCodeRefused))},
			"down status"},
		"dns: no such record": {check(wantsA()), Answer{Serve: names(coded(dnsmessage.RCodeSuccess))},
			"down body"},
		"dns: answers to others":             {check(wantsA("192.0.2.1")), Answer{Serve: names(beside)}, "up ok"},
		"dns: answers to others, by TCP":     {check(stream), Answer{Serve: names(beside)}, "up ok"},
		"dns: only an answer to another one": {check(wantsA()), Answer{Serve: names(other)}, "down timeout"},
		"dns: no answer but garbage":         {check(wantsA()), Answer{Serve: packets("garbage")}, "down timeout"},
		"dns: closes the stream":             {check(stream), Answer{}, "down protocol"},
	}
}
