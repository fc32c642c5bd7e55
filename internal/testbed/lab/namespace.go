package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// envNetwork names the network namespace that this process made or entered for a lab; a lab
// never starts in any other, because it would put its bridge into the machine's own network.
const envNetwork = "HALE_LAB_NETWORK"

const threadNet = "/proc/thread-self/ns/net"

var errOwnNetwork = errors.New("the process is in the machine's own network: call lab.Main or lab.EnterOwnNetwork " +
	"first, or start a detached lab")

// EnterOwnNetwork moves the whole program into a new, empty network namespace: it starts the
// program again in place (same pid, same arguments), so it returns nil only in the second run.
// Call it at the start of main or TestMain, before anything that must not happen twice.
// In the namespace lo is up and unprivileged ping sockets are allowed; it vanishes with its last process.
func EnterOwnNetwork() error {
	if inLabNetwork() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("the lab needs root: it makes namespaces, bridges and virtual machines")
	}
	runtime.LockOSThread() // exec takes the namespaces of the calling thread
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("new network namespace: %w", err)
	}
	if err := prepareNetwork(); err != nil {
		return err
	}
	return execInNetwork("/proc/self/exe", os.Args)
}

// EnterNetwork moves the whole program into the network of a running lab, in the manner of EnterOwnNetwork.
func (l *Lab) EnterNetwork() error {
	if here, err := os.Readlink(threadNet); err == nil && here == l.info.Network {
		return nil
	}
	return l.execInside("/proc/self/exe", os.Args)
}

// Exec replaces this program by argv, inside the lab's network. It returns only on failure.
func (l *Lab) Exec(argv []string) error {
	if len(argv) == 0 {
		return errors.New("no command")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return l.execInside(path, argv)
}

func (l *Lab) execInside(path string, argv []string) error {
	return execIn(l.info.NetworkPath, path, argv)
}

// EnterNetworkAt moves the whole program into the network namespace of the path, such as /proc/PID/ns/net, in the
// manner of EnterOwnNetwork.
func EnterNetworkAt(network string) error {
	there, err := os.Readlink(network)
	if err != nil {
		return err
	}
	if here, err := os.Readlink(threadNet); err == nil && here == there {
		return nil
	}
	return execIn(network, "/proc/self/exe", os.Args)
}

func execIn(network, path string, argv []string) error {
	f, err := os.Open(network)
	if err != nil {
		return err
	}
	defer f.Close()
	runtime.LockOSThread()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network %s: %w", network, err)
	}
	return execInNetwork(path, argv)
}

// execInNetwork replaces the program, leaving the mark that inLabNetwork looks for.
// The thread is locked and changed already, so a failure here is final for the program.
func execInNetwork(path string, argv []string) error {
	here, err := os.Readlink(threadNet)
	if err != nil {
		return err
	}
	env := append(withoutEnv(os.Environ(), envNetwork), envNetwork+"="+here)
	return fmt.Errorf("exec %s: %w", path, unix.Exec(path, argv, env))
}

func inLabNetwork() bool {
	here, err := os.Readlink(threadNet)
	return err == nil && os.Getenv(envNetwork) == here
}

func withoutEnv(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	return out
}

// prepareNetwork sets up the calling thread's new network namespace: lo, and ping sockets for everyone.
func prepareNetwork() error {
	if err := setLinkUp("lo"); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	return os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0o644)
}

// tuneBridge repeats neighbour requests after 50 ms instead of 1 s, or every wait for a new guest is
// rounded up to whole seconds.
func tuneBridge(name string) error {
	return os.WriteFile("/proc/sys/net/ipv4/neigh/"+name+"/retrans_time_ms", []byte("50"), 0o644)
}

func setLinkUp(name string) error {
	return linkIoctl(name, func(fd int, r *unix.Ifreq) error { return setFlags(fd, r, unix.IFF_UP, 0) })
}

// removeBridge deletes a bridge; one that is not there is fine.
func removeBridge(name string) error {
	err := linkIoctl(name, func(fd int, r *unix.Ifreq) error {
		if err := setFlags(fd, r, 0, unix.IFF_UP); err != nil {
			return err
		}
		clean, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, unix.SIOCBRDELBR, clean)
	})
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

func linkIoctl(name string, do func(fd int, r *unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	return do(fd, r)
}

func setFlags(fd int, r *unix.Ifreq, on, off uint16) error {
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r); err != nil {
		return err
	}
	r.SetUint16(r.Uint16()&^off | on)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

func networkPath(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/ns/net" }
