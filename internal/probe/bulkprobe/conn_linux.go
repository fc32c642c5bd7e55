package bulkprobe

import (
	"syscall"

	"golang.org/x/sys/unix"
)

type connState uint8

const (
	closed     connState = iota
	pooled               // without a connection
	connecting           // for its owner
	asked                // the request is out
	kept                 // connected, for its owner's next request
)

// conn is a TCP socket, by its descriptor.
type conn struct {
	owner  int32 // a target
	family int8
	state  connState
	reused bool  // the request went out over a connection that was kept
	rest   int64 // of the last answer's body, on a kept one
	head   head
}

// visit begins a connection, or a request over the one that was kept. False: there is no room for one more.
func (w *sockets) visit(i int32, t *target, p *plan) bool {
	if t.conn != none {
		if w.ask(t.conn, i, t, p) {
			w.conns.at(t.conn).reused = true
			return true
		}
		w.discard(t.conn)
		t.conn = none
	}
	return w.connect(i, t, p)
}

// connect takes a socket out of the pool, or opens one, and connects it to the target.
func (w *sockets) connect(i int32, t *target, p *plan) bool {
	fd, room := w.socket(t.family())
	if !room {
		return false
	}
	if fd < 0 {
		w.shard.answer(i, local, errnoNote(syscall.Errno(-fd)))
		return true
	}
	if !p.full {
		// The last part of the handshake is withheld: for tcp it never leaves, and a page's request carries it. Without
		// that the check only costs more.
		_ = setOption(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0)
	}
	c := w.conns.at(fd)
	*c = conn{owner: i, family: c.family, state: connecting}
	t.conn = fd
	w.busy++
	var to unix.RawSockaddrInet6
	if e := connect(fd, &to, t.endpoint(&to, p.port)); e != 0 && e != unix.EINPROGRESS {
		w.fail(fd, e)
	}
	return true
}

// socket returns a socket without a connection; below 0, an error's number. False: as many are open as may be.
func (w *sockets) socket(family int) (fd int32, room bool) {
	if n := len(w.idle[family]); n > 0 {
		fd = w.idle[family][n-1]
		w.idle[family] = w.idle[family][:n-1]
		return fd, true
	}
	if w.open >= w.most {
		return 0, false
	}
	domain := unix.AF_INET
	if family == family6 {
		domain = unix.AF_INET6
	}
	fd, e := openStream(domain)
	if e == 0 {
		if e = watch(w.epoll, fd); e != 0 {
			closeFile(fd)
		}
	}
	if e != 0 {
		return -int32(e), true //nolint:gosec // an error's number
	}
	w.conns.reach(fd)
	*w.conns.at(fd) = conn{family: int8(family), state: pooled} //nolint:gosec // 0 or 1
	w.open++
	return fd, true
}

// event takes what happened to a connection.
func (w *sockets) event(fd int32, what uint32) {
	if fd >= w.conns.used {
		return
	}
	c := w.conns.at(fd)
	w.shard.at = c.owner
	switch c.state {
	case closed, pooled:
	case connecting:
		w.connected(fd, c, what)
	case asked:
		w.read(fd, c)
	case kept:
		w.drain(fd, c)
	}
}

// connected takes the end of a connection's beginning.
func (w *sockets) connected(fd int32, c *conn, what uint32) {
	if what&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		e := pendingError(fd)
		if e == 0 {
			e = unix.ECONNRESET
		}
		w.fail(fd, e)
		return
	}
	if what&unix.EPOLLOUT == 0 {
		return
	}
	i := c.owner
	t := w.shard.targets.at(i)
	p := w.shard.plans.at(t.plan)
	if p.kind == kindTCP {
		w.finish(fd, ok, textNone)
		return
	}
	if !w.ask(fd, i, t, p) {
		w.fail(fd, unix.EPIPE)
		return
	}
	if what&unix.EPOLLIN != 0 {
		w.read(fd, c) // some talk before they are asked
	}
}

// ask sends the request. False: the connection does not take it.
func (w *sockets) ask(fd, i int32, t *target, p *plan) bool {
	c := w.conns.at(fd)
	if c.state == kept && c.rest > 0 {
		return false // the last answer is not over
	}
	w.out = p.request(w.out[:0], t.netip())
	n, e := send(fd, w.out)
	if e != 0 || n < len(w.out) {
		return false
	}
	if c.state == kept {
		w.busy++
	}
	c.owner, c.state, c.reused = i, asked, false
	c.head.begin()
	return true
}

// read takes what came of the answer.
func (w *sockets) read(fd int32, c *conn) {
	for {
		n, e := receive(fd, w.buffer[:])
		switch {
		case e == unix.EAGAIN || e == unix.EINTR:
			return
		case e != 0 || n == 0:
			w.broke(fd, c, e)
			return
		}
		used := c.head.feed(w.buffer[:n])
		if c.head.phase == headDone || c.head.phase == broken {
			w.answered(fd, c, n-used)
			return
		}
		if n < len(w.buffer) {
			return
		}
	}
}

// broke takes a connection's end before the answer's. Where it was kept, and nothing came, its other end may have left
// long ago: a fresh one is asked.
func (w *sockets) broke(fd int32, c *conn, e syscall.Errno) {
	if c.reused && c.head.size == 0 {
		i := c.owner
		t := w.shard.targets.at(i)
		w.discard(fd)
		t.conn = none
		t.flags |= again
		if !w.connect(i, t, w.shard.plans.at(t.plan)) {
			w.shard.answer(i, local, textFull)
		}
		return
	}
	if e == 0 {
		w.finish(fd, protocol, textClosed)
		return
	}
	w.finish(fd, ofErrno(e), errnoNote(e))
}

// answered takes the end of an answer's head, behind which more bytes were read.
func (w *sockets) answered(fd int32, c *conn, more int) {
	t := w.shard.targets.at(c.owner)
	p := w.shard.plans.at(t.plan)
	r, n := c.head.verdict(p)
	rest := c.head.body(p) - int64(more)
	if p.keep && r == ok && c.head.keeps(p) && rest >= 0 {
		c.state, c.rest = kept, rest
		w.busy--
		w.shard.answer(c.owner, r, n)
		return
	}
	w.finish(fd, r, n)
}

// drain reads what comes over a connection that is kept: the rest of a body, or its end.
func (w *sockets) drain(fd int32, c *conn) {
	for {
		n, e := receive(fd, w.buffer[:])
		if e == unix.EAGAIN || e == unix.EINTR {
			return
		}
		if c.rest -= int64(n); e != 0 || n == 0 || c.rest < 0 {
			w.shard.targets.at(c.owner).conn = none
			w.discard(fd)
			return
		}
	}
}

// fail ends a connection that could not be made, or did not take the request.
func (w *sockets) fail(fd int32, e syscall.Errno) {
	r, n := ofErrno(e), errnoNote(e)
	c := w.conns.at(fd)
	t := w.shard.targets.at(c.owner)
	if c.state == connecting && r != local && w.shard.plans.at(t.plan).lenient {
		r, n = notConnected, reasonNote(r)
	}
	w.finish(fd, r, n)
}

// finish gives the answer to a probe, and the connection up. After a success the socket goes back to the pool:
// connecting to nowhere resets the connection and frees the port, for a third of the cost of a new socket. After
// anything else it is closed.
func (w *sockets) finish(fd int32, r reason, n note) {
	c := w.conns.at(fd)
	i := c.owner
	w.shard.targets.at(i).conn = none
	nowhere := unix.RawSockaddrInet6{Family: unix.AF_UNSPEC}
	if r == ok && connect(fd, &nowhere, unix.SizeofSockaddrInet4) == 0 {
		c.state = pooled
		w.busy--
		w.idle[c.family] = append(w.idle[c.family], fd)
	} else {
		w.discard(fd)
	}
	w.shard.answer(i, r, n)
}

// giveUp ends a probe that ran out of time. A request over a kept connection gets a second try over a fresh one.
func (w *sockets) giveUp(i int32, t *target, p *plan) expiry {
	fd := t.conn
	if fd == none {
		return inSilence
	}
	c := w.conns.at(fd)
	begun, reused := c.state == connecting, c.reused && !t.flags.has(again)
	w.discard(fd)
	t.conn = none
	switch {
	case begun && p.lenient:
		return unconnected
	case !reused:
		return inSilence
	}
	if !w.connect(i, t, p) {
		w.shard.answer(i, local, textFull)
	}
	if !t.flags.has(flying) {
		return answeredLast
	}
	return onSecondTry
}

// discard closes a socket.
func (w *sockets) discard(fd int32) {
	c := w.conns.at(fd)
	if c.state == connecting || c.state == asked {
		w.busy--
	}
	c.state = closed
	w.open--
	closeFile(fd)
}
