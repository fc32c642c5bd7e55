package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hale/api"
	"hale/internal/testbed/haproxy"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/prometheus"
	"hale/internal/testbed/traffic"
)

// lookEvery is how often it is looked at what a fleet's size does. What lies in between is in the journal.
const lookEvery = 100 * time.Millisecond

// eachServes is how many requests per second one machine is to serve: somewhat more than half of what it can.
const eachServes = 5

// dose is how much of the recorded load is played, how fast, and on how many machines.
type dose struct {
	least, most int
	from, to    time.Time
	length      time.Duration
	killEvery   time.Duration
	silence     time.Duration // of Prometheus, once
	tick        time.Duration // of the recording, from one mark in the drawing to the next
}

// day is a part of a fleet's life whose size follows the load: users, HAProxy before the machines, Prometheus that
// reads it, and what was seen.
type day struct {
	stage
	dose
	proxy      haproxy.Proxy
	prometheus prometheus.Server
	load       traffic.Load
	users      *traffic.Users
	begin      time.Time
	mark       int

	mu    sync.Mutex
	seen  []sight
	wrong []string

	kills  []kill
	silent *span // of Prometheus
}

// sight is what there was to see at one moment.
type sight struct {
	at      time.Duration
	size    int
	healthy int
	all     []string // the machines, as hale has them
	running []lab.Process
	tally   traffic.Tally
}

type kill struct {
	machine string
	at      time.Duration
	mark    int
}

type span struct{ from, to time.Duration }

// sizes is the configuration of the fleet's size.
func (d dose) sizes(prometheus string) string {
	return fmt.Sprintf(`{min: %d, max: %d, down: {stabilise: 10s, grace: 1s},
      metrics: {requests: {prometheus: {url: %q, query: %q, timeout: 900ms}, every: 1s, late: 4s}},
      opinions: {load: {metric: requests, target: %d, per: fleet}}}`,
		d.least, d.most, prometheus, haproxy.Query(5), eachServes)
}

// pass plays the day.
func (d *day) pass() {
	d.Helper()
	d.mark, d.begin = d.journal.mark(), time.Now()
	ctx, cancel := context.WithCancel(d.Context())
	var played, watched sync.WaitGroup
	watched.Go(func() { d.watch(ctx) })
	played.Go(func() { d.users.Play(ctx, d.load, d.proxy.URL+workPage) })
	defer watched.Wait()
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for now := time.Duration(0); now < d.length; now = time.Since(d.begin) {
		d.strike(now)
		d.deafen(now)
		<-tick.C
	}
	d.listen()
	played.Wait()
	d.await("nobody is there, and the fleet is at its least", func() error {
		f, err := d.fleet()
		if err == nil && (f.Size != d.least || len(f.Machines) != d.least) {
			err = fmt.Errorf("%d machines of %d", len(f.Machines), f.Size)
		}
		return err
	})
	d.stands()
}

// strike kills a machine that serves, now and then, when no other is down.
func (d *day) strike(now time.Duration) {
	d.Helper()
	if len(d.kills) > 0 && now < d.kills[len(d.kills)-1].at+d.killEvery || now < d.killEvery/2 {
		return
	}
	f, err := d.fleet()
	d.must(err)
	if slices.ContainsFunc(f.Machines, func(m api.Machine) bool {
		return m.Verdict != "healthy" || !m.Certified || m.Repair != nil
	}) {
		return
	}
	victim := f.Machines[d.dice.IntN(len(f.Machines))].Name
	mark := d.journal.mark()
	// from outside: a guest under load may not take an order in time, and one may have left just now
	if err := d.lab.Break(d.within(moment), victim, lab.FaultKill); err != nil {
		d.Logf("%s: %s cannot be struck: %v", now.Round(time.Millisecond), victim, err)
		return
	}
	d.kills = append(d.kills, kill{victim, now, mark})
	d.Logf("%s: killed %s", now.Round(time.Millisecond), victim)
}

// deafen has Prometheus stand still for a while, once, when the load begins to want fewer machines than there are.
func (d *day) deafen(now time.Duration) {
	d.Helper()
	d.mu.Lock()
	peaked := slices.ContainsFunc(d.seen, func(s sight) bool { return s.size == d.most })
	size := 0
	if len(d.seen) > 0 {
		size = d.seen[len(d.seen)-1].size
	}
	d.mu.Unlock()
	switch {
	case d.silent == nil && peaked && d.load.Rate(now) < float64(size-1)*eachServes:
		d.must(d.prometheus.Freeze())
		d.silent = &span{from: now, to: now + d.dose.silence}
	case d.silent != nil && now >= d.silent.to:
		d.listen()
	}
}

// listen lets Prometheus go on.
func (d *day) listen() {
	d.Helper()
	d.must(d.prometheus.Thaw()) // or it does
}

// watch looks all the time at the fleet, in hale's words and in the hypervisor's.
func (d *day) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		f, err := d.fleet()
		running, failed := d.lab.Processes(ctx)
		if err = errors.Join(err, failed); ctx.Err() == nil {
			d.note(f, running, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// note keeps what was seen, and what of it must never be: the fleet is within its bounds at every moment.
func (d *day) note(f api.Fleet, running []lab.Process, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.wrong = append(d.wrong, "nothing is to be seen: "+err.Error())
		return
	}
	s := sight{at: time.Since(d.begin), size: f.Size, healthy: f.Healthy, running: running, tally: d.users.Tally()}
	stay := 0
	for _, m := range f.Machines {
		s.all = append(s.all, m.Name)
		if m.Repair == nil || m.Repair.Kind != "remove" {
			stay++
		}
	}
	d.seen = append(d.seen, s)
	if s.size < d.least || s.size > d.most || len(s.all) < d.least || stay > d.most {
		d.wrong = append(d.wrong, fmt.Sprintf("%s: the size is %d, there are %v, and %d stay", s.at, s.size, s.all,
			stay))
	}
}

// judge checks what the day must not have.
func (d *day) judge() {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.wrong[:min(len(d.wrong), 5)] {
		d.Error(w)
	}
	events := d.after(d.mark)
	d.bounded(events)
	d.silentMeansNoScaleIn(events)
	d.asked(events)
	d.vanished(events)
	for _, k := range d.kills {
		if count(d.after(k.mark), of(k.machine, because("incident-closed", "healed"))) == 0 && !d.left(k) {
			d.Errorf("%s was struck %s after the beginning, and not healed", k.machine, k.at)
		}
	}
	const most = 0.8 // of all requests: machines are struck, and what a guest on a busy server has no time for is late
	if t := d.seen[len(d.seen)-1].tally; float64(t.Answered) < most*float64(t.Sent) {
		d.Errorf("of %d requests %d were answered", t.Sent, t.Answered)
	}
}

// tell says what the day was like.
func (d *day) tell() {
	d.Helper()
	events, tally := d.after(d.mark), d.users.Tally()
	var heals []time.Duration
	for _, k := range d.kills {
		for _, e := range d.after(k.mark) {
			if e.Machine == k.machine && because("incident-closed", "healed")(e) {
				heals = append(heals, e.At.Sub(d.begin)-k.at)
				break
			}
		}
	}
	took := func(q float64) time.Duration {
		if len(heals) == 0 {
			return 0
		}
		return quantile(heals, q, func(t time.Duration) time.Duration { return t }).Round(100 * time.Millisecond)
	}
	d.Logf("%d requests, %d failed (%.1f %%), answered in %s on average; %d moves of the size; "+
		"%d machines struck, %d healed, after %s (median; %s at most)", tally.Sent, tally.Failed,
		100*float64(tally.Failed)/float64(max(tally.Sent, 1)),
		(tally.Waited / time.Duration(max(tally.Sent, 1))).Round(time.Millisecond), count(events, moved), len(d.kills),
		len(heals), took(0.5), took(1))
}

// left reports whether the machine went by a smaller size before it was healed: failing ones go first.
func (d *day) left(k kill) bool {
	return count(d.after(k.mark), of(k.machine, because("change", "size-down"))) > 0
}

// moved matches a move of the size by an opinion.
func moved(e api.Event) bool { return e.Kind == "size" && e.Reason == "opinion" }

// bounded checks the sizes that were recorded.
func (d *day) bounded(events []api.Event) {
	d.Helper()
	up, down := 0, 0
	for _, e := range events {
		if !moved(e) {
			continue
		}
		if e.Size < d.least || e.Size > d.most {
			d.Errorf("a size of %d was recorded: %s", e.Size, e.Text)
		}
		if e.Size > e.Limit {
			up++
		} else {
			down++
		}
	}
	if up == 0 || down == 0 {
		d.Errorf("the size went up %d times, and down %d times", up, down)
	}
}

// silentMeansNoScaleIn checks that nothing was scaled in while Prometheus stood still, and that hale said so.
func (d *day) silentMeansNoScaleIn(events []api.Event) {
	d.Helper()
	if d.silent == nil {
		d.Error("the load never wanted fewer machines")
		return
	}
	from, to := d.begin.Add(d.silent.from), d.begin.Add(d.silent.to)
	said := false
	for _, e := range events {
		said = said || e.Kind == "metric" && e.Reason == "metric-silent"
		if moved(e) && e.Size < e.Limit && e.At.After(from) && e.At.Before(to) {
			d.Errorf("scaled in while the metric was missing: %s", e.Text)
		}
	}
	if !said {
		d.Error("hale did not say that the metric was missing")
	}
}

// asked checks that no machine was taken down but for a failure of its own, or by a recorded move of the size.
func (d *day) asked(events []api.Event) {
	d.Helper()
	open, work := map[string]bool{}, map[string]string{}
	room := 0 // machines that recorded moves let go, and that did not begin to go yet
	for _, e := range events {
		switch {
		case e.Kind == "incident-opened":
			open[e.Machine] = true
		case e.Kind == "incident-closed":
			open[e.Machine] = false
		case e.Kind == "repair-started":
			work[e.Machine] = e.Reason
			if e.Reason == "remove" {
				if room--; room < 0 {
					d.Errorf("%s goes, and no move of the size was recorded", e.Machine)
				}
			}
		case moved(e) && e.Size < e.Limit:
			room += e.Limit - e.Size
		case e.Kind == "intent" && takesDown[e.Op] && work[e.Machine] != "remove" && !open[e.Machine]:
			d.Errorf("%s of %s, which is well: %s", e.Op, e.Machine, e.Text)
		}
	}
}

// takesDown are the operations that end what runs.
var takesDown = map[string]bool{"power-off": true, "delete": true, "reboot": true}

// vanished checks in the process table that nothing ended but what was struck, and what hale said before that it would
// take down.
func (d *day) vanished(events []api.Event) {
	d.Helper()
	for i := 1; i < len(d.seen); i++ {
		now := d.seen[i]
		for _, p := range d.seen[i-1].running {
			if slices.ContainsFunc(now.running, func(o lab.Process) bool { return o.PID == p.PID }) {
				continue
			}
			struck := slices.ContainsFunc(d.kills, func(k kill) bool { return k.machine == p.Domain && k.at <= now.at })
			said := slices.ContainsFunc(events, func(e api.Event) bool {
				return e.Machine == p.Domain && e.Kind == "intent" && takesDown[e.Op] &&
					!e.At.After(d.begin.Add(now.at))
			})
			if !struck && !said {
				d.Errorf("%s: %s ended, and hale had not said why", now.at, p.Domain)
			}
		}
	}
}
