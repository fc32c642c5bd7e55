package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is hale.
type program struct {
	cmd   *exec.Cmd
	log   *os.File
	ended chan struct{}
}

func begin(hale, dir string) (*program, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), hale, "run", filepath.Join(dir, "hale.yaml"), "--data-dir", filepath.Join(dir, "data"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &program{cmd: cmd, log: log, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	// It ends with the program, which end awaits.
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

func (p *program) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that has ended by itself needs none
	<-p.ended
	_ = p.log.Close()
}

func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// cpu is what its threads and the programs that it ran have been given, user and system.
func (p *program) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	var ticks int64
	for _, w := range words[11:15] { // utime, stime, and those of its children
		n, _ := strconv.ParseInt(w, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memory is a line of its status in MiB.
func (p *program) memory(key string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, is := strings.CutPrefix(line, key+":"); is {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n / 1024
		}
	}
	return 0
}

// folder is the size of a folder in MiB.
func folder(path string) float64 {
	total := 0.0
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a file that has gone meanwhile
		}
		if info, err := d.Info(); err == nil {
			if s, is := info.Sys().(*syscall.Stat_t); is && info.Mode().IsRegular() {
				total += float64(s.Blocks) * 512
			}
		}
		return nil
	})
	return total / (1 << 20)
}

// silence lets these addresses, and no others, answer nothing any more.
func silence(ctx context.Context, dir string, addresses []string) error {
	var b strings.Builder
	b.WriteString("table ip field\ndelete table ip field\ntable ip field {\n  set silent { type ipv4_addr;\n")
	if len(addresses) > 0 {
		b.WriteString("    elements = { " + strings.Join(addresses, ", ") + " }\n")
	}
	b.WriteString("  }\n  chain in { type filter hook input priority 0; ip daddr @silent icmp type echo-request drop; }\n}\n")
	file := filepath.Join(dir, "silent.nft")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "nft", "-f", file).CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out[:min(len(out), 300)])
	}
	return nil
}
