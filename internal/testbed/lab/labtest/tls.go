// Package labtest opens doors to a lab's libvirtd as they are on a host of its own: TLS with certificates, and a real
// sshd. All listens on 127.0.0.1 only.
//
// It is for tests, and needs what "scripts/install-deps.sh tests" installs.
package labtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// NewAuthority makes one that is good for an hour. Its files go with the test.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{dir: filepath.Join(t.TempDir(), name)}
	must(t, os.Mkdir(a.dir, 0o755))
	a.certificate = &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	a.key, a.certificate = a.sign(t, "ca", a.certificate)
	return a
}

// sign writes NAME.pem and NAME.key. The first certificate signs itself.
func (a *Authority) sign(t testing.TB, name string, c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour),
		time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if signer == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for file, block := range map[string]*pem.Block{a.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der},
		a.file(name + ".key"): {Type: "PRIVATE KEY", Bytes: private}} {
		must(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	signed, err := x509.ParseCertificate(der)
	must(t, err)
	return key, signed
}

func (a *Authority) file(name string) string { return filepath.Join(a.dir, name) }

// Proof names the files of a client, in PEM form.
type Proof struct {
	CA, Certificate, Key string
}

// Client signs a certificate for a client.
func (a *Authority) Client(t testing.TB, name string) Proof {
	t.Helper()
	a.sign(t, name, &x509.Certificate{Subject: pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return Proof{CA: a.file("ca.pem"), Certificate: a.file(name + ".pem"), Key: a.file(name + ".key")}
}

// Listen signs a certificate for the daemon at 127.0.0.1. It returns a free port, and the lines of libvirtd.conf that
// have libvirtd listen there, for lab.Options.
func (a *Authority) Listen(t testing.TB) (port, lines string) {
	t.Helper()
	a.sign(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	_, port, err := net.SplitHostPort(freeAddress(t))
	must(t, err)
	return port, fmt.Sprintf("listen_tls = 1\nlisten_tcp = 0\nlisten_addr = \"127.0.0.1\"\ntls_port = \"%s\"\n"+
		"ca_file = \"%s\"\ncert_file = \"%s\"\nkey_file = \"%s\"\n",
		port, a.file("ca.pem"), a.file("server.pem"), a.file("server.key"))
}

// freeAddress is one of 127.0.0.1 without a listener.
func freeAddress(t testing.TB) string {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, free.Close())
	return free.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
