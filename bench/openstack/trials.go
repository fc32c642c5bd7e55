package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"hale/api"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// fail lets a server fail, by another hand than hale's.
func (r *rig) fail(ctx context.Context, fault, id string) error {
	switch fault {
	case "error":
		return servers.ResetState(ctx, r.compute, id, servers.StateError).Err
	case "delete":
		return servers.Delete(ctx, r.compute, id).Err
	case "stop":
		return servers.Stop(ctx, r.compute, id).Err
	}
	return fmt.Errorf("there is no fault %q", fault)
}

// turns is how often one of ten fails in a trial: each time another one.
const turns = 3

// recovery lets servers fail, and measures how they are recovered.
func (h *hale) recovery(ctx context.Context, w way, fault string) (recovery, error) {
	r := recovery{Size: h.size, Fault: fault, By: w}
	if h.size > 10 {
		r.Failed = h.size / 5
		err := h.failAtOnce(ctx, 2, &r)
		return r, err
	}
	r.Failed = 1
	for turn := range turns {
		if err := h.failAtOnce(ctx, 2+turn, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// failAtOnce lets the machines from that number on fail at once, and adds to r how they are recovered.
func (h *hale) failAtOnce(ctx context.Context, from int, r *recovery) error {
	before, err := h.servers(ctx)
	if err != nil {
		return err
	}
	victims := map[string]time.Time{}
	for i := range r.Failed {
		victims[fmt.Sprintf("%s-%d", h.name, from+i)] = time.Time{}
	}
	h.ear.forget()
	began := time.Now()
	if err := h.strike(ctx, r.Fault, before, victims); err != nil {
		return err
	}
	var found map[string]outcome
	err = h.await(ctx, 10*time.Minute, "all are recovered", func(ctx context.Context) bool {
		events, err := h.events(ctx, began)
		if err != nil {
			return false
		}
		found = trace(events)
		for name := range victims {
			if found[name].healthy.IsZero() {
				return false
			}
		}
		return h.complete(ctx)
	})
	if err != nil {
		return err
	}
	for name, at := range victims {
		o := found[name]
		told := h.ear.first(r.Fault, before[name].ID)
		if told.IsZero() {
			return fmt.Errorf("nova did not tell of %s", name)
		}
		r.Told = append(r.Told, seconds(told.Sub(at)))
		r.Decided = append(r.Decided, seconds(o.decided.Sub(at)))
		r.Started = append(r.Started, seconds(o.started.Sub(at)))
		r.Since = append(r.Since, seconds(o.started.Sub(told)))
		r.Healthy = append(r.Healthy, seconds(o.healthy.Sub(at)))
	}
	for name := range found {
		if _, meant := victims[name]; !meant && !found[name].started.IsZero() {
			r.Wrong++
		}
	}
	for _, list := range [][]float64{r.Told, r.Decided, r.Started, r.Since, r.Healthy} {
		slices.Sort(list)
	}
	return nil
}

// strike lets the victims fail, several at a time, and notes when each was asked to.
func (h *hale) strike(ctx context.Context, fault string, all map[string]servers.Server,
	victims map[string]time.Time) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	gate := make(chan struct{}, 4)
	for name := range victims {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			at := time.Now()
			err := h.fail(ctx, fault, all[name].ID)
			mu.Lock()
			defer mu.Unlock()
			victims[name] = at
			if err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", fault, name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// outcome is what became of one machine.
type outcome struct {
	decided time.Time // its repair began
	started time.Time // its first call was written down, to be sent at once
	healthy time.Time // its incident was closed
}

func trace(events []api.Event) map[string]outcome {
	found := map[string]outcome{}
	for _, e := range events {
		o := found[e.Machine]
		switch {
		case e.Kind == "repair-started" && o.decided.IsZero():
			o.decided = e.At
		case e.Kind == "intent" && e.Op != "certify" &&
			o.started.IsZero(): // a certificate changes only metadata
			o.started = e.At
		case e.Kind == "incident-closed":
			o.healthy = e.At
		default:
			continue
		}
		found[e.Machine] = o
	}
	return found
}

// wrong returns how many machines were ordered anything since: nothing was wrong with any.
func (h *hale) wrong(ctx context.Context, since time.Time) (int, error) {
	events, err := h.events(ctx, since)
	if err != nil {
		return 0, err
	}
	n := 0
	for name, o := range trace(events) {
		if name != "" && !o.started.IsZero() {
			n++
		}
	}
	return n, nil
}

// settling is how long hale is watched after a fault of the API: six polls.
const settling = 6 * poll

// apiFault lets Nova's API be away for a minute, or answer 404 to everything for 40 seconds, while all servers are
// well.
func (h *hale) apiFault(ctx context.Context, kind string, out *results) error {
	say("Nova's API: %s", kind)
	before, err := h.servers(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	switch kind {
	case "away":
		h.proxy.close()
		if err := pause(ctx, time.Minute); err != nil {
			return err
		}
		if err := h.proxy.open(ctx); err != nil {
			return err
		}
	case "404":
		h.proxy.mood.Store(int32(lost))
		if err := pause(ctx, 40*time.Second); err != nil {
			return err
		}
		h.proxy.mood.Store(int32(passing))
	}
	if err := pause(ctx, settling); err != nil {
		return err
	}
	if err := h.await(ctx, 5*time.Minute, "all is well again", h.complete); err != nil {
		return err
	}
	r := apiFault{Kind: kind, Size: h.size}
	if r.Wrong, err = h.wrong(ctx, began); err != nil {
		return err
	}
	after, err := h.servers(ctx)
	if err != nil {
		return err
	}
	for name, s := range before {
		if after[name].ID != s.ID {
			r.Lost++
		}
	}
	out.APIFaults = append(out.APIFaults, r)
	return nil
}

// killed kills hale with -9 right after Nova accepted the server of a recreate, and starts it again five seconds later.
func (h *hale) killed(ctx context.Context, out *results) error {
	say("hale is killed in a create")
	all, err := h.servers(ctx)
	if err != nil {
		return err
	}
	portsBefore, err := h.ports(ctx)
	if err != nil {
		return err
	}
	victim := h.name + "-3"
	dead := make(chan time.Time, 1)
	kill := func() {
		h.stop(syscall.SIGKILL)
		dead <- time.Now()
	}
	h.proxy.created.Store(&kill)
	if err := h.fail(ctx, "delete", all[victim].ID); err != nil {
		return err
	}
	select {
	case <-dead:
	case <-time.After(5 * time.Minute):
		return errors.New("no server was created")
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	again := time.Now()
	if err := h.start(byEvent); err != nil {
		return err
	}
	if err := h.await(ctx, 10*time.Minute, "all is well again", h.complete); err != nil {
		return err
	}
	events, err := h.events(ctx, again)
	if err != nil {
		return err
	}
	r := killed{Healthy: seconds(trace(events)[victim].healthy.Sub(again))}
	return h.orphans(ctx, portsBefore, r, out)
}

// orphans looks for what a killed hale might have left behind: servers or ports without a machine.
func (h *hale) orphans(ctx context.Context, portsBefore int, r killed, out *results) error {
	after, err := h.servers(ctx)
	switch {
	case errors.Is(err, errTwins):
		r.Orphans++
	case err != nil:
		return err
	}
	r.Orphans += max(len(after)-h.size, 0)
	portsAfter, err := h.ports(ctx)
	if err != nil {
		return err
	}
	r.OrphanPorts = portsAfter - portsBefore
	out.Kills = append(out.Kills, r)
	return nil
}
