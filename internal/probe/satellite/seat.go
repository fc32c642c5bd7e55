package satellite

import (
	"slices"
	"time"

	"hale/internal/core/policy"
	"hale/internal/probe"
)

// seat is one satellite, as the hub knows it. The hub's mutex guards it.
type seat struct {
	name    string
	server  bool      // of hale's that stands by; else it is a satellite
	left    time.Time // since when that stands by no more; zero: it does
	process string    // the one that reports
	session string    // of that; empty: none ever reported
	begun   time.Time // the session
	heard   time.Time
	stamp   int64     // under the last answer
	asOf    time.Time // what it said is no older
	votes   map[probe.ID]edge
	// list is what it is to look at: each with the number of its last change, and those that it is to look at no more.
	list   map[probe.ID]uint64
	gone   map[probe.ID]uint64
	number uint64 // of the last change
	looks  map[uint64]*asked
	bell   chan struct{}
}

// asked is a look that the satellite is asked for.
type asked struct {
	look
	sent   bool
	answer chan said // has room for it
}

func newSeat(name string, now time.Time) *seat {
	return &seat{name: name, heard: now, votes: map[probe.ID]edge{}, list: map[probe.ID]uint64{},
		gone: map[probe.ID]uint64{}, looks: map[uint64]*asked{}, bell: make(chan struct{}, 1)}
}

// order has it told of the target, anew if it knows it.
func (s *seat) order(id probe.ID) {
	s.number++
	s.list[id] = s.number
	delete(s.gone, id)
	delete(s.votes, id)
	s.ring()
}

// spare has it look at the target no more.
func (s *seat) spare(id probe.ID) {
	s.number++
	s.gone[id] = s.number
	delete(s.list, id)
	delete(s.votes, id)
	s.ring()
}

// ring has it answered, if its report waits.
func (s *seat) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// leave ends the looks that it is asked for.
func (s *seat) leave() {
	for _, a := range s.looks {
		close(a.answer)
	}
	clear(s.looks)
	s.ring()
}

// begin begins a session with a process: it knows nothing, and has said nothing.
func (s *seat) begin(process string, now time.Time) {
	s.process, s.session, s.begun = process, word(), now
	s.asOf, s.stamp = time.Time{}, 0
	clear(s.votes)
	clear(s.gone)
	for _, a := range s.looks {
		a.sent = false
	}
}

// idle reports whether there is nothing to tell one that has the list of the number.
func (s *seat) idle(have uint64) bool {
	if s.number > have {
		return false
	}
	for _, a := range s.looks {
		if !a.sent {
			return false
		}
	}
	return true
}

// change is an entry of the list, or one that left it.
type change struct {
	id     probe.ID
	number uint64
	gone   bool
}

// since returns the oldest changes that one does not have yet, in their order, and the number of the list with them.
func (s *seat) since(have uint64) (out []change, number uint64) {
	if have >= s.number {
		clear(s.gone)
		return nil, s.number
	}
	for id, n := range s.list {
		if n > have {
			out = append(out, change{id, n, false})
		}
	}
	for id, n := range s.gone {
		if n > have {
			out = append(out, change{id, n, true})
		} else {
			delete(s.gone, id)
		}
	}
	slices.SortFunc(out, func(a, b change) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	if len(out) > mostTargets {
		out = out[:mostTargets]
		return out, out[len(out)-1].number
	}
	return out, s.number
}

// onWire is the target as a satellite gets it: what others depend on the check for is none of its business.
func (w *watched) onWire() target {
	spec := *w.Spec
	spec.NotEvery, spec.DependsOn, spec.Sight = nil, nil, policy.Sight{}
	return target{ID: w.ID, Revision: w.revision, Address: w.Address, Spec: &spec}
}
