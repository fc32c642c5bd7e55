// Package daemon runs other people's daemons, as the system's packages have them, for tests.
//
// It promises that each ends with its test, or its process, and that what it says is kept in its folder.
package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startLimit is more than any needs to start on a machine that has much else to do.
const startLimit = time.Minute

// Daemon is one that runs.
type Daemon struct {
	process *os.Process
	log     string
}

// Start starts the program in the folder.
func Start(t testing.TB, dir, program string, args ...string) *Daemon {
	t.Helper()
	d := &Daemon{log: filepath.Join(dir, "log")}
	log, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	c.Stdout, c.Stderr, c.Dir = log, log, dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	d.process = c.Process
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()         // by that
	})
	return d
}

// Freeze has it stand still until it is thawed: who connects to it hears nothing.
func (d *Daemon) Freeze() error { return d.process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (d *Daemon) Thaw() error { return d.process.Signal(syscall.SIGCONT) }

// Kill ends it at once, and what it started, as a crash does.
func (d *Daemon) Kill() {
	_ = d.Signal(syscall.SIGKILL) // it may have ended
	_, _ = d.process.Wait()       // by that
}

// Signal sends it, and what it started, a signal.
func (d *Daemon) Signal(s syscall.Signal) error { return syscall.Kill(-d.process.Pid, s) }

// Hears reports whether it is there and reacts to the signal in a way of its own: one that comes while it starts may be
// lost.
func (d *Daemon) Hears(s syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.process.Pid))
	if err != nil {
		return false
	}
	masked := func(name string) bool {
		_, rest, _ := strings.Cut(string(status), name+":")
		word, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		mask, _ := strconv.ParseUint(word, 16, 64)
		return mask>>(s-1)&1 == 1
	}
	return masked("SigCgt") && !masked("SigBlk")
}

// Tell sends a signal to it alone.
func (d *Daemon) Tell(s syscall.Signal) error { return d.process.Signal(s) }

// AwaitReady waits until it is ready, as the test sees it.
func (d *Daemon) AwaitReady(t testing.TB, ready func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it did not start within %s: %v\n%s", startLimit, err, d.Said())
		}
	}
}

// Said is what it said so far.
func (d *Daemon) Said() string {
	text, _ := os.ReadFile(d.log) // it is there
	return string(text)
}

// Installed returns where a program of the system's packages lies.
func Installed(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests", err)
	}
	return path
}
