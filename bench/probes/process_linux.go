package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"hale/bench/rig"
)

// process is a program that works until it is ended, and what it says.
type process struct {
	*rig.Program
	out    bytes.Buffer
	err    bytes.Buffer
	beside *process // ends with it
}

func begin(ctx context.Context, name string, args ...string) (*process, error) {
	p := &process{}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &p.out, &p.err
	var err error
	p.Program, err = rig.Start(cmd)
	return p, err
}

// end kills it, and waits.
func (p *process) end() {
	if p.beside != nil {
		p.beside.end()
	}
	p.Kill()
}

// finish asks it to end, and returns what it said.
func (p *process) finish() ([]byte, error) {
	if err := p.Stop(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, p.err.String())
	}
	return p.out.Bytes(), nil
}

func (p *process) errors() string {
	s := p.err.String()
	return s[:min(len(s), 300)]
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

// kernelCount6 is the same for IPv6, which has another table.
func kernelCount6(name string) uint64 {
	b, err := os.ReadFile("/proc/thread-self/net/snmp6")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.ParseUint(words[1], 10, 64)
			return n
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
