package netprobe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"hale/internal/defect"
	"hale/internal/probe"
)

// socketBuffer is the size of a ping socket's buffers in bytes. With the kernel's own, a burst of replies is lost and
// healthy machines look dead, and requests that wait for dead neighbours keep those to live ones from being sent.
const socketBuffer = 4 << 20

// pingSocket is one family's shared socket with the pings that wait for a reply.
type pingSocket struct {
	family family
	conn   net.PacketConn
	raw    syscall.RawConn
	id     uint16 // of our requests; 0: the kernel puts in its own
	done   chan struct{}
	why    error // what its reader panicked over; to be read when done is closed

	mu      sync.Mutex // guards the fields below; never held across a system call
	seq     uint16
	waiting map[uint64]*waitingPing // by nonce
}

type waitingPing struct {
	echo    echo
	peer    netip.Addr
	replied chan struct{}
}

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return family4
	}
	return family6
}

// MayPing says whether this process may send pings: an error of permission (fs.ErrPermission) says that it may not.
func MayPing(ctx context.Context) error {
	s, err := openPingSocket(ctx, family4)
	if err != nil {
		return err
	}
	return s.close()
}

// openPingSocket opens an unprivileged ping socket where the kernel allows it, and otherwise a raw one.
func openPingSocket(ctx context.Context, f family) (*pingSocket, error) {
	s := &pingSocket{family: f, done: make(chan struct{}), waiting: make(map[uint64]*waitingPing)}
	conn, err := listenUnprivileged(f)
	if err != nil {
		var rawErr error
		if conn, rawErr = listenRaw(ctx, f); rawErr != nil {
			return nil, errors.Join(err, rawErr)
		}
		s.id = uint16(random()&0xffff) | 1
	}
	s.conn = conn
	inner, ok := conn.(syscall.Conn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("no system socket behind a %T", conn)
	}
	if s.raw, err = inner.SyscallConn(); err != nil {
		conn.Close()
		return nil, err
	}
	enlargeBuffers(s.raw)
	// Owned by the socket: its close waits for the goroutine, which ends when the connection is closed.
	go s.readReplies()
	return s, nil
}

// random returns a number that cannot be guessed.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

func listenUnprivileged(f family) (net.PacketConn, error) {
	domain, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if f == family6 {
		domain, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := datagrams(domain, protocol)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "ping")
	defer file.Close() // FilePacketConn has its own copy
	return net.FilePacketConn(file)
}

func listenRaw(ctx context.Context, f family) (net.PacketConn, error) {
	if f == family6 {
		conn, err := new(net.ListenConfig).ListenPacket(ctx, "ip6:ipv6-icmp", "::")
		if err != nil {
			return nil, err
		}
		var only ipv6.ICMPFilter
		only.SetAll(true)
		only.Accept(ipv6.ICMPTypeEchoReply)
		_ = ipv6.NewPacketConn(conn).SetICMPFilter(&only) // without it there is only more to ignore
		return conn, nil
	}
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "ip4:icmp", "0.0.0.0")
	if err != nil {
		return nil, err
	}
	var only ipv4.ICMPFilter
	only.SetAll(true)
	only.Accept(ipv4.ICMPTypeEchoReply)
	_ = ipv4.NewPacketConn(conn).SetICMPFilter(&only)
	return conn, nil
}

// enlargeBuffers does what it may: beyond the system's limit where privileged, otherwise up to it.
func enlargeBuffers(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) {
		enlarge := func(force, plain int) {
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, force, socketBuffer) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, plain, socketBuffer)
			}
		}
		enlarge(forceReceive, unix.SO_RCVBUF)
		enlarge(forceSend, unix.SO_SNDBUF)
	})
}

// ping sends one request and waits for its reply. Its error is local, the context's, or the kernel's word that the way
// to the address is dead.
func (s *pingSocket) ping(ctx context.Context, peer netip.Addr) error {
	w := s.expect(peer)
	defer s.forget(w)
	packet, err := w.echo.request(s.family)
	if err == nil {
		err = s.send(packet, peer)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && probe.MeaningOf(reasonOfErrno(errno)) == probe.MeansFailure {
		return err
	}
	if err != nil {
		return probe.LocalError{Err: err}
	}
	select {
	case <-w.replied:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return probe.LocalError{Err: cmp.Or(s.why, net.ErrClosed)}
	}
}

// expect notes that a reply is waited for.
func (s *pingSocket) expect(peer netip.Addr) *waitingPing {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	w := &waitingPing{peer: peer.WithZone(""), replied: make(chan struct{})}
	w.echo = echo{id: s.id, seq: s.seq, nonce: random()}
	s.waiting[w.echo.nonce] = w
	return w
}

func (s *pingSocket) forget(w *waitingPing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, w.echo.nonce)
}

// send never waits: a full buffer is our own lack.
func (s *pingSocket) send(packet []byte, peer netip.Addr) error {
	var sendErr error
	to, err := sockaddr(peer)
	if err != nil {
		return err
	}
	err = s.raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendto(int(fd), packet, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, to)
		return true
	})
	return errors.Join(err, os.NewSyscallError("sendto", sendErr))
}

func sockaddr(a netip.Addr) (unix.Sockaddr, error) {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}, nil
	}
	to := &unix.SockaddrInet6{Addr: a.As16()}
	if zone := a.Zone(); zone != "" {
		link, err := net.InterfaceByName(zone)
		if err != nil {
			return nil, fmt.Errorf("zone %q: %w", zone, err)
		}
		to.ZoneId = uint32(link.Index) //nolint:gosec // the kernel counts them from 1
	}
	return to, nil
}

// readReplies takes replies until the socket is closed. One over which it panics ends the socket: who waits for a reply
// there learns why, and the next ping opens another one.
func (s *pingSocket) readReplies() {
	defer close(s.done)
	if err := defect.Try(s.readAll); err != nil {
		s.why = err
		_ = s.conn.Close()
	}
}

func (s *pingSocket) readAll() error {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		switch {
		case err == nil:
			s.hear(buffer[:n], addrOf(from))
		case errors.Is(err, net.ErrClosed):
			return nil
		case !passing(err):
			_ = s.conn.Close()
			return nil
		}
	}
}

// passing tells errors that belong to one packet, or to a moment, from those of a dead socket.
func passing(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != unix.EBADF && errno != unix.ENOTSOCK && errno != unix.EINVAL
}

// hear wakes the ping that the packet replies to, if we sent that ping, and to that address.
func (s *pingSocket) hear(packet []byte, from netip.Addr) {
	reply, err := parseReply(s.family, packet)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.waiting[reply.nonce]
	if !ok || w.peer != from || w.echo.seq != reply.seq || s.id != 0 && w.echo.id != reply.id {
		return
	}
	delete(s.waiting, reply.nonce)
	close(w.replied)
}

func addrOf(a net.Addr) netip.Addr {
	var ip net.IP
	switch a := a.(type) {
	case *net.IPAddr:
		ip = a.IP
	case *net.UDPAddr:
		ip = a.IP
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// dead reports whether the reader has ended.
func (s *pingSocket) dead() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *pingSocket) close() error {
	err := s.conn.Close()
	<-s.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
