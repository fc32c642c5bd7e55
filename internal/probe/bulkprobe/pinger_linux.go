package bulkprobe

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	randv2 "math/rand/v2"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// batch is the number of messages that go out, and come in, by one call. With as few as these the replies of a
	// quick network are read while their memory is near; twice as many cost a few hundredths more.
	batch = 32
	// largestEcho is the room for a reply: the longest header of IP, and more than any reply of ours has.
	largestEcho = 60 + echoSize + 8
	// pingBuffer is the size of a ping socket's buffers in bytes. With the kernel's own, a burst of replies is lost and
	// healthy machines look dead.
	pingBuffer = 8 << 20
)

// pinger sends and receives the echoes of one family over one socket, which it opens when there is something to send.
type pinger struct {
	wire   *sockets
	v6     bool
	fd     int32
	raw    bool
	id     uint16
	failed syscall.Errno // why the socket could not be opened
	retry  int64         // when to try again
	tokens *randv2.ChaCha8
	queued int
	out    [batch]message
	outTo  [batch]unix.RawSockaddrInet6
	outIov [batch]unix.Iovec
	outBuf [batch][echoSize]byte
	target [batch]int32
	in     [batch]message
	inFrom [batch]unix.RawSockaddrInet6
	inIov  [batch]unix.Iovec
	inBuf  [batch][largestEcho]byte
}

func (g *pinger) init(w *sockets, v6 bool) {
	g.wire, g.v6, g.fd = w, v6, none
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails
	g.tokens = randv2.NewChaCha8(seed)
	g.id = uint16(g.tokens.Uint64()) | 1
	for k := range batch {
		g.outIov[k].Base = &g.outBuf[k][0]
		g.outIov[k].SetLen(echoSize)
		o := &g.out[k].header
		o.Name, o.Iov = (*byte)(unsafe.Pointer(&g.outTo[k])), &g.outIov[k]
		o.SetIovlen(1)
		g.inIov[k].Base = &g.inBuf[k][0]
		g.inIov[k].SetLen(largestEcho)
		n := &g.in[k].header
		n.Name, n.Iov = (*byte)(unsafe.Pointer(&g.inFrom[k])), &g.inIov[k]
		n.Namelen = unix.SizeofSockaddrInet6
		n.SetIovlen(1)
	}
}

// queue gathers the target's request.
func (g *pinger) queue(i int32, t *target) {
	if g.fd == none && !g.open() {
		g.wire.shard.answer(i, local, errnoNote(g.failed))
		return
	}
	t.token = g.tokens.Uint64()
	k := g.queued
	echo{id: g.id, index: i, token: t.token}.request(&g.outBuf[k], g.v6)
	g.out[k].header.Namelen = uint32(t.endpoint(&g.outTo[k], 0))
	g.target[k] = i
	if g.queued++; g.queued == batch {
		g.flush()
		g.harvest() // so that no burst of answers finds the buffer full
	}
}

// flush sends what was gathered. What the kernel does not take is answered at once.
func (g *pinger) flush() {
	n := g.queued
	g.queued = 0
	for k := 0; k < n; {
		sent, e := sendMessages(g.fd, g.out[k:n])
		if e == 0 {
			k += sent
			continue
		}
		if e == unix.EINTR {
			continue
		}
		g.wire.shard.answer(g.target[k], ofErrno(e), errnoNote(e))
		k++
	}
}

// harvest takes the replies that are there, as long as anything is in flight.
func (g *pinger) harvest() {
	if g.fd == none || g.wire.shard.flying == 0 {
		return
	}
	for {
		n, e := receiveMessages(g.fd, g.in[:])
		if e != 0 || n <= 0 {
			return
		}
		for k := range g.in[:n] {
			m := &g.in[k]
			g.hear(g.inBuf[k][:min(m.length, largestEcho)], &g.inFrom[k])
			m.header.Namelen = unix.SizeofSockaddrInet6
		}
		if n < batch {
			return
		}
	}
}

// hear takes a message that may be the reply to a ping. It counts only if we sent that ping, and to that address.
func (g *pinger) hear(b []byte, from *unix.RawSockaddrInet6) {
	var (
		e  echo
		is bool
	)
	if g.raw && !g.v6 {
		e, is = parseRaw4(b)
	} else {
		e, is = parseEcho(b, g.v6)
	}
	s := g.wire.shard
	if !is || g.raw && e.id != g.id || e.index >= s.targets.used {
		return
	}
	t := s.targets.at(e.index)
	if !t.flags.has(inUse) || !t.flags.has(flying) || s.plans.at(t.plan).kind != kindPing || t.token != e.token ||
		!t.from(from, g.v6) {
		return
	}
	s.answer(e.index, ok, textNone)
}

// from reports whether the address is the target's.
func (t *target) from(a *unix.RawSockaddrInet6, v6 bool) bool {
	if v6 {
		return a.Family == unix.AF_INET6 && a.Addr == t.address
	}
	return a.Family == unix.AF_INET && a.Flowinfo == binary.NativeEndian.Uint32(t.address[12:])
}

// open opens an unprivileged ping socket where the kernel allows it, and otherwise a raw one. After a failure it tries
// again in a while.
func (g *pinger) open() bool {
	now := g.wire.shard.now
	if g.failed != 0 && now < g.retry {
		return false
	}
	fd, raw, err := openPing(g.v6)
	if err == nil && raw {
		err = g.narrow(fd)
	}
	if err == nil {
		g.fd, g.raw, g.failed = int32(fd), raw, 0
		widen(fd)
		g.whole(fd)
		err = unix.EpollCtl(int(g.wire.epoll), unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLET&0xffffffff,
			Fd:     g.fd,
		})
	}
	if err != nil {
		g.close()
		g.failed, g.retry = errnoOf(err), now+int64(retryOpen)
	}
	return err == nil
}

func openPing(v6 bool) (fd int, raw bool, err error) {
	domain, proto := unix.AF_INET, unix.IPPROTO_ICMP
	if v6 {
		domain, proto = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err = unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
	if err == nil {
		return fd, false, nil
	}
	fd, rawErr := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
	if rawErr != nil {
		return -1, true, os.NewSyscallError("socket", rawErr)
	}
	return fd, true, nil
}

// narrow has the kernel deliver to a raw socket nothing but echo replies to our id. Of another type it makes no copy
// for us then, which a ping to this very machine would otherwise pay for its request, too.
func (g *pinger) narrow(fd int) error {
	err := os.NewSyscallError("setsockopt", g.onlyReplies(fd))
	if err == nil {
		err = os.NewSyscallError("setsockopt", g.onlyOurs(fd))
	}
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return nil
}

// onlyReplies: in the kernel's filters of types a bit that is set keeps its type away.
func (g *pinger) onlyReplies(fd int) error {
	if !g.v6 {
		only := ^uint32(1 << echoReply4)
		return unix.SetsockoptInt(fd, unix.SOL_RAW, unix.ICMP_FILTER, int(int32(only)))
	}
	var only unix.ICMPv6Filter
	for k := range only.Data {
		only.Data[k] = ^uint32(0)
	}
	only.Data[echoReply6/32] &^= 1 << (echoReply6 % 32)
	return unix.SetsockoptICMPv6Filter(fd, unix.SOL_ICMPV6, unix.ICMPV6_FILTER, &only)
}

// onlyOurs: what is left of replies is looked at by a program.
func (g *pinger) onlyOurs(fd int) error {
	load := []unix.SockFilter{
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 4},
	}
	if g.v6 { // without a header of IP
		load = []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 4}}
	}
	filter := slices.Concat(load, []unix.SockFilter{
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(g.id)},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffff},
		{Code: unix.BPF_RET | unix.BPF_K},
	})
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
		Len:    uint16(len(filter)),
		Filter: &filter[0],
	})
}

// widen enlarges a socket's buffers: beyond the system's limit where that is allowed, otherwise up to it.
func widen(fd int) {
	enlarge := func(force, plain int) {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, pingBuffer) != nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, pingBuffer)
		}
	}
	enlarge(unix.SO_RCVBUFFORCE, unix.SO_RCVBUF)
	enlarge(unix.SO_SNDBUFFORCE, unix.SO_SNDBUF)
}

// whole has requests go out with the mark that they are not to be cut into pieces, which so small ones never are: the
// kernel then need not draw a number for each by which pieces would be known, and saves a twentieth of a ping's cost.
// Where it cannot, nothing is lost.
func (g *pinger) whole(fd int) {
	if !g.v6 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
}

func (g *pinger) close() {
	if g.fd != none {
		closeFile(g.fd)
		g.fd = none
	}
}
