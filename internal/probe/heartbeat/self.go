package heartbeat

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// testEvery is the time from one test to the next, and testLimit that of a test: together they are less than the
	// shortest timeout of a heartbeat check, so that who does not listen knows it before a silence counts.
	testEvery = 500 * time.Millisecond
	testLimit = 2 * time.Second
	// heldUp is how much later than meant a test may begin before hale was held up.
	heldUp = 2 * time.Second
)

var errHeldUp = errors.New("hale was held up, and may have missed heartbeats")

// self is the receiver as a machine finds it.
type self struct {
	address string
	secure  bool
	word    *word
}

// attend has the receiver report to itself until ctx ends, and keeps note of whether it hears that.
func (r *Receiver) attend(ctx context.Context, s *self) {
	client := &http.Client{Timeout: testLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DisableKeepAlives: true,
			//nolint:gosec // nothing is told to it, and all that counts is that it answers
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		}}
	defer client.CloseIdleConnections()
	last := time.Now()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		err := s.test(ctx, client)
		now := time.Now()
		if ctx.Err() != nil {
			return
		}
		r.judge(last, now, err)
		last = now
		pause.Reset(testEvery)
	}
}

// judge draws the conclusion from a test that ended now, after the one before it ended.
func (r *Receiver) judge(last, now time.Time, err error) {
	switch {
	case err != nil:
		r.attention.lose(fmt.Errorf("hale does not hear its own heartbeats: %w", err))
		return
	case now.Sub(last) > testEvery+heldUp, now.Round(0).Sub(last.Round(0))-now.Sub(last) > heldUp:
		// it stood still, or the whole machine slept
		r.attention.lose(errHeldUp)
	}
	r.attention.gain(now)
}

// test reports once, over a fresh connection as any machine would.
func (s *self) test(ctx context.Context, client *http.Client) error {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+s.address+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.word.say)
	before := s.word.heard.Load()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusNoContent:
		return fmt.Errorf("%s answers with status %d", s.address, resp.StatusCode)
	case s.word.heard.Load() == before:
		return fmt.Errorf("another server answers at %s", s.address)
	}
	return nil
}

// keyPair is a certificate and its key, read again when one of the files changed.
type keyPair struct {
	certificate, key string

	mu      sync.Mutex // guards reading, too: handshakes wait for the new pair
	checked time.Time
	stamp   [2]time.Time
	pair    *tls.Certificate
}

// pairEvery is how often is looked whether the files changed.
const pairEvery = 10 * time.Second

// get returns the pair. One that can no longer be read is used until it can.
func (k *keyPair) get(now time.Time) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pair != nil && now.Sub(k.checked) < pairEvery {
		return k.pair, nil
	}
	k.checked = now
	var stamp [2]time.Time
	for i, name := range []string{k.certificate, k.key} {
		info, err := os.Stat(name)
		if err != nil {
			return k.pair, k.unless(err)
		}
		stamp[i] = info.ModTime()
	}
	if k.pair != nil && stamp == k.stamp {
		return k.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(k.certificate, k.key)
	if err != nil {
		return k.pair, k.unless(err)
	}
	k.pair, k.stamp = &pair, stamp
	return k.pair, nil
}

// unless is the error, as long as there is no pair from before.
func (k *keyPair) unless(err error) error {
	if k.pair != nil {
		return nil
	}
	return err
}
