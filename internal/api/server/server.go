package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/feed"
	"hale/internal/api/named"
	"hale/internal/api/power"
	"hale/internal/api/probelog"
	"hale/internal/api/rest"
	"hale/internal/api/socket"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/engine/takeover"
	"hale/internal/notify"
	"hale/internal/owner/published"
	"hale/internal/probe/satellite"
	"hale/internal/state"
	"hale/internal/state/once"
)

// Options are what a Server answers from. All are needed but Targets; without it no notifier can be tested.
type Options struct {
	Version string
	Server  string // this server's name
	Status  func() []published.Fleet
	// Count completes a fleet's status with what its recovering machines lack; nil: that is not known.
	Count  func(ctx context.Context, f *published.Fleet)
	Store  state.Store
	Desk   Desk
	Logger *slog.Logger
	// Unowned tells what bears hale's mark and no fleet owns; nil: that is not known.
	Unowned func() []published.Unowned
	// Stored tells how the store does; nil: that is not known.
	Stored func() published.Store
	// Stopping says whether the controller was told to end; nil: it is not.
	Stopping func() bool

	// Targets are those who are told, Test sends one of them a test message, and Nudge has the owners look for what was
	// put into the outbox.
	Targets func() []policy.TargetName
	Test    func(ctx context.Context, name policy.TargetName) (notify.Answer, error)
	Nudge   func()
	// Probes says how the large probe engine does; nil: there is none.
	Probes func(ctx context.Context) *api.Probes
	// Try says what would become of an order, and what would be recorded of it, as its fleet stands now; false: this
	// server does not own the fleet. Nil: that cannot be said.
	Try func(ctx context.Context, o fleet.Order) (fleet.Ruling, []record.Record, bool)
	// ProbeLog has each probe of the machine's checks told to each until stop is called; nil: that cannot be.
	ProbeLog probelog.Tell
	// TakeOver has the store become another installation; see engine.Engine.TakeOver.
	TakeOver func(ctx context.Context, t takeover.Wish) (takeover.Done, error)
	// Breaking has machines of simulated providers fail.
	Breaking Breaking
	// Fencing cuts the power of hosts; nil: no host has a fence.
	Fencing power.Fencing
	// Plans are those of providers that wait for a person's word; nil: none do.
	Plans func() []api.Waiting
	// Troubles is what hale itself lacks, and a person can give it; nil: nothing.
	Troubles   func() []api.Trouble
	Satellites *satellite.Hub // the vantages beside this server; nil: there are none
	// Monitoring answers those who watch hale.
	Monitoring Monitoring
	// Defects is what panicked since hale was started, and where it is noted when a call of this package does; nil:
	// that is only logged.
	Defects *defect.Register
	// Audit notes who does what; nil: nothing does.
	Audit *audit.Book
	// Risks are the acts that take a second person; nil: none do.
	Risks func() []access.Risk
}

// Desk takes changes of what is wanted. Problems of a configuration are errors of type keys.Problems.
type Desk interface {
	// Reload reads the controller's configuration again. After an error the one that runs is left as it is.
	Reload(ctx context.Context) (api.Changes, error)
	// Compare says what the configuration in the file or folder would change; empty: what Reload would. It changes
	// nothing.
	Compare(ctx context.Context, path string) (api.Changes, error)
	// Readdress connects the provider of the confirmed plan anew; by names the person. fault.Conflict: another plan
	// waits.
	Readdress(ctx context.Context, plan, by string) error
	// Pending says what of the running configuration waits for a person's word.
	Pending(ctx context.Context) (api.Changes, error)
}

// Server answers the calls of package api.
type Server struct {
	opts    Options
	started time.Time
	router  *rest.Router
	hosts   *power.Hosts
	named   *named.Holds
	feed    *feed.Feed
	frames  frames
}

// New makes a server that was started now.
func New(opts Options) *Server {
	if opts.Defects == nil {
		opts.Defects = defect.NewRegister(opts.Logger)
	}
	s := &Server{opts: opts, started: time.Now(), feed: feed.New(opts.Store, opts.Logger)}
	s.router = rest.New(opts.Logger, opts.Defects.Witness(defect.Surface, ""), opts.Audit,
		once.New(opts.Store, opts.Server))
	s.hosts = &power.Hosts{Fencing: opts.Fencing, Status: opts.Status, Seen: s.seen, Store: opts.Store, Hold: s.hold,
		Log: opts.Logger, Defects: opts.Defects}
	s.named = &named.Holds{Store: opts.Store, Seen: s.seen, Resolve: resolve, Await: s.await, Try: s.try}
	s.operations()
	return s
}

// Handler returns the calls, for callers that package access knows.
func (s *Server) Handler() http.Handler { return s.router.Handler() }

const (
	readLimit   = 5 * time.Second // of a request
	idleLimit   = 2 * time.Minute // of a connection between requests
	stopLimit   = 2 * time.Second // for answers under way when the server ends
	headerBytes = 16 << 10        // of a request's headers
)

// Door is where callers come in.
type Door struct {
	net.Listener
	// Guard says who calls, with package access, and turns away whom it does not know. Nil: the door is the socket,
	// whose callers the kernel knows.
	Guard func(http.Handler) http.Handler
}

// Serve answers at the doors until ctx ends, and closes them. Streams end with ctx; other answers get a moment. When
// one door fails, all are closed.
func (s *Server) Serve(ctx context.Context, doors ...Door) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { s.opts.Defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: "events"}, s.feed.Run) })
	wg.Go(func() { s.opts.Defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: "calls"}, s.sweep) })
	failures := make([]error, len(doors))
	for i, d := range doors {
		wg.Go(func() {
			defer stop()
			failures[i] = defect.Try(func() error { return s.serveAt(ctx, d) })
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

func (s *Server) serveAt(ctx context.Context, d Door) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return rest.Serving(ctx) },
		ErrorLog:    slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
	if d.Guard == nil {
		server.ConnContext = socket.WithCaller
	} else {
		server.Handler = rest.Named(d.Guard(s.Handler()))
	}
	ended := make(chan error, 1)
	go func() { // ends with Shutdown or Close; serveAt waits for it
		ended <- defect.Try(func() error { return server.Serve(d.Listener) })
	}()
	select {
	case err := <-ended:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	err := server.Shutdown(last)
	if err != nil {
		err = server.Close()
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}
