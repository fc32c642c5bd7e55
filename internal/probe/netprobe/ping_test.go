package netprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"hale/internal/probe"
)

// inOwnNetwork runs f on a thread with a network namespace of its own, where loopback is up. It needs root.
func inOwnNetwork(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	// Ends with f; its thread, never unlocked, ends with it, and the namespace with its last socket.
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = loopbackUp()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// TestPingSockets pings over both kinds of socket. A new network namespace allows no unprivileged ones until told to.
func TestPingSockets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		groups       string
		unprivileged bool
	}{
		"raw":          {"1 0", false},
		"unprivileged": {"0 2147483647", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sockets := make(map[family]*pingSocket)
			inOwnNetwork(t, func() error {
				const groups = "/proc/thread-self/root/proc/sys/net/ipv4/ping_group_range"
				if err := os.WriteFile(groups, []byte(tc.groups), 0o600); err != nil {
					return err
				}
				for _, f := range []family{family4, family6} {
					s, err := openPingSocket(t.Context(), f)
					if err != nil {
						return err
					}
					sockets[f] = s
				}
				return nil
			})
			for f, address := range map[family]string{family4: "127.0.0.1", family6: "::1"} {
				s := sockets[f]
				if (s.id == 0) != tc.unprivileged {
					t.Errorf("IPv%d: id %d of a socket that should be unprivileged: %v", f, s.id, tc.unprivileged)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				if err := s.ping(ctx, netip.MustParseAddr(address)); err != nil {
					t.Errorf("ping %s: %v", address, err)
				}
				cancel()
				if got := receiveBuffer(t, s); got < socketBuffer {
					t.Errorf("IPv%d: receive buffer of %d bytes, want at least %d", f, got, socketBuffer)
				}
				if err := s.close(); err != nil {
					t.Error(err)
				}
				if len(s.waiting) != 0 {
					t.Errorf("%d pings still wait", len(s.waiting))
				}
			}
		})
	}
}

func receiveBuffer(t *testing.T, s *pingSocket) (size int) {
	t.Helper()
	err := s.raw.Control(func(fd uintptr) {
		var err error
		if size, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestNoRouteIsOurs pings where no route leads: a namespace with nothing but loopback.
func TestNoRouteIsOurs(t *testing.T) {
	t.Parallel()
	inOwnNetwork(t, func() error {
		s, err := openPingSocket(t.Context(), family4)
		if err != nil {
			return err
		}
		defer s.conn.Close()
		var local probe.LocalError
		if err := s.ping(t.Context(), netip.MustParseAddr("192.0.2.1")); !errors.As(err, &local) {
			t.Errorf("ping without a route: %v, want a local error", err)
		}
		return nil
	})
}

// TestForeignRepliesAreIgnored lets the reader hear what is not the reply that a ping waits for.
func TestForeignRepliesAreIgnored(t *testing.T) {
	t.Parallel()
	peer, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, tc := range map[string]struct {
		change func(e *echo)
		kind   icmp.Type
		from   netip.Addr
		want   bool
	}{
		"the reply":        {func(*echo) {}, ipv4.ICMPTypeEchoReply, peer, true},
		"from another":     {func(*echo) {}, ipv4.ICMPTypeEchoReply, other, false},
		"the request":      {func(*echo) {}, ipv4.ICMPTypeEcho, peer, false},
		"another id":       {func(e *echo) { e.id++ }, ipv4.ICMPTypeEchoReply, peer, false},
		"another sequence": {func(e *echo) { e.seq++ }, ipv4.ICMPTypeEchoReply, peer, false},
		"another nonce":    {func(e *echo) { e.nonce++ }, ipv4.ICMPTypeEchoReply, peer, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &pingSocket{family: family4, id: 7, waiting: make(map[uint64]*waitingPing)}
			w := s.expect(peer)
			e := w.echo
			tc.change(&e)
			m := icmp.Message{Type: tc.kind, Body: &icmp.Echo{
				ID: int(e.id), Seq: int(e.seq), Data: binary.BigEndian.AppendUint64(nil, e.nonce),
			}}
			packet, err := m.Marshal(nil)
			if err != nil {
				t.Fatal(err)
			}
			s.hear([]byte{0, 0, 0}, peer) // garbage
			s.hear(packet, tc.from)
			got := false
			select {
			case <-w.replied:
				got = true
			default:
			}
			if got != tc.want {
				t.Errorf("taken for the reply: %v, want %v", got, tc.want)
			}
			s.hear(packet, tc.from) // a duplicate does no harm
		})
	}
}

func FuzzParseReply(f *testing.F) {
	for _, kind := range []icmp.Type{ipv4.ICMPTypeEchoReply, ipv6.ICMPTypeEchoReply} {
		m := icmp.Message{Type: kind, Body: &icmp.Echo{ID: 1, Seq: 2, Data: make([]byte, nonceSize)}}
		packet, err := m.Marshal(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packet)
		f.Add(packet[:7])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		for _, family := range []family{family4, family6} {
			e, err := parseReply(family, packet)
			if err != nil {
				continue
			}
			if len(packet) != 8+nonceSize || e.id != binary.BigEndian.Uint16(packet[4:]) ||
				e.seq != binary.BigEndian.Uint16(packet[6:]) || e.nonce != binary.BigEndian.Uint64(packet[8:]) {
				t.Errorf("%x was read as %+v", packet, e)
			}
		}
	})
}
