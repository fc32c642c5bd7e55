package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/lab"
)

// plain is the example of an exec provider with QEMU processes of its own, without libvirt.
type plain struct {
	stage
	program string // the example's folder
	state   string
	guest   lab.Guest
}

const plainFleet = `
providers:
  here: {type: exec, command: [%q], env: {STATE_DIR: %q}, poll: 2s}
fleets:
  web:
    provider: here
    size: 2
    template:
      kernel: %q
      initrd: %q
      cmdline: "%s console=ttyS0 hale.name={name}"
      memory: %dMiB
      disks: {scratch: {size: 1MiB, keep: false}}
      options: {ports: "80", accel: tcg}
    checks:
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms}
    build_within: 1m
    repair: {steps: [start, reboot, recreate], attempts: 50 in 1h, backoff: 500ms}
`

func newPlain(t *testing.T) plain {
	t.Helper()
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newController()
	if err != nil {
		t.Fatal(err)
	}
	p := plain{
		stage: stage{t, &props{hale: c, dice: run.dice(t.Name()), settings: settings{fleet: "web", size: 2}}},
		state: c.path("state"), guest: guest,
	}
	p.program, err = filepath.Abs("../examples/exec-provider")
	p.must(err)
	p.journal = follow(c.client)
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(c.path("log"))
			t.Logf("the end of hale's log:\n%s", tail(string(log), 60))
		}
		p.journal.end()
		c.kill()
		for _, pids := range p.processes() {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		p.gone()
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// gone waits until no process of a machine is left. It is for cleanups, too.
func (p plain) gone() {
	p.Helper()
	deadline := time.NewTimer(moment)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for len(p.processes()) > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			p.Errorf("still there: %v", p.processes())
			return
		}
	}
}

// processes returns those of the machines by the instance's id, as the kernel has them.
func (p plain) processes() map[string][]int {
	p.Helper()
	found := map[string][]int{}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	p.must(err)
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte("STATE_DIR="+p.state+"\x00")) {
			continue // it ended, or is another user's
		}
		for _, v := range strings.Split(string(env), "\x00") {
			if id, ok := strings.CutPrefix(v, "HALE_INSTANCE="); ok {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				p.must(err)
				found[id] = append(found[id], pid)
			}
		}
	}
	return found
}

// pageAt asks the guest at an address once.
func pageAt(ctx context.Context, address string) (lab.Page, error) {
	var page lab.Page
	asking := http.Client{Timeout: 2 * time.Second} // QEMU takes connections for a guest that does not listen yet
	defer asking.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/guest.json", nil)
	if err != nil {
		return page, err
	}
	resp, err := asking.Do(req)
	if err != nil {
		return page, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	err = errors.Join(err, json.Unmarshal(body, &page))
	return page, err
}

// whole checks from outside that each machine is one process, and serves its own page.
func (p plain) whole() {
	p.Helper()
	running := p.processes()
	if len(running) != p.settings.size {
		p.Errorf("%d machines run: %v", len(running), running)
	}
	for name := range p.machines() {
		m := p.machine(name)
		if len(running[m.Instance]) != 1 {
			p.Errorf("%s has the processes %v", name, running[m.Instance])
		}
		p.await("the page of "+name, func() error {
			page, err := pageAt(p.Context(), m.Address)
			if err == nil && page.Name != name {
				err = fmt.Errorf("at %s is %q", m.Address, page.Name)
			}
			return err
		})
	}
}

// TestAProgramKeepsAFleetOnPlainQEMU: hale, a program of four hundred lines, and QEMU. The fleet is built. A machine is
// started again with its disk when its process is killed; one that was removed is built anew. Its neighbour notices
// neither.
func TestAProgramKeepsAFleetOnPlainQEMU(t *testing.T) {
	t.Parallel()
	p := newPlain(t)
	text := fmt.Sprintf(plainFleet, filepath.Join(p.program, "plain_qemu.py"), p.state, p.guest.Kernel, p.guest.Initrd,
		lab.KernelArgs, lab.GuestMemoryMiB)
	p.must(os.WriteFile(p.hale.path("hale.yaml"), []byte(text), 0o600))
	run.scene()
	p.raise()
	p.stands()
	p.whole()

	run.scene()
	victim := p.pick()
	before, mark := p.machine(victim), p.journal.mark()
	for _, pid := range p.processes()[before.Instance] {
		p.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	story := p.healed(victim, mark)
	p.wantCalls(story, "start")
	p.stands()
	p.alone(victim, mark)
	p.whole()
	if now := p.machine(victim); now.Instance != before.Instance {
		t.Errorf("it was replaced: %s, was %s", now.Instance, before.Instance)
	}
	if page, err := pageAt(p.Context(), before.Address); err != nil || page.Boots != 2 {
		t.Errorf("its disk was booted from %d times (%v), want 2", page.Boots, err)
	}

	run.scene()
	victim = p.pick()
	before, mark = p.machine(victim), p.journal.mark()
	p.hook("forget", before.Instance)
	p.healed(victim, mark)
	p.stands()
	p.alone(victim, mark)
	p.whole()
	if now := p.machine(victim); now.Instance == before.Instance || now.Generation != before.Generation+1 {
		t.Errorf("before: %+v\nafter: %+v", before, now)
	}
}

// hook does to the machines what hale did not order.
func (p plain) hook(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.within(patience), filepath.Join(p.program, "hooks.py"), args...)
	cmd.Env = append(os.Environ(), "STATE_DIR="+p.state, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v: %v: %s", args, err, out)
	}
}

// TestPlainQEMUPassesTheExam: hale provider test, with real machines.
func TestPlainQEMUPassesTheExam(t *testing.T) {
	t.Parallel()
	p := newPlain(t)
	template, err := json.Marshal(map[string]any{
		"kernel": p.guest.Kernel, "initrd": p.guest.Initrd,
		"cmdline":      lab.KernelArgs + " console=ttyS0 hale.name={name}",
		"memory_bytes": lab.GuestMemoryMiB << 20, "cpus": 1,
		"disks": []map[string]any{{"name": "scratch", "ephemeral": true, "size_bytes": 1 << 20}},
		// another one than the fleet's: the addresses are the same
		"options": map[string]string{"accel": "tcg", "ports": "81"},
	})
	p.must(err)
	file := p.hale.path("machine.json")
	p.must(os.WriteFile(file, template, 0o600))
	run.scene()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv(envHale), "provider", "test", "--template", file, "--patience",
		patience.String(),
		"--env", "STATE_DIR="+p.state, "--env", "PYTHONDONTWRITEBYTECODE=1",
		"--hooks", filepath.Join(p.program, "hooks.py"), filepath.Join(p.program, "plain_qemu.py"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	p.must(err)
	p.gone()
}
