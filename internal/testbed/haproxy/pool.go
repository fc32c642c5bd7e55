package haproxy

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/daemon"
	"hale/internal/testbed/nettest"
)

// Backend is the name of a Pool's only backend.
const Backend = "web"

// Pool is a HAProxy that somebody else tells who serves, as its service runs it: a master with workers. It can be
// killed, reloaded and frozen.
type Pool struct {
	// Socket is where it takes commands, and Front where it serves, as host:port.
	Socket, Front string

	t      testing.TB
	dir    string
	daemon *daemon.Daemon
}

const poolConfig = `global
  stats socket %s mode 600 level admin
defaults
  mode http
  timeout client 30s
%s
frontend front
  bind %s
  default_backend %[4]s
backend %[4]s
  balance roundrobin
  server-template web- %d 127.0.0.1:1 check %s disabled
`

// StartPool starts one with so many slots, the servers web-1 and on, all in maintenance, and waits until it takes
// commands.
func StartPool(t testing.TB, slots int) *Pool {
	t.Helper()
	return startPool(t, slots, "  timeout connect 2s\n  timeout server 30s\n  option redispatch\n  retries 3",
		"inter 200ms fastinter 100ms fall 2 rise 1")
}

// StartRetrying starts one that has another machine answer what one does not answer soon, as HAProxy can, and that
// gets no wrong idea of machines that are busy.
func StartRetrying(t testing.TB, slots int) *Pool {
	t.Helper()
	return startPool(t, slots, "  timeout connect 500ms\n  timeout server 5s\n  option redispatch 1\n"+
		"  retry-on all-retryable-errors\n  retries 10", "inter 1s fall 3 rise 1")
}

func startPool(t testing.TB, slots int, manner, check string) *Pool {
	t.Helper()
	p := &Pool{t: t, dir: t.TempDir(), Socket: socket(t), Front: nettest.Free(t)}
	text := fmt.Sprintf(poolConfig, p.Socket, manner, p.Front, Backend, slots, check)
	if err := os.WriteFile(filepath.Join(p.dir, "haproxy.cfg"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Start()
	t.Cleanup(func() { p.daemon.Kill() })
	return p
}

// Start starts it again after a Kill. What it was told is forgotten.
func (p *Pool) Start() {
	p.t.Helper()
	p.daemon = daemon.Start(p.t, p.dir, daemon.Installed(p.t, "haproxy"), "-W", "-f",
		filepath.Join(p.dir, "haproxy.cfg"))
	p.ready("")
}

// ready waits until it takes commands and signals, by another worker than the one that was.
func (p *Pool) ready(was string) {
	p.t.Helper()
	p.daemon.AwaitReady(p.t, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		said, err := ask(ctx, p.Socket, "show info")
		switch {
		case err != nil:
			return err
		case worker(said) == "" || worker(said) == was || !p.daemon.Hears(syscall.SIGUSR2):
			return errors.New("it is still starting")
		}
		return nil
	})
}

// worker names the process that gave the answer.
func worker(said string) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "Pid:") {
			return line
		}
	}
	return ""
}

// Ask gives it a command, and returns what it says; empty: it does not answer.
func (p *Pool) Ask(command string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), 5*time.Second)
	defer cancel()
	said, _ := ask(ctx, p.Socket, command) // no answer says it
	return said
}

// Servers says how HAProxy has its servers, by their names: "UP", "DRAIN", "MAINT", "DOWN" and the like, as its
// statistics show it; none: it does not answer.
func (p *Pool) Servers() map[string]string {
	said := csv.NewReader(strings.NewReader(p.Ask("show stat " + Backend + " 4 -1")))
	said.FieldsPerRecord = -1
	lines, err := said.ReadAll()
	if err != nil || len(lines) == 0 {
		return nil
	}
	name, status := slices.Index(lines[0], "svname"), slices.Index(lines[0], "status")
	out := map[string]string{}
	for _, line := range lines[1:] {
		if len(line) > max(name, status) && name >= 0 && status >= 0 {
			out[line[name]] = line[status]
		}
	}
	return out
}

// Kill ends it at once, as a crash does.
func (p *Pool) Kill() { p.daemon.Kill() }

// Freeze has it take connections and answer nothing, until Thaw.
func (p *Pool) Freeze() {
	p.t.Helper()
	pid := strings.TrimSpace(strings.TrimPrefix(worker(p.Ask("show info")), "Pid:"))
	p.signal(syscall.SIGSTOP)
	p.daemon.AwaitReady(p.t, func(context.Context) error {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err == nil && !strings.Contains(string(status), "State:\tT") {
			err = errors.New("it still runs")
		}
		return err
	})
}

// Thaw lets it go on.
func (p *Pool) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Pool) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.daemon.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Reload has it read its configuration again, as its service does: new workers, which know nothing of what the old ones
// were told.
func (p *Pool) Reload() {
	p.t.Helper()
	was := worker(p.Ask("show info"))
	if err := p.daemon.Tell(syscall.SIGUSR2); err != nil {
		p.t.Fatal(err)
	}
	p.ready(was)
}
