package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/engine"
	"hale/internal/notify"
	"hale/internal/owner/published"
	"hale/internal/prose/explain"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/starts"
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
	Targets func() []fleet.TargetName
	Test    func(ctx context.Context, name fleet.TargetName) (notify.Answer, error)
	Nudge   func()
	// Probes says how the large probe engine does; nil: there is none.
	Probes func(ctx context.Context) *api.Probes
	// TakeOver has the store become another installation; see engine.Engine.TakeOver.
	TakeOver func(ctx context.Context, t engine.TakeOver) (engine.TakenOver, error)
	// Breaking has machines of simulated providers fail.
	Breaking Breaking
	// Fencing cuts the power of hosts; nil: no host has a fence.
	Fencing Fencing
	// Plans are those of providers that wait for a person's word; nil: none do.
	Plans func() []api.Waiting
	// Troubles is what hale itself lacks, and a person can give it; nil: nothing.
	Troubles func() []api.Trouble
	// Defects is what panicked since hale was started, and where it is noted when a call of this package does; nil:
	// that is only logged.
	Defects *defect.Register
}

// Desk takes changes of what is wanted. Problems of a configuration are errors of type keys.Problems.
type Desk interface {
	// Reload reads the controller's configuration again. After an error the one that runs is left as it is.
	Reload(ctx context.Context) (api.Changes, error)
	// Compare says what the configuration in the file or folder would change. It changes nothing.
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
}

// New makes a server that was started now.
func New(opts Options) *Server {
	if opts.Defects == nil {
		opts.Defects = defect.NewRegister(opts.Logger)
	}
	return &Server{opts: opts, started: time.Now()}
}

const (
	readLimit = 5 * time.Second // of a request
	stopLimit = 2 * time.Second // for answers under way when the server ends
)

// Serve answers on the listener until ctx ends, and closes it. Streams end with ctx; other answers get a moment.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: readLimit,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withCaller,
		ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { // ends with Shutdown or Close; Serve waits for it
		ended <- defect.Try(func() error { return server.Serve(l) })
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

// Handler returns the calls.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("GET /v1/machines/{name}/why", s.why)
	mux.HandleFunc("GET /v1/machines/{name}/evidence", s.evidence)
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("GET /v1/state", s.state)
	mux.HandleFunc("GET /v1/backup", s.backup)
	mux.HandleFunc("POST /v1/orders", s.orders)
	mux.HandleFunc("GET /v1/orders", s.given)
	mux.HandleFunc("GET /v1/fleets/{name}/world", s.world)
	mux.HandleFunc("GET /v1/fleets/{name}/why", s.whyFleet)
	mux.HandleFunc("POST /v1/take-over", s.takeOver)
	mux.HandleFunc("POST /v1/reload", s.reload)
	mux.HandleFunc("POST /v1/readdress", s.readdress)
	mux.HandleFunc("GET /v1/compare", s.compare)
	mux.HandleFunc("GET /v1/pending", s.pending)
	mux.HandleFunc("GET /v1/notify/dead", s.deadLetters)
	mux.HandleFunc("POST /v1/notify/dead/retry", s.retryDead)
	mux.HandleFunc("POST /v1/notify/targets/{name}/test", s.testTarget)
	mux.HandleFunc("GET /v1/fences", s.fences)
	mux.HandleFunc("POST /v1/fences/test", s.testFences)
	mux.HandleFunc("POST /v1/fences/off", s.fenceOff)
	mux.HandleFunc("POST /v1/fences/uncut", s.fenceUncut)
	mux.HandleFunc("GET /v1/simulated/breakages", s.breakages)
	mux.HandleFunc("POST /v1/simulated/break", s.breakMachine)
	// What the program itself takes, for go tool pprof. Only who may give orders reaches the socket.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return defect.Handler(forReaders(mux, s.fail), s.opts.Defects.Witness(defect.Surface, ""), "api")
}

// countWithin is how long is waited for all fleets' counts of good answers.
const countWithin = 300 * time.Millisecond

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	out := api.Status{
		Version: s.opts.Version, Server: s.opts.Server, PID: os.Getpid(), Started: s.started, Now: time.Now(),
		Fleets: []api.Fleet{},
	}
	out.Stopping = s.opts.Stopping != nil && s.opts.Stopping()
	fenced := s.fenced()
	counting, cancel := context.WithTimeout(r.Context(), countWithin)
	defer cancel()
	for _, f := range s.opts.Status() {
		if s.opts.Count != nil {
			s.opts.Count(counting, &f)
		}
		v := view.Fleet(f)
		v.Fencing = fenceProblems(string(f.Spec.Provider), fenced)
		out.Fleets = append(out.Fleets, v)
	}
	if s.opts.Probes != nil {
		out.Probes = s.opts.Probes(r.Context())
	}
	if s.opts.Plans != nil {
		out.Plans = s.opts.Plans()
	}
	if s.opts.Troubles != nil {
		out.Troubles = s.opts.Troubles()
	}
	out.Defects = view.Defects(s.opts.Defects.All())
	if s.opts.Unowned != nil {
		out.Unowned = view.Unowned(s.opts.Unowned())
	}
	if s.opts.Stored != nil {
		out.Store = view.Store(s.opts.Stored())
	}
	s.answer(w, http.StatusOK, out)
}

func (s *Server) why(w http.ResponseWriter, r *http.Request) {
	status := s.opts.Status()
	text, problem := meant(r.PathValue("name"), status)
	if problem != nil {
		s.fail(w, http.StatusBadRequest, *problem)
		return
	}
	name := fleet.MachineName(text)
	var names, fleets []string
	for _, f := range status {
		fleets = append(fleets, string(f.Spec.Name))
		names = append(names, aliases(f)...)
		for _, v := range f.Machines {
			names = append(names, string(v.Machine.Name))
			if v.Machine.Name != name {
				continue
			}
			records, _, err := journal.Read(r.Context(), s.opts.Store, f.Spec.Name)
			if err != nil {
				s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
				return
			}
			if s.opts.Count != nil {
				s.opts.Count(r.Context(), &f)
			}
			s.answer(w, http.StatusOK, view.Why(f, v, records))
			return
		}
	}
	if gone, is, err := s.releasedWith(r.Context(), text); err == nil && is {
		s.fail(w, http.StatusNotFound, gone.problem(text))
		return
	}
	s.fail(w, http.StatusNotFound, api.Problem{
		Code: api.CodeUnknownMachine, Message: "there is no machine or fleet " + string(name),
		Near: api.Near(string(name), append(names, fleets...)),
	})
}

// whyFleet says what holds a fleet as a whole.
func (s *Server) whyFleet(w http.ResponseWriter, r *http.Request) {
	f, problem := fleetNamed(r.PathValue("name"), s.opts.Status())
	if problem != nil {
		s.fail(w, http.StatusNotFound, *problem)
		return
	}
	e := explain.Fleet(f)
	out := api.FleetWhy{
		Now:     f.Now.Wall,
		Fleet:   view.Fleet(f),
		Holding: append([]string{}, e.Now...),
		Person:  []string{},
	}
	for _, advice := range e.Person {
		if !slices.Contains(out.Person, advice) {
			out.Person = append(out.Person, advice)
		}
	}
	s.answer(w, http.StatusOK, out)
}

// statePrefixes are the parts of the store that a plan needs. Without the starts that were noted, those of this very
// hale would prove to it that the store is older than the world.
var statePrefixes = []string{"installation", "fleets/", "providers/", starts.NotedPrefix}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	dump, err := Dump(r.Context(), s.opts.Store)
	if err != nil {
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	s.answer(w, http.StatusOK, dump)
}

// Dump reads what a plan needs from a store: no journal, and nothing that lives by a lease.
func Dump(ctx context.Context, store state.Store) (api.State, error) {
	dump := api.State{Entries: []api.Entry{}}
	for _, prefix := range statePrefixes {
		entries, _, err := store.List(ctx, prefix)
		if err != nil {
			return api.State{}, err
		}
		for _, e := range entries {
			if e.Lease == 0 {
				dump.Entries = append(dump.Entries, api.Entry{Key: e.Key, Value: e.Value})
			}
		}
	}
	return dump, nil
}

// events streams the journal.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	q, err := parseEventsQuery(r.URL.Query())
	if err != nil {
		s.fail(w, http.StatusBadRequest, api.Problem{Code: api.CodeBadRequest, Message: err.Error()})
		return
	}
	if problem := s.aboutMachine(r.Context(), &q); problem != nil {
		s.fail(w, http.StatusNotFound, *problem)
		return
	}
	records, revision, err := s.past(r.Context(), q)
	if err != nil {
		var unknown unknownFleet
		if errors.As(err, &unknown) {
			s.fail(w, http.StatusNotFound, api.Problem{
				Code:    api.CodeUnknownFleet,
				Message: err.Error(),
				Near:    api.Near(string(unknown.name), unknown.known),
			})
			return
		}
		s.fail(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeStore, Message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := stream{out: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
	told := map[fleet.Name]uint64{}
	for _, rec := range records {
		told[rec.Fleet] = rec.Seq
	}
	begins := beginning(records)
	records = slices.DeleteFunc(records, func(r fleet.Record) bool { return !q.wants(r) })
	if q.reaches(begins, len(records)) {
		w.Header().Set(api.HeaderBegins, begins.UTC().Format(time.RFC3339Nano))
	}
	for i, rec := range records {
		if q.last >= 0 && i < len(records)-q.last {
			continue
		}
		if !lines.send(view.Event(rec)) {
			return
		}
	}
	if q.follow && lines.flushed() {
		s.follow(r.Context(), lines, told, q, revision)
	}
}

// beginning returns from when on the journals are whole at their beginnings; zero: nothing older was ever removed.
func beginning(records []fleet.Record) time.Time {
	var begins time.Time
	seen := map[fleet.Name]bool{}
	for _, r := range records {
		if !seen[r.Fleet] && r.Seq > 1 && r.At.After(begins) {
			begins = r.At
		}
		seen[r.Fleet] = true
	}
	return begins
}

// reaches reports whether the query asks for more than there is, where so many of the records are wanted.
func (q eventsQuery) reaches(begins time.Time, wanted int) bool {
	return !begins.IsZero() && q.since.Before(begins) && (q.last < 0 || wanted < q.last)
}

// follow sends what is stored after the revision, except what was told already, until ctx ends or the reader has gone.
func (s *Server) follow(ctx context.Context, lines stream, told map[fleet.Name]uint64, q eventsQuery, revision int64) {
	for rec, err := range journal.Follow(ctx, s.opts.Store, q.fleet, revision) {
		if err != nil {
			lines.send(api.Failure{Error: api.Problem{Code: api.CodeStore, Message: err.Error()}})
			return
		}
		if rec.Seq <= told[rec.Fleet] || !q.wants(rec.Record) {
			continue
		}
		if !lines.send(view.Event(rec.Record)) || !lines.flushed() {
			return
		}
	}
}

// stream writes lines until the reader has gone.
type stream struct {
	out   *json.Encoder
	flush func() error
}

func (s stream) send(v any) bool { return s.out.Encode(v) == nil }
func (s stream) flushed() bool   { return s.flush() == nil }

type eventsQuery struct {
	fleet   fleet.Name
	machine fleet.MachineName
	since   time.Time
	kinds   []fleet.RecordKind // empty: all
	last    int                // -1: all
	follow  bool
}

// wants reports whether the query asks for the record. Its fleet is chosen by who reads the journals.
func (q eventsQuery) wants(r fleet.Record) bool {
	return (q.machine == "" || r.Machine == q.machine) && !r.At.Before(q.since) &&
		(len(q.kinds) == 0 || slices.Contains(q.kinds, r.Kind))
}

func parseEventsQuery(v map[string][]string) (eventsQuery, error) {
	q := eventsQuery{last: -1}
	for key, values := range v {
		var err error
		switch value := values[len(values)-1]; key {
		case "fleet":
			q.fleet = fleet.Name(value)
		case "machine":
			q.machine = fleet.MachineName(value)
		case "since":
			q.since, err = time.Parse(time.RFC3339Nano, value)
		case "kind":
			for _, k := range values {
				if q.kinds = append(q.kinds, fleet.RecordKind(k)); !slices.Contains(api.EventKinds(), k) {
					err = api.UnknownKind(k)
				}
			}
		case "last":
			q.last, err = strconv.Atoi(value)
		case "follow":
			q.follow, err = strconv.ParseBool(value)
		default:
			err = errors.New("unknown parameter")
		}
		if err != nil {
			return q, errors.New(key + ": " + err.Error())
		}
	}
	return q, nil
}

// aboutMachine finds the machine that the query means, by its name or what its provider calls it; it may stand in the
// place of a fleet. One that has gone is still in the journal: its name is taken as it is where a fleet could have had
// it.
func (s *Server) aboutMachine(ctx context.Context, q *eventsQuery) *api.Problem {
	status := s.opts.Status()
	if q.machine == "" {
		text, problem := meant(string(q.fleet), status)
		if problem == nil && text != string(q.fleet) {
			q.fleet, q.machine = "", fleet.MachineName(text)
		}
		return problem
	}
	text, problem := meant(string(q.machine), status)
	if problem != nil {
		return problem
	}
	q.machine = fleet.MachineName(text)
	var names []string
	for _, f := range status {
		names = append(names, aliases(f)...)
		for _, v := range f.Machines {
			names = append(names, string(v.Machine.Name))
		}
		if rest, of := strings.CutPrefix(text, string(f.Spec.Name)+"-"); of {
			if _, err := strconv.ParseUint(rest, 10, 32); err == nil {
				return nil
			}
		}
	}
	if slices.Contains(names, text) {
		return nil
	}
	if _, is, err := s.releasedFleet(ctx, q.fleet); err == nil && is {
		return nil
	}
	if gone, is, err := s.releasedWith(ctx, text); q.fleet == "" && err == nil && is {
		q.fleet = gone.name
		return nil
	}
	return &api.Problem{
		Code:    api.CodeUnknownMachine,
		Message: "there is no machine " + text,
		Near:    api.Near(text, names),
	}
}

type unknownFleet struct {
	name  fleet.Name
	known []string
}

func (u unknownFleet) Error() string { return "there is no fleet " + string(u.name) }

// past returns the stored records that the query asks for, in order of time, and the revision to follow from.
func (s *Server) past(ctx context.Context, q eventsQuery) ([]fleet.Record, int64, error) {
	var all []fleet.Record
	var from int64
	var known []string
	for _, f := range s.opts.Status() {
		known = append(known, string(f.Spec.Name))
		if q.fleet != "" && f.Spec.Name != q.fleet {
			continue
		}
		records, revision, err := journal.Read(ctx, s.opts.Store, f.Spec.Name)
		if err != nil {
			return nil, 0, err
		}
		if from == 0 {
			from = revision // the earliest: what is followed twice is left out by its number
		}
		all = merge(all, records)
	}
	if q.fleet != "" && !slices.Contains(known, string(q.fleet)) {
		gone, is, err := s.releasedFleet(ctx, q.fleet)
		if err != nil {
			return nil, 0, err
		}
		if !is {
			return nil, 0, unknownFleet{q.fleet, known}
		}
		return gone.records, gone.revision, nil
	}
	return all, from, nil
}

// merge joins the records of several fleets by time; each fleet's stay in their order, whatever the clock did.
func merge(a, b []fleet.Record) []fleet.Record {
	out := make([]fleet.Record, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].At.Before(a[0].At) {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.opts.Logger.Debug("an answer did not reach its reader", "err", err)
	}
}

func (s *Server) fail(w http.ResponseWriter, status int, p api.Problem) {
	s.answer(w, status, api.Failure{Error: p})
}
