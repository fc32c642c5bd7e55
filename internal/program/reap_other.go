//go:build !linux

package program

import (
	"os/exec"
	"syscall"
)

// attributes give the program a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the program, and ends what is left of its group. The system does not reuse the group's number while a
// process is in it.
func reap(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return err
}
