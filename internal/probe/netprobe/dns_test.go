package netprobe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// canned is a connection that says what it holds and hears nothing.
type canned struct {
	net.Conn
	from *bytes.Reader
}

func (c canned) Read(p []byte) (int, error)  { return c.from.Read(p) }
func (c canned) Write(p []byte) (int, error) { return len(p), nil }
func (c canned) SetDeadline(time.Time) error { return nil }
func wantOf(kind policy.RecordType) policy.DNSCheck {
	return policy.DNSCheck{Name: "www.example.org", Type: kind}
}

// FuzzReply: whatever a packet holds, it is taken for the answer only when it is one to the question, and one that is
// cut into a stream is read as it is.
func FuzzReply(f *testing.F) {
	check := wantOf(policy.RecordA)
	q, err := newQuery(&check)
	if err != nil {
		f.Fatal(err)
	}
	m := dnsmessage.Message{
		Header: dnsmessage.Header{Response: true}, Questions: []dnsmessage.Question{q.question},
		Answers: []dnsmessage.Resource{
			{Header: dnsmessage.ResourceHeader{Name: q.question.Name, Class: dnsmessage.ClassINET},
				Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}},
			{Header: dnsmessage.ResourceHeader{Name: q.question.Name, Class: dnsmessage.ClassINET},
				Body: &dnsmessage.CNAMEResource{CNAME: q.question.Name}},
		},
	}
	good, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[2:])
	f.Add(good[2:20])
	f.Add(q.packet[2:])
	f.Add([]byte{0x80, 0x01, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, rest []byte) {
		packet := append(binary.BigEndian.AppendUint16(nil, q.id), rest...)
		a := q.read(packet)
		if other := (query{id: q.id + 1, question: q.question}); other.read(packet) != nil {
			t.Error("the answer to another question was taken")
		}
		if a == nil {
			return
		}
		if rest[0]&0x80 == 0 {
			t.Error("a question was taken for an answer")
		}
		if len(packet) < 64<<10 {
			stream := append(binary.BigEndian.AppendUint16(nil, uint16(len(packet))), packet...)
			again, err := q.overTCP(canned{from: bytes.NewReader(stream)})
			if err != nil || strings.Join(again.records, ",") != strings.Join(a.records, ",") || again.code != a.code {
				t.Errorf("by UDP %+v, by TCP %+v, %v", a, again, err)
			}
		}
		var known failure
		if err := a.judge(&check); err != nil && !errors.As(err, &known) {
			t.Errorf("judged %v", err)
		}
	})
}

// FuzzStream: whatever a name server writes into a connection, it ends with an answer, with one that is none, or with
// the connection.
func FuzzStream(f *testing.F) {
	check := wantOf(policy.RecordTXT)
	q, err := newQuery(&check)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 3, 1, 2, 3, 0, 0})
	f.Add([]byte{0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, stream []byte) {
		a, err := q.overTCP(canned{from: bytes.NewReader(stream)})
		var known failure
		if a == nil && (!errors.As(err, &known) || known.reason != fleet.ResultProtocol) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// FuzzAnswer: no datagram confuses the search for a pattern.
func FuzzAnswer(f *testing.F) {
	k := newAsker(nil, Options{})
	f.Add([]byte("pong"))
	f.Add([]byte{0xff, 0xfe, 0, 'p'})
	f.Fuzz(func(t *testing.T, answer []byte) {
		err := k.matches("^pong", string(answer))
		var known failure
		if good := bytes.HasPrefix(answer, []byte("pong")); good != (err == nil) ||
			err != nil && (!errors.As(err, &known) || len(known.detail) > 200) {
			t.Errorf("%q: %v", answer, err)
		}
	})
}

func TestRecordsAreComparedAsDNSDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind      policy.RecordType
		want, got string
		same      bool
	}{
		{policy.RecordA, "192.0.2.1", "192.0.2.1", true},
		{policy.RecordA, "192.0.2.1", "192.0.2.10", false},
		{policy.RecordAAAA, "2001:DB8:0::1", "2001:db8::1", true},
		{policy.RecordCNAME, "WWW.example.org.", "www.example.org", true},
		{policy.RecordMX, "10  mail.example.org.", "10 mail.example.org", true},
		{policy.RecordMX, "20 mail.example.org", "10 mail.example.org", false},
		{policy.RecordSRV, "0 5 5060 sip.example.org", "0 5 5060 SIP.example.org", true},
		{policy.RecordTXT, "v=spf1 -all", "v=spf1 -all", true},
		{policy.RecordTXT, "V=spf1 -all", "v=spf1 -all", false},
		{policy.RecordTXT, "a  b", "a b", false},
	} {
		if sameRecord(c.kind, c.want, c.got) != c.same {
			t.Errorf("%s: %q and %q, want %v", c.kind, c.want, c.got, c.same)
		}
	}
}

// TestAReplyIsReadAsItsServerWroteIt: in other capitals, as some servers have names, and with a record that is none.
func TestAReplyIsReadAsItsServerWroteIt(t *testing.T) {
	t.Parallel()
	check := wantOf(policy.RecordA)
	q, err := newQuery(&check)
	if err != nil {
		t.Fatal(err)
	}
	loud := q.question
	loud.Name = dnsmessage.MustNewName("WWW.Example.ORG.")
	m := dnsmessage.Message{
		Header: dnsmessage.Header{ID: q.id, Response: true}, Questions: []dnsmessage.Question{loud},
		Answers: []dnsmessage.Resource{
			{Header: dnsmessage.ResourceHeader{Name: loud.Name, Class: dnsmessage.ClassINET},
				Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}},
		},
	}
	packet, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if a := q.read(packet); a == nil || a.judge(&check) != nil {
		t.Errorf("in capitals: %+v", a)
	}
	cut := packet[:len(packet)-2] // within the address
	var f failure
	if a := q.read(cut); a == nil || !errors.As(a.judge(&check), &f) || f.reason != fleet.ResultProtocol {
		t.Errorf("a record that ends in the middle: %+v", a)
	}
}
