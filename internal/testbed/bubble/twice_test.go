package bubble

import (
	"context"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// What can make two of one: a definition that stays behind, a mark that is copied, a store that goes back, and a second
// hale.

// What the server of the second hale is called, as in the simulator: on a copy of the store, and on one of its own.
const copyName, otherName = "copy-1", "other-1"

// past is what the event brings back: when the store held it, and how long hale does not run then.
func past(e script.Event) (since, down time.Duration, is bool) {
	d, _ := time.ParseDuration(e.Arg) // it was checked when it was read
	switch e.Verb {
	case script.LosesLast:
		return max(e.At-d, 0), 5 * time.Second, true
	case script.IsRolledBack:
		return d, time.Minute, true
	default:
		return 0, 0, false
	}
}

// holding is what the store held, and whether the brake was on.
type holding struct {
	store  *memory.Backing
	braked bool
}

// remember keeps what the store holds at the time that an event will bring back.
func (r *room) remember(e script.Event) {
	if since, _, is := past(e); is {
		r.at(since, func() {
			r.judge.look()
			r.pasts[since] = holding{r.backing.Copy(), r.judge.braked}
		})
	}
}

// rollsBack kills hale, puts the store back to what it held, and starts hale again.
func rollsBack(r *room, e script.Event) func() {
	since, down, _ := past(e)
	var dead []*server
	for _, s := range r.servers {
		if s.life != nil {
			s.kill()
			dead = append(dead, s)
		}
	}
	r.judge.look()
	r.judge.stop()
	r.backing = r.pasts[since].store.Copy()
	r.judge.rolledBack(r.pasts[since].braked)
	r.judge.listen()
	r.after(down, func() {
		for _, s := range dead {
			r.revive(s)
		}
	})
	return nil
}

// rolledBack forgets which repairs were under way, and that hale knows which hooks were run: it knows nothing of them
// any more.
func (j *judge) rolledBack(braked bool) {
	clear(j.repairs)
	clear(j.healing)
	clear(j.reviving)
	j.braked = braked
	j.truth.Forgets()
}

// startsTwice starts a second hale on a copy of the store.
func startsTwice(r *room, _ script.Event) func() {
	return r.secondHale(copyName, r.backing.Copy())
}

// installsTwice starts a second hale with the same file on an empty store.
func installsTwice(r *room, _ script.Event) func() {
	return r.secondHale(otherName, memory.New(memory.Options{}))
}

// isSecond reports whether the client is the second hale.
func isSecond(client string) bool { return client == copyName || client == otherName }

// secondHale starts one beside the first, on a store of its own.
func (r *room) secondHale(name string, on *memory.Backing) func() {
	if r.double != nil {
		return nil
	}
	d := &server{room: r, name: name, own: on}
	d.start(r.wanted)
	stop := r.judge.overhear(d.own)
	r.double = func() {
		d.kill()
		stop()
		r.double = nil
	}
	return r.endDouble
}

// endDouble ends the second hale, if there is one.
func (r *room) endDouble() {
	if r.double != nil {
		r.double()
	}
}

// putsInOrder is the operator who was told of two, and leaves one hale and one definition of the machine, and has hale
// believe what there is then.
func (r *room) putsInOrder(rec record.Record) {
	r.endDouble()
	if i, ok := r.instance(rec.Machine); ok {
		r.truth(func(t *world.World) { t.Undefine(string(i.ID)) })
	}
	if rec.Reason == fleet.ReasonStoreOlder {
		r.judge.note("operator " + string(script.Believes))
		r.post(fleet.Order{Kind: fleet.OrderRecover, Fleet: r.spec.Name, By: "operator", Believe: true})
	}
}

// ofTwo reports whether a person is told that there are two where one should be.
func ofTwo(why fleet.Reason) bool {
	return why == fleet.ReasonTwoHosts || why == fleet.ReasonStoreOlder || why == fleet.ReasonSecondRunning
}

// store is where the server writes.
func (s *server) store() *memory.Backing {
	if s.own != nil {
		return s.own
	}
	return s.room.backing
}

// overhear counts the messages of the second hale, until the returned function is called.
func (j *judge) overhear(b *memory.Backing) (stop func()) {
	store := b.Open(nil)
	_, revision, err := journal.Read(j.r.t.Context(), store, j.r.spec.Name)
	j.r.must(err)
	ctx, cancel := context.WithCancel(j.r.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for entry, err := range journal.Follow(ctx, store, j.r.spec.Name, revision) {
			if err != nil {
				return
			}
			if entry.Kind == record.Paged {
				j.mu.Lock()
				j.heard = append(j.heard, hearing{time.Now(), entry.Record})
				j.mu.Unlock()
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
