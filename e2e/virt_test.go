package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hale/internal/core/fault"
	"hale/internal/fence/agent"
	"hale/internal/fence/fencetest"
	"hale/internal/secret"
	"hale/internal/testbed/nettest"
)

// virtd is the configuration of fence_virtd: TCP in place of multicast, which needs a network that carries it.
const virtd = `fence_virtd { listener = "tcp"; backend = "libvirt"; }
listeners { tcp { key_file = "KEY"; address = "127.0.0.1"; port = "PORT"; hash = "sha256"; auth = "sha256"; family = "ipv4"; } }
backends { libvirt { uri = "URI"; } }
`

// virtPart is the daemon fence_virtd on the plug's hypervisor, spoken to by fence_virt. A key that both have is its
// password.
func virtPart(p *plug) part {
	p.Helper()
	port := freePort(p)
	key := func() string {
		random := make([]byte, 64)
		_, _ = rand.Read(random) // it does not fail
		return p.keep("key", hex.EncodeToString(random), 0o600)
	}
	right := key()
	config := p.keep("fence_virt.conf",
		strings.NewReplacer("KEY", right, "PORT", port, "URI", p.lab.URI()).Replace(virtd), 0o600)
	cmd := exec.Command("fence_virtd", "-F", "-f", config, "-p", filepath.Join(p.TempDir(), "pid"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.must(cmd.Start())
	p.Cleanup(func() {
		_ = cmd.Process.Kill() // stopped or not
		_ = cmd.Wait()         // it was killed
	})
	g := newGate(p, net.JoinHostPort("127.0.0.1", port))
	host, way, err := net.SplitHostPort(g.listener.Addr().String())
	p.must(err)
	speaks := func(key string) *agent.Controller {
		return agent.New(agent.Options{
			Name:    "fence_virt",
			Program: "fence_virt",
			Values: []secret.Named{
				{Name: "ipaddr", Plain: host}, {Name: "ipport", Plain: way}, {Name: "port", Plain: p.domain},
				{Name: "key_file", Plain: key},
			},
		})
	}
	out := part{refuses: fault.Unauthorised, name: "agent `fence_virt`", speaker: speaks(right), stolid: speaks(key()),
		lacks: []fencetest.Fault{fencetest.Late, fencetest.Ignores, lies, fencetest.AnswerLost},
		fail: func(f fencetest.Fault) error {
			g.dead.Store(f == fencetest.Dead)
			g.slow.Store(f == fencetest.Slow)
			return nil
		}}
	p.awaits(out.speaker)
	return out
}

// gate is the way to a server, which can be slow, or lead nowhere.
type gate struct {
	listener   net.Listener
	server     string
	dead, slow atomic.Bool
}

// newGate opens one on loopback, until the test ends.
func newGate(p *plug, server string) *gate {
	p.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	g := &gate{listener: l, server: server}
	nettest.Serve(p, l, func(_ context.Context, near net.Conn) { g.carry(near) })
	return g
}

// carry connects one client with the server, unless the gate is dead: then it hears nothing until it goes away.
func (g *gate) carry(near net.Conn) {
	if g.dead.Load() {
		_, _ = io.Copy(io.Discard, near) // until it gives up
		return
	}
	if g.slow.Load() {
		<-time.After(slowBy)
	}
	far, err := net.Dial("tcp", g.server)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far) // the first to end ends both
		_ = near.Close()
	})
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
}
