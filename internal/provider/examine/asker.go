package examine

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"hale/internal/provider/providertest"
)

// asker is one question under way: what a test would be.
type asker struct {
	ctx context.Context //nolint:containedctx // it is the question's, as testing.T's is the test's

	mu       sync.Mutex
	said     []string // what failed
	failed   bool
	cleanups []func()
}

var _ providertest.T = (*asker)(nil)

// ask lets the question run to its end, and cleans up after it.
func ask(ctx context.Context, name string, question func(t providertest.T)) Outcome {
	began := time.Now()
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &asker{ctx: own}
	a.apart(func() { question(a) })
	cancel()
	for {
		a.mu.Lock()
		n := len(a.cleanups)
		if n == 0 {
			a.mu.Unlock()
			break
		}
		last := a.cleanups[n-1]
		a.cleanups = a.cleanups[:n-1]
		a.mu.Unlock()
		a.apart(last)
	}
	out := Outcome{Question: name, Verdict: Passed, Took: time.Since(began)}
	if a.failed {
		out.Verdict, out.Why = Failed, a.said
	}
	return out
}

// apart runs f in a goroutine of its own, which Fatal ends, and waits for it.
func (a *asker) apart(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

// Helper implements providertest.T.
func (a *asker) Helper() {}

// Cleanup implements providertest.T.
func (a *asker) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

// Context implements providertest.T.
func (a *asker) Context() context.Context { return a.ctx }

// Log implements providertest.T.
func (a *asker) Log(args ...any) { a.note(fmt.Sprintln(args...), false) }

// Logf implements providertest.T.
func (a *asker) Logf(format string, args ...any) { a.note(fmt.Sprintf(format, args...), false) }

// Error implements providertest.T.
func (a *asker) Error(args ...any) { a.note(fmt.Sprintln(args...), true) }

// Errorf implements providertest.T.
func (a *asker) Errorf(format string, args ...any) { a.note(fmt.Sprintf(format, args...), true) }

// Fatal implements providertest.T.
func (a *asker) Fatal(args ...any) {
	a.Error(args...)
	runtime.Goexit()
}

// Fatalf implements providertest.T.
func (a *asker) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a *asker) note(text string, failure bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, strings.TrimRight(text, "\n"))
	a.failed = a.failed || failure
}

// TempDir implements providertest.T.
func (a *asker) TempDir() string {
	dir, err := os.MkdirTemp("", "hale-exam-")
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			a.Error(err)
		}
	})
	return dir
}

// Output implements providertest.T.
func (a *asker) Output() io.Writer { return output{a} }

type output struct{ a *asker }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) {
	o.a.note(string(b), false)
	return len(b), nil
}
