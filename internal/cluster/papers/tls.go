package papers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"hale/internal/doorway"
)

// Serving is how this server speaks TLS with who comes to its door. Who shows no certificate comes in, too, for a
// server that is about to join has none: see Shown.
func (p *Papers) Serving() *tls.Config {
	pair := doorway.Pair(p.CertificateFile(), p.KeyFile())
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: p.Authority.Pool(),
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(time.Now()) },
	}
}

// Calling is how this server speaks TLS with another one of its cluster.
func (p *Papers) Calling() *tls.Config {
	pair := doorway.Pair(p.CertificateFile(), p.KeyFile())
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: p.Authority.Pool(), ServerName: ServerName,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Get(time.Now())
		},
	}
}

// ErrStranger is the cause of an error where another authority is shown than the invitation names.
var ErrStranger = errors.New("it shows itself with another authority than the invitation names: it is another " +
	"cluster's, or somebody is in between")

// Invited is how a server speaks TLS that has an invitation and no papers yet: with who is of the authority of the
// fingerprint, and nobody else.
func Invited(fingerprint string, now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: ServerName,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, by the fingerprint
		VerifyConnection: func(is tls.ConnectionState) error {
			return verifyShown(is.PeerCertificates, fingerprint, now())
		},
	}
}

// verifyShown wants that the first certificate is a server's, signed by the authority of the fingerprint, which is
// shown with it.
func verifyShown(shown []*x509.Certificate, fingerprint string, now time.Time) error {
	for _, cert := range shown[min(1, len(shown)):] {
		if FingerprintOf(cert) != fingerprint {
			continue
		}
		pool := x509.NewCertPool()
		pool.AddCert(cert)
		_, err := shown[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: ServerName, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		return Timely(err, now)
	}
	return ErrStranger
}

// Timely says of a certificate that has ended, or is not good yet, that a clock may be wrong.
func Timely(err error, now time.Time) error {
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w; this server's clock says %s: if that is wrong, set it right on this server, or on the "+
			"other one", err, now.UTC().Format(time.RFC3339))
	}
	return err
}
