package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// counters are what a field has seen, in a file that the comparison reads: connections accepted, and requests.
type counters struct{ accepted, requests *atomic.Uint64 }

// share maps a counter file.
func share(path string) (counters, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return counters{}, err
	}
	defer f.Close()
	if err := f.Truncate(64); err != nil {
		return counters{}, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return counters{}, err
	}
	return counters{(*atomic.Uint64)(unsafe.Pointer(&b[0])), (*atomic.Uint64)(unsafe.Pointer(&b[8]))}, nil
}

const (
	kept   = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"
	leaves = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
)

// field is the target of all checks: field PORT COUNTERS answers on every address of the namespace. After SIGUSR1 it is
// deaf to what is new.
func field(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("field PORT COUNTERS, not %q", args)
	}
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	seen, err := share(args[1])
	if err != nil {
		return err
	}
	var listeners []int
	for _, every := range []unix.Sockaddr{&unix.SockaddrInet4{Port: port}, &unix.SockaddrInet6{Port: port}} {
		fd, err := listen(every)
		if err != nil {
			return err
		}
		listeners = append(listeners, fd)
	}
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGUSR1)
	// It ends with the process.
	go func() {
		for range deaf {
			drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
			for _, fd := range listeners {
				_ = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
					Len:    1,
					Filter: &drop[0],
				})
			}
		}
	}()
	return serve(ctx, listeners, seen)
}

// listen takes what comes for every address of a family.
func listen(every unix.Sockaddr) (int, error) {
	domain := unix.AF_INET
	if _, six := every.(*unix.SockaddrInet6); six {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	if err := unix.Bind(fd, every); err != nil {
		return 0, err
	}
	return fd, unix.Listen(fd, 65535)
}

// serve is one loop over an epoll: the field must cost less than those who ask it.
func serve(ctx context.Context, listeners []int, seen counters) error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	watch := func(fd int) {
		_ = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLRDHUP,
			Fd:     int32(fd),
		})
	}
	for _, fd := range listeners {
		watch(fd)
	}
	events, buffer := make([]unix.EpollEvent, 512), make([]byte, 4096)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(epoll, events, 100)
		if err != nil && err != unix.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if !slices.Contains(listeners, int(e.Fd)) {
				answer(int(e.Fd), buffer, seen)
				continue
			}
			for {
				fd, _, err := unix.Accept4(int(e.Fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
				if err != nil {
					break
				}
				seen.accepted.Add(1)
				watch(fd)
			}
		}
	}
	return nil
}

// answer answers a request that came in one piece, as all here do.
func answer(fd int, buffer []byte, seen counters) {
	n, err := unix.Read(fd, buffer)
	if err == unix.EAGAIN {
		return
	}
	if n <= 0 {
		_ = unix.Close(fd)
		return
	}
	seen.requests.Add(1)
	request := bytes.ToLower(buffer[:n])
	if bytes.Contains(request, []byte("http/1.0\r\n")) || bytes.Contains(request, []byte("connection: close")) {
		_, _ = unix.Write(fd, []byte(leaves))
		_ = unix.Shutdown(fd, unix.SHUT_WR)
		return
	}
	_, _ = unix.Write(fd, []byte(kept))
}

// targetAt returns the n-th address of the field: 127.1.0.0 and following.
func targetAt(n int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x7f010000+uint32(n))
	return netip.AddrFrom4(b)
}

// targetAt6 is the same of IPv6: fd77:: and following, which scripts/bench-probes.sh routes to this machine.
func targetAt6(n int) netip.Addr {
	b := [16]byte{0: 0xfd, 1: 0x77}
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	return netip.AddrFrom16(b)
}
