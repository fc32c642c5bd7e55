package netprobe

import "golang.org/x/sys/unix"

// The options that enlarge buffers beyond the system's limit.
const (
	forceReceive = unix.SO_RCVBUFFORCE
	forceSend    = unix.SO_SNDBUFFORCE
)

// datagrams makes a socket that does not block and that no program inherits.
func datagrams(domain, protocol int) (int, error) {
	return unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
}
