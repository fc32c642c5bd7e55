package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost measures what the cloud pays for being watched: its processor time while hale watches healthy servers, less what
// it needs unwatched.
func (h *hale) cost(ctx context.Context, window time.Duration, out *results) error {
	say("the cost of watching %d", h.size)
	h.stop(syscall.SIGTERM)
	if err := pause(ctx, 10*time.Second); err != nil { // what was begun is over
		return err
	}
	idle, err := used(ctx, window, 0)
	if err != nil {
		return err
	}
	if err := h.start(byEvent); err != nil {
		return err
	}
	if err := h.await(ctx, 5*time.Minute, "all is well", h.complete); err != nil {
		return err
	}
	if err := pause(ctx, 10*time.Second); err != nil {
		return err
	}
	h.proxy.counted()
	busy, err := used(ctx, window, h.pid())
	if err != nil {
		return err
	}
	c := cost{Size: h.size, Window: window.String(), Calls: h.proxy.counted(), Hale: busy[own], Idle: idle, Busy: busy}
	for what, n := range c.Calls {
		if strings.HasPrefix(what, "GET /servers/detail") {
			c.Polls += n
		}
	}
	for service, s := range busy {
		if service != own {
			// what one needed less, by chance, is not set off against what another needed more
			c.Cloud += max(s-idle[service], 0)
		}
	}
	if c.Polls == 0 {
		return fmt.Errorf("hale did not list: %v", c.Calls)
	}
	c.PerServerPoll = c.Cloud / float64(c.Polls) / float64(h.size)
	out.Costs = append(out.Costs, c)
	return nil
}

// own is hale itself among the services.
const own = "hale"

// ticks are the kernel's unit of processor time, per second. It has been 100 for all programs since Linux 2.6.
const ticks = 100

// used returns the seconds of processor time that each service of the cloud used in the window, and the program with
// the pid.
func used(ctx context.Context, window time.Duration, pid int) (map[string]float64, error) {
	before, err := processes(pid)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, window); err != nil {
		return nil, err
	}
	after, err := processes(pid)
	if err != nil {
		return nil, err
	}
	sum := map[string]float64{}
	for id, p := range after {
		sum[p.service] += p.used - before[id].used
	}
	return sum, nil
}

type process struct {
	service string
	used    float64 // seconds of processor time
}

// known are the services, told by a word of their command lines.
var known = []string{
	"keystone", "placement", "glance", "neutron", "nova-api", "nova-conductor", "nova-scheduler", "computer.py",
	"mariadbd", "rabbit", "memcached",
}

// processes returns those of the cloud, which live in this program's network but in a process namespace of their own,
// and the one with the pid.
func processes(pid int) (map[string]process, error) {
	network, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	outer, err := os.Readlink("/proc/thread-self/ns/pid")
	if err != nil {
		return nil, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	found := map[string]process{}
	for _, path := range stats {
		dir := filepath.Dir(path)
		space, err := os.Readlink(filepath.Join(dir, "ns", "pid"))
		net, err2 := os.Readlink(filepath.Join(dir, "ns", "net"))
		if err != nil || err2 != nil || net != network {
			continue // it has ended, or is none of ours
		}
		id := filepath.Base(dir)
		if space == outer && id != strconv.Itoa(pid) {
			continue
		}
		p, err := inspect(dir)
		if err != nil {
			continue // it has ended
		}
		if space == outer {
			p.service = own
		}
		found[id] = p
	}
	return found, nil
}

func inspect(dir string) (process, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return process{}, err
	}
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return process{}, err
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // a name may hold anything
	fields := strings.Fields(string(rest))
	if len(fields) < 13 {
		return process{}, fmt.Errorf("%s/stat is not understood", dir)
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	if err1 != nil || err2 != nil {
		return process{}, fmt.Errorf("%s/stat is not understood", dir)
	}
	p := process{service: "other", used: (user + system) / ticks}
	for _, s := range known {
		if bytes.Contains(line, []byte(s)) {
			p.service = s
			break
		}
	}
	return p, nil
}
