package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience says what a failed test means for those that run beside it.
type patience int

const (
	untilFailure patience = iota // the binary is killed: one failure says enough
	untilEnd                     // it may say all that it has to say
)

// execution is one run of a test binary.
type execution struct {
	binary, dir string
	flags       []string
	memory      uint64 // bytes of data that it may have; 0: any
	patience    patience
}

// run executes the binary. It is killed with all its children when the context ends.
func (x execution) run(ctx context.Context) (trial, error) {
	cmd := exec.CommandContext(ctx, x.binary, x.flags...)
	cmd.Dir = x.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
	w := &watch{}
	if x.patience == untilFailure {
		w.failed = func() { _ = killGroup(cmd) } // one that has ended needs no killing
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return trial{}, err
	}
	if x.memory > 0 {
		limit := unix.Rlimit{Cur: x.memory, Max: x.memory}
		// A binary that has ended already needs no limit.
		if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			_ = killGroup(cmd)
			_ = cmd.Wait()
			return trial{}, fmt.Errorf("limit the memory of %s: %w", x.binary, err)
		}
	}
	err := cmd.Wait()
	t := trial{outcome: survived, by: cmp.Or(w.culprit, w.crash), tail: string(w.tail)}
	switch {
	case w.culprit != "" || err != nil && ctx.Err() == nil:
		t.outcome = caught
		if t.by == "" {
			t.by = err.Error()
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t.outcome = timedOut
	case ctx.Err() != nil:
		return t, ctx.Err()
	}
	return t, nil
}

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// watch reads a test binary's output for its first failure.
type watch struct {
	failed  func() // called once
	culprit string // the test that failed
	crash   string // what ended the binary, if it crashed
	line    []byte
	tail    []byte
}

var (
	failure = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`^(panic|fatal error): .*`)
)

// Write takes output in. It never fails.
func (w *watch) Write(p []byte) (int, error) {
	const keep = 4096
	w.tail = append(w.tail, p...)
	w.tail = w.tail[max(0, len(w.tail)-keep):]
	for part := range bytes.Lines(p) {
		w.line = append(w.line, part...)
		if bytes.HasSuffix(part, []byte("\n")) {
			w.read(bytes.TrimSuffix(w.line, []byte("\n")))
			w.line = w.line[:0]
		}
	}
	return len(p), nil
}

func (w *watch) read(line []byte) {
	if m := failure.FindSubmatch(line); m != nil && w.culprit == "" {
		w.culprit = string(m[1])
		if w.failed != nil {
			w.failed()
		}
	}
	if w.crash == "" && crashed.Match(line) {
		w.crash = string(line)
	}
}
