package netprobe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/probe"
	"hale/internal/provider"
)

// answer is how one probe ended.
type answer struct {
	reason fleet.ResultReason
	detail string
	at     time.Time
	// measure is what a good one did.
	measure probe.Measure
}

// failure is an error that brings its reason along.
type failure struct {
	reason fleet.ResultReason
	detail string
}

// Error implements error.
func (f failure) Error() string { return string(f.reason) + ": " + f.detail }

// asker performs single probes of every kind.
type asker struct {
	transport   probe.Transport
	agents      provider.GuestPinger // nil: agents cannot be asked
	hearing     probe.Hearing        // nil: beats are not received
	pools       probe.Pools          // nil: no load balancer says anything
	roots       *x509.CertPool
	patterns    *cache[*regexp.Regexp]
	authorities *cache[*x509.CertPool] // of the checks that name their own
	panics      defect.Witness
	kept        *kept     // by the probe at hand
	from        time.Time // the oldest question to a load balancer by which the probe at hand may go
	afresh      bool      // no older one than the probe
}

// kept is what a probe keeps of a page.
type kept struct {
	at   time.Time // when the answer was found to be good, and reading on began; zero: it did not
	page []byte
}

// Write implements io.Writer; it cannot fail.
func (k *kept) Write(p []byte) (int, error) {
	k.page = append(k.page, p[:min(len(p), probe.MostPage-len(k.page))]...)
	return len(p), nil
}

func newAsker(transport probe.Transport, o Options) asker {
	if o.Hearing == nil {
		o.Hearing, _ = transport.(probe.Hearing)
	}
	if o.Pools == nil {
		o.Pools, _ = transport.(probe.Pools)
	}
	return asker{transport: transport, agents: o.Agents, hearing: o.Hearing, pools: o.Pools, roots: o.Roots,
		patterns: newCache[*regexp.Regexp](), authorities: newCache[*x509.CertPool](), panics: o.Panics}
}

// ask probes the target once; ctx ends with the probe's timeout, which counts from started. A probe that panics says
// nothing of the target.
func (k asker) ask(ctx context.Context, t probe.Target, started time.Time) (a answer) {
	defer k.panics.Catch(string(t.Check), "probe", func(p *defect.Panic) {
		a = answer{reason: fleet.ResultPanicked, detail: brief(p), at: time.Now()}
	})
	k.kept, k.from = &kept{}, started
	if !k.afresh {
		k.from = started.Add(-t.Spec.Every)
	}
	said, err := k.perform(ctx, t)
	at := time.Now()
	if p := (*defect.Panic)(nil); errors.As(err, &p) { // on another goroutine
		k.panics.Note(string(t.Check), "probe", p)
		return answer{reason: fleet.ResultPanicked, detail: brief(p), at: at}
	}
	a = weigh(err, ctx.Err(), at.Sub(started), limitOf(t.Spec))
	if a.at = at; a.reason == fleet.ResultOK {
		a.detail = said
		a.measure = probe.Measure{At: at, Took: at.Sub(started), Page: k.kept.page}
		if good := k.kept.at; !good.IsZero() {
			a.measure.Took = good.Sub(started)
		}
	}
	return a
}

// askBounded probes the target once and returns in time even when the transport does not.
func (k asker) askBounded(parent context.Context, t probe.Target) answer {
	started, limit := time.Now(), limitOf(t.Spec)
	ctx, cancel := context.WithTimeout(parent, limit)
	answered := make(chan answer, 1)
	// Owned by this call; it ends with ctx, or when a transport that ignores ctx lets go.
	go func() {
		defer cancel()
		answered <- k.ask(ctx, t, started)
	}()
	patience := time.NewTimer(limit + overrun)
	defer patience.Stop()
	var a answer
	select {
	case a = <-answered:
	case <-patience.C:
		cancel()
		a = answer{reason: fleet.ResultLate, detail: "the probe does not end", at: time.Now()}
	}
	if probe.MeaningOf(a.reason) == probe.MeansFailure && parent.Err() != nil {
		a.reason, a.detail = fleet.ResultLate, "cut short"
	}
	return a
}

// perform asks in the target's way. A nil error is a success; said is what the answer said that people may want to
// know.
func (k asker) perform(ctx context.Context, t probe.Target) (said string, err error) {
	for _, kind := range kindsOfCheck {
		if kind.Word == string(t.Spec.Kind) {
			return kind.ask(k, ctx, t)
		}
	}
	return "", probe.LocalError{Err: fmt.Errorf("unknown kind of check %q", t.Spec.Kind)}
}

// echo asks by one ping.
func (k asker) echo(ctx context.Context, t probe.Target) error {
	return k.transport.Ping(ctx, t.Address)
}

// connect opens a connection and drops it. The reset spares both ends the wait after an orderly close.
func (k asker) connect(ctx context.Context, t probe.Target) error {
	conn, err := k.dial(ctx, t, "tcp", t.Spec.Port)
	if err != nil {
		return err
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	return conn.Close()
}

func (k asker) dial(ctx context.Context, t probe.Target, network string, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, probe.LocalError{Err: fmt.Errorf("port %d", port)}
	}
	return k.transport.Dial(ctx, network, netip.AddrPortFrom(t.Address, uint16(port)).String())
}

// talk connects to the check's port and has a conversation there, which ends with ctx.
func (k asker) talk(ctx context.Context, t probe.Target, network string, say func(net.Conn) error) error {
	conn, err := k.dial(ctx, t, network, t.Spec.Port)
	if err != nil {
		return err
	}
	defer conn.Close()
	done := letGo(ctx, conn)
	defer done()
	return say(conn)
}

// letGo ends whatever reads or writes on the connection as soon as ctx ends, until the returned function is called.
func letGo(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// weigh turns the end of a probe into an answer. At the instant of its timeout a probe has timed out; an answer that
// was read only later may have been there in time, so it says nothing, and neither does an end that is long overdue.
func weigh(err, ended error, took, limit time.Duration) answer {
	var (
		local  probe.LocalError
		none   notConnected
		silent probe.SilentError
		known  failure
	)
	switch {
	case took > limit+overrun, err == nil && took > limit:
		return answer{reason: fleet.ResultLate, detail: "read too late"}
	case errors.As(err, &known) && known.reason == fleet.ResultUntold:
		return answer{reason: known.reason, detail: known.detail}
	case errors.As(err, &local):
		return answer{reason: fleet.ResultLocal, detail: brief(local.Err)}
	case errors.As(err, &none):
		return answer{reason: fleet.ResultNotConnected, detail: string(classify(none.err).reason)}
	case took >= limit && errors.As(err, &silent):
		return answer{reason: fleet.ResultTimeout, detail: silent.Error()}
	case took >= limit:
		return answer{reason: fleet.ResultTimeout}
	case err == nil:
		return answer{reason: fleet.ResultOK}
	case errors.Is(ended, context.Canceled):
		return answer{reason: fleet.ResultLate, detail: "cut short"}
	}
	return classify(err)
}

// classify sorts the errors of a probe. What is not known to come from the target is local: unknown is not dead.
func classify(err error) answer {
	var known failure
	if errors.As(err, &known) {
		return answer{reason: known.reason, detail: known.detail}
	}
	var silent probe.SilentError
	if errors.As(err, &silent) {
		return answer{reason: fleet.ResultTimeout, detail: silent.Error()}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return answer{reason: reasonOfErrno(errno), detail: errno.Error()}
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return answer{reason: fleet.ResultTimeout}
	}
	var (
		address *net.AddrError
		name    *net.DNSError
		parse   *net.ParseError
	)
	if errors.Is(err, net.ErrClosed) || errors.As(err, &address) || errors.As(err, &name) || errors.As(err, &parse) {
		return answer{reason: fleet.ResultLocal, detail: brief(err)}
	}
	return answer{reason: fleet.ResultProtocol, detail: brief(err)}
}

// reasonOfErrno tells errors of the target, or of the way to it, from our own. ENETUNREACH is our own: our routing says
// it. EHOSTUNREACH is not: the address did not answer.
func reasonOfErrno(errno syscall.Errno) fleet.ResultReason {
	switch errno {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
		return fleet.ResultRefused
	case syscall.EHOSTUNREACH, syscall.EHOSTDOWN:
		return fleet.ResultUnreachable
	case syscall.ETIMEDOUT:
		return fleet.ResultTimeout
	}
	return fleet.ResultLocal
}

// brief keeps a detail short.
func brief(err error) string {
	const most = 120
	s := err.Error()
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
