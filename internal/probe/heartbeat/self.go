package heartbeat

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
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
