package vcsim

import (
	"net"
	"sync"
)

// wire carries connections to the server. It knows nothing of what they say.
type wire struct {
	server string
	local  string

	mu       sync.Mutex
	moves    *sync.Cond // when held, dead or ended changed
	held     direction
	dead     bool
	ended    bool
	listener net.Listener
	conns    map[net.Conn]bool
	carriers sync.WaitGroup
}

// direction says what is held back.
type direction int

const (
	noWay direction = iota
	answers
	bothWays
)

func newWire(t T, server string) *wire {
	t.Helper()
	w := &wire{server: server, conns: map[net.Conn]bool{}}
	w.moves = sync.NewCond(&w.mu)
	w.listen(t, "127.0.0.1:0")
	w.local = w.listener.Addr().String()
	return w
}

func (w *wire) addr() string { return w.local }

func (w *wire) listen(t T, addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.listener, w.dead = l, false
	w.mu.Unlock()
	w.carriers.Go(func() { w.accept(l) })
}

func (w *wire) accept(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).Dial("tcp", w.server)
		if err != nil || !w.enter(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		w.carriers.Go(func() { w.carry(far, near, bothWays) })
		w.carriers.Go(func() { w.carry(near, far, answers) })
	}
}

func (w *wire) enter(pair ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || w.ended {
		return false
	}
	for _, c := range pair {
		w.conns[c] = true
	}
	return true
}

// carry copies what comes. What came before the sender went away is carried on, as by a real network.
func (w *wire) carry(to, from net.Conn, heldFrom direction) {
	defer func() {
		_ = to.Close()
		w.mu.Lock()
		delete(w.conns, from)
		w.mu.Unlock()
	}()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			w.pass(heldFrom)
			if _, err := to.Write(piece[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the direction is open.
func (w *wire) pass(heldFrom direction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.held >= heldFrom && !w.dead && !w.ended {
		w.moves.Wait()
	}
}

func (w *wire) hold(d direction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = d
	w.moves.Broadcast()
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	w.drop()
}

// drop ends all connections.
func (w *wire) drop() {
	if w.listener != nil {
		_ = w.listener.Close()
	}
	for c := range w.conns {
		_ = c.Close()
	}
	w.moves.Broadcast()
}

func (w *wire) mend(t T) {
	t.Helper()
	w.listen(t, w.local)
}

func (w *wire) close() {
	w.mu.Lock()
	w.ended = true
	w.drop()
	w.mu.Unlock()
	w.carriers.Wait()
}
