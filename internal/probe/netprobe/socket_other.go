//go:build !linux

package netprobe

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Nothing goes beyond the system's limit here.
const (
	forceReceive = unix.SO_RCVBUF
	forceSend    = unix.SO_SNDBUF
)

// datagrams makes a socket that does not block and that no program inherits.
func datagrams(domain, protocol int) (int, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM, protocol)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, err
	}
	return fd, unix.SetNonblock(fd, true)
}
