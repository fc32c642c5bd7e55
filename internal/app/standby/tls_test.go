package standby

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/state/etcd"
	"hale/internal/testbed/etcdtest"
)

// authority signs certificates into a folder.
type authority struct {
	*testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func found(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.key, a.cert = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign writes NAME.pem and NAME.key.
func (a *authority) sign(name string, as *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	as.SerialNumber, as.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	as.NotBefore, as.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by, signer := a.cert, a.key
	if by == nil {
		by, signer = as, key
	}
	der, err := x509.CreateCertificate(rand.Reader, as, by, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	a.write(name+".pem", &pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.write(name+".key", &pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return key, cert
}

func (a *authority) write(name string, b *pem.Block) {
	a.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(b), 0o600); err != nil {
		a.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// TLS with a client's certificate, as etcd's own guide to security has it: who shows none is refused, and so is a
// server that another authority signed.
func TestEtcdIsReachedByTLS(t *testing.T) {
	t.Parallel()
	a, other := found(t), found(t)
	for _, name := range []string{"etcd", "hale"} {
		a.sign(name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	}
	server := etcdtest.Start(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "https", Host: "127.0.0.1:0"}}
		c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = a.path("etcd.pem"), a.path("etcd.key")
		c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = a.path("ca.pem"), true
	})
	sound := config.Etcd{Endpoints: []string{server.URL}, Prefix: "/hale/", CA: a.path("ca.pem"),
		Certificate: a.path("hale.pem"), Key: a.path("hale.key")}
	connect := func(change func(*config.Etcd)) error {
		e := sound
		change(&e)
		opts, err := Reach(t.Context(), e, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		store, err := etcd.Connect(ctx, opts)
		if err == nil {
			err = store.Close()
		}
		return err
	}
	if err := connect(func(*config.Etcd) {}); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := connect(func(e *config.Etcd) { e.Certificate, e.Key = "", "" }); !fault.Is(err, fault.Transient) {
		t.Errorf("without one: %v", err)
	}
	if err := connect(func(e *config.Etcd) { e.CA = other.path("ca.pem") }); !fault.Is(err, fault.Transient) {
		t.Errorf("by another authority: %v", err)
	}
	if err := connect(func(e *config.Etcd) { e.CA = a.path("ca.key") }); err == nil ||
		!strings.Contains(err.Error(), "state.etcd.ca") {
		t.Errorf("with a file that has none: %v", err)
	}
	if err := connect(func(e *config.Etcd) { e.Key = a.path("nowhere") }); err == nil ||
		!strings.Contains(err.Error(), "state.etcd.tls") {
		t.Errorf("without its key: %v", err)
	}
}
