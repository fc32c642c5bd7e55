package libvirt

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// address is where a host's daemon listens, and what is asked of it.
type address struct {
	network string   // "unix" or "tcp"
	targets []string // sockets of which the first that exists is used, or one host:port
	uri     golibvirt.ConnectURI
}

// tcpPort is libvirtd's registered port for unencrypted connections.
const tcpPort = "16509"

// parseURI understands the URIs that HostOptions lists.
func parseURI(s string) (address, error) {
	u, err := url.Parse(s)
	if err != nil {
		return address{}, err
	}
	if u.Path != "/system" && u.Path != "/session" {
		return address{}, fmt.Errorf("%q: the path must be /system or /session", s)
	}
	a := address{network: "unix", uri: golibvirt.ConnectURI("qemu://" + u.Path)}
	switch {
	case u.Scheme == "qemu" && u.Host == "", u.Scheme == "qemu+unix" && u.Host == "":
		a.targets = socketsOf(u.Path)
		if socket := u.Query().Get("socket"); socket != "" {
			a.targets = []string{socket}
		}
	case u.Scheme == "qemu+tcp" && u.Hostname() != "":
		port := u.Port()
		if port == "" {
			port = tcpPort
		}
		a.network, a.targets = "tcp", []string{net.JoinHostPort(u.Hostname(), port)}
	default:
		return address{}, fmt.Errorf("%q: use qemu:///system, qemu:///session, qemu+unix:///system?socket=PATH or qemu+tcp://HOST/system", s)
	}
	return a, nil
}

// socketsOf lists where the monolithic daemon (or its proxy) and the modular one listen.
func socketsOf(path string) []string {
	dir := "/var/run/libvirt"
	if path == "/session" {
		run := os.Getenv("XDG_RUNTIME_DIR")
		if run == "" {
			run = fmt.Sprintf("/run/user/%d", os.Getuid())
		}
		dir = filepath.Join(run, "libvirt")
	}
	return []string{filepath.Join(dir, "libvirt-sock"), filepath.Join(dir, "virtqemud-sock")}
}

// local reports whether the daemon runs on this machine.
func (a address) local() bool { return a.network == "unix" }

// dial connects, within ctx.
func (a address) dial(ctx context.Context) (net.Conn, error) {
	target := a.targets[0]
	for _, candidate := range a.targets {
		if _, err := os.Stat(candidate); a.local() && err == nil {
			target = candidate
			break
		}
	}
	var d net.Dialer
	return d.DialContext(ctx, a.network, target)
}
