package netprobe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

const day = 24 * time.Hour

// session is the TLS that a check speaks.
type session struct {
	name      string // of the server, as its certificate has it
	demand    *policy.TLSCheck
	protocols []string // that are offered (ALPN)
}

// secure shakes hands over the connection, and looks at the certificate as the check demands.
func (k asker) secure(ctx context.Context, conn net.Conn, s session) (*tls.Conn, error) {
	c := s.demand
	roots := k.roots
	if c.CA != "" {
		var err error
		if roots, err = k.authorities.get(c.CA, authorities); err != nil {
			return nil, probe.LocalError{Err: err}
		}
	}
	secure := tls.Client(conn, &tls.Config{
		ServerName: s.name, RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: s.protocols,
		InsecureSkipVerify: c.Insecure, //nolint:gosec // the operator's word for this check
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, handshakeError(err)
	}
	if c.Days > 0 {
		if err := lasts(secure.ConnectionState(), time.Duration(c.Days)*day, time.Now()); err != nil {
			return nil, err
		}
	}
	return secure, nil
}

// certificate shakes hands over a fresh connection, and asks for nothing.
func (k asker) certificate(ctx context.Context, t probe.Target) error {
	return k.talk(ctx, t, "tcp", func(conn net.Conn) error {
		c := &t.Spec.Certificate
		secure, err := k.secure(ctx, conn, session{name: serverName(c.Host, t), demand: &c.TLSCheck})
		if err != nil {
			return err
		}
		// also where anybody's certificate will do
		return lasts(secure.ConnectionState(), time.Duration(c.Days)*day, time.Now())
	})
}

// authorities reads certificates in PEM form.
func authorities(pem string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("there is no certificate in ca")
	}
	return pool, nil
}

// lasts is a failure when the certificate, or one that it rests on, ends within the time.
func lasts(state tls.ConnectionState, least time.Duration, now time.Time) error {
	ends := state.PeerCertificates[0].NotAfter
	var best time.Time
	for _, chain := range state.VerifiedChains {
		first := chain[0].NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		if first.After(best) {
			best = first
		}
	}
	if !best.IsZero() {
		ends = best
	}
	if left := ends.Sub(now); left < least {
		return failure{
			fleet.ResultTLS,
			fmt.Sprintf("the certificate ends in %d days, on %s", int(left/day), ends.UTC().Format(time.DateOnly)),
		}
	}
	return nil
}

// handshakeError leaves the network's errors as they are and calls all others TLS.
func handshakeError(err error) error {
	if ofNetwork(err) {
		return err
	}
	return failure{fleet.ResultTLS, brief(err)}
}
