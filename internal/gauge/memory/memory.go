// Package memory is a source of metrics that exists in memory only: the twin of the real ones, for tests.
//
// It promises to pass the exam of package gaugetest, to fail on demand, and to hold no lock while it waits.
package memory

import (
	"context"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/gauge"
)

// Source has one metric. The zero value has no value.
type Source struct {
	mu      sync.Mutex
	reading gauge.Reading
	err     error
	hangs   bool
	asked   int
}

var _ gauge.Reader = (*Source)(nil)

// Say has it say this from now on.
func (s *Source) Say(r gauge.Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading, s.err = r, nil
}

// Fail has each reading fail from now on; nil: none.
func (s *Source) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Hang has each reading last until its context ends, from now on.
func (s *Source) Hang() { s.hang(true) }

// Wake ends that.
func (s *Source) Wake() { s.hang(false) }

func (s *Source) hang(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = is
}

// Asked is how often it was asked.
func (s *Source) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Read implements gauge.Reader.
func (s *Source) Read(ctx context.Context, _ []gauge.Machine) (gauge.Reading, error) {
	s.mu.Lock()
	s.asked++
	r, err, hangs := s.reading, s.err, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return gauge.Reading{}, fault.New(fault.Transient, "memory.read", "", ctx.Err())
	}
	return r, err
}
