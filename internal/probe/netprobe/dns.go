package netprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// maxOverUDP is more than a server sends by UDP unasked (512, RFC 1035, 4.2.1), in bytes.
const maxOverUDP = 4096

// resolve asks the target's own name server. What was cut short by UDP is asked for again by TCP.
func (k asker) resolve(ctx context.Context, t probe.Target) error {
	q, err := newQuery(&t.Spec.DNS)
	if err != nil {
		return probe.LocalError{Err: err}
	}
	var a *reply
	if !t.Spec.DNS.TCP {
		err = k.talk(ctx, t, "udp", func(conn net.Conn) error {
			a, err = q.overUDP(conn)
			return err
		})
	}
	if err == nil && (a == nil || a.truncated) {
		err = k.talk(ctx, t, "tcp", func(conn net.Conn) error {
			a, err = q.overTCP(conn)
			return err
		})
	}
	if err != nil {
		return err
	}
	return a.judge(&t.Spec.DNS)
}

// query is one question, and the number by which its answer is known.
type query struct {
	id       uint16
	question dnsmessage.Question
	packet   []byte
}

// recordTypes are the types that a check may ask for.
var recordTypes = map[policy.RecordType]dnsmessage.Type{
	policy.RecordA: dnsmessage.TypeA, policy.RecordAAAA: dnsmessage.TypeAAAA, policy.RecordCNAME: dnsmessage.TypeCNAME,
	policy.RecordMX: dnsmessage.TypeMX, policy.RecordTXT: dnsmessage.TypeTXT, policy.RecordSRV: dnsmessage.TypeSRV,
	policy.RecordNS: dnsmessage.TypeNS, policy.RecordSOA: dnsmessage.TypeSOA, policy.RecordPTR: dnsmessage.TypePTR,
}

func newQuery(c *policy.DNSCheck) (query, error) {
	kind, known := recordTypes[c.Type]
	if !known {
		return query{}, fmt.Errorf("records of type %q", c.Type)
	}
	name, err := dnsmessage.NewName(strings.TrimSuffix(c.Name, ".") + ".")
	if err != nil {
		return query{}, fmt.Errorf("name %q: %w", c.Name, err)
	}
	q := query{
		id:       uint16(random() & 0xffff),
		question: dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET},
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.id, RecursionDesired: true},
		Questions: []dnsmessage.Question{q.question},
	}
	q.packet, err = m.Pack()
	return q, err
}

// overUDP returns the first answer to the question. It ignores others: a sender that cannot see the question
// does not know its number.
func (q query) overUDP(conn net.Conn) (*reply, error) {
	if _, err := conn.Write(q.packet); err != nil {
		return nil, err
	}
	packet := make([]byte, maxOverUDP)
	for {
		n, err := conn.Read(packet)
		if err != nil {
			return nil, err
		}
		if a := q.read(packet[:n]); a != nil {
			return a, nil
		}
	}
}

func (q query) overTCP(conn net.Conn) (*reply, error) {
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(q.packet))) //nolint:gosec // a few hundred bytes
	if _, err := conn.Write(append(framed, q.packet...)); err != nil {
		return nil, err
	}
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return nil, cutShort(err)
		}
		packet := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, packet); err != nil {
			return nil, cutShort(err)
		}
		if a := q.read(packet); a != nil {
			return a, nil
		}
	}
}

// cutShort says what the end of a connection means before the answer was there.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failure{fleet.ResultProtocol, "the connection was closed before an answer"}
	}
	return err
}

// reply is what a server says to a question.
type reply struct {
	code      dnsmessage.RCode
	truncated bool
	records   []string // of the wanted type, as a check writes them
	broken    bool     // the records cannot be read
}

// read returns the reply that the packet holds, and nil when it is none to this question.
func (q query) read(packet []byte) *reply {
	var p dnsmessage.Parser
	h, err := p.Start(packet)
	if err != nil || h.ID != q.id || !h.Response || h.OpCode != 0 {
		return nil
	}
	asked, err := p.AllQuestions()
	if err != nil || !q.same(asked, h.RCode) {
		return nil
	}
	a := &reply{code: h.RCode, truncated: h.Truncated}
	for {
		record, err := p.Answer()
		switch {
		case errors.Is(err, dnsmessage.ErrSectionDone):
			return a
		case err != nil:
			a.broken = true
			return a
		case record.Header.Type == q.question.Type && record.Header.Class == q.question.Class:
			a.records = append(a.records, written(record.Body))
		}
	}
}

// same reports whether it is the question that was asked. A server that could not read it may leave it out.
func (q query) same(asked []dnsmessage.Question, code dnsmessage.RCode) bool {
	if len(asked) == 0 {
		return code == dnsmessage.RCodeFormatError || code == dnsmessage.RCodeNotImplemented
	}
	a := asked[0]
	return len(asked) == 1 && a.Type == q.question.Type && a.Class == q.question.Class &&
		strings.EqualFold(a.Name.String(), q.question.Name.String())
}

// written is the record as a check writes it: names without the dot at their end.
func written(body dnsmessage.ResourceBody) string {
	name := func(n dnsmessage.Name) string { return strings.TrimSuffix(n.String(), ".") }
	switch r := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(r.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(r.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return name(r.CNAME)
	case *dnsmessage.NSResource:
		return name(r.NS)
	case *dnsmessage.PTRResource:
		return name(r.PTR)
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %s", r.Pref, name(r.MX))
	case *dnsmessage.SRVResource:
		return fmt.Sprintf("%d %d %d %s", r.Priority, r.Weight, r.Port, name(r.Target))
	case *dnsmessage.SOAResource:
		return name(r.NS) // the serial changes with every edit
	case *dnsmessage.TXTResource:
		return strings.Join(r.TXT, "")
	}
	return ""
}

// rcodes are the names of RFC 6895.
var rcodes = map[dnsmessage.RCode]string{
	dnsmessage.RCodeFormatError: "FORMERR", dnsmessage.RCodeServerFailure: "SERVFAIL",
	dnsmessage.RCodeNameError: "NXDOMAIN", dnsmessage.RCodeNotImplemented: "NOTIMP", dnsmessage.RCodeRefused: "REFUSED",
}

// judge says whether the reply is a good one.
func (a *reply) judge(c *policy.DNSCheck) error {
	switch {
	case a.code != dnsmessage.RCodeSuccess:
		name, known := rcodes[a.code]
		if !known {
			name = fmt.Sprintf("rcode %d", a.code)
		}
		return failure{fleet.ResultStatus, name}
	case a.broken:
		return failure{fleet.ResultProtocol, "the answer cannot be read"}
	case len(a.records) == 0:
		return failure{fleet.ResultBody, fmt.Sprintf("there is no %s record", c.Type)}
	}
	for _, want := range c.Answer {
		if !slices.ContainsFunc(a.records, func(r string) bool { return sameRecord(c.Type, want, r) }) {
			return failure{
				fleet.ResultBody,
				firstLine(fmt.Sprintf("%s is not in it: %s", want, strings.Join(a.records, ", "))),
			}
		}
	}
	return nil
}

// sameRecord compares as DNS does: names in capitals or not, texts to the letter, addresses however they are written.
func sameRecord(kind policy.RecordType, want, got string) bool {
	switch kind {
	case policy.RecordTXT:
		return want == got
	case policy.RecordA, policy.RecordAAAA:
		address, err := netip.ParseAddr(want)
		return err == nil && address.String() == got
	case policy.RecordCNAME, policy.RecordMX, policy.RecordSRV, policy.RecordNS, policy.RecordSOA, policy.RecordPTR:
	}
	return strings.EqualFold(strings.TrimSuffix(strings.Join(strings.Fields(want), " "), "."), got)
}
