// Package streams is what leaves hale record by record: the traces of incidents, the journal through its outlets, and
// the journal in hale's log.
//
// It promises that each stream has a position of its own, that none waits for another, and that one which stays the
// same in a new configuration goes on undisturbed. It holds up no one: what a receiver does not take waits in the
// journal.
package streams

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/kinds"
	"hale/internal/metrics"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/courier"
)

// Options are what all streams have.
type Options struct {
	Store   state.Store
	Version string // of hale
	Server  string // on which it runs
	Defects *defect.Register
	Log     *slog.Logger
}

// Streams are those of the configuration as it is now.
type Streams struct {
	o       Options
	changed chan struct{}

	mu     sync.Mutex
	wanted []wanted
	at     map[string]*stream
}

// wanted is one stream of the configuration.
type wanted struct {
	name    string
	timeout time.Duration
	// How it is made of the installation's journal; how tells it from another one.
	how    any
	make   func(installation fleet.Installation, o kinds.OutletOptions) kinds.Sink
	recall bool
}

// stream is one that works.
type stream struct {
	wanted
	courier atomic.Pointer[courier.Courier] // nil: it has not begun
	refused atomic.Uint64
	stop    context.CancelFunc
	ended   chan struct{}
}

// Status is how a stream stands.
type Status struct {
	courier.Status
	// Refused is how many records, or spans, the receiver took to be wrong since the start of the process.
	Refused uint64
}

// New makes the streams of the configuration. They begin when Run does.
func New(c *config.Config, o Options) *Streams {
	s := &Streams{o: o, changed: make(chan struct{}, 1), at: map[string]*stream{}}
	s.Take(c)
	return s
}

// Take makes them those of another configuration. A nil Streams takes none.
func (s *Streams) Take(c *config.Config) {
	if s == nil {
		return
	}
	var all []wanted
	if t := c.Telemetry.Traces; t.Settings != nil {
		all = append(all, wanted{name: config.TracesStream, timeout: t.Timeout, how: t, make: t.Settings.Traces,
			recall: true})
	}
	for _, o := range c.Telemetry.Journal {
		all = append(all, wanted{name: config.JournalStream(o.Name), timeout: o.Timeout, how: o,
			make: func(installation fleet.Installation, with kinds.OutletOptions) kinds.Sink {
				return publisher{installation, o.Settings.Outlet(with)}
			}})
	}
	s.mu.Lock()
	s.wanted = all
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Status returns how the streams stand, in the order of their names.
func (s *Streams) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, w := range s.wanted {
		st := Status{Status: courier.Status{Name: w.name}}
		if at := s.at[w.name]; at != nil {
			if f := at.courier.Load(); f != nil {
				st.Status = f.Status()
			}
			st.Refused = at.refused.Load()
		}
		out = append(out, st)
	}
	return out
}

// patience is how long a receiver may take nothing before it counts as a trouble.
const patience = 30 * time.Second

// Troubles are the streams with a receiver that takes nothing. A nil Streams has none.
func (s *Streams) Troubles(now time.Time) []api.Trouble {
	if s == nil {
		return nil
	}
	var out []api.Trouble
	for _, is := range s.Status() {
		if !is.Failing.IsZero() && now.Sub(is.Failing) >= patience {
			out = append(out, api.Trouble{Part: api.TroubleStream, Name: is.Name, Since: is.Failing.UTC(),
				Text:   "stream " + is.Name + " is not taken, and waits in the journal: " + is.Why,
				Advice: "see why its receiver takes nothing; hale goes on by itself, and tells what the journal let go of meanwhile"})
		}
	}
	return out
}

// Metrics is Status, for monitoring.
func (s *Streams) Metrics() []metrics.Stream {
	var out []metrics.Stream
	for _, is := range s.Status() {
		out = append(out, metrics.Stream{Name: is.Name, Taken: is.Taken, Lost: is.Lost, Refused: is.Refused,
			Takes: is.Failing.IsZero()})
	}
	return out
}

// Run streams until ctx ends.
func (s *Streams) Run(ctx context.Context) {
	installation := s.installation(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.changed:
			s.turn(ctx, installation)
		}
	}
	s.mu.Lock()
	s.wanted = nil
	s.mu.Unlock()
	s.turn(ctx, installation)
}

// installation waits for the store to have an id, which it gets at hale's first start.
func (s *Streams) installation(ctx context.Context) fleet.Installation {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		id, err := beliefs.Installation(ctx, s.o.Store)
		if err == nil && id != "" {
			return id
		}
		select {
		case <-ctx.Done():
			return ""
		case <-again.C:
		}
	}
}

// turn ends the streams that are not wanted any more, or otherwise, and begins the others.
func (s *Streams) turn(ctx context.Context, installation fleet.Installation) {
	s.mu.Lock()
	all := slices.Clone(s.wanted)
	var over []*stream
	for name, at := range s.at {
		same := slices.ContainsFunc(all, func(w wanted) bool {
			return w.name == name && reflect.DeepEqual(w.how, at.how)
		})
		if !same {
			over = append(over, at)
			delete(s.at, name)
		}
	}
	s.mu.Unlock()
	for _, at := range over {
		at.stop()
		<-at.ended
	}
	for _, w := range all {
		s.mu.Lock()
		_, works := s.at[w.name]
		s.mu.Unlock()
		if !works {
			s.begin(ctx, w, installation)
		}
	}
}

// begin has a stream work.
func (s *Streams) begin(ctx context.Context, w wanted, installation fleet.Installation) {
	ctx, stop := context.WithCancel(ctx)
	at := &stream{wanted: w, stop: stop, ended: make(chan struct{})}
	s.mu.Lock()
	s.at[w.name] = at
	s.mu.Unlock()
	go func() { // ends with ctx; turn waits for it
		defer close(at.ended)
		s.o.Defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: w.name}, func(ctx context.Context) {
			s.work(ctx, at, installation)
		})
	}()
}

func (s *Streams) work(ctx context.Context, at *stream, installation fleet.Installation) {
	taker := at.make(installation, kinds.OutletOptions{
		Name: at.name, Timeout: at.timeout, Version: s.o.Version, Server: s.o.Server,
		Refused: func(n int, why error) {
			at.refused.Add(uint64(max(0, n)))
			s.o.Log.Warn("the receiver takes something to be wrong, which is not sent again", "stream", at.name,
				"number", n, "err", fault.Plain(why))
		},
	})
	defer taker.Close()
	f := courier.New(courier.Options{Store: s.o.Store, Name: at.name, Taker: taker, Log: s.o.Log, Recall: at.recall})
	at.courier.Store(f)
	f.Run(ctx)
}
