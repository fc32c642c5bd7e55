package heartbeat

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/probe"
)

// Place is where is listened.
type Place struct {
	Listen string // as net.Listen has it; empty: nowhere
	// Address is where machines reach it, as host and port; empty: where it listens.
	Address string
	// Certificate and Key are files in PEM form, read anew when they change; empty: no TLS is spoken.
	Certificate, Key string
}

// Receiver hears machines. The zero value is not one: see New.
type Receiver struct {
	log       *slog.Logger
	panics    defect.Witness
	attention *attention
	site      *doorway.Moving[Place]

	mu        sync.Mutex // never held across a call
	proofs    map[topic]policy.HeartbeatCheck
	registers map[*Register]struct{}
	complaint complaint

	places *doorway.Places
	word   *word
}

// word is by what a receiver knows itself.
type word struct {
	say   string
	heard atomic.Int64 // how often
}

// topic is a check of a fleet.
type topic struct {
	fleet fleet.Name
	check fleet.CheckName
}

// New makes a receiver that does not listen yet and knows no machines. The witness is told of each report that made it
// panic.
func New(log *slog.Logger, panics defect.Witness) *Receiver {
	return &Receiver{
		log: log, panics: panics, attention: newAttention(), site: doorway.NewMoving[Place](),
		proofs: map[topic]policy.HeartbeatCheck{}, registers: map[*Register]struct{}{},
		word: &word{say: rand.Text()}, places: doorway.New(places),
	}
}

// Take has it listen at the place, to the machines of the fleets. One that listens there already goes on undisturbed.
func (r *Receiver) Take(place Place, fleets []policy.Spec) {
	proofs := map[topic]policy.HeartbeatCheck{}
	for i := range fleets {
		for _, c := range fleets[i].Asked() {
			if c.Kind == policy.CheckHeartbeat {
				proofs[topic{fleets[i].Name, c.Name}] = c.Heartbeat
			}
		}
	}
	r.mu.Lock()
	r.proofs = proofs
	r.mu.Unlock()
	r.site.To(place)
}

// Register opens a register for the fleet's probe engine, which closes it.
func (r *Receiver) Register(name fleet.Name) *Register {
	var reg *Register
	reg = newRegister(name, r.attention, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.registers, reg)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registers[reg] = struct{}{}
	return reg
}

// Run listens until ctx ends. When it cannot, it tries again and again, and no silence counts as a failure meanwhile.
func (r *Receiver) Run(ctx context.Context) {
	r.site.Run(ctx, func(ctx context.Context, at Place) error {
		if at.Listen == "" {
			r.attention.lose(errNotBegun)
			<-ctx.Done()
			return nil
		}
		return r.serve(ctx, at)
	}, func(err error) {
		r.attention.lose(fmt.Errorf("hale cannot listen for heartbeats: %w", err))
		r.log.Warn("heartbeats are not heard", "err", err)
	})
}

// Trouble returns why no heartbeats are heard although they should be, and since when; no error: they are, or none are
// expected.
func (r *Receiver) Trouble() (since time.Time, err error) { return r.attention.trouble() }

// proofOf returns how the machines of the fleet prove for the check who they are; false: there is no such check.
func (r *Receiver) proofOf(t topic) (policy.HeartbeatCheck, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how, known := r.proofs[t]
	return how, known
}

// of returns the registers of the fleet.
func (r *Receiver) of(name fleet.Name) []*Register {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*Register
	for reg := range r.registers {
		if reg.fleet == name {
			all = append(all, reg)
		}
	}
	return all
}

// hear hands a beat to the register that waits for it, and reports whether one does.
func (r *Receiver) hear(t topic, machine fleet.MachineName, b probe.Beat) bool {
	heard := false
	for _, reg := range r.of(t.fleet) {
		heard = reg.hear(probe.ID{Machine: machine, Check: t.check}, b) || heard
	}
	return heard
}
