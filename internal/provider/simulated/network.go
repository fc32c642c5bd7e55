package simulated

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

var (
	_ probe.Transport = (*World)(nil)
	_ probe.Transport = vantage{}
)

// patience is how long a kernel tries to connect (Linux: six repetitions). It also ends the dials that net/http leaves
// behind when a request was given up.
const patience = 127 * time.Second

// Ping implements probe.Transport. Where no reply comes, it waits until ctx ends and returns its error.
func (w *World) Ping(ctx context.Context, address netip.Addr) error {
	return w.Vantage("").Ping(ctx, address)
}

// Dial implements probe.Transport: TCP to a literal address. A closed port of a machine that is up refuses
// (syscall.ECONNREFUSED); where nothing answers, it waits until ctx ends, or the kernel's patience does
// (syscall.ETIMEDOUT). The connection speaks HTTP/1.1,
// or what the checks of the port want to hear.
func (w *World) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return w.Vantage("").Dial(ctx, network, address)
}

// Vantage returns the network as it is from where the client stands: the world's own, less what OutOfSight hides from
// it.
func (w *World) Vantage(client string) probe.Transport { return vantage{w, client} }

// vantage is the network from one place; the empty client has no place, and nothing is out of its sight.
type vantage struct {
	*World
	client string
}

// Ping implements probe.Transport, as World.Ping.
func (v vantage) Ping(ctx context.Context, address netip.Addr) error {
	if v.answers(address) {
		return ctx.Err()
	}
	<-ctx.Done()
	return ctx.Err()
}

func (v vantage) answers(address netip.Addr) bool {
	v.mu.Lock()
	canary := slices.Contains(v.options.Canaries, address)
	v.mu.Unlock()
	if canary {
		return true
	}
	answers := false
	if host, of := v.hostAt(address); of {
		v.do(func(t *world.World) { answers = t.HearHost(v.client, string(host)) })
		return answers
	}
	h := v.hear(address)
	v.do(func(*world.World) {
		answers = h.Ping == guest.Well && !v.fails(h, func(c *policy.Check) bool { return c.Kind == policy.CheckPing })
	})
	return answers
}

// hear returns what one probe hears.
func (v vantage) hear(address netip.Addr) (h guest.Hears) {
	v.do(func(t *world.World) {
		if h = t.Hear(v.client, address); t.Chance(h.Loss) {
			h = guest.Hears{Ping: guest.Silence, TCP: guest.Silence, HTTP: guest.Silence}
		}
	})
	return h
}

// Dial implements probe.Transport, as World.Dial.
func (v vantage) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "not a literal address",
			Addr: address}}
	}
	fail := func(err error) error {
		return &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, fail(err)
	}
	switch client, outcome := v.connect(to); outcome {
	case accepted:
		return client, nil
	case refused:
		return nil, fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	case unanswered: // it waits
	}
	lost := time.NewTimer(patience)
	defer lost.Stop()
	select {
	case <-ctx.Done():
		return nil, fail(ctx.Err())
	case <-lost.C:
		return nil, fail(os.NewSyscallError("connect", syscall.ETIMEDOUT))
	}
}

// handshake is how a connection attempt ends.
type handshake int

const (
	unanswered handshake = iota
	refused
	accepted
)

// connect opens a connection if the address and port take it.
func (v vantage) connect(to netip.AddrPort) (net.Conn, handshake) {
	h := v.hear(to.Addr())
	var near net.Conn
	how := unanswered
	v.do(func(t *world.World) {
		vm := t.Answering(to.Addr())
		switch {
		case vm == nil || h.Ping != guest.Well:
			return
		case h.TCP != guest.Well, !v.options.serves(to.Port()),
			v.fails(h, func(c *policy.Check) bool { return c.Port == int(to.Port()) }):
			how = refused
			return
		}
		how = accepted
		one, far := net.Pipe()
		c := &conn{Conn: far, guest: vm, at: to}
		if v.conns[to.Addr()] == nil {
			v.conns[to.Addr()] = map[*conn]struct{}{}
		}
		v.conns[to.Addr()][c] = struct{}{}
		// The connection owns it: the caller's Close, or the guest's end (witness.Address), ends it.
		go v.serve(c)
		near = wire{Conn: one, remote: net.TCPAddrFromAddrPort(to)}
	})
	return near, how
}

// wire is the caller's end of a connection.
type wire struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr implements net.Conn.
func (c wire) RemoteAddr() net.Addr { return c.remote }

// conn is the guest's end of a connection.
type conn struct {
	net.Conn
	guest *world.VM
	at    netip.AddrPort
}

// abandon ends the goroutine behind the connection and leaves the caller's end open: it hears nothing any more.
func (c *conn) abandon() {
	_ = c.SetDeadline(time.Unix(1, 0)) // a pipe's deadline can always be set
}

// serve answers the requests of one connection until the caller closes it or the guest stops.
func (w *World) serve(c *conn) {
	defer w.release(c)
	r := bufio.NewReader(c)
	if w.introduces(c) || w.packets(c) || w.tellsHealth(c) {
		return
	}
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		status, body := w.answer(c, request.URL.Path)
		if status == 0 {
			_, _ = io.Copy(io.Discard, r) // until the caller gives up
			return
		}
		if err := show(c, request, status, body); err != nil || request.Close {
			return
		}
	}
}

// answer returns what the guest answers with; status 0: nothing.
func (w *World) answer(c *conn, path string) (status int, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch h := w.heard(c); h.HTTP {
	case guest.Silence:
		return 0, ""
	case guest.Status5:
		return h.Status, fmt.Sprintf("%s %s %d\n", c.guest.Name, c.guest.ID, h.Status)
	case guest.WrongPage:
		status, _ = w.page(c.guest, c.at.Port(), path)
		return status, "another page\n"
	default:
		return w.page(c.guest, c.at.Port(), path)
	}
}

// heard returns what a probe from next door hears of the guest. The caller holds the world's lock.
func (w *World) heard(c *conn) guest.Hears { return w.truth.Hear("", c.at.Addr()) }

// show writes a page.
func show(c *conn, request *http.Request, status int, body string) error {
	response := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: request, Close: request.Close,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
	return response.Write(c)
}

// release closes the guest's end, unless the guest abandoned it.
func (w *World) release(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.forget(c) {
		_ = c.Close() // a pipe's Close cannot fail
	}
}

// forget takes the connection off the books, and reports whether it was there. The caller holds the world's lock.
func (w *World) forget(c *conn) bool {
	_, open := w.conns[c.at.Addr()][c]
	if delete(w.conns[c.at.Addr()], c); len(w.conns[c.at.Addr()]) == 0 {
		delete(w.conns, c.at.Addr())
	}
	return open
}

// Run implements probe.Transport. Without Options.Run it judges instead of running: exit code 2 when a machine fails
// the program's own check, 0 when the machines named in its arguments, by address or id, are all healthy by truth, and
// 1 when one is not. It is a LocalError when they name none.
func (w *World) Run(ctx context.Context, p probe.Program) (int, string, error) {
	if w.options.Run != nil {
		return w.options.Run(ctx, p)
	}
	if err := ctx.Err(); err != nil {
		return 0, "", err
	}
	named, code, said := 0, 0, ""
	w.do(func(t *world.World) {
		for _, arg := range p.Args {
			vm := t.VM(arg)
			if vm == nil {
				address, _ := netip.ParseAddr(arg)
				vm = t.Answering(address)
			}
			if vm == nil || code > 0 {
				continue
			}
			named++
			h := t.Hear("", vm.Lease())
			switch {
			case w.fails(vm.Heard(), func(c *policy.Check) bool { return isProgram(c, p) }):
				code, said = 2, vm.Name+" fails this check\n"
			case h.HTTP != guest.Well && h.HTTP != guest.WrongPage:
				code, said = 1, vm.Name+" is not healthy\n"
			}
		}
	})
	if named == 0 {
		return 0, "", probe.LocalError{Err: fmt.Errorf("a simulated program must name a simulated machine: %q", p.Args)}
	}
	return code, said, nil
}
