package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"hale/internal/keys"
	"hale/internal/provider/libvirt"
)

// compileProof says what hale and the daemons prove to each other; nil: the file does not.
func compileProof(n keys.Named[providerDraft], f *keys.Finder) *libvirt.Proof {
	d := n.Value
	proof := &libvirt.Proof{
		TLS: libvirt.TLS{CA: resolve(d.tls.Value.ca), Certificate: resolve(d.tls.Value.certificate),
			Key: resolve(d.tls.Value.key)},
		SSH:  libvirt.SSH{Key: resolve(d.ssh.Value.key), KnownHosts: resolve(d.ssh.Value.knownHosts)},
		SASL: libvirt.SASL{User: d.sasl.Value.user.Value, Password: secretAt(f, d.sasl.Value.password)},
	}
	tunnelled := strings.HasPrefix(d.uri.Value, "qemu+ssh:")
	for _, h := range d.hosts.Value {
		tunnelled = tunnelled || strings.HasPrefix(h.Value.uri.Value, "qemu+ssh:")
	}
	if tunnelled && !d.ssh.Written() {
		f.Add(n.Under("ssh"), "is missing, and hosts are reached by qemu+ssh", "add ssh: {key: /etc/hale/ssh_key}")
	}
	if !d.tls.Written() && !d.ssh.Written() && !d.sasl.Written() {
		return nil
	}
	return proof
}

// inTheClear reports whether others can listen.
func inTheClear(u *url.URL) bool {
	if u.Scheme != "qemu+tcp" || u.Hostname() == "localhost" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err != nil || !addr.IsLoopback()
}

// uriForms is the hint for a libvirt address that hale does not speak.
const uriForms = "write qemu:///system, qemu:///session, qemu+unix:///system?socket=/path, qemu+tls://host/system or " +
	"qemu+ssh://user@host/system"

// checkURI judges a libvirt address. What was written is not repeated, since a password might be in it.
func checkURI(v keys.At[string], insecure bool, f *keys.Finder) {
	if !v.Known() {
		return
	}
	u, err := url.Parse(v.Value)
	if err != nil || u.Scheme == "" {
		f.Add(v.Spot, "is not a libvirt address", uriForms)
		return
	}
	bad := uriFlaw(u)
	if bad == nil && inTheClear(u) && !insecure {
		bad = keys.Flawf(fmt.Sprintf("write qemu+tls://%[1]s/system or qemu+ssh://USER@%[1]s/system, or add insecure: "+
			"true to the provider", u.Hostname()),
			"goes in the clear to another host")
	}
	if bad != nil {
		f.Add(v.Spot, bad.Message, bad.Hint)
	}
}

func uriFlaw(u *url.URL) *keys.Flaw {
	driver, transport, _ := strings.Cut(u.Scheme, "+")
	if transport == "" && u.Host != "" {
		transport = "tls" // as libvirt reads it
	}
	_, password := u.User.Password()
	remote := transport == "tcp" || transport == "tls" || transport == "ssh"
	switch {
	case password || u.User != nil && transport != "ssh":
		return keys.Flawf("take them out; who hale is stands in tls, ssh and sasl of the provider",
			"holds a user name or a password")
	case driver != "qemu":
		return keys.Flawf(uriForms, "libvirt's driver %s is not supported, only qemu", driver)
	case transport != "" && transport != "unix" && !remote:
		return keys.Flawf("use qemu+tls or qemu+ssh", "qemu+%s is not spoken", transport)
	case transport == "unix" && u.Host != "":
		return keys.Flawf("write qemu+unix:///system?socket=/path", "a unix socket has no host")
	case remote && u.Hostname() == "":
		return keys.Flawf("write "+u.Scheme+"://host/system", "names no host")
	case transport == "ssh" && u.User.Username() == "":
		return keys.Flawf("write qemu+ssh://USER@"+u.Host+"/system", "names no user")
	}
	if bad := uriPathFlaw(u, remote); bad != nil {
		return bad
	}
	return uriQueryFlaw(u, remote && transport != "ssh")
}

func uriPathFlaw(u *url.URL, remote bool) *keys.Flaw {
	if u.Opaque != "" || u.Path != "/system" && (u.Path != "/session" || remote) {
		return keys.Flawf(uriForms, "does not end in /system")
	}
	return nil
}

func uriQueryFlaw(u *url.URL, socketless bool) *keys.Flaw {
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return keys.Flawf("choose 1 to 65535", "port %s is out of range", port)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return keys.Flawf(uriForms, "is not a libvirt address")
	}
	for key := range query {
		if key != "socket" || socketless {
			return keys.Flawf(uriForms, "holds an option that is not supported here")
		}
	}
	if socket, ok := query["socket"]; ok && (len(socket) != 1 || !path.IsAbs(socket[0])) {
		return keys.Flawf("write one absolute path, as ?socket=/run/libvirt/libvirt-sock",
			"the socket is not an absolute path")
	}
	return nil
}
