package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// address is where a host's daemon listens, how hale reaches it, and the driver that hale asks for.
type address struct {
	network string   // "unix" or "tcp"
	targets []string // sockets, the first that exists is used; or one host:port
	uri     golibvirt.ConnectURI
	over    transport
	name    string   // of the host, as its certificate has it; for overTLS
	user    string   // on the host; for overSSH
	sockets []string // on the host, the first that opens is used; for overSSH
}

// transport is what a TCP connection bears.
type transport string

// The transports.
const (
	overNothing transport = ""
	overTLS     transport = "TLS"
	overSSH     transport = "SSH"
)

// The registered ports.
const (
	tcpPort = "16509"
	tlsPort = "16514"
	sshPort = "22"
)

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
	sockets := socketsOf(u.Path)
	if socket := u.Query().Get("socket"); socket != "" {
		sockets = []string{socket}
	}
	switch {
	case u.Scheme == "qemu" && u.Host == "", u.Scheme == "qemu+unix" && u.Host == "":
		a.targets = sockets
		return a, nil
	case u.Scheme == "qemu+tcp" && u.Hostname() != "":
		return a.at(u, tcpPort), nil
	case (u.Scheme == "qemu+tls" || u.Scheme == "qemu") && u.Hostname() != "":
		a.over, a.name = overTLS, u.Hostname()
		return a.at(u, tlsPort), nil
	case u.Scheme == "qemu+ssh" && u.Hostname() != "" && u.User.Username() != "" && u.Path == "/system":
		a.over, a.user, a.sockets = overSSH, u.User.Username(), sockets
		return a.at(u, sshPort), nil
	}
	return address{}, fmt.Errorf("%q: use qemu:///system, qemu:///session, qemu+unix:///system?socket=PATH, "+
		"qemu+tls://HOST/system, qemu+ssh://USER@HOST/system or qemu+tcp://HOST/system", s)
}

// at is the address at the URI's host.
func (a address) at(u *url.URL, port string) address {
	if u.Port() != "" {
		port = u.Port()
	}
	a.network, a.targets = "tcp", []string{net.JoinHostPort(u.Hostname(), port)}
	return a
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

// reach is an address, with what proves at both ends who is there.
type reach struct {
	address
	proof Proof
	met   func(netip.Addr) // is told the daemon's address; may be nil
}

// meet tells of the address that was connected to. The host of a daemon on this machine is this one.
func (r reach) meet(conn net.Conn) {
	if r.met == nil {
		return
	}
	a := netip.MustParseAddr("127.0.0.1")
	if !r.local() {
		to, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil {
			return
		}
		a = to.Addr().Unmap()
	}
	r.met(a)
}

// dial connects, within ctx, and returns when both ends have taken each other for who they say they are.
func (r reach) dial(ctx context.Context) (net.Conn, error) {
	target := r.targets[0]
	for _, candidate := range r.targets {
		if _, err := os.Stat(candidate); r.local() && err == nil {
			target = candidate
			break
		}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, r.network, target)
	if err != nil {
		return nil, r.unheard(target, err)
	}
	r.meet(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the handshakes know no context
	defer stop()
	secured, err := r.secure(ctx, conn)
	if err == nil && !r.local() {
		err = r.proof.SASL.introduce(ctx, secured)
	}
	if err != nil {
		_ = conn.Close() // what is above it goes with it
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return secured, nil
}

// unheard says what is wrong with a socket of this machine that did not open, and the way out.
func (r reach) unheard(socket string, err error) error {
	cause := err
	if op := new(net.OpError); errors.As(err, &op) {
		cause = op.Err
	}
	switch {
	case !r.local():
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("hale's user may not use %s (%w): add that user to the group libvirt", socket, cause)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no libvirt daemon listens on %s (%w): is it started, and is the provider's uri right?",
			socket, cause)
	}
	return err
}

// secure puts what the address asks for over the connection.
func (r reach) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	switch r.over {
	case overTLS:
		return r.proof.TLS.shake(ctx, conn, r.name)
	case overSSH:
		return r.proof.SSH.tunnel(conn, r.address)
	default:
		return conn, nil
	}
}
