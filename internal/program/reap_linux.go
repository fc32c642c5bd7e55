package program

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes give the program a group of its own, and end it when hale is killed, which can then end nothing itself.
// What the program began in turn is not told: what must end, watches its standard input.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the program, and ends what is left of its group while it is dead but not reaped yet, so that no other
// group can have its number.
func reap(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return cmd.Wait()
}
