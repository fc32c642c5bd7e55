// Package traffic plays a recorded rate of requests at a web service, for tests.
//
// It promises that requests come when the recording has them, whether earlier ones are answered or not, as those of
// many users do.
package traffic

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Trace is how many requests came in each interval.
type Trace struct {
	Begin  time.Time
	Every  time.Duration
	Counts []int
}

//go:embed launch.csv
var launch string

// Launch is what came to a web server of NASA's around a launch: three days in intervals of ten minutes.
func Launch() (Trace, error) { return parse(launch) }

// parse reads lines of time and count; # begins a comment, and the first line names the columns.
func parse(text string) (Trace, error) {
	var t Trace
	var last time.Time
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		from, count, _ := strings.Cut(line, ",")
		if strings.HasPrefix(line, "#") || from == "from" {
			continue
		}
		at, wrongTime := time.Parse("2006-01-02T15:04", from)
		n, wrongCount := strconv.Atoi(count)
		if err := errors.Join(wrongTime, wrongCount); err != nil {
			return t, err
		}
		switch len(t.Counts) {
		case 0:
			t.Begin = at
		case 1:
			t.Every = at.Sub(last)
		}
		last, t.Counts = at, append(t.Counts, n)
	}
	return t, nil
}

// Load is a part of a trace, as it is played.
type Load struct {
	Trace    Trace
	From, To time.Time     // the part
	Length   time.Duration // how long it takes to play it
	Peak     float64       // the requests per second in its busiest interval
}

// Steady is a load that is the same all the time: so many requests per second.
func Steady(perSecond float64, length time.Duration) Load {
	var begin time.Time
	return Load{Trace: Trace{Begin: begin, Every: time.Hour, Counts: []int{1, 1}}, From: begin,
		To: begin.Add(2 * time.Hour), Length: length, Peak: perSecond}
}

// Moment is the time in the trace that is played after so long.
func (l Load) Moment(after time.Duration) time.Time {
	part := float64(after) / float64(l.Length)
	return l.From.Add(time.Duration(part * float64(l.To.Sub(l.From))))
}

// After is when the time in the trace is played.
func (l Load) After(moment time.Time) time.Duration {
	part := float64(moment.Sub(l.From)) / float64(l.To.Sub(l.From))
	return time.Duration(part * float64(l.Length))
}

// Rate is how many requests per second come after so long: those of an interval in its middle, and in between what lies
// in between.
func (l Load) Rate(after time.Duration) float64 {
	busiest := 0
	for i, n := range l.Trace.Counts {
		middle := l.Trace.Begin.Add(time.Duration(i)*l.Trace.Every + l.Trace.Every/2)
		if middle.After(l.From) && middle.Before(l.To) {
			busiest = max(busiest, n)
		}
	}
	at := float64(l.Moment(after).Sub(l.Trace.Begin))/float64(l.Trace.Every) - 0.5
	last := len(l.Trace.Counts) - 1
	i := min(max(int(at), 0), last)
	part := min(max(at-float64(i), 0), 1)
	here, next := float64(l.Trace.Counts[i]), float64(l.Trace.Counts[min(i+1, last)])
	return (here + part*(next-here)) * l.Peak / float64(max(busiest, 1))
}

const (
	// beat is how often it is looked whether requests are due.
	beat = 5 * time.Millisecond
	// atOnce is how many requests may be under way; further ones have failed.
	atOnce = 400
	// waits is how long a user waits for an answer.
	waits = 5 * time.Second
)

// Users are those who send the requests, and what they got.
type Users struct {
	Client *http.Client // nil: one for them

	mu    sync.Mutex
	tally Tally
}

// Tally is what users got so far.
type Tally struct {
	Sent, Answered, Failed int
	Waited                 time.Duration // for answers, all of them together
	Last                   error         // why the last one failed
}

// Tally returns it.
func (u *Users) Tally() Tally {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tally
}

// Play sends the load's requests for the page until all are sent, or the context ends, and waits for the answers.
func (u *Users) Play(ctx context.Context, l Load, page string) {
	if u.Client == nil {
		u.Client = &http.Client{Timeout: waits, Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
		defer u.Client.CloseIdleConnections()
	}
	var under sync.WaitGroup
	defer under.Wait()
	places := make(chan struct{}, atOnce)
	begin, before, due := time.Now(), time.Duration(0), 0.0
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for before < l.Length {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := min(time.Since(begin), l.Length)
		due += l.Rate(now) * (now - before).Seconds()
		before = now
		for ; due >= 1; due-- {
			select {
			case places <- struct{}{}:
				under.Go(func() {
					u.ask(context.WithoutCancel(ctx), page)
					<-places
				})
			default:
				u.count(0, errors.New("too many requests wait"))
			}
		}
	}
}

// ask sends one request, and counts what came of it.
func (u *Users) ask(ctx context.Context, page string) {
	begin := time.Now()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
	if err != nil {
		u.count(0, err)
		return
	}
	a, err := u.Client.Do(q)
	if err == nil {
		_ = a.Body.Close() // its status says all
		if a.StatusCode != http.StatusOK {
			err = fmt.Errorf("the answer is %s", a.Status)
		}
	}
	u.count(time.Since(begin), err)
}

func (u *Users) count(waited time.Duration, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tally.Sent++
	u.tally.Waited += waited
	if err != nil {
		u.tally.Failed++
		u.tally.Last = err
		return
	}
	u.tally.Answered++
}
