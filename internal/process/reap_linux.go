package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the program, and ends what is left of its group while it is dead but not reaped yet, so that nobody else can have its group's number.
func reap(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return cmd.Wait()
}
