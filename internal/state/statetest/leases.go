package statetest

import (
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// leaseTime is the shortest that real stores grant.
const leaseTime = 2 * time.Second

// own puts a key under the lease and returns its revision.
func (r *room) own(name string, lease state.Lease) int64 {
	r.Helper()
	return r.must(state.Txn{Then: []state.Write{state.PutLeased(r.key(name), []byte("held"), lease.ID())}})
}

func leaseExpires(r *room) {
	lease, stop := r.grant(leaseTime)
	r.own("b", lease)
	held := r.own("a", lease)
	if e, err := r.Get(r.ctx(), r.key("a")); err != nil || e.Lease != lease.ID() {
		r.Fatalf("the key is under lease %d, %v, want %d", e.Lease, err, lease.ID())
	}
	r.put("other", "stays")
	stop()
	r.wantLost(lease)
	got := r.watch(held, 3)
	if got[0] != "other=stays" || got[1] != "a gone" || got[2] != "b gone" {
		r.Fatalf("the watch saw %q", got)
	}
	r.wantContents("other=stays")
	r.refused(fault.LeaseLost, state.Txn{Then: []state.Write{
		state.Put(r.key("c"), nil),
		state.PutLeased(r.key("d"), nil, lease.ID()),
	}})
	r.wantContents("other=stays")
}

func leaseLives(r *room) {
	lease, _ := r.grant(leaseTime)
	r.own("a", lease)
	granted := lease.Remaining()
	beyond := time.After(2 * granted)
	check := time.NewTicker(granted / 20)
	defer check.Stop()
	for over := false; !over; {
		select {
		case <-beyond:
			over = true
		case <-check.C:
		}
		if left := lease.Remaining(); left <= 0 || left > granted+time.Second {
			r.Fatalf("a lease of %v has %v left", granted, left)
		}
		if lost(lease) {
			r.Fatal("the lease was lost while its context lived")
		}
	}
	r.wantContents("a=held")
}

func leaseRevoked(r *room) {
	lease, _ := r.grant(time.Minute)
	held := r.own("a", lease)
	if lost(lease) || lease.Remaining() <= min(50*time.Second, r.longest-time.Second) {
		r.Fatalf("a fresh lease of a minute has %v left", lease.Remaining())
	}
	for range 2 {
		if err := lease.Revoke(r.ctx()); err != nil {
			r.Fatalf("revoke: %v", err)
		}
		r.wantLost(lease)
		r.wantContents("")
	}
	if got := r.watch(held, 1); got[0] != "a gone" {
		r.Fatalf("the watch saw %q", got)
	}
}

func leaseDropped(r *room) {
	first, _ := r.grant(time.Minute)
	second, _ := r.grant(time.Minute)
	r.own("freed", first)
	r.own("moved", first)
	r.own("kept", first)
	r.put("freed", "free")
	r.own("moved", second)
	if err := first.Revoke(r.ctx()); err != nil {
		r.Fatal(err)
	}
	r.wantContents("freed=free moved=held")
}

func leaseRemaining(r *room) {
	before := time.Now()
	lease, stop := r.grant(leaseTime)
	if most := time.Since(before) + lease.Remaining(); lease.Remaining() <= 0 || most > time.Minute {
		r.Fatalf("a fresh lease of %v has %v left", leaseTime, lease.Remaining())
	}
	r.own("a", lease)
	var end time.Time // until then the lease said that it would exist
	for range 100 {
		if e := time.Now().Add(lease.Remaining()); e.After(end) {
			end = e
		}
	}
	stop()
	r.wantLost(lease)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		_, err := r.Get(r.ctx(), r.key("a"))
		if fault.Is(err, fault.NotFound) {
			break
		}
		if err != nil {
			r.Fatal(err)
		}
		<-poll.C
	}
	if early := time.Until(end); early > 0 {
		r.Fatalf("the key was gone %v before the lease said so", early)
	}
}

func fencing(r *room) {
	stale, stop := r.grant(leaseTime)
	fresh, _ := r.grant(time.Minute)
	staleRevision := r.own("owner", stale)
	machine := r.put("machine", "0")
	work := func(value string, revision int64, lease state.Lease, machine int64) state.Txn {
		return state.Txn{
			If: []state.Compare{
				state.Held(r.key("owner"), revision, lease.ID()),
				state.At(r.key("machine"), machine),
			},
			Then: []state.Write{
				state.Put(r.key("machine"), []byte(value)),
				state.Put(r.key("journal/"+value), nil),
			},
		}
	}
	machine = r.must(work("1", staleRevision, stale, machine))
	r.refused(fault.Conflict, work("2", staleRevision, fresh, machine))

	stop() // the owner hangs; a rival waits for the lease and takes over
	r.watch(machine, 1)
	takeOver := state.Txn{
		If:   []state.Compare{state.Absent(r.key("owner"))},
		Then: []state.Write{state.PutLeased(r.key("owner"), []byte("held"), fresh.ID())},
	}
	freshRevision := r.must(takeOver)

	r.refused(fault.Conflict, work("stale", staleRevision, stale, machine))
	r.refused(fault.Conflict, work("stale", freshRevision, stale, machine))
	r.wantContents("journal/1= machine=1 owner=held")
	r.must(work("2", freshRevision, fresh, machine))
	r.wantContents("journal/1= journal/2= machine=2 owner=held")
}
