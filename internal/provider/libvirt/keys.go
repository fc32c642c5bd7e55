package libvirt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the provider type libvirt.
func Kind() kinds.Provider {
	return kinds.Provider{
		Word: "libvirt", Doc: "for QEMU under libvirt",
		Usages: policy.Usages(),
		Remarks: kinds.Remarks{
			"adjust": {Has: "memory and processors while it is off, from its next start; metadata at once; not of a " +
				"template with xml of its own"},
			"keep":        {Has: "its files stay, and a kept disk goes to its successor"},
			"revert":      {Has: "where the copy lies on the host of the machine"},
			"soft-reboot": {Has: "by the guest's agent, or its power button"},
			"migrate": {Lacks: "hosts know nothing of each other: move it with virsh migrate --undefinesource, and " +
				"hale follows"},
			"evacuate": {Lacks: "its disk lies on the host that is dead: recreate builds it elsewhere"},
			"rescue":   {Lacks: "libvirt has no such mode"},
		},
		Hosts: true, HostURIs: true, HostAddresses: true, Single: true, Witnesses: true, Builds: true,
		Keys: keys.SectionOf("libvirt", providerKeys(), compileKeys), Stored: kinds.StoredAs[Settings], Warn: warn,
	}
}

// Settings are what the keys come to.
type Settings struct {
	// StateDir is the folder, on each host, for the disks and seeds of instances.
	StateDir string
	// Images says where base images come from that a host lacks.
	Images Images `json:",omitzero"`
	// Proof is what hale and daemons of other hosts prove to each other; nil: what libvirt's own clients have.
	Proof *Proof `json:"-"`
	// Insecure lets daemons of other hosts be spoken to in the clear.
	Insecure bool `json:",omitempty"`
}

// SameAddress implements kinds.Settings: the hosts are the address.
func (s Settings) SameAddress(_ kinds.Settings, hosts kinds.Hosts) bool { return hosts.Kept() }

// Restored implements kinds.Partial.
func (s Settings) Restored(now kinds.Settings) kinds.Settings {
	if n, ok := now.(Settings); ok {
		s.Proof = n.Proof
	}
	return s
}

// Secrets implements kinds.Confiding.
func (s Settings) Secrets() []secret.Secret {
	if s.Proof == nil || s.Proof.SASL.Password.None() {
		return nil
	}
	return []secret.Secret{s.Proof.SASL.Password}
}

// Connect implements kinds.Settings.
func (s Settings) Connect(_ context.Context, c kinds.Connection) (kinds.Connected, error) {
	o := Options{StateDir: s.StateDir, Images: s.Images, Logger: c.Logger, Panics: c.Panics}
	if s.Proof != nil {
		o.Proof = *s.Proof
	}
	for _, h := range c.Hosts {
		o.Hosts = append(o.Hosts, HostOptions{Name: h.Name, URI: h.URI, Place: h.Place})
	}
	p, err := New(o)
	if err != nil {
		return kinds.Connected{}, err
	}
	return c.Real(p, p), nil
}

type ownDraft struct {
	uri, stateDir keys.At[string]
	tls           keys.At[tlsDraft]
	ssh           keys.At[sshDraft]
	sasl          keys.At[saslDraft]
	insecure      keys.At[bool]
	images        keys.At[imagesDraft]
}

type imagesDraft struct {
	hosts  keys.At[bool]
	files  keys.At[[]keys.Named[imageDraft]]
	within keys.At[time.Duration]
}

type imageDraft struct{ path, sha256 keys.At[string] }

type tlsDraft struct{ ca, certificate, key keys.At[string] }

type sshDraft struct{ key, knownHosts keys.At[string] }

type saslDraft struct {
	user     keys.At[string]
	password keys.At[keys.SecretRef]
}

func providerKeys() []keys.Field[ownDraft] {
	return []keys.Field[ownDraft]{
		keys.May("uri", "libvirt only: the one daemon, as `qemu:///system`, `qemu:///session`, "+
			"`qemu+unix:///system?socket=/path` `qemu+tls://host/system`, `qemu+ssh://user@host/system` (with "+
			"`?socket=/path` where it is not the usual one) or `qemu+tcp://host/system`. It needs exactly one of "+
			"uri and hosts.",
			keys.Text("a libvirt address", "qemu:///system"), func(p *ownDraft) *keys.At[string] { return &p.uri }),
		keys.Or("state_dir", defaultStateDir,
			"libvirt only: the folder, on each host, for the disks and seeds of instances.",
			keys.Text("an absolute path", defaultStateDir),
			func(p *ownDraft) *keys.At[string] { return &p.stateDir }),
		keys.May("images", "libvirt only: where base images come from that a host lacks. A build then has them copied "+
			"there first, into `state_dir`.", imagesShape(),
			func(p *ownDraft) *keys.At[imagesDraft] { return &p.images }).Said("a build on such a host is refused"),
		keys.May("tls", "libvirt only: the files for `qemu+tls`. They are read for each connection, so that new ones "+
			"are taken up. Relative paths begin at the folder of this file.", tlsShape(),
			func(p *ownDraft) *keys.At[tlsDraft] { return &p.tls }).Said("where libvirt's own clients look"),
		keys.May("ssh", "libvirt only, and needed for `qemu+ssh`: hale's key, and the keys of the hosts.", sshShape(),
			func(p *ownDraft) *keys.At[sshDraft] { return &p.ssh }).Said("none"),
		keys.May("sasl", "libvirt only: who hale is to daemons that ask for a name and a password, as with `auth_tls "+
			"= \"sasl\"`. hale speaks SCRAM-SHA-256 and SCRAM-SHA-512, which libvirt takes over TLS.", saslShape(),
			func(p *ownDraft) *keys.At[saslDraft] { return &p.sasl }).Said("none"),
		keys.Or("insecure", false, "libvirt only: accept `qemu+tcp` addresses of other hosts, too. That connection "+
			"has no encryption and no login: anyone on the network between can read it and give orders. hale warns "+
			"of it at each start.", keys.Boolean(), func(p *ownDraft) *keys.At[bool] { return &p.insecure }),
	}
}

func imagesShape() keys.Object[imagesDraft] {
	return keys.Object[imagesDraft]{Fields: []keys.Field[imagesDraft]{
		keys.Or("hosts", false, "Copy an image from another host of the provider that has it, through hale.",
			keys.Boolean(), func(i *imagesDraft) *keys.At[bool] { return &i.hosts }),
		keys.May("files", "Images on hale's own machine, by the names under which templates have them.",
			keys.Mapping[imageDraft]{Key: "IMAGE", Each: imageShape(), Names: keys.KeyForm{Noun: "the name of an image",
				Pattern: "^[A-Za-z0-9/][A-Za-z0-9/._+-]*$"}},
			func(i *imagesDraft) *keys.At[[]keys.Named[imageDraft]] { return &i.files }).Said("none"),
		keys.Or("within", defaultImageWithin, "How long one copy may take. Builds that need it wait, and try again.",
			keys.Duration(time.Minute, 24*time.Hour),
			func(i *imagesDraft) *keys.At[time.Duration] { return &i.within }),
	}}
}

func imageShape() keys.Object[imageDraft] {
	return keys.Object[imageDraft]{Fields: []keys.Field[imageDraft]{
		keys.Must("path", "/srv/images/web.qcow2", "The file. Relative paths begin at the folder of this file.",
			keys.Text("a path", "/srv/images/web.qcow2"), func(i *imageDraft) *keys.At[string] { return &i.path }),
		keys.May("sha256", "Its SHA-256, in hex: another file is not copied.", keys.Text("a SHA-256", "9f86d081…"),
			func(i *imageDraft) *keys.At[string] { return &i.sha256 }).Said("whatever is there"),
	}}
}

// images says where images come from.
func (d *ownDraft) imagesOf(e kinds.Entry) Images {
	i := d.images.Value
	out := Images{Hosts: i.hosts.Value, Within: i.within.Value}
	for _, f := range i.files.Value {
		if out.Files == nil {
			out.Files = map[string]ImageFile{}
		}
		sum := f.Value.sha256
		if raw, err := hex.DecodeString(sum.Value); sum.Written() && (err != nil || len(raw) != sha256.Size) {
			e.Add(sum.Spot, "is no SHA-256", "write the 64 hex digits that sha256sum prints")
		}
		out.Files[f.Name] = ImageFile{Path: keys.Path(f.Value.path), SHA256: sum.Value}
	}
	return out
}

func tlsShape() keys.Object[tlsDraft] {
	return keys.Object[tlsDraft]{Fields: []keys.Field[tlsDraft]{
		keys.Or("ca", DefaultCA, "The certificates of the authorities that sign those of the daemons. The "+
			"name or address in uri must be in the daemon's.", keys.Text("a path", DefaultCA),
			func(t *tlsDraft) *keys.At[string] { return &t.ca }),
		keys.Or("certificate", DefaultCertificate, "hale's certificate, for clients.",
			keys.Text("a path", DefaultCertificate), func(t *tlsDraft) *keys.At[string] { return &t.certificate }),
		keys.Or("key", DefaultKey, "The key of the certificate. hale's user must be able to read it.",
			keys.Text("a path", DefaultKey), func(t *tlsDraft) *keys.At[string] { return &t.key }),
	}}
}

func sshShape() keys.Object[sshDraft] {
	return keys.Object[sshDraft]{Fields: []keys.Field[sshDraft]{
		keys.Must("key", "/etc/hale/ssh_key", "hale's private key, without a passphrase; its public half is in "+
			"`authorized_keys` of the user that uri names.", keys.Text("a path", "/etc/hale/ssh_key"),
			func(s *sshDraft) *keys.At[string] { return &s.key }),
		keys.Or("known_hosts", DefaultKnownHosts, "The keys of the hosts, as known_hosts(5) says. A host "+
			"that is not in it is not spoken to.", keys.Text("a path", DefaultKnownHosts),
			func(s *sshDraft) *keys.At[string] { return &s.knownHosts }),
	}}
}

func saslShape() keys.Object[saslDraft] {
	return keys.Object[saslDraft]{Fields: []keys.Field[saslDraft]{
		keys.Must("user", "hale", "The name, as `saslpasswd2 -a libvirt` has it.", keys.Text("a user name", "hale"),
			func(s *saslDraft) *keys.At[string] { return &s.user }),
		keys.Must("password", "{file: /run/secrets/libvirt}", "The password: `{file: PATH}` or `{env: NAME}`, never "+
			"the password itself. It is read for each connection.", keys.Secret(),
			func(s *saslDraft) *keys.At[keys.SecretRef] { return &s.password }),
	}}
}

func compileKeys(e kinds.Entry, d *ownDraft) kinds.Made {
	if d.stateDir.Known() && !path.IsAbs(d.stateDir.Value) {
		e.Add(d.stateDir.Spot, fmt.Sprintf("%q is not an absolute path", d.stateDir.Value),
			"write for example "+defaultStateDir)
	}
	return kinds.Made{
		Settings: Settings{StateDir: path.Clean(d.stateDir.Value), Images: d.imagesOf(e), Proof: d.proof(e),
			Insecure: d.insecure.Value},
		Hosts: d.single(e),
	}
}

// single judges the addresses, and returns the one host that needs no name; nil: there are several, or none.
func (d *ownDraft) single(e kinds.Entry) []kinds.Host {
	switch {
	case d.uri.Written() && e.Hosts.Written():
		e.Add(e.Hosts.Spot, "comes besides uri", "write either uri or hosts")
		return nil
	case d.uri.Written():
		judgeURI(e.Finder, d.uri, d.insecure.Value)
		return []kinds.Host{{URI: d.uri.Value}}
	case !e.Hosts.Written():
		e.Add(e.Spot.Under("uri"), "is missing", "add uri: qemu:///system, or hosts")
		return nil
	}
	for _, h := range e.Hosts.Value {
		if h.Value.URI.How == keys.Absent && h.How == keys.Given {
			e.Add(h.Under("uri"), "is missing", "add uri: qemu+tls://h1/system")
		}
		judgeURI(e.Finder, h.Value.URI, d.insecure.Value)
	}
	return nil
}

// proof says what hale and the daemons prove to each other; nil: the file does not.
func (d *ownDraft) proof(e kinds.Entry) *Proof {
	proof := &Proof{
		TLS: TLS{CA: keys.Path(d.tls.Value.ca), Certificate: keys.Path(d.tls.Value.certificate),
			Key: keys.Path(d.tls.Value.key)},
		SSH:  SSH{Key: keys.Path(d.ssh.Value.key), KnownHosts: keys.Path(d.ssh.Value.knownHosts)},
		SASL: SASL{User: d.sasl.Value.user.Value, Password: e.Secret(d.sasl.Value.password)},
	}
	tunnelled := strings.HasPrefix(d.uri.Value, "qemu+ssh:")
	for _, h := range e.Hosts.Value {
		tunnelled = tunnelled || strings.HasPrefix(h.Value.URI.Value, "qemu+ssh:")
	}
	if tunnelled && !d.ssh.Written() {
		e.Add(e.Spot.Under("ssh"), "is missing, and hosts are reached by qemu+ssh", "add ssh: {key: /etc/hale/ssh_key}")
	}
	if !d.tls.Written() && !d.ssh.Written() && !d.sasl.Written() {
		return nil
	}
	return proof
}

// warn names the hosts that are spoken to in the clear.
func warn(name string, _ kinds.Settings, hosts []kinds.Host, _ []policy.Spec) []string {
	var out []string
	for _, h := range hosts {
		if u, err := url.Parse(h.URI); err == nil && inTheClear(u) {
			out = append(out,
				fmt.Sprintf("providers.%s: %s goes in the clear: anyone on the network between can read it and "+
					"give orders; use qemu+tls or qemu+ssh, and take insecure out", name, h.URI))
		}
	}
	return out
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

// judgeURI judges a libvirt address. What was written is not repeated, since a password might be in it.
func judgeURI(f *keys.Finder, v keys.At[string], insecure bool) {
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
