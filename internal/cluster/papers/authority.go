package papers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// ServerName is what every server's certificate is for: which server it is of says its id, and where that is reached is
// no matter of the certificate's.
const ServerName = "server.hale.cluster"

const (
	authorityLives = 20 * 365 * 24 * time.Hour
	// lives is how long a server's certificate is good; renewed when a third of it is left.
	lives = 365 * 24 * time.Hour
	// before is how far the clock of a server may be behind that of the one that made the cluster.
	before = 24 * time.Hour
	// idScheme begins the id of a server in its certificate.
	idScheme = "hale"
)

// Authority signs the certificates of one cluster's servers. Each server has it.
type Authority struct {
	Certificate, Key []byte // in PEM form

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes one.
func NewAuthority(now time.Time) (Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, err
	}
	serial, err := newSerial()
	if err != nil {
		return Authority{}, err
	}
	as := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "hale cluster"},
		NotBefore: now.Add(-before), NotAfter: now.Add(authorityLives),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &key.PublicKey, key)
	if err != nil {
		return Authority{}, err
	}
	keyPEM, err := keyToPEM(key)
	if err != nil {
		return Authority{}, err
	}
	return ReadAuthority(certToPEM(der), keyPEM)
}

// ReadAuthority reads one from its certificate and its key.
func ReadAuthority(certificate, key []byte) (Authority, error) {
	cert, err := ReadCertificate(certificate)
	if err != nil {
		return Authority{}, err
	}
	private, err := keyFromPEM(key)
	if err != nil {
		return Authority{}, err
	}
	if !private.PublicKey.Equal(cert.PublicKey) {
		return Authority{}, errors.New("the authority's certificate is not of its key")
	}
	return Authority{Certificate: certificate, Key: key, cert: cert, key: private}, nil
}

// Fingerprint is what a person can compare the authority by.
func (a Authority) Fingerprint() string { return FingerprintOf(a.cert) }

// FingerprintOf is the fingerprint of an authority's certificate.
func FingerprintOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// Pool is the authority as the only one that is trusted.
func (a Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// pair is a server's certificate with its key, in PEM form.
type pair struct{ certificate, key []byte }

// issue makes a certificate for the server. It holds in the past as far as the authority's does: only a clock that is
// before the cluster itself makes it fail.
func (a Authority) issue(of Server, now time.Time) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := newSerial()
	if err != nil {
		return pair{}, err
	}
	as := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: of.Name},
		NotBefore: a.cert.NotBefore, NotAfter: earlier(now.Add(lives), a.cert.NotAfter),
		DNSNames: []string{ServerName}, URIs: []*url.URL{{Scheme: idScheme, Opaque: of.ID}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, as, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := keyToPEM(key)
	return pair{certificate: append(certToPEM(der), a.Certificate...), key: keyPEM}, err
}

// IDOf is the id of the server whose certificate it is; empty: it is no server's.
func IDOf(cert *x509.Certificate) string {
	for _, u := range cert.URIs {
		if u.Scheme == idScheme {
			return u.Opaque
		}
	}
	return ""
}

// ReadCertificate reads the first certificate of a PEM text.
func ReadCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("there is no certificate in PEM form")
	}
	return x509.ParseCertificate(block.Bytes)
}

func certToPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyToPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func keyFromPEM(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no key in PEM form")
	}
	some, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := some.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a key of another kind (%T)", some)
	}
	return key, nil
}

// newSerial has 127 bits by chance.
func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
