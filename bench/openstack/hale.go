package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"hale/api"
	"hale/internal/testbed/cloud"
)

// way is how hale hears of a failure.
type way string

const (
	byEvent way = "event"
	byPoll  way = "poll"
)

// poll is the time from one listing to the next.
const poll = 5 * time.Second

// atOnce is how many machines are in repair at once, at most, and twice as many as are built: what more than that asks
// of a small cloud, it does no sooner.
const atOnce = 10

// hale is one hale with one fleet.
type hale struct {
	*rig
	size int
	name string
	data string
	log  *os.File

	mu    sync.Mutex // guards cmd, which is killed from elsewhere
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// found prepares a hale for a new fleet.
func (r *rig) found(size int) (*hale, error) {
	h := &hale{rig: r, size: size, name: fmt.Sprintf("n%d", size)}
	h.data = filepath.Join(r.dir, h.name+"-data")
	var err error
	h.log, err = os.Create(filepath.Join(r.dir, h.name+".log"))
	return h, err
}

// configuration is what hale is told. A server fails when Nova says so; nothing in it can be probed.
func (h *hale) configuration(w way) string {
	broken := max(h.size/5, 1)
	text := fmt.Sprintf(`providers:
  bench:
    type: openstack
    cloud: {name: %s, file: %s, region: %s}
    poll: %s
`, cloud.Demo, cloud.Running().CloudsFile(), h.region, poll)
	if w == byEvent {
		text += fmt.Sprintf("    events: {transport_url: {file: %s}}\n", h.bus())
	}
	return text + fmt.Sprintf(`fleets:
  %s:
    provider: bench
    size: %d
    template: {image: %s, network: %s, disks: {root: ephemeral}, server: {flavor: %s}}
    repair: {steps: [start: {}, recreate: {}], attempts: 20 in 1h}
    on_external_stop: heal
    limits: {in_repair: %d, in_build: %d, brake: {percent: 30%%, at_least: %d}}
    build_within: 10m
`, h.name, h.size, cloud.Image, cloud.Network, cloud.Flavor, broken, atOnce/2, max(broken+1, 2))
}

// start starts the program.
func (h *hale) start(w way) error {
	file := filepath.Join(h.dir, "hale.yaml")
	if err := os.WriteFile(file, []byte(h.configuration(w)), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), h.program, "run", file, "--data-dir", h.data)
	cmd.Stdout, cmd.Stderr = h.log, h.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	// It ends with the program, which stop awaits.
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cmd, h.ended = cmd, ended
	return nil
}

// stop ends the program with a signal, and waits for its end.
func (h *hale) stop(sig syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return
	}
	_ = h.cmd.Process.Signal(sig) // one that has ended by itself needs none
	<-h.ended
	h.cmd = nil
}

func (h *hale) end() {
	h.stop(syscall.SIGTERM)
	h.log.Close()
}

// over reports whether the program ended by itself.
func (h *hale) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return false
	}
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// pid is the program's.
func (h *hale) pid() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return 0
	}
	return h.cmd.Process.Pid
}

// restart lets hale hear in another way, and waits until it acts and all is well.
func (h *hale) restart(ctx context.Context, w way) error {
	h.stop(syscall.SIGTERM)
	if err := h.start(w); err != nil {
		return err
	}
	if err := h.await(ctx, 5*time.Minute, "all is well", h.complete); err != nil {
		return err
	}
	return pause(ctx, 2*poll) // whatever it does at first is over
}

// status asks hale.
func (h *hale) status(ctx context.Context) (api.Fleet, error) {
	client := api.Dial(filepath.Join(h.data, "hale.sock"))
	defer client.Close()
	s, err := client.Status(ctx)
	if err != nil {
		return api.Fleet{}, err
	}
	for _, f := range s.Fleets {
		if f.Name == h.name {
			return f, nil
		}
	}
	return api.Fleet{}, errors.New("hale does not know its fleet yet")
}

// complete reports whether every machine is healthy and nothing is done.
func (h *hale) complete(ctx context.Context) bool {
	f, err := h.status(ctx)
	return err == nil && f.Acting && f.Healthy == h.size && f.InRepair == 0 && f.InBuild == 0
}

// events returns what happened since.
func (h *hale) events(ctx context.Context, since time.Time) ([]api.Event, error) {
	client := api.Dial(filepath.Join(h.data, "hale.sock"))
	defer client.Close()
	var list []api.Event
	for e, err := range client.Events(ctx, api.EventsQuery{Fleet: h.name}) {
		if err != nil {
			return nil, err
		}
		if !e.At.Before(since) {
			list = append(list, e)
		}
	}
	return list, nil
}

// await waits for a condition.
func (h *hale) await(ctx context.Context, within time.Duration, what string, cond func(context.Context) bool) error {
	for deadline := time.Now().Add(within); ; {
		if cond(ctx) {
			return nil
		}
		if time.Now().After(deadline) || h.over() {
			tail, _ := os.ReadFile(h.log.Name()) // it says more than the error, if it can be read
			lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
			return fmt.Errorf("%s: not within %s, or hale ended; its log ends with\n%s",
				what, within, strings.Join(lines[max(len(lines)-15, 0):], "\n"))
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}
