package quorum_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
	"hale/internal/probe/quorum"
)

// panel are satellites that say what a test has them say.
type panel struct {
	mu      sync.Mutex
	votes   map[probe.ID][]quorum.Vote
	dirty   []probe.ID
	changed chan struct{}
	looks   []quorum.Vote
	mute    bool // a look gets no answer
	set     []probe.Target
}

func newPanel() *panel {
	return &panel{votes: map[probe.ID][]quorum.Vote{}, changed: make(chan struct{}, 1)}
}

func (p *panel) Set(targets ...probe.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = append(p.set, targets...)
	for _, t := range targets {
		delete(p.votes, t.ID)
	}
}

func (p *panel) Remove(ids ...probe.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = slices.DeleteFunc(p.set, func(t probe.Target) bool { return slices.Contains(ids, t.ID) })
}

func (p *panel) Votes(id probe.ID) []quorum.Vote {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.votes[id])
}

func (p *panel) Changed() <-chan struct{} { return p.changed }

func (p *panel) Heed() []probe.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.dirty = nil }()
	return p.dirty
}

func (p *panel) Look(ctx context.Context, _ probe.Target) <-chan quorum.Vote {
	out := make(chan quorum.Vote, len(p.looks))
	for _, v := range p.looks {
		out <- v
	}
	if p.mute {
		context.AfterFunc(ctx, func() { close(out) })
	} else {
		close(out)
	}
	return out
}

func (p *panel) Close() {}

// says has the satellites ams and fra say it, for so long.
func (p *panel) says(id probe.ID, lasts time.Duration, ams, fra fleet.Standing) {
	p.mu.Lock()
	until := time.Now().Add(lasts)
	p.votes[id] = []quorum.Vote{vote("ams", ams, until), vote("fra", fra, until)}
	p.dirty = append(p.dirty, id)
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
	synctest.Wait()
}

func vote(name string, s fleet.Standing, until time.Time) quorum.Vote {
	v := quorum.Vote{Vantage: name, Standing: s, Result: fleet.ResultTimeout, Until: until}
	if s == fleet.StandingUp {
		v.Result = fleet.ResultOK
	}
	return v
}

// begin runs an engine until the test ends.
func begin(t *testing.T, transport probe.Transport, p quorum.Panel) *quorum.Engine {
	t.Helper()
	e := quorum.New("hale", netprobe.New(transport, netprobe.Options{}), p)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	return e
}

// Where a check has one vantage, the engine is as good as the server's own.
func TestExam(t *testing.T) {
	t.Parallel()
	probetest.Run(t, func(t *testing.T, transport probe.Transport) probe.Engine {
		return begin(t, transport, newPanel())
	})
}

// shared is a machine that three vantages ping, of which two must agree.
func shared(epoch uint64) probe.Target {
	return probe.Target{
		ID: probe.ID{Machine: "web-1", Check: "alive"}, Address: netip.MustParseAddr("10.0.0.1"), Epoch: epoch,
		Spec: &policy.Check{Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second,
			DownAfter: 2, UpAfter: 1, Sight: policy.Sight{Vantages: 3, Agree: 2, StaleAfter: 5 * time.Second}},
	}
}

// tale is an engine, and who listens to it.
type tale struct {
	t      *testing.T
	net    *probetest.Transport
	panel  *panel
	engine *quorum.Engine

	mu    sync.Mutex
	edges []probe.Edge
	marks []time.Time
}

func tell(t *testing.T) *tale {
	t.Helper()
	a := &tale{t: t, net: probetest.NewTransport(), panel: newPanel()}
	a.engine = begin(t, a.net, a.panel)
	go func() {
		for {
			select {
			case r := <-a.engine.Reports():
				a.mu.Lock()
				if r.Edge != nil {
					a.edges = append(a.edges, *r.Edge)
				} else {
					a.marks = append(a.marks, r.Watermark.At)
				}
				a.mu.Unlock()
			case <-t.Context().Done():
				return
			}
		}
	}()
	return a
}

// is wants the target's standing, as Standings and the last edge have it.
func (a *tale) is(when, want string) {
	a.t.Helper()
	synctest.Wait()
	e := a.engine.Standings()[0]
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := string(e.Standing) + " " + string(e.Result); got != want {
		a.t.Errorf("%s it is %s (%s), want %s", when, got, e.Detail, want)
	}
	if last := a.edges[len(a.edges)-1]; last != e {
		a.t.Errorf("%s the last edge is %+v, and it stands %+v", when, last, e)
	}
}

const up, down = fleet.StandingUp, fleet.StandingDown

// A machine that hale does not see, and two satellites do, is up. When one of these does not see it either, it is
// down. When both fall silent, it is neither, since their word is too old to agree.
func TestOneOfThreeDoesNotSeeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := tell(t)
		target := shared(1)
		a.net.Script(target.Address, probetest.Silent())
		a.engine.Set(target)
		a.panel.says(target.ID, time.Hour, up, up)
		time.Sleep(time.Minute)
		a.is("seen by two", "up elsewhere")
		a.panel.says(target.ID, time.Hour, up, down)
		a.is("seen by one", "down timeout")
		a.panel.says(target.ID, 5*time.Second, up, down)
		time.Sleep(4 * time.Second)
		a.is("while their word counts", "down timeout")
		time.Sleep(2 * time.Second)
		a.is("when it counts no more", "unknown not-agreed")
	})
}

// No watermark leaves before what counts no more is taken back: an owner that reads edges in their order never holds
// an agreement for fresh that rests on a satellite that is silent.
func TestAWatermarkIsBehindWhatLapsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := tell(t)
		target := shared(1)
		a.net.Script(target.Address, probetest.Silent())
		a.engine.Set(target)
		time.Sleep(20 * time.Second)
		until := time.Now().Add(1500 * time.Millisecond)
		a.panel.says(target.ID, 1500*time.Millisecond, down, down)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		last := a.edges[len(a.edges)-1]
		next := slices.IndexFunc(a.marks, func(at time.Time) bool { return !at.Before(until) })
		if last.Standing != fleet.StandingUnknown || next < 0 || last.At.After(a.marks[next]) {
			t.Errorf("it lapsed at %v: %+v; watermarks %v", until, last, a.marks)
		}
	})
}

// What satellites said in one epoch has no part in the next one.
func TestAnEpochBeginsWithoutTheVotesOfTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := tell(t)
		a.net.Script(shared(1).Address, probetest.Silent())
		a.engine.Set(shared(1))
		a.panel.says(shared(1).ID, time.Hour, down, down)
		a.is("in the first epoch", "down timeout")
		a.engine.Set(shared(2))
		time.Sleep(time.Minute)
		synctest.Wait()
		a.mu.Lock()
		for _, e := range a.edges {
			if e.Epoch == 2 && e.Standing != fleet.StandingUnknown {
				t.Errorf("by the server alone it is %+v", e)
			}
		}
		a.mu.Unlock()
		a.is("by the server alone", "unknown not-agreed")
		a.engine.Remove(shared(2).ID)
		if left := a.engine.Standings(); len(left) != 0 || len(a.panel.set) != 0 {
			t.Errorf("%+v and %+v are left", left, a.panel.set)
		}
	})
}

// A look confirms what as many find that must agree. One that is silent is waited for only as long as the panel
// does, and agrees to nothing.
func TestALookIsAgreed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers  string // hale's: s is silent, o answers
		ams, fra fleet.Standing
		mute     bool
		want     string
	}{
		"nobody sees it":               {"s", down, down, false, "down timeout"},
		"hale and one do not":          {"s", down, up, false, "down timeout"},
		"hale alone does not":          {"s", up, up, false, "up elsewhere"},
		"the satellites say nothing":   {"s", "unknown", "unknown", false, "unknown not-agreed"},
		"one says nothing":             {"s", up, "unknown", false, "unknown not-agreed"},
		"hale alone sees it":           {"o", down, down, false, "down timeout"},
		"all see it":                   {"o", up, up, false, "up ok"},
		"settled, whoever is silent":   {"s", down, down, true, "down timeout"},
		"one sees it, and none denies": {"o", "unknown", "unknown", false, "up elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := tell(t)
				answer := probetest.Silent()
				if c.answers == "o" {
					answer = probetest.Answer{After: time.Millisecond}
				}
				a.net.Script(shared(1).Address, answer)
				a.panel.mute = c.mute
				a.panel.looks = []quorum.Vote{vote("ams", c.ams, time.Time{}), vote("fra", c.fra, time.Time{})}
				is := a.engine.Look(t.Context(), shared(1))
				if got := string(is.Standing) + " " + string(is.Result); got != c.want || is.Check != "alive" {
					t.Errorf("%s (%s), want %s", got, is.Detail, c.want)
				}
			})
		})
	}
}

// broken is an own engine whose look panics.
type broken struct{ quorum.Own }

func (broken) Look(context.Context, probe.Target) fleet.CheckState { panic("a defect") }

// A look that panics says so to who asked, as that of any engine does.
func TestALookThatPanics(t *testing.T) {
	t.Parallel()
	e := quorum.New("hale", broken{}, newPanel())
	defer func() {
		if err, ok := recover().(error); !ok || err.Error() != "a defect: it panicked: a defect" {
			t.Errorf("it panicked with %v", errors.Unwrap(err))
		}
	}()
	e.Look(t.Context(), shared(1))
	t.Error("it returned")
}
