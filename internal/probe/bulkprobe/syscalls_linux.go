package bulkprobe

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls do not wait, so they tell the scheduler nothing: that would cost more than the call. What package unix
// has of them would, and makes an allocation for each address besides.

// message is the kernel's mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
}

// sendMessages sends the messages, at least one, and returns how many went out. The error is that of the first that did
// not, when none did.
func sendMessages(fd int32, m []message) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), e
}

// receiveMessages fills messages, as many as there are.
func receiveMessages(fd int32, m []message) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)),
		unix.MSG_DONTWAIT, 0, 0)
	return int(n), e
}

// openStream opens a TCP socket that waits for nothing.
func openStream(domain int) (int32, syscall.Errno) {
	fd, _, e := syscall.RawSyscall(unix.SYS_SOCKET, uintptr(domain),
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	return int32(fd), e
}

func connect(fd int32, to *unix.RawSockaddrInet6, size int) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(to)), uintptr(size))
	return e
}

func setOption(fd int32, level, name int, value int32) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
	return e
}

// pendingError returns, and clears, what went wrong with a socket.
func pendingError(fd int32) syscall.Errno {
	var value int32
	size := uint32(unsafe.Sizeof(value))
	_, _, e := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_ERROR,
		uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return e
	}
	return syscall.Errno(value)
}

// send sends a request, which is not empty.
func send(fd int32, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), e
}

// receive reads into b, which is not empty.
func receive(fd int32, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_DONTWAIT, 0, 0)
	return int(n), e
}

func closeFile(fd int32) { _ = unix.Close(int(fd)) }

// watch has the epoll tell of a socket's every change.
func watch(epoll, fd int32) syscall.Errno {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: fd}
	_, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), unix.EPOLL_CTL_ADD, uintptr(fd),
		uintptr(unsafe.Pointer(&event)), 0, 0)
	return e
}

// poll returns how many events are there now.
func poll(epoll int32, events []unix.EpollEvent) int {
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), 0, 0, 0)
	if e != 0 {
		return 0
	}
	return int(n)
}

// await waits for events as long as it is told, and returns how many are there. The scheduler knows of it.
func await(epoll int32, events []unix.EpollEvent, limit time.Duration) int {
	ms := int((limit + time.Millisecond - 1) / time.Millisecond)
	n, err := unix.EpollWait(int(epoll), events, ms)
	if err != nil {
		return 0
	}
	return n
}

// nap sleeps for less than a slot. Where there are other processors the scheduler is not told, which saves half of the
// cost; a collection of garbage that wants the thread wakes it by a signal.
func nap(d time.Duration, alone bool) {
	ts := unix.NsecToTimespec(int64(d))
	if alone {
		_, _, _ = syscall.Syscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0,
			0, 0)
		return
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0,
		0, 0)
}
