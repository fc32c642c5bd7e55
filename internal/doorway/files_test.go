package doorway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// renewed writes a certificate of the serial number and its key.
func renewed(t *testing.T, folder string, serial int64) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, of, of, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "EC PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(serial, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func TestARenewedCertificateIsTakenUp(t *testing.T) {
	t.Parallel()
	folder, now := t.TempDir(), time.Now()
	pair := Pair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
	if _, err := pair.Get(now); err == nil {
		t.Error("there is none, and it is had")
	}
	certificate, _ := renewed(t, folder, 1)
	serves := func(after time.Duration, serial int64) {
		t.Helper()
		got, err := pair.Get(now.Add(after))
		if err != nil || got.Leaf.SerialNumber.Int64() != serial {
			t.Errorf("after %v it is %+v, %v", after, got, err)
		}
	}
	serves(0, 1)
	renewed(t, folder, 2)
	serves(lookEvery-1, 1)
	serves(lookEvery, 2)
	if err := os.WriteFile(certificate, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	serves(2*lookEvery, 2)
	if err := os.Remove(certificate); err != nil {
		t.Fatal(err)
	}
	serves(3*lookEvery, 2)
	renewed(t, folder, 3)
	serves(4*lookEvery, 3)
}

func TestAuthoritiesAreReadFromAFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := renewed(t, folder, 1)
	if pool, err := Authorities(certificate).Get(time.Now()); err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("%v, %v", pool, err)
	}
	if _, err := Authorities(key).Get(time.Now()); err == nil {
		t.Error("a key is an authority")
	}
}
