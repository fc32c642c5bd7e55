package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/secret"
)

// The pauses between two runs of a watch: they double, and begin anew after one that lasted.
const (
	shortestPause = 200 * time.Millisecond
	longestPause  = 3 * time.Second
	lasted        = 10 * time.Second
)

// Watch implements provider.Watcher. It runs the program with the operation watch for as long as ctx lasts, and again
// when it ends. For a program that does not watch it does nothing.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Event)) error {
	for pause := shortestPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := p.watch(ctx, changed)
		if err == nil { // it does not watch
			<-ctx.Done()
		}
		if ctx.Err() != nil || p.over() {
			break
		}
		p.o.Logger.Warn("an exec provider's watch ended; polling goes on", "err", err, "again_in", pause)
		if time.Since(began) > lasted {
			pause = shortestPause
		}
		await(ctx, pause)
	}
	return nil //nolint:nilerr // the end of ctx is none
}

func (p *Provider) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func await(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch runs the program once, and says how it ended; nil: it cannot watch. Its standard input stays open, so that it
// notices when hale is gone.
func (p *Provider) watch(ctx context.Context, changed func(provider.Event)) error {
	if d, err := p.describe(ctx); err != nil || !slices.Contains(d.Abilities, abilityWatch) {
		return err
	}
	ctx, end, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	env, secrets, err := secret.Environment(ctx, p.o.Env)
	if err != nil {
		return err
	}
	r := request{Contract: contractVersion, Operation: opWatch}
	input, hale, err := held(r)
	if err != nil {
		return err
	}
	defer func() { _, _ = input.Close(), hale.Close() }()
	said := p.ear(r, secrets, watchLines)
	events := &eventLines{changed: changed, said: said, stop: stop}
	code, err := p.o.Run(ctx, program.Process{Args: p.o.Command, Env: env, Input: input, Output: events, Errors: said})
	said.end()
	switch {
	case events.bad != nil:
		return events.bad
	case err != nil:
		return fmt.Errorf("%w%s", err, said.last())
	}
	return fmt.Errorf("its watch ended with %s%s", ending(code), said.last())
}

// held returns a pipe with the request in it, and the end that stays open.
func held(r request) (input, hale *os.File, err error) {
	line, err := r.encode()
	if err != nil {
		return nil, nil, err
	}
	if input, hale, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	if _, err = io.Copy(hale, line); err != nil { // a pipe has room for it
		_, _ = input.Close(), hale.Close()
	}
	return input, hale, err
}

// longestEvent bounds one line of a watch, in bytes.
const longestEvent = 64 << 10

// eventLines reads one event from each line that is written to it.
type eventLines struct {
	changed func(provider.Event)
	said    *ear
	stop    func()
	line    []byte
	bad     error
}

var errBadEvent = errors.New("a line of its watch is not an event")

// Write implements io.Writer. A line that is no event ends the program.
func (l *eventLines) Write(b []byte) (int, error) {
	l.line = append(l.line, b...)
	for {
		line, rest, ended := bytes.Cut(l.line, []byte{'\n'})
		if !ended {
			break
		}
		l.line = append([]byte(nil), rest...)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			l.bad = fmt.Errorf("%w (%w): it begins with %s", errBadEvent, err, l.said.quote(line))
			l.stop()
			return 0, l.bad
		}
		l.changed(provider.Event{Host: fleet.HostName(e.Host), Instance: fleet.InstanceID(e.Instance)})
	}
	if len(l.line) > longestEvent {
		l.bad = fmt.Errorf("%w: it is longer than %d bytes", errBadEvent, longestEvent)
		l.stop()
		return 0, l.bad
	}
	return len(b), nil
}
