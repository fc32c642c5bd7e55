package netprobe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"hale/internal/fleet"
	"hale/internal/probe"
)

const (
	userAgent = "hale"
	// maxHead bounds what is read of an answer. Its body is not read at all: the status says what was asked for.
	maxHead = 64 << 10
	// maxInterim bounds the answers with a status of 1xx before the real one.
	maxInterim = 5
)

// get asks for the page over a fresh connection. Written by hand over net/http's parser: a client would add two
// goroutines and a pool to each probe, and a name for the server's certificate would need a client of its own.
func (k asker) get(ctx context.Context, t probe.Target) error {
	req, err := request(t)
	if err != nil {
		return probe.LocalError{Err: err}
	}
	conn, err := k.dial(ctx, t)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	if req.URL.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: serverName(t), RootCAs: k.roots, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return handshakeError(err)
		}
		conn = secure // closed with its connection: an orderly good-bye is not worth a wait
	}
	if err := req.Write(conn); err != nil {
		return exchangeError(err)
	}
	status, err := readStatus(conn, req)
	if err != nil {
		return exchangeError(err)
	}
	if status < 200 || status > 299 {
		return failure{fleet.ResultStatus, strconv.Itoa(status)}
	}
	return nil
}

func request(t probe.Target) (*http.Request, error) {
	path := t.Spec.HTTP.Path
	if path == "" {
		path = "/"
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	u.Scheme = t.Spec.HTTP.Scheme
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("scheme %q", u.Scheme)
	}
	u.Host = authority(t, u.Scheme)
	return &http.Request{
		Method: http.MethodGet, URL: u, Host: t.Spec.HTTP.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{"User-Agent": {userAgent}, "Accept": {"*/*"}},
	}, nil
}

// authority is the address as a URL and a Host header have it: without the scheme's own port, and IPv6 in brackets.
func authority(t probe.Target, scheme string) string {
	host := t.Address.WithZone("")
	if scheme == "http" && t.Spec.Port == 80 || scheme == "https" && t.Spec.Port == 443 {
		if host.Is6() {
			return "[" + host.String() + "]"
		}
		return host.String()
	}
	return netip.AddrPortFrom(host, uint16(t.Spec.Port)).String() //nolint:gosec // dial refuses other ports
}

func serverName(t probe.Target) string {
	name := t.Spec.HTTP.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if name == "" {
		name = t.Address.WithZone("").String()
	}
	return name
}

// readStatus returns the status of the final answer.
func readStatus(conn net.Conn, req *http.Request) (int, error) {
	r := bufio.NewReaderSize(io.LimitReader(conn, maxHead), 2048)
	for range maxInterim {
		resp, err := http.ReadResponse(r, req) //nolint:bodyclose // closing would read on; the connection is closed instead
		if err != nil {
			return 0, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp.StatusCode, nil
		}
	}
	return 0, failure{fleet.ResultProtocol, "too many interim answers"}
}

// handshakeError leaves the network's errors as they are and calls all others TLS.
func handshakeError(err error) error {
	if ofNetwork(err) {
		return err
	}
	return failure{fleet.ResultTLS, brief(err)}
}

// exchangeError leaves the network's errors as they are; all others are answers that were not asked for.
func exchangeError(err error) error {
	var known failure
	if ofNetwork(err) || errors.As(err, &known) {
		return err
	}
	return failure{fleet.ResultProtocol, brief(err)}
}

func ofNetwork(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
