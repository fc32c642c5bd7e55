package satellite

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
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
	// Server is what hale's own server is called; no other vantage is.
	Server string
}

// Server is one that stands by, and is a vantage like a satellite.
type Server struct{ Name, Token string }

const (
	// forgetAfter is how long hale misses a server that has left: it is named as silent until then.
	forgetAfter = time.Hour
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
	servers  map[string]listed // those that stand by, and look; it is never changed, but replaced
	alone    bool              // no server that stands by is to look
	lost     failure           // why no report can be taken, where hale itself is the cause
	seats    map[string]*seat
	targets  map[probe.ID]*watched
	revision uint64 // of targets
	looks    uint64
}

// listed is a server that stands by.
type listed struct{ token, but string } // but: why it has no vote

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
	h.seat(time.Now())
	h.mu.Unlock()
	h.site.To(s.Place)
}

// TakeServers makes vantages of these servers, and of no others. One that was a vantage before goes on undisturbed.
// Where two have one name, the first one looks. One with the name of a satellite, or of hale's own server, has no vote.
// Nil: no server is to look, and none is missed.
func (h *Hub) TakeServers(all []Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers, h.alone = map[string]listed{}, all == nil
	for _, s := range all {
		if _, twice := h.servers[s.Name]; !twice {
			h.servers[s.Name] = listed{token: s.Token}
		}
	}
	h.seat(time.Now())
}

// seat gives each vantage a seat. The mutex is held.
func (h *Hub) seat(now time.Time) {
	servers := make(map[string]listed, len(h.servers))
	for name, s := range h.servers {
		servers[name] = listed{s.token, h.objection(name)}
	}
	h.servers = servers
	for name, s := range h.seats {
		if !h.keeps(s, now) {
			s.leave()
			delete(h.seats, name)
		}
	}
	for name := range h.settings.Tokens {
		if h.seats[name] == nil {
			h.seats[name] = newSeat(name, now)
		}
	}
	for name, s := range servers {
		if h.seats[name] == nil && s.but == "" {
			h.seats[name] = newSeat(name, now)
			h.seats[name].server = true
		}
	}
	h.choose(now)
}

// objection says why a server that stands by has no vote: its name is another vantage's, and votes count by name.
// Empty: it has one.
func (h *Hub) objection(name string) string {
	switch _, satellite := h.settings.Tokens[name]; {
	case satellite:
		return "a satellite has its name (satellites.tokens): it has no vote until one of them has another"
	case name == h.settings.Server:
		return "the active server has its name: it has no vote until it is started with another (--server)"
	}
	return ""
}

// keeps reports whether the seat stays. That of a server which stands by no more does for a while, in which it is
// missed. The mutex is held.
func (h *Hub) keeps(s *seat, now time.Time) bool {
	_, satellite := h.settings.Tokens[s.name]
	if !s.server {
		return satellite
	}
	if h.alone || h.objection(s.name) != "" {
		return false
	}
	if _, here := h.servers[s.name]; here {
		s.left = time.Time{}
	} else if s.left.IsZero() {
		s.left = now
	}
	return s.left.IsZero() || now.Sub(s.left) < forgetAfter
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

// cannot notes why no report can be taken; nil: reports are taken.
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
		if is := fmt.Sprint(h.present(now)); is != present || h.forgets(now) {
			present = is
			h.seat(now)
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

// forgets reports whether a server is to be missed no more.
func (h *Hub) forgets(now time.Time) bool {
	for _, s := range h.seats {
		if !s.left.IsZero() && now.Sub(s.left) >= forgetAfter {
			return true
		}
	}
	return false
}

// Eye is a vantage beside hale's own server.
type Eye struct {
	Name   string
	Server bool      // it stands by; else it is a satellite
	Since  time.Time // since when it reports without a new beginning; zero: it never did
	Heard  time.Time // when it reported last, or was first waited for
	Silent bool      // for so long that what it said counts no more
	// Targets are how many it looks at: checks of machines.
	Targets int
	But     string // why it has no vote, whatever it says; empty: it has one
}

// Trouble returns why no satellite is heard although they should be, and since when; no error: hale listens, or has no
// satellites.
func (h *Hub) Trouble() (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost.since, h.lost.err
}

// Eyes returns all vantages beside hale's own server, by name. A nil hub has none.
func (h *Hub) Eyes(now time.Time) []Eye {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Eye
	for name, s := range h.seats {
		out = append(out, Eye{Name: name, Server: s.server, Since: s.begun, Heard: s.heard, Targets: len(s.list),
			Silent: now.Sub(s.heard) >= h.settings.StaleAfter+turnEvery})
	}
	for name, s := range h.servers {
		if s.but != "" {
			out = append(out, Eye{Name: name, Server: true, But: s.but})
		}
	}
	slices.SortFunc(out, func(a, b Eye) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.But, b.But))
	})
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
