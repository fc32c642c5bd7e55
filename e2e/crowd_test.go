package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/testbed/haproxy"
	"hale/internal/testbed/traffic"
)

// crowd are users who ask all the time, and what HAProxy, before the machines, is like meanwhile.
type crowd struct {
	stage
	proxy *haproxy.Pool
	users *traffic.Users
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	fewest int // members to which HAProxy was to send, or that failed, at one moment since a scene began
	lines  []string
}

const (
	askEachSecond = 4
	// askPatience is longer than HAProxy takes to have another machine answer, twice.
	askPatience = 20 * time.Second
	// askAtMost is longer than any dose.
	askAtMost = 24 * time.Hour
)

// crowd has the users come.
func (s stage) crowd(proxy *haproxy.Pool) *crowd {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	c := &crowd{stage: s, proxy: proxy, stop: stop, fewest: mostServe}
	c.users = &traffic.Users{Client: &http.Client{Timeout: askPatience}}
	c.settled(s)
	c.wg.Go(func() {
		c.users.Play(ctx, traffic.Steady(askEachSecond, askAtMost), "http://"+proxy.Front+"/cgi-bin/work")
	})
	c.wg.Go(func() { c.watch(ctx) })
	s.Cleanup(c.leave)
	return c
}

func (c *crowd) leave() {
	c.stop()
	c.wg.Wait()
}

// watch looks all the time how many machines HAProxy is to send requests to, whether it finds them up or not. A machine
// that fails, as on a server that is very busy, is missing by no hand of hale's.
func (c *crowd) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if is := c.proxy.Servers(); len(is) > 0 {
			serve := 0
			for _, status := range is {
				if !strings.HasPrefix(status, "MAINT") && !strings.HasPrefix(status, "DRAIN") {
					serve++
				}
			}
			if serve < leastServe {
				serve += c.failing(is)
			}
			c.mu.Lock()
			c.fewest = min(c.fewest, serve)
			c.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// failing counts the machines that are out of HAProxy and fail.
func (c *crowd) failing(is map[string]string) (n int) {
	f, err := c.fleet()
	for _, m := range f.Machines {
		if err == nil && m.Incident != nil && !strings.HasPrefix(is[m.Name], "UP") {
			n++
		}
	}
	return n
}

// scene plays one, until everything serves again. No request fails in it, and at least so many machines serve.
func (c *crowd) scene(name string, least int, play func(stage)) {
	c.Helper()
	run.scene()
	before, begin := c.users.Tally(), time.Now()
	c.mu.Lock()
	c.fewest = mostServe
	c.mu.Unlock()
	ok := c.TB.(*testing.T).Run(name, func(t *testing.T) { //nolint:forcetypeassert // a scene is part of a test
		s := stage{t, c.props}
		play(s)
		s.stands()
		c.settled(s)
		s.lawful()
		c.judge(s, name, before, least, time.Since(begin))
	})
	if !ok {
		c.FailNow()
	}
}

// judge says what users had of the scene.
func (c *crowd) judge(s stage, name string, before traffic.Tally, least int, took time.Duration) {
	s.Helper()
	now := c.users.Tally()
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, failed := now.Sent-before.Sent, now.Failed-before.Failed
	c.lines = append(c.lines,
		fmt.Sprintf("%s: %d requests, %d failed, hale left %d machines in service at least, %.0f s",
			name, sent, failed, c.fewest, took.Seconds()))
	if failed > 0 {
		s.Errorf("%d of %d requests failed, the last one: %v", failed, sent, now.Last)
	}
	if c.fewest < least {
		s.Errorf("hale left only %d machines in service, and %d are to be", c.fewest, least)
	}
	if float64(sent) < askEachSecond*took.Seconds()/2 {
		s.Errorf("%d requests in %s are too few to tell", sent, took)
	}
}

// end has the users go, and says what they had.
func (c *crowd) end() {
	c.Helper()
	c.leave()
	t := c.users.Tally()
	c.Logf("%d requests, %d failed, answered in %s on average\n%s", t.Sent, t.Failed,
		(t.Waited / time.Duration(max(t.Sent, 1))).Round(time.Millisecond), strings.Join(c.lines, "\n"))
	if t.Failed > 0 {
		c.Errorf("%d requests failed, the last one: %v", t.Failed, t.Last)
	}
}

// provisioner is what provisions machines: it asks the new one for the page that makes it what it is to be.
func (s stage) provisioner() (url string) {
	s.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var told struct {
			Address string `json:"address"`
		}
		if err := json.NewDecoder(r.Body).Decode(&told); err != nil || told.Address == "" {
			http.Error(w, "no address", http.StatusBadRequest)
			return
		}
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for ask(r.Context(), told.Address, "site") != nil {
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	s.Cleanup(server.Close)
	return server.URL
}

// ask asks a machine for one of its pages.
func ask(ctx context.Context, address, page string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/cgi-bin/"+page, http.NoBody)
	if err != nil {
		return err
	}
	a, err := (&http.Client{}).Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", page, a.Status)
	}
	return nil
}
