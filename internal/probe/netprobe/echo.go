package netprobe

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// family is an address family.
type family int

const (
	family4 family = 4
	family6 family = 6
)

// echo identifies an echo request and its reply. The nonce in the payload is random: a sender that does not see our
// requests cannot forge one.
type echo struct {
	id, seq uint16
	nonce   uint64
}

// nonceSize is the length of the payload.
const nonceSize = 8

var errNoReply = errors.New("not an echo reply of ours")

// request returns the bytes of the echo request. The kernel fills in the checksum where f is family6.
func (e echo) request(f family) ([]byte, error) {
	var kind icmp.Type = ipv4.ICMPTypeEcho
	if f == family6 {
		kind = ipv6.ICMPTypeEchoRequest
	}
	m := icmp.Message{Type: kind, Body: &icmp.Echo{
		ID: int(e.id), Seq: int(e.seq), Data: binary.BigEndian.AppendUint64(nil, e.nonce),
	}}
	return m.Marshal(nil)
}

// parseReply reads an echo reply. Anything else is an error: raw sockets hear what was meant for others.
func parseReply(f family, packet []byte) (echo, error) {
	protocol, want := 1, icmp.Type(ipv4.ICMPTypeEchoReply)
	if f == family6 {
		protocol, want = 58, icmp.Type(ipv6.ICMPTypeEchoReply)
	}
	m, err := icmp.ParseMessage(protocol, packet)
	if err != nil {
		return echo{}, err
	}
	body, ok := m.Body.(*icmp.Echo)
	if !ok || m.Type != want || m.Code != 0 || len(body.Data) != nonceSize {
		return echo{}, errNoReply
	}
	id, seq := uint16(body.ID), uint16(body.Seq) //nolint:gosec // 16 bits of the packet each
	return echo{id: id, seq: seq, nonce: binary.BigEndian.Uint64(body.Data)}, nil
}
