package netprobe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestACertificateLastsAsLongAsWhatItRestsOn: of several ways to an authority the best counts, and of each its weakest
// part.
func TestACertificateLastsAsLongAsWhatItRestsOn(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	until := func(days int) *x509.Certificate {
		return &x509.Certificate{NotAfter: now.Add(time.Duration(days) * day)}
	}
	chain := func(days ...int) (out []*x509.Certificate) {
		for _, d := range days {
			out = append(out, until(d))
		}
		return out
	}
	for name, c := range map[string]struct {
		chains [][]*x509.Certificate
		ends   int // days from now
	}{
		"no chain":                         {nil, 90},
		"the authority outlasts it":        {[][]*x509.Certificate{chain(90, 400, 4000)}, 90},
		"what is between ends first":       {[][]*x509.Certificate{chain(90, 5, 4000)}, 5},
		"the authority ends first":         {[][]*x509.Certificate{chain(90, 400, 7)}, 7},
		"another way lasts longer":         {[][]*x509.Certificate{chain(90, 5, 4000), chain(90, 60, 4000)}, 60},
		"another way ends sooner":          {[][]*x509.Certificate{chain(90, 60, 4000), chain(90, 5, 4000)}, 60},
		"one that is over by another way":  {[][]*x509.Certificate{chain(90, -1), chain(90, 30)}, 30},
		"one that is over by the only way": {[][]*x509.Certificate{chain(90, -1)}, -1},
	} {
		state := tls.ConnectionState{PeerCertificates: chain(90), VerifiedChains: c.chains}
		ends := time.Duration(c.ends) * day
		if err := lasts(state, ends, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := lasts(state, ends+time.Second, now); err == nil {
			t.Errorf("%s: it lasts longer than %d days", name, c.ends)
		}
	}
}

// TestTheNetworksErrorsInAHandshakeStayTheNetworks: they are about the way, or about this side of it, and not about a
// certificate.
func TestTheNetworksErrorsInAHandshakeStayTheNetworks(t *testing.T) {
	t.Parallel()
	for _, err := range []error{syscall.ECONNRESET, syscall.EMFILE, context.DeadlineExceeded} {
		if got := handshakeError(err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	var f failure
	if got := handshakeError(x509.UnknownAuthorityError{}); !errors.As(got, &f) {
		t.Errorf("an unknown authority became %v", got)
	}
}
