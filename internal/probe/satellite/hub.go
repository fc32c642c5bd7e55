package satellite

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/doorway"
	"hale/internal/probe"
	"hale/internal/probe/quorum"
	"hale/internal/secret"
)

// Place is where satellites report.
type Place struct {
	Listen           string // as net.Listen has it; empty: nowhere
	Certificate, Key string // files in PEM form, read anew when they change; empty: no TLS is spoken
}

// Settings are which satellites there are.
type Settings struct {
	Place  Place
	Tokens map[string]secret.Secret // what each shows, by its name
	// StaleAfter is how long what one said counts.
	StaleAfter time.Duration
}

const (
	// moveAfter is how long a satellite is silent until others look at its targets.
	moveAfter = time.Minute
	// turnEvery is how often is looked who is silent.
	turnEvery = time.Second
)

// Hub is where satellites report. The zero value is not one: see New.
type Hub struct {
	log    *slog.Logger
	panics defect.Witness
	site   *doorway.Moving[Place]
	places *doorway.Places
	origin time.Time // of stamps

	mu       sync.Mutex // never held across a call
	settings Settings
	lost     failure // why nobody is heard, as far as that is hale's own doing
	seats    map[string]*seat
	targets  map[probe.ID]*watched
	revision uint64 // of targets
	looks    uint64
}

// failure is why something does not work, and since when; no error: it does.
type failure struct {
	since time.Time
	err   error
}

// watched is a target that satellites look at.
type watched struct {
	probe.Target
	revision uint64
	panel    *Panel
	eyes     []string // the satellites that look at it
}

// New makes a hub that does not listen yet and knows no satellites. The witness is told of each report that made it
// panic.
func New(log *slog.Logger, panics defect.Witness) *Hub {
	return &Hub{
		log: log, panics: panics, site: doorway.NewMoving[Place](), places: doorway.New(places), origin: time.Now(),
		seats: map[string]*seat{}, targets: map[probe.ID]*watched{},
	}
}

// Take has it go by the settings from now on. A satellite that there was goes on undisturbed.
func (h *Hub) Take(s Settings) {
	h.mu.Lock()
	h.settings = s
	now := time.Now()
	for name := range s.Tokens {
		if h.seats[name] == nil {
			h.seats[name] = newSeat(name, now)
		}
	}
	for name, at := range h.seats {
		if _, there := s.Tokens[name]; !there {
			at.leave()
			delete(h.seats, name)
		}
	}
	h.choose(now)
	h.mu.Unlock()
	h.site.To(s.Place)
}

// Run listens until ctx ends. When it cannot, it tries again and again.
func (h *Hub) Run(ctx context.Context) {
	var turns sync.WaitGroup
	turns.Go(func() {
		defer h.panics.Catch("", "turn", nil)
		h.turn(ctx)
	})
	defer turns.Wait()
	h.site.Run(ctx, func(ctx context.Context, at Place) error {
		if at.Listen == "" {
			h.cannot(nil)
			<-ctx.Done()
			return nil
		}
		return h.serve(ctx, at)
	}, func(err error) {
		h.cannot(fmt.Errorf("hale cannot listen for satellites: %w", err))
		h.log.Warn("satellites are not heard", "err", err)
	})
}

// cannot notes why nobody is heard; nil: they are.
func (h *Hub) cannot(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.lost = failure{}
	case h.lost.err == nil:
		h.lost = failure{time.Now(), err}
	default:
		h.lost.err = err
	}
}

// turn has others look at what a satellite looked at that has been silent for long, until ctx ends.
func (h *Hub) turn(ctx context.Context) {
	tick := time.NewTicker(turnEvery)
	defer tick.Stop()
	present := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		h.mu.Lock()
		if is := fmt.Sprint(h.present(now)); is != present {
			present = is
			h.choose(now)
		}
		h.mu.Unlock()
	}
}

// present returns the names of those that have not been silent for long.
func (h *Hub) present(now time.Time) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.seats)), func(name string) bool {
		return now.Sub(h.seats[name].heard) >= moveAfter
	})
}

// Silent is a satellite of which nothing is heard.
type Silent struct {
	Name  string
	Since time.Time
	Ever  bool // something was
}

// Trouble returns why no satellite is heard although they should be, and since when; no error: hale listens, or has no
// satellites.
func (h *Hub) Trouble() (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost.since, h.lost.err
}

// Silent returns the satellites that are silent for so long that what they said counts no more.
func (h *Hub) Silent(now time.Time) []Silent {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Silent
	for _, name := range slices.Sorted(maps.Keys(h.seats)) {
		s := h.seats[name]
		if now.Sub(s.heard) >= h.settings.StaleAfter+turnEvery {
			out = append(out, Silent{name, s.heard, s.session != ""})
		}
	}
	return out
}

// Panel opens a panel for a fleet's probe engine, which closes it.
func (h *Hub) Panel() *Panel {
	return &Panel{hub: h, changed: make(chan struct{}, 1), dirty: map[probe.ID]bool{}}
}

// vote is what the satellite says of the target, if it said anything of it as it is.
func (s *seat) vote(w *watched) quorum.Vote {
	v := quorum.Vote{Vantage: s.name, Standing: fleet.StandingUnknown, Until: s.asOf.Add(w.Spec.Sight.StaleAfter)}
	if e, there := s.votes[w.ID]; there && e.Revision == w.revision {
		v.Standing, v.Result, v.Detail = e.Standing, e.Result, e.Detail
	}
	return v
}

// word makes what names a session.
func word() string { return rand.Text() }
