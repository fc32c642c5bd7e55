package probetest

import (
	"fmt"
	"slices"
	"sync"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// singles gathers what is told of the probes of a machine.
type singles struct {
	mu  sync.Mutex
	all []probe.Single
}

func (l *singles) each(s probe.Single) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

// taken returns them as "ok up", and forgets them.
func (l *singles) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, s := range l.all {
		out = append(out, fmt.Sprintf("%s %s", s.Result, s.Standing))
	}
	l.all = nil
	return out
}

// logged: each probe of the machine is told while it is asked for, with its times, also behind a change of its epoch;
// no other machine's is, and none when that is over.
func logged(s *stage) {
	engine, ok := s.engine.(probe.Logger)
	if !ok {
		s.t.Fatal("the engine tells of no single probes")
	}
	s.listen()
	one, other := pinged(1), pinged(2)
	every := one.Spec.Every
	s.net.Script(one.Address, answers("oooffsoooooooooooooooooooooooooo")...)
	s.net.Script(other.Address, answers("oooooooooooooooooooooooooooooo")...)
	s.engine.Set(one, other)
	s.pass(2*every + every/2) // three probes
	var heard, again singles
	stop := engine.Log(one.Machine, heard.each)
	s.pass(4 * every)
	want := []string{"refused failing", "refused failing", "timeout down"}
	heard.mu.Lock()
	for _, p := range heard.all {
		took := p.Ended.Sub(p.Started)
		if p.ID != one.ID || took < 0 || p.Result == fleet.ResultTimeout && took < one.Spec.Timeout ||
			p.Started.IsZero() {
			s.t.Errorf("a probe is told as %+v", p)
		}
	}
	heard.mu.Unlock()
	if got := heard.taken(); len(got) < 3 || !slices.Equal(got[:3], want) {
		s.t.Errorf("the probes were %q, want %q", got, want)
	}
	stopAgain := engine.Log(one.Machine, again.each)
	one.Epoch++
	s.engine.Set(one)
	s.pass(3 * every)
	first, second := heard.taken(), again.taken()
	if len(first) < 3 || !slices.Equal(first, second) {
		s.t.Errorf("in the next epoch one hears %q, and the other %q", first, second)
	}
	stop()
	stop() // a second time is no harm
	s.pass(2 * every)
	if first, second := heard.taken(), again.taken(); len(first) != 0 || len(second) < 2 {
		s.t.Errorf("one that stopped hears %q, and the other %q", first, second)
	}
	stopAgain()
	s.pass(2 * every)
	if got := again.taken(); len(got) != 0 {
		s.t.Errorf("when all stopped, %q is told", got)
	}
}
