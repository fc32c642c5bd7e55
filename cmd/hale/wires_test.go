package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"hale/internal/testbed/nettest"
)

// wires are the network between servers. The address of a server leads nowhere but through these proxies: each server
// sends through one of its own. So a test knows who speaks to whom, and can cut it.
type wires struct {
	*testing.T
	mu   sync.Mutex
	to   map[string]string // where what listens at an address really does
	of   map[string]string // the server of an address
	cut  map[string]bool   // "from>to"
	uses map[net.Conn]string
}

// wireOf is the name of one.
func wireOf(from, to string) string { return from + ">" + to }

func newWires(t *testing.T) *wires {
	t.Helper()
	return &wires{T: t, to: map[string]string{}, of: map[string]string{}, cut: map[string]bool{},
		uses: map[net.Conn]string{}}
}

// plug gives the server an address in the network, and says where its way into it is.
func (w *wires) plug(name, address, really string) (proxy string) {
	w.Helper()
	w.mu.Lock()
	w.to[address], w.of[address] = really, name
	w.mu.Unlock()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	nettest.Serve(w, l, func(_ context.Context, from net.Conn) { w.carry(name, from) })
	return "http://" + l.Addr().String()
}

// carry answers one connection of the server's.
func (w *wires) carry(name string, from net.Conn) {
	r, err := http.ReadRequest(bufio.NewReader(from))
	if err != nil || r.Method != http.MethodConnect {
		return
	}
	w.mu.Lock()
	at := wireOf(name, w.of[r.Host])
	var way net.Conn
	if !w.cut[at] {
		if way, err = net.Dial("tcp", w.to[r.Host]); err == nil {
			w.uses[from], w.uses[way] = at, at
		}
	}
	w.mu.Unlock()
	if way == nil {
		fmt.Fprint(from, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer way.Close()
	fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
	back := make(chan struct{})
	go func() { // ends with either connection
		defer close(back)
		_, _ = io.Copy(from, way)
		_ = from.Close()
	}()
	_, _ = io.Copy(way, from)
	_ = way.Close()
	<-back
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.uses, from)
	delete(w.uses, way)
}

// sever cuts the wires between one part of the servers and the other, or mends all.
func (w *wires) sever(one, other []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = map[string]bool{}
	for _, a := range one {
		for _, b := range other {
			w.cut[wireOf(a, b)], w.cut[wireOf(b, a)] = true, true
		}
	}
	for conn, at := range w.uses {
		if w.cut[at] {
			_ = conn.Close()
		}
	}
}
