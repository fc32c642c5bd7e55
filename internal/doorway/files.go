package doorway

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"sync"
	"time"
)

// lookEvery is how often is looked whether files changed.
const lookEvery = 10 * time.Second

// Files are some that make one value, read again when one of them changed.
type Files[T any] struct {
	names []string
	load  func() (T, error)

	mu      sync.Mutex // guards reading, too: handshakes wait for the new value
	checked time.Time
	stamps  []time.Time // of the value; nil: there is none
	value   T
}

// Pair is a certificate and its key.
func Pair(certificate, key string) *Files[*tls.Certificate] {
	return &Files[*tls.Certificate]{names: []string{certificate, key}, load: func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		return &pair, err
	}}
}

// Authorities are those who sign certificates.
func Authorities(path string) *Files[*x509.CertPool] {
	return &Files[*x509.CertPool]{names: []string{path}, load: func() (*x509.CertPool, error) {
		text, err := os.ReadFile(path)
		pool := x509.NewCertPool()
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errors.New(path + " has no certificate in PEM form")
		}
		return pool, err
	}}
}

// Get returns the value. One that can no longer be read is used until it can.
func (f *Files[T]) Get(now time.Time) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stamps != nil && now.Sub(f.checked) < lookEvery {
		return f.value, nil
	}
	f.checked = now
	stamps := make([]time.Time, len(f.names))
	changed := f.stamps == nil
	for i, name := range f.names {
		info, err := os.Stat(name)
		if err != nil {
			return f.value, f.unless(err)
		}
		stamps[i] = info.ModTime()
		changed = changed || !stamps[i].Equal(f.stamps[i])
	}
	if !changed {
		return f.value, nil
	}
	value, err := f.load()
	if err != nil {
		return f.value, f.unless(err)
	}
	f.value, f.stamps = value, stamps
	return f.value, nil
}

// unless is the error, as long as there is no value from before.
func (f *Files[T]) unless(err error) error {
	if f.stamps != nil {
		return nil
	}
	return err
}
