package netprobe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"hale/internal/probe"
)

// Net is the real network and the real machine. Its ping sockets open at the first ping.
type Net struct {
	programs chan struct{}

	mu      sync.Mutex // guards the fields below; never held across a system call
	closed  bool
	sockets map[family]*socketSlot
}

var _ probe.Transport = (*Net)(nil)

// Network returns the real transport. Its owner closes it after the engines that use it have ended.
func Network() *Net {
	return &Net{
		programs: make(chan struct{}, maxPrograms),
		sockets:  make(map[family]*socketSlot),
	}
}

// Dial implements probe.Transport.
func (n *Net) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1}
	return d.DialContext(ctx, network, address)
}

// Ping implements probe.Transport. It needs the right to open ping sockets (net.ipv4.ping_group_range) or raw ones
// (CAP_NET_RAW). An ICMP error that a router sends is not read: no reply is a timeout.
func (n *Net) Ping(ctx context.Context, address netip.Addr) error {
	address = address.Unmap()
	s, err := n.socket(ctx, familyOf(address))
	if err != nil {
		return probe.LocalError{Err: err}
	}
	return s.ping(ctx, address)
}

// socketSlot is the place of one family's shared socket. Only the holder of the token may open it.
type socketSlot struct {
	token  chan struct{}
	socket *pingSocket
}

// socket returns the family's open socket, opening it where there is none or its reader has ended.
func (n *Net) socket(ctx context.Context, f family) (*pingSocket, error) {
	n.mu.Lock()
	slot, ok := n.sockets[f]
	if !ok {
		slot = &socketSlot{token: make(chan struct{}, 1)}
		n.sockets[f] = slot
	}
	n.mu.Unlock()

	slot.token <- struct{}{}
	defer func() { <-slot.token }()
	if slot.socket != nil && !slot.socket.dead() {
		return slot.socket, nil
	}
	if n.isClosed() {
		return nil, net.ErrClosed
	}
	s, err := openPingSocket(ctx, f)
	if err != nil {
		return nil, err
	}
	slot.socket = s
	return s, nil
}

func (n *Net) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// Close closes the ping sockets and waits for their readers. Pings in flight end with a local error.
func (n *Net) Close() error {
	n.mu.Lock()
	n.closed = true
	slots := make([]*socketSlot, 0, len(n.sockets))
	for _, slot := range n.sockets {
		slots = append(slots, slot)
	}
	n.mu.Unlock()
	var errs []error
	for _, slot := range slots {
		slot.token <- struct{}{}
		if slot.socket != nil {
			errs = append(errs, slot.socket.close())
			slot.socket = nil
		}
		<-slot.token
	}
	return errors.Join(errs...)
}
