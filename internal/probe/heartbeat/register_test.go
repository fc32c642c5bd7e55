package heartbeat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
)

// stage is a probe engine that waits for the beats of machines, in virtual time, and what a diligent reader was told.
type stage struct {
	t         *testing.T
	token     fleet.Secret
	attention *attention
	register  *Register
	engine    *netprobe.Engine

	mu    sync.Mutex
	edges map[probe.ID][]string
}

// play runs a story on a stage on which hale listens from the beginning.
func play(t *testing.T, story func(s *stage)) {
	t.Helper()
	token := tokenFile(t, "token")
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, token: token, attention: newAttention(), edges: map[probe.ID][]string{}}
		s.attention.gain(time.Now())
		s.register = newRegister("web", s.attention, func() {})
		s.engine = netprobe.New(nil, netprobe.Options{Hearing: s.register})
		ended := make(chan error, 1)
		go func() { ended <- s.engine.Run(t.Context()) }()
		t.Cleanup(func() { <-ended })
		go s.read()
		story(s)
	})
}

// tokenFile keeps a token until the test ends.
func tokenFile(t *testing.T, token string) fleet.Secret {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return fleet.Secret{File: name}
}

func (s *stage) read() {
	for {
		select {
		case r := <-s.engine.Reports():
			if r.Edge != nil {
				s.mu.Lock()
				s.edges[r.Edge.ID] = append(s.edges[r.Edge.ID], fmt.Sprintf("%s %s", r.Edge.Standing, r.Edge.Result))
				s.mu.Unlock()
			}
		case <-s.t.Context().Done():
			return
		}
	}
}

// beating is a target that has to report every 10 s, and has 4 s more; three times nothing is down, once something is
// up.
func (s *stage) beating(n int) probe.Target {
	return probe.Target{
		ID: probe.ID{Machine: fleet.Name("web").Machine(n), Check: "beat"}, Instance: "a", Epoch: 1,
		Spec: &policy.Check{
			Name: "beat", Kind: policy.CheckHeartbeat, Every: 10 * time.Second, Timeout: 4 * time.Second, DownAfter: 3,
			UpAfter: 1, Heartbeat: policy.HeartbeatCheck{Token: s.token},
		},
	}
}

// beats lets the machine report every ten seconds: o says that it is well, x that it is not, and at a point it says
// nothing.
func (s *stage) beats(t probe.Target, pattern string) {
	for _, c := range pattern {
		if c != '.' {
			s.register.hear(t.ID, probe.Beat{At: time.Now(), OK: c == 'o', Detail: "disk full"})
		}
		s.pass(10 * time.Second)
	}
}

func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// told checks the target's edges since the last time.
func (s *stage) told(t probe.Target, want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.edges[t.ID]; !slices.Equal(got, want) {
		s.t.Errorf("edges of %v:\n got %q\nwant %q", t.ID, got, want)
	}
	delete(s.edges, t.ID)
}

func (s *stage) now(t probe.Target) probe.Edge {
	for _, e := range s.engine.Standings() {
		if e.ID == t.ID {
			return e
		}
	}
	s.t.Fatalf("%v is not watched", t.ID)
	return probe.Edge{}
}

// TestStories: what is heard, and what is not, is counted as with any other check; what might not have been heard is
// not.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(s *stage){
		"a machine that reports is up":                                 reports,
		"three times nothing is down, and one report is up again":      rows,
		"three within five":                                            window,
		"a machine that says that it is not well":                      notWell,
		"unknown until the first report":                               firstReport,
		"a machine that never reports, as others do, is down at last":  neverReports,
		"unknown where no machine ever reported":                       noneReports,
		"silence means nothing while hale does not listen":             gap,
		"silence means nothing while hale cannot read the token":       unreadable,
		"a report that could not be taken is no silence":               refused,
		"what an older instance said does not count":                   olderInstance,
		"a look waits for a report, and believes one that came lately": looks,
		"what is removed falls silent":                                 removed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, story)
		})
	}
}

func reports(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "oooooo")
	s.told(a, "up ok")
}

func rows(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "oo.oo..oo....")
	s.told(a, "up ok", "failing timeout", "up ok", "failing timeout", "up ok", "failing timeout", "down timeout")
	if e := s.now(a); e.Detail == "" {
		s.t.Error("it is not said when the last report came")
	}
	s.beats(a, "o")
	s.told(a, "up ok")
}

func window(s *stage) {
	a := s.beating(1)
	a.Spec.DownIn = 5
	s.engine.Set(a)
	s.beats(a, "oox.ox.ox.oo")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.edges[a.ID], func(e string) bool { return e == "down status" || e == "down timeout" }) {
		s.t.Errorf("edges are %q, and none is down", s.edges[a.ID])
	}
}

func notWell(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "oxxxxo")
	s.told(a, "up ok", "failing status", "down status", "up ok")
}

// firstReport: a machine that may only now come up is not down for as long as would make it down.
func firstReport(s *stage) {
	a, other := s.beating(1), s.beating(2)
	s.engine.Set(a, other)
	s.register.hear(other.ID, probe.Beat{At: time.Now(), OK: true})
	s.pass(grace(a.Spec) - a.Spec.Timeout)
	if e := s.now(a); e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultLocal {
		s.t.Errorf("it is %s %s (%s)", e.Standing, e.Result, e.Detail)
	}
	s.beats(a, "o")
	if e := s.now(a); e.Standing != fleet.StandingUp {
		s.t.Errorf("after the first report it is %s %s", e.Standing, e.Result)
	}
}

func neverReports(s *stage) {
	a, other := s.beating(1), s.beating(2)
	s.engine.Set(a, other)
	s.beats(other, "o")
	s.pass(2*grace(a.Spec) + a.Spec.Every)
	if e := s.now(a); e.Standing != fleet.StandingDown || e.Result != fleet.ResultTimeout ||
		e.Detail != "no heartbeat has come yet" {
		s.t.Errorf("it is %s %s (%s)", e.Standing, e.Result, e.Detail)
	}
}

// noneReports: they may all report to another hale, as after a take-over.
func noneReports(s *stage) {
	a, b := s.beating(1), s.beating(2)
	s.engine.Set(a, b)
	s.pass(10 * grace(a.Spec))
	for _, t := range []probe.Target{a, b} {
		if e := s.now(t); e.Standing != fleet.StandingUnknown || e.Result != fleet.ResultLocal {
			s.t.Errorf("%s is %s %s (%s)", t.Machine, e.Standing, e.Result, e.Detail)
		}
	}
}

// gap: the machine reports all the time, and hale does not hear it for a minute. Neither then nor right afterwards it
// is to blame.
func gap(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "oo")
	s.told(a, "up ok")
	s.attention.lose(errors.New("deaf"))
	s.pass(time.Minute)
	s.attention.gain(time.Now())
	s.pass(9 * time.Second) // the machine's next report is due in a second
	s.beats(a, "ooo")
	for _, e := range s.edges[a.ID] {
		if e != "unknown late" && e != "unknown local" && e != "up ok" {
			s.t.Errorf("it was %s", e)
		}
	}
	s.attention.lose(errors.New("deaf"))
	s.attention.gain(time.Now())
	s.pass(2 * time.Minute)
	if e := s.now(a); e.Standing != fleet.StandingDown {
		s.t.Errorf("silent while hale listens again, it is %s %s (%s)", e.Standing, e.Result, e.Detail)
	}
}

func unreadable(s *stage) {
	a := s.beating(1)
	a.Spec.Heartbeat.Token = fleet.Secret{File: "/nonexistent/token"}
	s.engine.Set(a)
	s.beats(a, "o........")
	if e := s.now(a); e.Standing != fleet.StandingUp && e.Standing != fleet.StandingUnknown {
		s.t.Errorf("it is %s %s (%s)", e.Standing, e.Result, e.Detail)
	}
}

// refused: hale could not read the token each time when a report came.
func refused(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "o")
	for range 8 {
		s.register.miss("beat", time.Now(), errors.New("the secret of token cannot be read"))
		s.pass(10 * time.Second)
	}
	if e := s.now(a); e.Standing == fleet.StandingDown || e.Standing == fleet.StandingFailing {
		s.t.Errorf("it is %s %s (%s)", e.Standing, e.Result, e.Detail)
	}
}

func olderInstance(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "oo")
	s.told(a, "up ok")
	a.Instance, a.Epoch = "b", 2
	s.engine.Set(a)
	s.pass(time.Second)
	if e := s.now(a); e.Standing != fleet.StandingUnknown {
		s.t.Errorf("the new instance is %s %s (%s) by what the old one said", e.Standing, e.Result, e.Detail)
	}
	s.beats(a, "o")
	if e := s.now(a); e.Standing != fleet.StandingUp || e.Epoch != 2 {
		s.t.Errorf("it is %s in epoch %d", e.Standing, e.Epoch)
	}
}

func looks(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	look := func(want fleet.Standing) {
		s.t.Helper()
		if got := s.engine.Look(s.t.Context(), a); got.Standing != want {
			s.t.Errorf("a look says %s %s (%s), want %s", got.Standing, got.Result, got.Detail, want)
		}
	}
	look(fleet.StandingUnknown)
	s.beats(a, "oo") // the last one is ten seconds old
	look(fleet.StandingDown)
	s.register.hear(a.ID, probe.Beat{At: time.Now(), OK: true})
	look(fleet.StandingUp)
	s.register.hear(a.ID, probe.Beat{At: time.Now()})
	look(fleet.StandingDown)
	s.pass(10 * time.Second)
	go func() {
		<-time.After(2 * time.Second)
		s.register.hear(a.ID, probe.Beat{At: time.Now(), OK: true})
	}()
	look(fleet.StandingUp)
	a.Epoch = 2
	look(fleet.StandingUnknown)
}

func removed(s *stage) {
	a := s.beating(1)
	s.engine.Set(a)
	s.beats(a, "o")
	s.told(a, "up ok")
	s.engine.Remove(a.ID)
	if s.register.hear(a.ID, probe.Beat{At: time.Now(), OK: true}) {
		s.t.Error("a removed target still takes reports")
	}
	s.pass(2 * time.Minute)
	s.told(a)
}

// TestDetectionTakesNoLongerThanTheory: interval x threshold + timeout from when the first missing report was due.
func TestDetectionTakesNoLongerThanTheory(t *testing.T) {
	t.Parallel()
	play(t, func(s *stage) {
		for n := range 50 {
			a := s.beating(n)
			s.engine.Set(a)
			go func() {
				<-time.After(time.Duration(n) * 200 * time.Millisecond)
				for range 3 {
					s.register.hear(a.ID, probe.Beat{At: time.Now(), OK: true})
					<-time.After(a.Spec.Every)
				}
			}()
		}
		s.pass(45 * time.Second)
		begun := time.Now().Add(-45 * time.Second)
		s.pass(time.Minute)
		for n := range 50 {
			a := s.beating(n)
			due := begun.Add(time.Duration(n)*200*time.Millisecond + 3*a.Spec.Every)
			e := s.now(a)
			if took := e.At.Sub(due); e.Standing != fleet.StandingDown || took > 3*a.Spec.Every+a.Spec.Timeout ||
				took < 2*a.Spec.Every {
				t.Errorf("%s is %s, %v after the first missing report was due", a.Machine, e.Standing, took)
			}
		}
	})
}

// TestSelfTest: only tests in time, and that succeed, keep the attention.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	at := begun.Add
	for name, c := range map[string]struct {
		last, now time.Duration
		err       error
		since     time.Duration // -1: it does not listen
	}{
		"in time":       {10 * time.Second, 10*time.Second + testEvery, nil, 0},
		"a little late": {10 * time.Second, 10*time.Second + testEvery + heldUp, nil, 0},
		"held up": {10 * time.Second, 10*time.Second + testEvery + heldUp + 1, nil,
			10*time.Second + testEvery + heldUp + 1},
		"it hears nothing":    {10 * time.Second, 10*time.Second + testEvery, errors.New("refused"), -1},
		"held up and nothing": {10 * time.Second, time.Minute, errors.New("refused"), -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(nil, nil)
			r.attention.gain(begun)
			r.judge(at(c.last), at(c.now), c.err)
			since, err := r.attention.span()
			if (err != nil) != (c.since < 0) || err == nil && !since.Equal(at(c.since)) {
				t.Errorf("it listens since %v, %v", since.Sub(begun), err)
			}
		})
	}
}

// FuzzReport: whatever a machine writes, it is one of the two things that it may say, or refused.
func FuzzReport(f *testing.F) {
	for _, body := range []string{
		"", "\n", `{"ok":true}`, `{"ok":false,"detail":"disk full"}`, `{"ok":true}{}`, `{"detail":"x"}`, `{"ok":"no"}`,
		"\x00", `[]`, `null`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ok, detail, err := parseReport(body)
		switch {
		case err != nil && (ok || detail != ""):
			t.Errorf("%q is refused, and says %v %q", body, ok, detail)
		case err == nil && len(detail) > 3*len(body)+3: // a byte that is no text is written as three
			t.Errorf("%q says %q", body, detail)
		}
	})
}
