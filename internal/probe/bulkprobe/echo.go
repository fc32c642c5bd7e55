package bulkprobe

import "encoding/binary"

// The ICMP messages that matter.
const (
	echoRequest4 = 8
	echoReply4   = 0
	echoRequest6 = 128
	echoReply6   = 129
)

// echoSize is the length of an echo message: the header, the target's index and the token.
const echoSize = 8 + 4 + 8

// echo identifies an echo request and its reply. The token is random: a sender that does not see our requests cannot
// forge one.
type echo struct {
	id    uint16 // of our requests; a ping socket's kernel puts in its own
	index int32
	token uint64
}

// request writes the echo request. Where it is one of IPv6, the kernel fills in the checksum.
func (e echo) request(b *[echoSize]byte, v6 bool) {
	*b = [echoSize]byte{0: echoRequest4}
	if v6 {
		b[0] = echoRequest6
	}
	binary.BigEndian.PutUint16(b[4:], e.id)
	binary.BigEndian.PutUint16(b[6:], uint16(e.token)) //nolint:gosec // a part of it, for those who watch the wire
	binary.BigEndian.PutUint32(b[8:], uint32(e.index)) //nolint:gosec // an index
	binary.BigEndian.PutUint64(b[12:], e.token)
	if !v6 {
		binary.BigEndian.PutUint16(b[2:], checksum(b[:]))
	}
}

// parseEcho reads an echo reply. False: it is anything else, since raw sockets hear what was meant for others.
// Checksums of IPv6 and of ping sockets are the kernel's affair.
func parseEcho(b []byte, v6 bool) (echo, bool) {
	want := byte(echoReply4)
	if v6 {
		want = echoReply6
	}
	if len(b) != echoSize || b[0] != want || b[1] != 0 {
		return echo{}, false
	}
	e := echo{
		id:    binary.BigEndian.Uint16(b[4:]),
		index: int32(binary.BigEndian.Uint32(b[8:]) & 0x7fffffff),
		token: binary.BigEndian.Uint64(b[12:]),
	}
	return e, uint64(binary.BigEndian.Uint16(b[6:])) == e.token&0xffff // as request wrote it
}

// parseRaw4 reads an echo reply as a raw socket of IPv4 delivers it: with the header of IP, and with a checksum that
// the kernel did not verify.
func parseRaw4(b []byte) (echo, bool) {
	if len(b) < 20 {
		return echo{}, false
	}
	head := int(b[0]&15) * 4
	if b[0]>>4 != 4 || head < 20 || len(b) < head || checksum(b[head:]) != 0 {
		return echo{}, false
	}
	return parseEcho(b[head:], false)
}

// checksum is that of the internet: 0 for a message that holds its right one.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
