package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// outlet is the one way that leads from hale's own network to all others: the name of its end there and here.
const outlet = "outlet"

// apart has hale run in a network of its own from its next start on, as on another server: it reaches the guests by
// one way, and the daemons' sockets as ever.
func (s stage) apart() {
	s.Helper()
	holder := exec.Command("unshare", "--net", "cat")
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	hold, err := holder.StdinPipe()
	s.must(err)
	s.must(holder.Start())
	s.Cleanup(func() {
		_ = hold.Close()
		_ = holder.Wait() // it ends with its input, or was killed
	})
	pid := strconv.Itoa(holder.Process.Pid)
	inside := []string{"nsenter", "--net=/proc/" + pid + "/ns/net"}
	s.await("it is in a network of its own", func() error {
		here, err := os.Readlink("/proc/self/ns/net")
		s.must(err)
		there, err := os.Readlink("/proc/" + pid + "/ns/net")
		if err == nil && there == here {
			err = errors.New("it is in " + there)
		}
		return err
	})
	s.runs("ip", "link", "add", outlet, "type", "veth", "peer", "name", "hale", "netns", pid)
	s.runs("ip", "address", "add", "10.64.0.1/30", "dev", outlet)
	s.runs("ip", "link", "set", outlet, "up")
	s.must(os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644))
	for _, words := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "address", "add", "10.64.0.2/30", "dev", "hale"},
		{"ip", "link", "set", "hale", "up"},
		{"ip", "route", "add", "default", "via", "10.64.0.1"},
		{"sh", "-c", "echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range"},
	} {
		s.runs(append(inside, words...)...)
	}
	s.hale.inside = inside
}

// runs has a command run, which must succeed.
func (s stage) runs(words ...string) {
	s.Helper()
	if out, err := exec.CommandContext(s.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
		s.Fatalf("%v: %v: %s", words, err, out)
	}
}

// cutFrom is a wall between hale, which is apart, and all that is on the host, the host's own address too. Everybody
// else reaches that.
func (s stage) cutFrom(b *box) wall {
	s.Helper()
	info := b.lab.Info()
	return s.wallOf("blind_"+info.Bridge, fmt.Sprintf(`
	chain in { type filter hook input priority 0; iifname %[1]q ip daddr %[2]s drop; }
	chain through { type filter hook forward priority 0; iifname %[1]q ip daddr %[2]s drop; }`, outlet, info.Subnet))
}
