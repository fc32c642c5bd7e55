package e2e

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/api"
)

// journal collects hale's events as they are stored, over all of hale's lives.
type journal struct {
	mu      sync.Mutex
	events  []api.Event
	last    map[string]uint64 // of each fleet, the number of its last event
	changed chan struct{}     // closed with the next event
	wg      sync.WaitGroup
	cancel  context.CancelFunc
}

// retryStream is the wait before the stream is asked for again.
const retryStream = 20 * time.Millisecond

// follow begins to collect; end ends it.
func follow(client *api.Client) *journal {
	ctx, cancel := context.WithCancel(context.Background())
	j := &journal{last: map[string]uint64{}, changed: make(chan struct{}), cancel: cancel}
	j.wg.Go(func() {
		tick := time.NewTicker(retryStream)
		defer tick.Stop()
		for ctx.Err() == nil {
			for e, err := range client.Events(ctx, api.EventsQuery{Follow: true}) {
				if err != nil {
					break // hale is not there; it tells everything again when it is back
				}
				j.add(e)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return j
}

func (j *journal) end() {
	j.cancel()
	j.wg.Wait()
}

func (j *journal) add(e api.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last[e.Fleet] >= e.Seq {
		return // told before
	}
	j.last[e.Fleet] = e.Seq
	j.events = append(j.events, e)
	close(j.changed)
	j.changed = make(chan struct{})
}

// mark is a place in the journal: what comes after it.
func (j *journal) mark() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

// since returns the events after the mark, and a channel that is closed when there are more.
func (j *journal) since(mark int) ([]api.Event, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events[min(mark, len(j.events)):]), j.changed
}

// match says which event is meant.
type match func(api.Event) bool

// first awaits the first event after the mark that is meant, until ctx ends.
func (j *journal) first(ctx context.Context, mark int, m match) (api.Event, error) {
	for {
		events, more := j.since(mark)
		if i := slices.IndexFunc(events, m); i >= 0 {
			return events[i], nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return api.Event{}, ctx.Err()
		}
	}
}

// Matches of one kind of event.

func of(machine string, m match) match {
	return func(e api.Event) bool { return e.Machine == machine && m(e) }
}

func kind(k string) match { return func(e api.Event) bool { return e.Kind == k } }

func because(k, reason string) match {
	return func(e api.Event) bool { return e.Kind == k && e.Reason == reason }
}

func verdict(v string) match {
	return func(e api.Event) bool { return e.Kind == "verdict" && e.Verdict == v }
}

func intent(op string) match {
	return func(e api.Event) bool { return e.Kind == "intent" && e.Op == op }
}

func outcome(op string) match {
	return func(e api.Event) bool { return e.Kind == "outcome" && e.Op == op }
}

func count(events []api.Event, m match) int {
	n := 0
	for _, e := range events {
		if m(e) {
			n++
		}
	}
	return n
}

// heals counts the repairs of the machine that were begun for a failure.
func heals(events []api.Event, machine string) int {
	return count(events, of(machine, because("repair-started", "heal")))
}

// field lists one field of the events that are meant.
func field(events []api.Event, m match, of func(api.Event) string) []string {
	var out []string
	for _, e := range events {
		if m(e) {
			out = append(out, of(e))
		}
	}
	return out
}

// calls lists what was asked of the provider, but what was surely not done: what hale held back by itself, since the
// claim on an adopted machine must have stood for a while first; and what the provider put off, as a libvirt whose tap
// device another daemon took at the same moment.
func calls(events []api.Event) []string {
	var out []string
	under := map[string]int{} // the machine's last call, by its place in the list
	for _, e := range events {
		switch at, asked := under[e.Machine]; {
		case e.Kind == "intent":
			under[e.Machine] = len(out)
			out = append(out, e.Op)
		case e.Kind == "outcome" && (e.Outcome == "not-sent" || e.Outcome == "retry") && asked:
			out[at] = ""
			delete(under, e.Machine)
		}
	}
	return slices.DeleteFunc(out, func(op string) bool { return op == "" })
}

func steps(events []api.Event) []string {
	return field(events, kind("step-chosen"), func(e api.Event) string { return e.Step })
}
