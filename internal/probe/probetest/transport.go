package probetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"hale/internal/probe"
)

// Answer is how a Transport treats one probe. The zero value succeeds at once.
type Answer struct {
	After  time.Duration       // from the probe's start
	Err    error               // what Ping, Dial or Run returns
	Deaf   bool                // do not let go when the probe's context ends
	Code   int                 // Run's exit code
	Output string              // what the program of Run says
	Serve  func(conn net.Conn) // Dial's other end; it closes conn. Nil closes it at once.
}

// Silent never answers.
func Silent() Answer { return Answer{After: 1000 * time.Hour} }

// Status answers an HTTP request with the status, and with a redirect's target where there has to be one.
func Status(code int) Answer {
	return Answer{Serve: func(conn net.Conn) { serveStatus(conn, code) }}
}

// Page answers an HTTP request with status 200 and the body.
func Page(body string) Answer {
	return Answer{Serve: func(conn net.Conn) {
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}}
}

func serveStatus(conn net.Conn, code int) {
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", code)
}

// Transport is a probe.Transport with scripted answers per address. An address without a script succeeds.
type Transport struct {
	mu       sync.Mutex
	scripts  map[netip.Addr][]Answer
	starts   map[netip.Addr][]time.Time
	programs []probe.Program
}

var _ probe.Transport = (*Transport)(nil)

// NewTransport makes a transport on which everything succeeds at once.
func NewTransport() *Transport {
	return &Transport{scripts: make(map[netip.Addr][]Answer), starts: make(map[netip.Addr][]time.Time)}
}

// Script lays down the answers to the coming probes of the address, in order; the last one repeats.
func (x *Transport) Script(address netip.Addr, answers ...Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scripts[address] = slices.Clone(answers)
}

// Starts returns when probes of the address began.
func (x *Transport) Starts(address netip.Addr) []time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.starts[address])
}

// Programs returns what every Run was given.
func (x *Transport) Programs() []probe.Program {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.programs)
}

// Ping implements probe.Transport.
func (x *Transport) Ping(ctx context.Context, address netip.Addr) error {
	return await(ctx, x.begin(address))
}

// Dial implements probe.Transport.
func (x *Transport) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, probe.LocalError{Err: err}
	}
	a := x.begin(to.Addr())
	if err := await(ctx, a); err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	if a.Serve == nil {
		_ = there.Close()
	} else {
		go a.Serve(there)
	}
	return here, nil
}

// Run implements probe.Transport. The script is that of the first argument that is an address.
func (x *Transport) Run(ctx context.Context, p probe.Program) (int, string, error) {
	x.mu.Lock()
	x.programs = append(x.programs, probe.Program{Args: slices.Clone(p.Args), Env: slices.Clone(p.Env)})
	x.mu.Unlock()
	var address netip.Addr
	for _, arg := range p.Args {
		if a, err := netip.ParseAddr(arg); err == nil {
			address = a
			break
		}
	}
	a := x.begin(address)
	if err := await(ctx, a); err != nil {
		return 0, "", err
	}
	return a.Code, a.Output, nil
}

// begin notes a probe's start and takes the next answer of its script.
func (x *Transport) begin(address netip.Addr) Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.starts[address] = append(x.starts[address], time.Now())
	script := x.scripts[address]
	if len(script) == 0 {
		return Answer{}
	}
	if len(script) > 1 {
		x.scripts[address] = script[1:]
	}
	return script[0]
}

// await lets the answer's time pass.
func await(ctx context.Context, a Answer) error {
	if a.Deaf {
		<-time.After(a.After)
		return a.Err
	}
	if a.After <= 0 {
		return a.Err
	}
	timer := time.NewTimer(a.After)
	defer timer.Stop()
	select {
	case <-timer.C:
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}
