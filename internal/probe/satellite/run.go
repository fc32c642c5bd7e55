package satellite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"hale/internal/defect"
	"hale/internal/probe"
)

// Engine is what probes where the satellite is.
type Engine interface {
	probe.Engine
	// Run works until ctx ends.
	Run(ctx context.Context) error
}

// Options are what a satellite is made of. All are needed, unless it says otherwise.
type Options struct {
	// Join are the addresses of the servers of one installation, as https://hale.example.org:7118. The active one
	// answers.
	Join    []string
	Name    string // what it is called in the configuration; empty: its token says that
	Version string
	Token   func(context.Context) (string, error) // is asked before each report
	Through http.RoundTripper
	Engine  Engine
	Logger  *slog.Logger
	Panics  defect.Witness
}

const (
	// askWithin is how long one report may take.
	askWithin = 5 * time.Second
	// soonest is the time from one report to the next where there is much to tell, and retryEvery where none is taken.
	soonest, retryEvery = 50 * time.Millisecond, time.Second
	// refusedEvery is the time from one try to the next where the server says no.
	refusedEvery = 5 * time.Second
)

// Run is a satellite: it probes what a server tells it to, and reports, until ctx ends. An error says that it cannot
// probe at all.
func Run(ctx context.Context, o Options) error {
	s := &satellite{Options: o, process: word(), book: newBook(), told: make([]string, len(o.Join))}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var parts sync.WaitGroup
	var failed error
	parts.Go(func() {
		defer end()
		failed = defect.Try(func() error { return o.Engine.Run(ctx) })
	})
	parts.Go(func() {
		defer end()
		defer o.Panics.Catch("", "its work", nil)
		s.book.listen(ctx, o.Engine.Reports())
	})
	s.report(ctx)
	end()
	s.looks.Wait()
	parts.Wait()
	return failed
}

// satellite is one.
type satellite struct {
	Options
	process string
	book    *book
	looks   sync.WaitGroup

	session string
	stamp   int64
	have    uint64
	at      int      // which server is asked
	told    []string // what was logged last of each
}

// report reports again and again until ctx ends.
func (s *satellite) report(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		pause.Reset(s.once(ctx))
	}
}

// once reports, does what the answer asks for, and returns when to report again.
func (s *satellite) once(ctx context.Context) time.Duration {
	r, sent := s.book.report()
	r.Protocol, r.Version, r.Process = Protocol, s.Version, s.process
	r.Session, r.Stamp, r.Have = s.session, s.stamp, s.have
	out, err := s.ask(ctx, &r)
	var no refusal
	switch {
	case ctx.Err() != nil:
		return 0
	case errors.As(err, &no):
		if s.news(refused + no.why) {
			s.Logger.Error(refused, "server", s.Join[s.at], "why", no.why)
		}
		s.at = (s.at + 1) % len(s.Join)
		return refusedEvery / time.Duration(len(s.Join))
	case err != nil:
		if s.news(silent) {
			s.Logger.Warn(silent, "server", s.Join[s.at], "err", err)
		}
		s.at = (s.at + 1) % len(s.Join)
		return retryEvery / time.Duration(len(s.Join))
	}
	if s.news(taken) {
		s.Logger.Info(taken, "server", s.Join[s.at])
	}
	s.book.taken(sent)
	s.obey(ctx, &out)
	return soonest
}

// news reports whether the state of the server that is asked is another one than what was logged last of it.
func (s *satellite) news(state string) bool {
	was := s.told[s.at]
	s.told[s.at] = state
	return state != was
}

// What is logged, once, when it becomes so.
const (
	taken   = "the server takes this vantage's reports"
	refused = "the server does not take this vantage's reports"
	silent  = "the server does not answer; this vantage goes on probing, and tries again"
)

// ask sends the report, and returns what is answered.
func (s *satellite) ask(ctx context.Context, r *report) (orders, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	token, err := s.Token(ctx)
	if err != nil {
		return orders{}, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return orders{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.Join[s.at], "/")+Path,
		bytes.NewReader(body))
	if err != nil {
		return orders{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if s.Name != "" {
		req.Header.Set(nameHeader, s.Name)
	}
	resp, err := s.Through.RoundTrip(req)
	if err != nil {
		return orders{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxOrders))
	switch {
	case err != nil:
		return orders{}, err
	case resp.StatusCode != http.StatusOK:
		return orders{}, refusal{resp.StatusCode, resp.Status + ": " + line(strings.TrimSpace(string(answer)))}
	}
	var out orders
	if err := json.Unmarshal(answer, &out); err != nil {
		return orders{}, refusal{resp.StatusCode, "it is no hale that listens for satellites: " + err.Error()}
	}
	if out.Protocol != Protocol {
		return orders{}, refusal{resp.StatusCode, fmt.Sprintf("it speaks protocol %d, and this satellite speaks %d: "+
			"install the same version of hale on both", out.Protocol, Protocol)}
	}
	return out, nil
}

// obey probes what the server wants probed.
func (s *satellite) obey(ctx context.Context, o *orders) {
	if o.Anew {
		s.Logger.Info("the server has this vantage begin anew")
		s.Engine.Remove(s.book.clear()...)
	}
	s.session, s.stamp, s.have = o.Session, o.Stamp, o.Have
	s.Engine.Remove(o.Gone...)
	s.book.forget(o.Gone)
	var set []probe.Target
	for i := range o.Targets {
		t := &o.Targets[i]
		if err := t.sound(); err != nil {
			s.Engine.Remove(t.ID)
			s.book.unsound(t, err)
			s.Logger.Warn("a check cannot be made here", "err", err)
			continue
		}
		s.book.watch(t)
		set = append(set, t.probed())
	}
	if len(set) > 0 {
		s.Engine.Set(set...)
	}
	for i := range o.Looks {
		l := &o.Looks[i]
		s.looks.Go(func() { // it ends with ctx, or the check's timeout
			defer s.Panics.Catch(string(l.Target.ID.Check), "look", nil)
			s.look(ctx, l)
		})
	}
}

// look looks at a target, and notes what it found.
func (s *satellite) look(ctx context.Context, l *look) {
	if err := l.Target.sound(); err != nil {
		s.book.looked(looked{l.Number, unable(err)})
		return
	}
	is := s.Engine.Look(ctx, l.Target.probed())
	s.book.looked(looked{l.Number, said{is.Standing, is.Result, is.Detail}})
}
