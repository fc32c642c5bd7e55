package heartbeat

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pairFiles writes a certificate with the number, and its key.
func pairFiles(t *testing.T, k *keyPair, number int64, at time.Time) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number),
		NotBefore:    at.Add(-time.Hour),
		NotAfter:     at.Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		k.certificate: {Type: "CERTIFICATE", Bytes: der},
		k.key:         {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeyPairIsTakenUp: a new certificate within seconds, and one that cannot be read changes nothing.
func TestKeyPairIsTakenUp(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	k := &keyPair{certificate: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	if _, err := k.get(now); err == nil {
		t.Fatal("there is no certificate, and no error")
	}
	serves := func(when string, want int64) {
		t.Helper()
		pair, err := k.get(now)
		if err != nil {
			t.Fatal(err)
		}
		is, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if is.SerialNumber.Int64() != want {
			t.Errorf("%s: it shows certificate %v, want %d", when, is.SerialNumber, want)
		}
	}
	pairFiles(t, k, 1, now)
	serves("at first", 1)
	pairFiles(t, k, 2, now.Add(time.Second))
	serves("at once after a change", 1)
	now = now.Add(pairEvery)
	serves("a while after a change", 2)
	if err := os.WriteFile(k.key, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(pairEvery)
	serves("with a key that is none", 2)
	if err := os.Remove(k.certificate); err != nil {
		t.Fatal(err)
	}
	now = now.Add(pairEvery)
	serves("without a file", 2)
}
