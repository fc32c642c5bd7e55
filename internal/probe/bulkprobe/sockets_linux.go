package bulkprobe

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// fewInFlight is how many answers may each wake the shard; those of more are gathered once a slot.
	fewInFlight = 16
	// fewAtOnce is how many connections and requests begin before it is looked whether the first of them are answered,
	// as they are where the network is quick: then the next ones find their sockets, and their memory in the
	// processor's caches, as these left them.
	fewAtOnce = 32
	// mostSockets bounds the connections of a shard, and reserve the files left to the rest of the process.
	mostSockets = 16 << 10
	reserve     = 1024
	// retryOpen is the time between attempts to open a ping socket.
	retryOpen = time.Second
)

// sockets is the wire to the real network: one epoll, one ICMP socket for each family, and a pool of TCP sockets.
type sockets struct {
	shard   *shard
	origin  time.Time
	alone   bool // there is no other processor
	epoll   int32
	bell    int32
	pingers [2]pinger
	conns   slab[conn]
	idle    [2][]int32 // sockets without a connection, by family
	open    int
	most    int
	busy    int // connections that are not idle
	begun   int // connections and requests since events were last taken
	events  [256]unix.EpollEvent
	ready   int // events that pause has got
	buffer  [8 << 10]byte
	out     []byte
}

// newSockets makes a shard's wire to the network.
func newSockets(s *shard, o Options, origin time.Time) (wire, error) {
	w := &sockets{shard: s, origin: origin, alone: runtime.GOMAXPROCS(0) < 2, most: socketLimit(o)}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err == nil {
		rings := &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(bell)} //nolint:gosec // a file descriptor
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, bell, rings)
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(epoll))
	}
	w.epoll, w.bell = int32(epoll), int32(bell) //nolint:gosec // file descriptors
	for k := range w.pingers {
		w.pingers[k].init(w, k == family6)
	}
	return w, nil
}

// socketLimit is the number of sockets that a shard may open: what the process may, without a reserve, and not too
// many.
func socketLimit(o Options) int {
	shards := max(o.Shards, 1)
	if o.Sockets > 0 {
		return max(o.Sockets/shards, 1)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return mostSockets
	}
	files := int(min(limit.Cur, 1<<30))
	return min(max(files-reserve, files/2)/shards, mostSockets)
}

// The families, as indexes.
const (
	family4 = 0
	family6 = 1
)

func (t *target) family() int {
	if t.flags.has(isIPv4) {
		return family4
	}
	return family6
}

// endpoint writes the target's address as the kernel has it, and returns its size.
func (t *target) endpoint(to *unix.RawSockaddrInet6, port uint16) int {
	*to = unix.RawSockaddrInet6{}
	be := port<<8 | port>>8
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		be = port
	}
	to.Port = be
	if t.flags.has(isIPv4) { // an address of IPv4 lies where that of IPv6 has its flow
		to.Family = unix.AF_INET
		to.Flowinfo = binary.NativeEndian.Uint32(t.address[12:])
		return unix.SizeofSockaddrInet4
	}
	to.Family, to.Addr, to.Scope_id = unix.AF_INET6, t.address, t.zone
	return unix.SizeofSockaddrInet6
}

func (w *sockets) now() int64 { return int64(time.Since(w.origin)) }

func (w *sockets) launch(i int32, t *target, p *plan) bool {
	if p.kind == kindPing {
		w.pingers[t.family()].queue(i, t)
		return true
	}
	if !w.visit(i, t, p) {
		return false
	}
	if w.begun++; w.begun == fewAtOnce {
		w.begun = 0
		w.listen()
	}
	return true
}

func (w *sockets) flush() {
	w.begun = 0
	for k := range w.pingers {
		w.pingers[k].flush()
	}
}

func (w *sockets) harvest() {
	for k := range w.pingers {
		w.pingers[k].harvest()
	}
	w.listen()
}

// listen takes what happened to connections.
func (w *sockets) listen() {
	n := w.ready
	w.ready = 0
	if n == 0 && w.busy > 0 {
		n = poll(w.epoll, w.events[:])
	}
	for n > 0 {
		for k := range w.events[:n] {
			w.take(&w.events[k])
		}
		if n < len(w.events) {
			return
		}
		n = poll(w.epoll, w.events[:])
	}
}

// take hands an event to the target that it is about.
func (w *sockets) take(e *unix.EpollEvent) {
	switch e.Fd {
	case w.bell:
		_, _ = unix.Read(int(w.bell), w.buffer[:8]) // it is empty, or is so now
	case w.pingers[family4].fd, w.pingers[family6].fd: // harvested anyway
	default:
		w.event(e.Fd, e.Events)
	}
}

func (w *sockets) expire(i int32, t *target, p *plan) expiry {
	if p.kind == kindPing {
		return inSilence
	}
	return w.giveUp(i, t, p)
}

func (w *sockets) forget(_ int32, t *target) {
	if t.conn != none {
		w.discard(t.conn)
		t.conn = none
	}
}

// pause naps while the next slot is near or much is in flight, and waits for events otherwise.
func (w *sockets) pause(until int64, inFlight int) {
	d := time.Duration(until - w.now())
	slot := time.Duration(w.shard.wheel.width)
	switch {
	case d <= 0:
	case d <= slot || inFlight > fewInFlight:
		nap(min(d, slot), w.alone)
	default:
		w.ready = await(w.epoll, w.events[:], d)
	}
}

func (w *sockets) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(int(w.bell), one[:]) // full: it rings
}

func (w *sockets) close() {
	for fd := range w.conns.used {
		if w.conns.at(fd).state != closed {
			closeFile(fd)
		}
	}
	for k := range w.pingers {
		w.pingers[k].close()
	}
	closeFile(w.epoll)
	closeFile(w.bell)
}

// errnoOf finds the kernel's error in another; EIO where there is none.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.EIO
}
