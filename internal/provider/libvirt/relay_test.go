package libvirt_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hale/internal/provider/providertest"
	"hale/internal/testbed/nettest"
)

// relay stands between the adapter and the daemon, and understands enough of the protocol to lose answers: the daemon
// carries out an order, and the adapter does not hear of it.
type relay struct {
	socket, daemon string

	mu   sync.Mutex
	loss *loss // nil: all answers are heard
}

// loss is what becomes of the answers.
type loss struct {
	left int // orders that are answered before
	lost chan struct{}
	// order is the order that loses its answer; zero: it was not sent yet.
	order ticket
}

// ticket names one call of one connection.
type ticket struct {
	conn   net.Conn
	serial uint32
}

// orders are the numbers of the calls of libvirt's remote protocol that change something, as far as the adapter makes
// them.
var orders = []uint32{
	9,   // REMOTE_PROC_DOMAIN_CREATE
	12,  // REMOTE_PROC_DOMAIN_DESTROY
	27,  // REMOTE_PROC_DOMAIN_REBOOT
	28,  // REMOTE_PROC_DOMAIN_RESUME
	93,  // REMOTE_PROC_STORAGE_VOL_CREATE_XML
	94,  // REMOTE_PROC_STORAGE_VOL_DELETE
	125, // REMOTE_PROC_STORAGE_VOL_CREATE_XML_FROM
	160, // REMOTE_PROC_DOMAIN_ATTACH_DEVICE_FLAGS
	161, // REMOTE_PROC_DOMAIN_DETACH_DEVICE_FLAGS
	208, // REMOTE_PROC_STORAGE_VOL_UPLOAD
	231, // REMOTE_PROC_DOMAIN_UNDEFINE_FLAGS
	245, // REMOTE_PROC_DOMAIN_RESET
	264, // REMOTE_PROC_DOMAIN_SET_METADATA
	267, // REMOTE_PROC_DOMAIN_PM_WAKEUP
	350, // REMOTE_PROC_DOMAIN_DEFINE_XML_FLAGS
	358, // REMOTE_PROC_DOMAIN_RENAME
	421, // REMOTE_PROC_DOMAIN_BACKUP_BEGIN
}

const (
	remoteProgram = 0x20008086
	kindCall      = 0
	kindReply     = 1
	headerSize    = 28 // of a packet: length, program, version, procedure, kind, serial, status
)

// relayTo listens until the test ends.
func relayTo(t testing.TB, daemon string) *relay {
	t.Helper()
	r := &relay{socket: filepath.Join(t.TempDir(), "relay"), daemon: daemon}
	l, err := net.Listen("unix", r.socket)
	must(t, err)
	nettest.Serve(t, l, r.serve)
	return r
}

func (r *relay) uri() string { return "qemu+unix:///system?socket=" + r.socket }

func (r *relay) serve(ctx context.Context, near net.Conn) {
	far, err := net.Dial("unix", r.daemon)
	if err != nil {
		return
	}
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { far.Close() })
	defer stop()
	var up sync.WaitGroup
	up.Go(func() {
		carry(far, near, func(h header) bool { r.asked(near, h); return true })
		far.(*net.UnixConn).CloseWrite() // what was ordered is done all the same
	})
	carry(near, far, func(h header) bool { return r.heard(near, h) })
	near.Close()
	up.Wait()
}

// header is the beginning of a packet.
type header struct{ program, procedure, kind, serial uint32 }

// carry copies packets, but for those that are not to pass.
func carry(to io.Writer, from io.Reader, pass func(header) bool) {
	for {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		word := func(i int) uint32 { return binary.BigEndian.Uint32(head[4*i:]) }
		packet := make([]byte, max(int(word(0)), headerSize))
		copy(packet, head)
		if _, err := io.ReadFull(from, packet[headerSize:]); err != nil {
			return
		}
		if !pass(header{program: word(1), procedure: word(3), kind: word(4), serial: word(5)}) {
			continue
		}
		if _, err := to.Write(packet); err != nil {
			return
		}
	}
}

// asked notes the order that is to lose its answer.
func (r *relay) asked(conn net.Conn, h header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.loss
	if l == nil || l.order.conn != nil || h.program != remoteProgram || h.kind != kindCall ||
		!slices.Contains(orders, h.procedure) {
		return
	}
	if l.left > 0 {
		l.left--
		return
	}
	l.order = ticket{conn, h.serial}
}

// heard reports whether the adapter is to hear it.
func (r *relay) heard(conn net.Conn, h header) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.loss
	if l == nil || l.order.conn == nil {
		return true
	}
	if h.kind == kindReply && l.order == (ticket{conn, h.serial}) {
		close(l.lost)
	}
	return false
}

func (r *relay) lose(after int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loss = &loss{left: after, lost: make(chan struct{})}
	return r.loss.lost
}

func (r *relay) hear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loss = nil
}

// LoseAnswers loses those of the daemon.
func (b *bench) LoseAnswers(_ providertest.T, after int) <-chan struct{} { return b.relay.lose(after) }
func (b *bench) HearAnswers(providertest.T)                              { b.relay.hear() }
