package netprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"hale/internal/probe"
)

const (
	// maxPrograms is the greatest number of programs of exec checks that run at once.
	maxPrograms = 64
	// maxOutput is how much of a program's output is kept, in bytes.
	maxOutput = 4 << 10
	// pipeWait is how long a program's pipes may stay open after its end.
	pipeWait = 200 * time.Millisecond
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

// Run implements probe.Transport. The program gets a PATH and no other environment, nothing on its standard input, and a
// process group of its own, which is killed when ctx ends; then the error is the context's. Any other error is local: the
// program did not run, or not with its whole time because too many others did. A program that a signal killed has code -1.
func (n *Net) Run(ctx context.Context, argv []string) (code int, output string, err error) {
	if len(argv) == 0 {
		return 0, "", probe.LocalError{Err: errors.New("no program")}
	}
	waited, err := n.enter(ctx)
	if err != nil {
		return 0, "", probe.LocalError{Err: fmt.Errorf("more than %d programs: %w", maxPrograms, err)}
	}
	defer func() { <-n.programs }()

	out := &head{}
	cmd := programOf(ctx, argv, out)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && waited:
		return 0, "", probe.LocalError{Err: fmt.Errorf("waited for one of %d programs to end: %w", maxPrograms, ctx.Err())}
	case ctx.Err() != nil:
		return 0, out.String(), ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), out.String(), nil
	case errors.Is(err, exec.ErrWaitDelay):
		// It ended well and left somebody behind who holds its pipes, hence a group that still exists.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return cmd.ProcessState.ExitCode(), out.String(), nil
	case err != nil:
		return 0, out.String(), probe.LocalError{Err: err}
	}
	return 0, out.String(), nil
}

// enter takes one of the places for programs, and says whether it had to wait for it.
func (n *Net) enter(ctx context.Context) (waited bool, err error) {
	select {
	case n.programs <- struct{}{}:
		return false, nil
	default:
	}
	select {
	case n.programs <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

func programOf(ctx context.Context, argv []string, out *head) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeWait
	return cmd
}

// head keeps the beginning of what is written. os/exec serialises the writes, since both outputs are the same writer.
type head struct{ kept []byte }

// Write keeps what there is room for and accepts the rest.
func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxOutput-len(h.kept))]...)
	return len(p), nil
}

// String returns what was kept.
func (h *head) String() string { return string(h.kept) }

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

// socketSlot is the place of one family's shared socket. Whoever holds the token may open it.
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
