package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that works until it is ended.
type process struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	err    bytes.Buffer
	beside *process // ends with it
}

func begin(ctx context.Context, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p, p.cmd.Start()
}

// end kills it, and waits.
func (p *process) end() {
	if p.beside != nil {
		p.beside.end()
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// finish asks it to end, and returns what it said.
func (p *process) finish() ([]byte, error) {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return nil, err
	}
	if err := p.cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, p.err.String())
	}
	return p.out.Bytes(), nil
}

func (p *process) errors() string {
	s := p.err.String()
	return s[:min(len(s), 300)]
}

// cpu is what all its threads have been given, user and system, to the nanosecond.
func (p *process) cpu() time.Duration {
	var total time.Duration
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(b), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			total += time.Duration(ns)
		}
	}
	return total
}

// resident is its memory, in MiB.
func (p *process) resident() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages := strings.Fields(string(b))
	n, err := strconv.ParseFloat(pages[1], 64)
	if err != nil {
		return 0
	}
	return n * float64(os.Getpagesize()) / (1 << 20)
}

// kernelCount returns a counter of this network namespace.
func kernelCount(table, name string) uint64 {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != table+":" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i := range min(len(names), len(words)) {
			if names[i] == name {
				n, _ := strconv.ParseUint(words[i], 10, 64)
				return n
			}
		}
	}
	return 0
}

// loopCost runs a closed loop, which prints its cost.
func loopCost(ctx context.Context, args []string) (cost, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return cost{}, err
	}
	micros, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return cost{Micros: micros, Rate: 1e6 / micros}, err
}
