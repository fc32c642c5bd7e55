package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hale/api"
)

// TestEyesInAStorm plays three vantages, hale and two satellites, of which two must agree. At random each loses sight
// of single machines, and satellites stand still or are cut off from hale. A healthy machine is judged unhealthy, or
// powered off, only while two vantages do not see it, and the word of both still counts (L4). In the end all machines
// are healthy, and each is there once.
//
// HALE_EYES is for how long, HALE_EYES_SEED the dice, and HALE_EYES_PROGRAM another hale. The short form takes ten
// seconds.
func TestEyesInAStorm(t *testing.T) {
	t.Parallel()
	lasts, seed := 10*time.Second, uint64(time.Now().UnixNano())
	var err error
	if is := os.Getenv("HALE_EYES"); is != "" {
		if lasts, err = time.ParseDuration(is); err != nil {
			t.Fatalf("HALE_EYES=%s: %v", is, err)
		}
	}
	if is := os.Getenv("HALE_EYES_SEED"); is != "" {
		if seed, err = strconv.ParseUint(is, 10, 64); err != nil {
			t.Fatalf("HALE_EYES_SEED=%s: %v", is, err)
		}
	}
	t.Logf("seed %d, for %v", seed, lasts)
	e := &eyes{sky: riseWith(t, os.Getenv("HALE_EYES_PROGRAM")), dice: rand.New(rand.NewPCG(seed, 2)),
		blind: map[sight]string{}, still: map[string]bool{}, cut: map[string]bool{}}
	stop := e.listenTo()
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		e.turn()
		pause(t.Context(), time.Duration(e.dice.Int64N(int64(1500*time.Millisecond))))
	}
	e.calm()
	verdicts := stop()
	e.judge(verdicts)
}

// eyes is what happens to hale's sight and that of its satellites.
type eyes struct {
	*sky
	dice  *rand.Rand
	blind map[sight]string // what each does not see, with where that was then
	still map[string]bool  // the satellites that stand still
	cut   map[string]bool  // and those that do not reach hale
	past  []glance         // in order of their beginnings
	open  map[sight]time.Time
	turns int
}

// sight is one of the three, and what it looks at.
type sight struct{ eye, machine string }

// glance is a time in which one of the three did not see the machine, ran, and spoke to hale.
type glance struct {
	sight
	from, to time.Time
}

const (
	agree    = 2
	staleFor = 3 * time.Second // stale_after in the file
	// slack is the time after a vote until the machine is judged and that is written down. A vantage that sees the
	// machine again says so after two good answers.
	slack = 4 * time.Second
)

// turn has something happen, or end. Of the three machines one is left in peace, so that never all fail at once, which
// is the brake's business.
func (e *eyes) turn() {
	e.turns++
	before := time.Now()
	eye := []string{"hale", "ams", "fra"}[e.dice.IntN(3)]
	switch n := e.dice.IntN(10); {
	case n < 6 || eye == "hale":
		at := sight{eye, fmt.Sprintf("f0-%d", 1+e.dice.IntN(2))}
		if _, is := e.blind[at]; is {
			delete(e.blind, at)
		} else {
			e.blind[at] = e.addressOf(at.machine)
		}
		e.rule()
	case n < 8:
		signal := syscall.SIGSTOP
		if e.still[eye] {
			signal = syscall.SIGCONT
		}
		e.still[eye] = !e.still[eye]
		e.must(e.eyes[eye].Process.Signal(signal))
	default:
		e.cut[eye] = !e.cut[eye]
		e.rule()
	}
	e.note(before, time.Now())
}

// rule lays what is blind and cut into the way, in one step.
func (e *eyes) rule() {
	rules := []string{"flush table ip way"}
	for at, address := range e.blind {
		if address != "" {
			rules = append(rules, fmt.Sprintf("add rule ip way in iifname %s ip daddr %s drop", at.eye, address))
		}
	}
	for eye, is := range e.cut {
		if is {
			rules = append(rules, fmt.Sprintf("add rule ip way through iifname %s drop", eye))
		}
	}
	e.networks.inside(field, "nft", strings.Join(rules, "; "))
}

// note writes down who does not see what from now on, and says so. What changed did between the two times.
func (e *eyes) note(before, after time.Time) {
	if e.open == nil {
		e.open = map[sight]time.Time{}
	}
	for _, eye := range []string{"hale", "ams", "fra"} {
		for _, machine := range []string{"f0-1", "f0-2", "f0-3"} {
			at := sight{eye, machine}
			_, blind := e.blind[at]
			since, was := e.open[at]
			switch speaks := blind && !e.still[eye] && !e.cut[eye]; {
			case speaks && !was:
				e.open[at] = before
			case !speaks && was:
				e.past = append(e.past, glance{at, since, after})
				delete(e.open, at)
			}
		}
	}
}

// calm ends all that, and waits until all is well.
func (e *eyes) calm() {
	before := time.Now()
	clear(e.blind)
	clear(e.cut)
	e.mend()
	for eye, is := range e.still {
		if is {
			e.must(e.eyes[eye].Process.Signal(syscall.SIGCONT))
		}
	}
	clear(e.still)
	e.note(before, time.Now())
	e.await("all is well", func(st api.Status) bool { return allHealthy(e.ending)(st) && len(st.Troubles) == 0 })
	e.wantEachOnce()
}

// listenTo takes in the verdicts that hale writes down, until it is stopped.
func (e *eyes) listenTo() (stop func() []api.Event) {
	ctx, cancel := context.WithCancel(e.Context())
	var all []api.Event
	var listening sync.WaitGroup
	listening.Go(func() {
		q := api.EventsQuery{Kinds: []string{"verdict"}, Follow: true}
		for ev, err := range e.client.Events(ctx, q) {
			if err == nil {
				all = append(all, ev)
			} else if ctx.Err() == nil {
				e.Errorf("hale's verdicts: %v", err)
			}
		}
	})
	return func() []api.Event {
		cancel()
		listening.Wait()
		return all
	}
}

// judge compares what hale judged and did with what could be seen.
func (e *eyes) judge(verdicts []api.Event) {
	judged := 0
	for _, v := range verdicts {
		if v.Verdict != "unhealthy" || v.Was != "healthy" && v.Was != "suspect" {
			continue // that a new machine does not become healthy in time is nothing that was seen
		}
		judged++
		e.want(v.Machine, v.At, v.Text+" "+v.Detail)
	}
	ordered := 0
	for _, line := range e.ordered() {
		var at, pid int64
		var what, id, machine string
		if _, err := fmt.Sscan(line, &at, &pid, &what, &id, &machine); err != nil {
			e.Fatalf("call %q: %v", line, err)
		}
		if what == "power-off" {
			ordered++
			e.want(machine, time.Unix(0, at), line)
		}
	}
	e.Logf("%d turns, %d machines were judged unhealthy, %d powered off", e.turns, judged, ordered)
}

func (e *eyes) want(machine string, at time.Time, what string) {
	e.Helper()
	if who := against(e.past, machine, at); len(who) < agree {
		e.Errorf("L4: of %s only %v could say that it is down: %s %s", machine, who, at.Format(time.StampMilli), what)
	}
}

// against is who did not see the machine, and whose word still counts.
func against(past []glance, machine string, at time.Time) []string {
	var who []string
	for _, g := range past {
		if g.machine == machine && !g.from.After(at) && g.to.Add(staleFor+slack).After(at) &&
			!slices.Contains(who, g.eye) {
			who = append(who, g.eye)
		}
	}
	slices.Sort(who)
	return who
}

// The judge itself: whose word counts, and for how long.
func TestWhoseWordCounts(t *testing.T) {
	t.Parallel()
	at := func(s float64) time.Time { return time.Unix(0, int64(s*float64(time.Second))) }
	past := []glance{{sight{"hale", "f0-1"}, at(10), at(30)}, {sight{"ams", "f0-1"}, at(5), at(12)},
		{sight{"fra", "f0-2"}, at(10), at(30)}}
	for when, want := range map[float64]string{4: "[]", 6: "[ams]", 11: "[ams hale]", 18.9: "[ams hale]",
		19.1: "[hale]", 38: "[]"} {
		if who := fmt.Sprint(against(past, "f0-1", at(when))); who != want {
			t.Errorf("after %v s %s could say so, want %s", when, who, want)
		}
	}
}
