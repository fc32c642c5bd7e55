package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
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
	memory      uint64        // bytes of data that it may have; 0: any
	cpu         time.Duration // processor time that it may use, in whole seconds; 0: any
	patience    patience
}

// run executes the binary. It is killed with all its children when the context ends.
func (x execution) run(ctx context.Context) (trial, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh",
		slices.Concat([]string{"-c", x.limits() + `exec "$0" "$@"`, x.binary}, x.flags)...)
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
	err := cmd.Wait()
	t := trial{outcome: survived, by: cmp.Or(w.culprit, w.crash), tail: string(w.tail)}
	t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	switch {
	case w.culprit != "":
		t.outcome = caught
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t.outcome, t.by = timedOut, "no end in sight"
	case ctx.Err() != nil:
		return t, ctx.Err()
	case x.cpu > 0 && killed(cmd): // not by us
		t.outcome, t.by = timedOut, "no end after "+t.cpu.Round(time.Second).String()+" of processor time"
	case err != nil:
		t.outcome, t.by = caught, cmp.Or(t.by, err.Error())
	}
	return t, nil
}

// limits is what a shell does before it becomes the binary: limits for a process that runs already may come too late.
func (x execution) limits() string {
	var b strings.Builder
	if x.memory > 0 {
		fmt.Fprintf(&b, "ulimit -d %d && ", x.memory>>10) // KiB
	}
	if s := max(0, x.cpu/time.Second); s > 0 {
		fmt.Fprintf(&b, "ulimit -t %d && ", s)
	}
	return b.String()
}

// killed reports whether the process was ended by the signal that the kernel sends when a limit is reached.
func killed(cmd *exec.Cmd) bool {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
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
