package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"hale/internal/provider/libvirt"
)

// compileProof says what hale and the daemons prove to each other; nil: the file does not.
func compileProof(n named[providerDraft], f *finder) *libvirt.Proof {
	d := n.value
	proof := &libvirt.Proof{
		TLS: libvirt.TLS{CA: resolve(d.tls.value.ca), Certificate: resolve(d.tls.value.certificate),
			Key: resolve(d.tls.value.key)},
		SSH:  libvirt.SSH{Key: resolve(d.ssh.value.key), KnownHosts: resolve(d.ssh.value.knownHosts)},
		SASL: libvirt.SASL{User: d.sasl.value.user.value, Password: f.secret(d.sasl.value.password)},
	}
	tunnelled := strings.HasPrefix(d.uri.value, "qemu+ssh:")
	for _, h := range d.hosts.value {
		tunnelled = tunnelled || strings.HasPrefix(h.value.uri.value, "qemu+ssh:")
	}
	if tunnelled && !d.ssh.written() {
		f.add(n.under("ssh"), "is missing, and hosts are reached by qemu+ssh", "add ssh: {key: /etc/hale/ssh_key}")
	}
	if !d.tls.written() && !d.ssh.written() && !d.sasl.written() {
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
func checkURI(v at[string], insecure bool, f *finder) {
	if !v.known() {
		return
	}
	u, err := url.Parse(v.value)
	if err != nil || u.Scheme == "" {
		f.add(v.spot, "is not a libvirt address", uriForms)
		return
	}
	bad := uriFlaw(u)
	if bad == nil && inTheClear(u) && !insecure {
		bad = flawf(fmt.Sprintf("write qemu+tls://%[1]s/system or qemu+ssh://USER@%[1]s/system, or add insecure: "+
			"true to the provider", u.Hostname()),
			"goes in the clear to another host")
	}
	if bad != nil {
		f.add(v.spot, bad.message, bad.hint)
	}
}

func uriFlaw(u *url.URL) *flaw {
	driver, transport, _ := strings.Cut(u.Scheme, "+")
	if transport == "" && u.Host != "" {
		transport = "tls" // as libvirt reads it
	}
	_, password := u.User.Password()
	remote := transport == "tcp" || transport == "tls" || transport == "ssh"
	switch {
	case password || u.User != nil && transport != "ssh":
		return flawf("take them out; who hale is stands in tls, ssh and sasl of the provider",
			"holds a user name or a password")
	case driver != "qemu":
		return flawf(uriForms, "libvirt's driver %s is not supported, only qemu", driver)
	case transport != "" && transport != "unix" && !remote:
		return flawf("use qemu+tls or qemu+ssh", "qemu+%s is not spoken", transport)
	case transport == "unix" && u.Host != "":
		return flawf("write qemu+unix:///system?socket=/path", "a unix socket has no host")
	case remote && u.Hostname() == "":
		return flawf("write "+u.Scheme+"://host/system", "names no host")
	case transport == "ssh" && u.User.Username() == "":
		return flawf("write qemu+ssh://USER@"+u.Host+"/system", "names no user")
	}
	if bad := uriPathFlaw(u, remote); bad != nil {
		return bad
	}
	return uriQueryFlaw(u, remote && transport != "ssh")
}

func uriPathFlaw(u *url.URL, remote bool) *flaw {
	if u.Opaque != "" || u.Path != "/system" && (u.Path != "/session" || remote) {
		return flawf(uriForms, "does not end in /system")
	}
	return nil
}

func uriQueryFlaw(u *url.URL, socketless bool) *flaw {
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return flawf("choose 1 to 65535", "port %s is out of range", port)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return flawf(uriForms, "is not a libvirt address")
	}
	for key := range query {
		if key != "socket" || socketless {
			return flawf(uriForms, "holds an option that is not supported here")
		}
	}
	if socket, ok := query["socket"]; ok && (len(socket) != 1 || !path.IsAbs(socket[0])) {
		return flawf("write one absolute path, as ?socket=/run/libvirt/libvirt-sock",
			"the socket is not an absolute path")
	}
	return nil
}
