package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the kernel's unit of a process's times. It has been the same for all programs since Linux 2.6.
const tick = 10 * time.Millisecond

// Program is a program that is measured. It ends with the benchmark at the latest.
type Program struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; settled once ended is closed
}

// Start starts the command, which has not been started.
func Start(cmd *exec.Cmd) (*Program, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Program{cmd: cmd, ended: make(chan struct{})}
	// It ends with the program, which Stop and Kill await.
	go func() {
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// Signal sends the program a signal.
func (p *Program) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop asks the program to end, waits until it has, and returns how.
func (p *Program) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that has ended by itself needs none
	<-p.ended
	return p.err
}

// Kill ends it without asking.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// Over reports whether it has ended.
func (p *Program) Over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// CPU is the time, user and system, that all its threads have been given, to the nanosecond, and the programs that it
// ran and that have ended, to ten milliseconds.
func (p *Program) CPU() time.Duration {
	total := p.children()
	files, _ := filepath.Glob(p.proc("task/*/schedstat"))
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

func (p *Program) children() time.Duration {
	b, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // what stands before may have blanks
	var ticks int64
	for _, w := range strings.Fields(rest)[13:15] { // cutime and cstime of proc(5)
		n, _ := strconv.ParseInt(w, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// Memory is a line of its status, such as VmRSS, in MiB.
func (p *Program) Memory(key string) float64 {
	b, err := os.ReadFile(p.proc("status"))
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

// Written is how many bytes it had the kernel write to disks so far; 0: that cannot be read.
func (p *Program) Written() float64 {
	b, err := os.ReadFile(p.proc("io"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, is := strings.CutPrefix(line, "write_bytes: "); is {
			n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return n
		}
	}
	return 0
}

func (p *Program) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file)
}
