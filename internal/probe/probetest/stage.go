package probetest

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// Make starts an engine on the transport. It is called inside a bubble and ends the engine with t (t.Context,
// t.Cleanup).
type Make func(t *testing.T, transport probe.Transport) probe.Engine

// stage is one story's world: an engine, its transport, and what a diligent reader has heard.
type stage struct {
	t      *testing.T
	net    *Transport
	engine probe.Engine

	mu    sync.Mutex
	edges []probe.Edge
	marks []mark
}

// mark is a watermark and when it was read.
type mark struct {
	probe.Watermark
	read time.Time
}

func newStage(t *testing.T, mk Make) *stage {
	x := NewTransport()
	return &stage{t: t, net: x, engine: mk(t, x)}
}

// listen starts the reader.
func (s *stage) listen() {
	// Owned by the story; it ends with the story's context.
	go func() {
		for {
			select {
			case r := <-s.engine.Reports():
				s.hear(r)
			case <-s.t.Context().Done():
				return
			}
		}
	}()
}

func (s *stage) hear(r probe.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Edge != nil {
		s.edges = append(s.edges, *r.Edge)
	}
	if r.Watermark != nil {
		s.marks = append(s.marks, mark{*r.Watermark, time.Now()})
	}
}

// pass lets time pass and everything settle.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *stage) heard() []probe.Edge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.edges)
}

func (s *stage) heardOf(id probe.ID) []probe.Edge {
	return slices.DeleteFunc(s.heard(), func(e probe.Edge) bool { return e.ID != id })
}

func (s *stage) marksRead() []mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.marks)
}

// now returns the target's state among all.
func (s *stage) now(id probe.ID) probe.Edge {
	s.t.Helper()
	for _, e := range s.engine.Standings() {
		if e.ID == id {
			return e
		}
	}
	s.t.Fatalf("%v is not among the standings", id)
	return probe.Edge{}
}

// stands checks the target's state among all, as "up ok", and returns it.
func (s *stage) stands(name string, id probe.ID, want string) probe.Edge {
	s.t.Helper()
	e := s.now(id)
	if got := string(e.Standing) + " " + string(e.Result); got != want {
		s.t.Errorf("%s: %s (%s), want %s", name, got, e.Detail, want)
	}
	return e
}

// told checks the standings and reasons of the target's edges so far, as "up ok".
func (s *stage) told(id probe.ID, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.heardOf(id) {
		got = append(got, fmt.Sprintf("%s %s", e.Standing, e.Result))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("edges of %v:\n got %q\nwant %q", id, got, want)
	}
}

// fold applies all edges heard, as an owner does.
func (s *stage) fold() map[probe.ID]probe.Edge {
	state := make(map[probe.ID]probe.Edge)
	for _, e := range s.heard() {
		state[e.ID] = e
	}
	return state
}

// address returns the n-th address of the stage.
func address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) //nolint:gosec // a few thousand at most
}

// pinged returns a target for the n-th machine: ping every 5 s with 1 s to answer, down after 3, up after 1.
func pinged(n int) probe.Target {
	return probe.Target{
		ID:      probe.ID{Machine: fleet.Name("web").Machine(n), Check: "alive"},
		Address: address(n),
		Epoch:   1,
		Spec: &policy.Check{
			Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3,
			UpAfter: 1,
		},
	}
}

// paged is as pinged, with http.
func paged(n int, scheme string) probe.Target {
	t := pinged(n)
	t.Spec.Kind, t.Spec.Port, t.Spec.HTTP = policy.CheckHTTP, 80, policy.HTTPCheck{Scheme: scheme, Path: "/"}
	return t
}

const moment = time.Millisecond

// answers follows a pattern's letters: o succeeds, f is refused, s is silent, l fails on our side. Each takes a moment:
// an edge that Set makes and one of the first result would be merged if both came at one instant.
func answers(pattern string) []Answer {
	script := make([]Answer, 0, len(pattern))
	for _, c := range pattern {
		switch c {
		case 'o':
			script = append(script, Answer{After: moment})
		case 'f':
			script = append(script, Answer{After: moment, Err: syscall.ECONNREFUSED})
		case 's':
			script = append(script, Silent())
		case 'l':
			script = append(script, Answer{After: moment, Err: probe.LocalError{Err: syscall.EMFILE}})
		default:
			panic("no such answer: " + string(c))
		}
	}
	return script
}
