package probetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"syscall"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

func fromUnknown(s *stage) {
	cases := map[string][]string{
		"oo":    {"up ok"},
		"fff":   {"failing refused", "down refused"},
		"foo":   {"failing refused", "up ok"},
		"ffofo": {"failing refused"}, // never twice up, never thrice down
	}
	n := 0
	ids := make(map[string]probe.ID)
	s.listen()
	for pattern := range cases {
		n++
		a := pinged(n)
		a.Spec.UpAfter = 2
		s.net.Script(a.Address, append(answers(pattern), answers("l")...)...)
		ids[pattern] = a.ID
		s.engine.Set(a)
	}
	s.pass(10 * time.Second * 3)
	for pattern, want := range cases {
		var got []string
		for _, e := range s.heardOf(ids[pattern]) {
			if e.Standing != fleet.StandingUnknown {
				got = append(got, string(e.Standing)+" "+string(e.Result))
			}
		}
		if !slices.Equal(got, want) {
			s.t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

func timeoutInstant(s *stage) {
	s.listen()
	for n, c := range []struct {
		after time.Duration
		want  fleet.Standing
	}{
		{-1, fleet.StandingUp}, {0, fleet.StandingDown}, {1, fleet.StandingDown},
	} {
		a := pinged(n + 1)
		a.Spec.DownAfter = 1
		s.net.Script(a.Address, Answer{After: a.Spec.Timeout + c.after})
		s.engine.Set(a)
		s.pass(2 * a.Spec.Timeout)
		if e := s.now(a.ID); e.Standing != c.want {
			s.t.Errorf("an answer %v from the timeout: %s %s, want %s", c.after, e.Standing, e.Result, c.want)
		}
	}
}

func readTooLate(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, Answer{Deaf: true, After: a.Spec.Timeout + 1}, Answer{})
	s.listen()
	s.engine.Set(a)
	s.pass(2 * time.Minute)
	s.told(a.ID, "unknown late", "up ok")
}

func fixedCadence(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, Answer{}, Answer{After: a.Spec.Timeout - 1}, Silent(), Answer{})
	s.listen()
	set := time.Now()
	s.engine.Set(a)
	s.pass(10 * a.Spec.Every)
	starts := s.net.Starts(a.Address)
	if !starts[0].Equal(set) {
		s.t.Errorf("the first probe came %v after Set", starts[0].Sub(set))
	}
	if gap := starts[1].Sub(starts[0]); gap < a.Spec.Every || gap >= 2*a.Spec.Every {
		s.t.Errorf("the second probe came %v after the first: want at least one interval, and less than two", gap)
	}
	for i := 2; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-1]); gap != a.Spec.Every {
			s.t.Errorf("probe %d came %v after the one before, want %v", i, gap, a.Spec.Every)
		}
	}
}

func spread(s *stage) {
	const n = 1000
	var targets []probe.Target
	for i := range n {
		a := pinged(i + 1)
		a.Spec.Every = 10 * time.Second
		targets = append(targets, a)
	}
	s.listen()
	set := time.Now()
	s.engine.Set(targets...)
	s.pass(time.Second)
	for _, a := range targets {
		if starts := s.net.Starts(a.Address); len(starts) != 1 {
			s.t.Fatalf("%s was probed %d times in the first second", a.Machine, len(starts))
		}
	}
	s.pass(39 * time.Second)
	first := make(map[int]int) // first probes per tenth of a second
	for _, a := range targets {
		first[int(s.net.Starts(a.Address)[0].Sub(set)/(100*time.Millisecond))]++
	}
	for tenth, k := range first {
		if k > n/10*2 {
			s.t.Errorf("%d of %d first probes came in tenth %d of the first second", k, n, tenth)
		}
	}
	perSecond := make([]int, 10)
	for _, a := range targets {
		for _, at := range s.net.Starts(a.Address) {
			if second := int(at.Sub(set) / time.Second); second >= 20 && second < 30 {
				perSecond[second-20]++
			}
		}
	}
	total := 0
	for _, k := range perSecond {
		total += k
		if k < n/10/2 || k > n/10*2 {
			s.t.Errorf("probes in each second of an interval are %v, want about %d", perSecond, n/10)
			break
		}
	}
	if total != n {
		s.t.Errorf("%d probes in one interval, want %d", total, n)
	}
}

func oneLocalError(s *stage) {
	a, b := pinged(1), pinged(2)
	s.net.Script(a.Address, answers("olo")...)
	s.net.Script(b.Address, answers("offlf")...)
	s.listen()
	s.engine.Set(a, b)
	s.pass(2 * time.Minute)
	s.told(a.ID, "up ok")
	s.told(b.ID, "up ok", "failing refused", "down refused")
	edges := s.heardOf(b.ID)
	if got := edges[2].At.Sub(edges[1].At); got != 3*b.Spec.Every {
		s.t.Errorf("down came %v after the first failure, want %v: the third failure, not the local error",
			got, 3*b.Spec.Every)
	}
}

func fading(s *stage) {
	a := pinged(1)
	a.Spec.UpAfter = 2
	s.net.Script(a.Address, append(answers("oo"), answers("l")...)...)
	s.listen()
	s.engine.Set(a)
	s.pass(5 * time.Minute)
	s.told(a.ID, "up ok", "unknown local")
	edges := s.heardOf(a.ID)
	bound := time.Duration(a.Spec.DownAfter)*a.Spec.Every + a.Spec.Timeout
	got := edges[1].At.Sub(edges[0].At)
	if got < bound || got > bound+2*a.Spec.Every {
		s.t.Errorf("unknown came %v after the last answer, want at least %v and not much more", got, bound)
	}
	s.net.Script(a.Address, answers("ffo")...)
	s.pass(2 * a.Spec.Every)
	s.told(a.ID, "up ok", "unknown local", "failing refused")
	s.pass(time.Minute)
	s.told(a.ID, "up ok", "unknown local", "failing refused", "up ok")
}

func deafTransport(s *stage) {
	a, b := pinged(1), pinged(2)
	s.net.Script(a.Address, Answer{}, Answer{Deaf: true, After: time.Hour, Err: syscall.ECONNREFUSED})
	s.listen()
	s.engine.Set(a, b)
	s.pass(10 * time.Minute)
	if e := s.now(a.ID); e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultLate {
		s.t.Errorf("the probe never ends, and the target is %s %s, want unknown late", e.Standing, e.Result)
	}
	s.told(b.ID, "up ok")
	s.net.Script(a.Address, answers("o")...)
	s.pass(2 * time.Hour)
	if e := s.now(a.ID); e.Standing != fleet.StandingUp {
		s.t.Errorf("the probe has ended and its target is %s %s, want up", e.Standing, e.Result)
	}
}

func unchanged(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("off")...)
	s.listen()
	s.engine.Set(a)
	for range 60 {
		s.pass(time.Second)
		s.engine.Set(a)
	}
	synctest.Wait()
	s.told(a.ID, "up ok", "failing refused", "down refused")
	starts := s.net.Starts(a.Address)
	if n := len(starts); n < 11 || n > 13 {
		s.t.Errorf("%d probes in a minute, every 5 s", n)
	}
}

func changedSpec(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("f")...)
	s.listen()
	s.engine.Set(a)
	s.pass(time.Minute)
	spec := *a.Spec
	spec.DownAfter = 2
	a.Spec = &spec
	changed := time.Now()
	s.engine.Set(a)
	s.pass(time.Minute)
	s.told(a.ID, "failing refused", "down refused", "unknown ", "failing refused", "down refused")
	edges := s.heardOf(a.ID)
	if !edges[2].At.Equal(changed) || !edges[3].Due.Equal(changed) {
		s.t.Errorf("changed at %v; unknown at %v, first probe due at %v: want both at once",
			changed, edges[2].At, edges[3].Due)
	}
	for i, e := range edges {
		if e.Seq != uint64(i+1) {
			s.t.Errorf("edge %d has Seq %d", i+1, e.Seq)
		}
	}
}

func newEpoch(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("of")...)
	s.listen()
	s.engine.Set(a)
	s.pass(time.Minute)
	a.Epoch = 2
	s.engine.Set(a)
	s.pass(time.Minute)
	seq := map[uint64]uint64{}
	for _, e := range s.heardOf(a.ID) {
		if seq[e.Epoch]++; e.Seq != seq[e.Epoch] {
			s.t.Errorf("edge %+v: want Seq %d", e, seq[e.Epoch])
		}
	}
	s.told(a.ID, "up ok", "failing refused", "down refused", "unknown ", "failing refused", "down refused")
	if seq[1] != 3 || seq[2] != 3 {
		s.t.Errorf("edges per epoch: %v, want 3 and 3", seq)
	}
}

func edgeFields(s *stage) {
	a := paged(1, "http")
	s.net.Script(a.Address, Status(200), Answer{After: time.Millisecond, Serve: Status(503).Serve}, Silent())
	s.listen()
	s.engine.Set(a)
	s.pass(time.Minute)
	starts, edges := s.net.Starts(a.Address), s.heardOf(a.ID)
	want := []probe.Edge{
		{Seq: 1, Standing: fleet.StandingUp, Was: fleet.StandingUnknown, Result: fleet.ResultOK, At: starts[0]},
		{Seq: 2, Standing: fleet.StandingFailing, Was: fleet.StandingUp, Result: fleet.ResultStatus, Detail: "503",
			At: starts[1].Add(time.Millisecond)},
		{Seq: 3, Standing: fleet.StandingFailing, Was: fleet.StandingFailing, Result: fleet.ResultTimeout,
			At: starts[2].Add(a.Spec.Timeout)},
		{Seq: 4, Standing: fleet.StandingDown, Was: fleet.StandingFailing, Result: fleet.ResultTimeout,
			At: starts[3].Add(a.Spec.Timeout)},
	}
	for i := range want {
		want[i].ID, want[i].Epoch, want[i].Due = a.ID, a.Epoch, starts[i]
	}
	if !reflect.DeepEqual(edges, want) {
		s.t.Errorf("edges:\n got %+v\nwant %+v", edges, want)
	}
}

func watermarks(s *stage) {
	a := pinged(1)
	s.net.Script(a.Address, answers("of")...)
	s.listen()
	s.engine.Set(a)
	s.pass(10 * time.Second)
	marks := s.marksRead()
	if n := len(marks); n < 9 || n > 11 {
		s.t.Errorf("%d watermarks in 10 s", n)
	}
	for i, m := range marks {
		if m.Shards < 1 || m.Shard < 0 || m.Shard >= m.Shards {
			s.t.Errorf("watermark of shard %d of %d", m.Shard, m.Shards)
		}
		if !m.At.Equal(m.read) {
			s.t.Errorf("watermark for %v was read at %v", m.At, m.read)
		}
		if i > 0 && !m.At.After(marks[i-1].At) {
			s.t.Errorf("watermark %d is not after the one before", i)
		}
	}
}

func slowReader(s *stage) {
	const n = 20
	for i := range n {
		a := pinged(i + 1)
		s.net.Script(a.Address, answers("ofofofofof")...)
		s.engine.Set(a)
	}
	s.pass(time.Minute) // the reader is away
	woke := time.Now()
	s.listen()
	synctest.Wait()
	heard := s.heard()
	if len(heard) != n {
		s.t.Errorf("%d reports waited for %d targets, want one each", len(heard), n)
	}
	if marks := s.marksRead(); len(marks) == 0 || woke.Sub(marks[len(marks)-1].At) > 2*time.Second {
		s.t.Errorf("the reader caught up and the watermarks are %v at %v", marks, woke)
	}
	s.pass(time.Minute)
	s.foldIsStandings()
}

func foldEqualsStandings(s *stage) {
	const n = 50
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same story every time
	s.listen()
	live := map[int]probe.Target{}
	for step := range 300 {
		i := dice.IntN(n) + 1
		a, known := live[i]
		if !known {
			a = pinged(i)
			a.Spec.UpAfter = 1 + dice.IntN(2)
		}
		switch change := dice.IntN(4); {
		case !known, change == 0:
			a.Epoch = uint64(step)
		case change == 1:
			a.Address = address(1000 + dice.IntN(1000))
		}
		live[i] = a
		s.net.Script(a.Address, answers([]string{"o", "of", "offo", "fs", "olll", "l"}[dice.IntN(6)])...)
		s.engine.Set(a)
		s.pass(time.Duration(dice.IntN(3000)) * time.Millisecond)
		s.foldIsStandings()
		if s.t.Failed() {
			s.t.Fatalf("at step %d", step)
		}
	}
}

// foldIsStandings compares once everything has settled. Targets without any edge have Seq 0 and are not in the fold.
func (s *stage) foldIsStandings() {
	s.t.Helper()
	synctest.Wait()
	state := s.fold()
	standings := s.engine.Standings()
	if !slices.IsSortedFunc(standings, func(x, y probe.Edge) int {
		return compare(fmt.Sprint(x.Machine, "\x00", x.Check), fmt.Sprint(y.Machine, "\x00", y.Check))
	}) {
		s.t.Error("the standings are not sorted by ID")
	}
	for _, e := range standings {
		if folded, ok := state[e.ID]; ok && folded.Epoch == e.Epoch && folded != e {
			s.t.Errorf("standing %+v\nfold     %+v", e, folded)
		} else if e.Seq > 0 && (!ok || folded != e) {
			s.t.Errorf("standing %+v was never told", e)
		}
	}
}

func compare(x, y string) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
