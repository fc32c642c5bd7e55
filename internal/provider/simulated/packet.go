package simulated

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"hale/internal/core/policy"
	"hale/internal/sim/guest"
)

// maxDatagram is more than any question of a check has, in bytes.
const maxDatagram = 64 << 10

// packets has the guest answer the datagrams of checks, and questions for records also in a stream, where a check asks
// for that at the port. It reports whether one does.
func (w *World) packets(c *conn) bool {
	if !w.asksPackets(c) {
		return false
	}
	packet := make([]byte, maxDatagram)
	for {
		n, err := c.Read(packet) // a check writes each at once
		if err != nil {
			return true
		}
		if answer, said := w.answerPacket(c, packet[:n]); said {
			if _, err := c.Write(answer); err != nil {
				return true
			}
			continue
		}
		_, _ = io.Copy(io.Discard, c) // until the caller gives up
		return true
	}
}

func (w *World) asksPackets(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, udp := w.checkAt(policy.CheckUDP, c.at.Port())
	_, dns := w.checkAt(policy.CheckDNS, c.at.Port())
	return udp || dns
}

// answerPacket returns what the guest answers; false: nothing.
func (w *World) answerPacket(c *conn, packet []byte) ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.heard(c)
	if h.HTTP == guest.Silence {
		return nil, false
	}
	ill, other := h.HTTP == guest.Status5, h.HTTP == guest.WrongPage
	if _, dns := w.checkAt(policy.CheckDNS, c.at.Port()); dns {
		var m dnsmessage.Message
		framed := len(packet) > 2 && int(packet[0])<<8|int(packet[1]) == len(packet)-2
		question := packet
		if framed {
			question = packet[2:]
		}
		if m.Unpack(question) == nil && len(m.Questions) == 1 {
			answer, err := w.zone(c.at.Port(), m, ill, other).Pack()
			if framed {
				length := uint16(len(answer)) //nolint:gosec // a few hundred bytes
				answer = append(binary.BigEndian.AppendUint16(nil, length), answer...)
			}
			return answer, err == nil
		}
	}
	check, udp := w.checkAt(policy.CheckUDP, c.at.Port())
	switch {
	case !udp:
		return nil, false
	case ill || other:
		return []byte("another answer"), true
	}
	return []byte(sample(check.UDP.Answer)), true
}

// zone is the answer of the guest's name server: what the checks want to hear, and one record of the type where they
// leave it open.
func (w *World) zone(port uint16, m dnsmessage.Message, ill, other bool) *dnsmessage.Message {
	q := m.Questions[0]
	m.Response = true
	if ill {
		m.RCode = dnsmessage.RCodeServerFailure
		return &m
	}
	var wanted []string
	kind := policy.RecordType(strings.TrimPrefix(q.Type.String(), "Type"))
	for _, c := range w.options.Checks {
		if c.Kind == policy.CheckDNS && c.Port == int(port) && c.DNS.Type == kind &&
			strings.EqualFold(strings.TrimSuffix(c.DNS.Name, "."), strings.TrimSuffix(q.Name.String(), ".")) {
			wanted = append(wanted, c.DNS.Answer...)
		}
	}
	if len(wanted) == 0 || other {
		wanted = []string{anyRecord(kind)}
	}
	for _, text := range wanted {
		if body := recordOf(kind, text); body != nil {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name,
				Class: q.Class, TTL: 60}, Body: body})
		}
	}
	return &m
}

// anyRecord is one of the type.
func anyRecord(kind policy.RecordType) string {
	const host = "any.simulated"
	switch kind {
	case policy.RecordA:
		return "192.0.2.1"
	case policy.RecordAAAA:
		return "2001:db8::1"
	case policy.RecordMX:
		return "10 " + host
	case policy.RecordSRV:
		return "0 0 1 " + host
	case policy.RecordCNAME, policy.RecordTXT, policy.RecordNS, policy.RecordSOA, policy.RecordPTR:
	}
	return host
}

// recordOf makes a record of the text that a check has for it; nil: it is none.
func recordOf(kind policy.RecordType, text string) dnsmessage.ResourceBody {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	address, _ := netip.ParseAddr(text)
	name, err := dnsmessage.NewName(strings.TrimSuffix(words[len(words)-1], ".") + ".")
	if err != nil {
		return nil
	}
	var a, b, c uint16
	switch kind {
	case policy.RecordA:
		if address.Is4() {
			return &dnsmessage.AResource{A: address.As4()}
		}
	case policy.RecordAAAA:
		if address.Is6() {
			return &dnsmessage.AAAAResource{AAAA: address.As16()}
		}
	case policy.RecordMX:
		if _, err := fmt.Sscan(words[0], &a); err == nil {
			return &dnsmessage.MXResource{Pref: a, MX: name}
		}
	case policy.RecordSRV:
		if _, err := fmt.Sscan(text, &a, &b, &c); err == nil {
			return &dnsmessage.SRVResource{Priority: a, Weight: b, Port: c, Target: name}
		}
	case policy.RecordCNAME:
		return &dnsmessage.CNAMEResource{CNAME: name}
	case policy.RecordNS:
		return &dnsmessage.NSResource{NS: name}
	case policy.RecordPTR:
		return &dnsmessage.PTRResource{PTR: name}
	case policy.RecordSOA:
		return &dnsmessage.SOAResource{NS: name, MBox: name}
	case policy.RecordTXT:
		return &dnsmessage.TXTResource{TXT: []string{text}}
	}
	return nil
}
