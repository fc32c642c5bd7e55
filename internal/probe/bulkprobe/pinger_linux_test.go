package bulkprobe

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/core/policy"
)

// TestForeignRepliesAreIgnored hears, on a raw socket, what is not the reply that a ping in flight waits for.
func TestForeignRepliesAreIgnored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(e *echo, from *unix.RawSockaddrInet6)
		want   bool
	}{
		"the reply":         {func(*echo, *unix.RawSockaddrInet6) {}, true},
		"from another":      {func(_ *echo, from *unix.RawSockaddrInet6) { from.Flowinfo++ }, false},
		"of another family": {func(_ *echo, from *unix.RawSockaddrInet6) { from.Family = unix.AF_INET6 }, false},
		"another id":        {func(e *echo, _ *unix.RawSockaddrInet6) { e.id++ }, false},
		"another token":     {func(e *echo, _ *unix.RawSockaddrInet6) { e.token++ }, false},
		"another target":    {func(e *echo, _ *unix.RawSockaddrInet6) { e.index = 1 }, false},
		"of no target":      {func(e *echo, _ *unix.RawSockaddrInet6) { e.index = 1 << 30 }, false},
		"of a place unused": {func(e *echo, _ *unix.RawSockaddrInet6) { e.index = 2 }, false},
	} {
		boxes := []*mailbox{newMailbox(1)}
		s := newShard(0, 5*time.Millisecond, func() []*mailbox { return boxes })
		g := &pinger{}
		g.init(&sockets{shard: s}, false)
		g.raw = true
		s.targets.reach(2)
		p := newPlan(check(policy.CheckPing, 0))
		for i := range int32(2) {
			*s.targets.at(i) = target{
				conn: none, address: netip.MustParseAddr("192.0.2.1").As16(), token: 7 + uint64(i),
				plan: s.plans.hold(p), flags: inUse | flying | isIPv4,
			}
			s.flying++
		}
		e := echo{id: g.id, token: 7}
		from := unix.RawSockaddrInet6{Family: unix.AF_INET, Flowinfo: binary.NativeEndian.Uint32([]byte{192, 0, 2, 1})}
		tc.change(&e, &from)
		g.hear([]byte{0x45}, &from) // garbage
		g.hear(replyTo(e), &from)
		g.hear(replyTo(e), &from) // a second one does no harm
		if got := s.targets.at(0).tally.good == 1 && s.flying == 1; got != tc.want || !tc.want && s.flying != 2 {
			t.Errorf("%s: taken for the reply: %v, %d in flight", name, got, s.flying)
		}
	}
}

// replyTo returns the reply as a raw socket delivers it.
func replyTo(e echo) []byte {
	var b [echoSize]byte
	e.request(&b, false)
	b[0], b[2], b[3] = echoReply4, 0, 0
	binary.BigEndian.PutUint16(b[2:], checksum(b[:]))
	return append([]byte{0x45, 19: 0}, b[:]...)
}
