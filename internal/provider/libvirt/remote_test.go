package libvirt_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/lab"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
	"hale/internal/secret"
)

// authority signs certificates.
type authority struct {
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{dir: filepath.Join(t.TempDir(), name)}
	must(t, os.Mkdir(a.dir, 0o755))
	a.certificate = &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	a.key, a.certificate = a.sign(t, "ca", a.certificate)
	return a
}

// sign writes NAME.pem and NAME.key. The first certificate signs itself.
func (a *authority) sign(t testing.TB, name string, c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour),
		time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if signer == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for file, block := range map[string]*pem.Block{a.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der},
		a.file(name + ".key"): {Type: "PRIVATE KEY", Bytes: private}} {
		must(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	signed, err := x509.ParseCertificate(der)
	must(t, err)
	return key, signed
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// client signs a certificate for a client, and returns it as hale's.
func (a *authority) client(t testing.TB, name string) libvirt.TLS {
	t.Helper()
	a.sign(t, name, &x509.Certificate{Subject: pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return libvirt.TLS{CA: a.file("ca.pem"), Certificate: a.file(name + ".pem"), Key: a.file(name + ".key")}
}

// newTLSBench is a real libvirtd that listens with TLS on 127.0.0.1, where conf may ask for more.
func newTLSBench(t testing.TB, a *authority, conf string, env ...string) (b *bench, port string) {
	t.Helper()
	a.sign(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, err = net.SplitHostPort(free.Addr().String())
	must(t, err)
	must(t, free.Close())
	return startBench(t,
		lab.Options{Env: env,
			Listen: fmt.Sprintf("listen_tls = 1\nlisten_tcp = 0\nlisten_addr = \"127.0.0.1\"\ntls_port = \"%s\"\n"+
				"ca_file = \"%s\"\ncert_file = \"%s\"\nkey_file = \"%s\"\n%s\n",
				port, a.file("ca.pem"), a.file("server.pem"), a.file("server.key"), conf)}), port
}

// remote opens a handle by a network.
func (b *bench) remote(t testing.TB, uri string, proof libvirt.Proof) *libvirt.Provider {
	t.Helper()
	p, err := libvirt.New(libvirt.Options{Hosts: []libvirt.HostOptions{{URI: uri}}, StateDir: b.state, Proof: proof,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// TestTLS: a real libvirtd at the other end of TLS has its machine built, healed and removed, with all that goes over
// the connection.
func TestTLS(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t, "ours")
	b, port := newTLSBench(t, ours, `auth_tls = "none"`)
	uri := "qemu+tls://127.0.0.1:" + port + "/system"
	b.healBy(t, b.remote(t, uri, libvirt.Proof{TLS: ours.client(t, "hale")}))
}

// TestWrongCertificates: who is not who he should be is told in a sentence, with the way out, and nothing is asked.
func TestWrongCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	hale := ours.client(t, "hale")
	b, port := newTLSBench(t, ours, "auth_tls = \"none\"\ntls_allowed_dn_list = [\"CN=hale\"]")
	other, alien := ours.client(t, "other"), theirs.client(t, "hale")
	missing := hale
	missing.Key = ours.file("nothing.key")
	at := func(host string) string { return "qemu+tls://" + host + ":" + port + "/system" }
	for name, c := range map[string]struct {
		uri  string
		tls  libvirt.TLS
		says string
	}{
		"the daemon's is of another authority": {at("127.0.0.1"),
			libvirt.TLS{CA: theirs.file("ca.pem"), Certificate: hale.Certificate, Key: hale.Key},
			"shows a certificate that hale does not trust: it must be signed by the authority in " +
				theirs.file("ca.pem")},
		"the daemon's is for another name": {at("localhost"), hale, "shows a certificate for another name"},
		"hale's is of another authority": {at("127.0.0.1"), libvirt.TLS{CA: hale.CA, Certificate: alien.Certificate,
			Key: alien.Key}, "does not take hale's certificate"},
		"hale's has no rights":    {at("127.0.0.1"), other, "does not take hale's certificate"},
		"hale's key is not there": {at("127.0.0.1"), missing, "the key of hale's certificate cannot be read"},
		"the right ones":          {at("127.0.0.1"), hale, ""},
	} {
		_, err := b.remote(t, c.uri, libvirt.Proof{TLS: c.tls}).List(t.Context())
		checkSays(t, name, err, c.says)
	}
}

// checkSays wants a refusal that says something, or none.
func checkSays(t testing.TB, name string, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case says != "" && (!fault.Is(err, fault.Unauthorised) || !strings.Contains(err.Error(), says)):
		t.Errorf("%s: got %v, want a refusal that says %q", name, err, says)
	}
}

// TestSASL: a real libvirtd that wants a name and a password besides TLS.
func TestSASL(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t, "ours")
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "libvirt.conf"),
		[]byte("mech_list: scram-sha-256\nsasldb_path: "+filepath.Join(dir, "db")+"\n"), 0o644))
	save := exec.CommandContext(t.Context(), "saslpasswd2", "-p", "-f", filepath.Join(dir, "db"), "-a", "libvirt",
		"hale")
	save.Stdin = strings.NewReader("right")
	if out, err := save.CombinedOutput(); err != nil {
		t.Fatalf("saslpasswd2: %v: %s", err, out)
	}
	b, port := newTLSBench(t, ours, `auth_tls = "sasl"`, "SASL_CONF_PATH="+dir)
	proof := func(password string) libvirt.Proof {
		file := filepath.Join(t.TempDir(), "password")
		must(t, os.WriteFile(file, []byte(password), 0o600))
		kept, err := secret.File(file)
		must(t, err)
		return libvirt.Proof{TLS: ours.client(t, "hale"), SASL: libvirt.SASL{User: "hale", Password: kept}}
	}
	missing, err := secret.File(filepath.Join(dir, "nothing"))
	must(t, err)
	right := proof("right")
	for name, c := range map[string]struct {
		sasl libvirt.SASL
		says string
	}{
		"the right password": {right.SASL, ""},
		"a wrong password":   {proof("wrong").SASL, "does not let hale in by SASL"},
		"none":               {libvirt.SASL{}, "add sasl: "},
		"a lost one":         {libvirt.SASL{User: "hale", Password: missing}, "the password for SASL cannot be read"},
	} {
		_, err := b.remote(t, "qemu+tls://127.0.0.1:"+port+"/system",
			libvirt.Proof{TLS: right.TLS, SASL: c.sasl}).List(t.Context())
		checkSays(t, name, err, c.says)
	}
}

// healBy builds a machine, has it crash, and starts, rebuilds and removes it.
func (b *bench) healBy(t *testing.T, p *libvirt.Provider) {
	t.Helper()
	ctx := background(t)
	events := make(chan provider.Event, 64)
	watching, stop := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- p.Watch(watching, func(e provider.Event) { events <- e }) }()
	defer func() { stop(); must(t, <-watched) }()
	next := func() provider.Event {
		t.Helper()
		select {
		case e := <-events:
			return e
		case <-ctx.Done():
			t.Fatal("no event came")
			return provider.Event{}
		}
	}
	next() // it listens

	order := b.order("far")
	order.Template.Seed = true
	order.Template.Accel = fleet.AccelTCG // a remote daemon offers KVM whether or not the processor has it
	must(t, p.Create(ctx, order))
	first := b.Boot(t, order.Ref)
	b.Kill(t, order.Ref.ID)
	for next().Instance != order.Ref.ID {
		continue
	}
	awaitSeen(t, p, order.Ref, "crashed", func(i fleet.Instance) bool { return i.Stop == fleet.StopCrash })
	must(t, p.Start(ctx, order.Ref))
	if again := b.Boot(t, order.Ref); again == first {
		t.Error("it did not boot again")
	}
	if printed, err := p.Console(ctx, order.Ref, 1<<16); err != nil ||
		!strings.Contains(string(printed), "GUEST-READY") {
		t.Errorf("what the guest printed is %q, %v", printed, err)
	}
	destroyed(t, p, order.Ref)
}

// sshd is a real one on 127.0.0.1, for one test.
type sshd struct {
	addr, key, known string // host:port, hale's private key, and a file with the host's key
}

// startSSHD starts one, in which hale's key is good for root, and for the user "guest", who may do nothing.
func startSSHD(t testing.TB, options string) sshd {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests installs it", err)
	}
	dir := t.TempDir()
	s := sshd{key: filepath.Join(dir, "hale"), known: filepath.Join(dir, "known_hosts")}
	public := newSSHKey(t, s.key)
	host := newSSHKey(t, filepath.Join(dir, "host"))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.addr = free.Addr().String()
	must(t, free.Close())
	_, port, err := net.SplitHostPort(s.addr)
	must(t, err)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	must(t, os.Chmod(dir, 0o755))
	write("known_hosts", knownhosts.Line([]string{s.addr}, host)+"\n")
	keys := write("authorized", string(ssh.MarshalAuthorizedKey(public)))
	users, err := os.ReadFile("/etc/passwd")
	must(t, err)
	passwd := write("passwd", string(users)+"guest:x:61234:61234::/:/bin/sh\n")
	config := write("sshd_config",
		fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile /run/authorized\n"+
			"PermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nUsePAM no\nPidFile none\n%s\n",
			port, filepath.Join(dir, "host"), options))
	cmd := exec.Command("/bin/sh", "-c",
		`mount --make-rprivate / && mount --bind "$1" /etc/passwd && mount -t tmpfs none /run && mkdir /run/sshd && `+
			`cp "$4" /run/authorized && exec "$2" -D -e -f "$3"`,
		"sh", passwd, program, config, keys)
	cmd.Stderr = t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	awaitPort(t, s.addr)
	return s
}

func awaitPort(t testing.TB, addr string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx := background(t)
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			must(t, conn.Close())
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// newSSHKey writes a private key.
func newSSHKey(t testing.TB, path string) ssh.PublicKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must(t, err)
	must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(private)
	must(t, err)
	return signer.PublicKey()
}

// uri is that of the bench's daemon behind the server.
func (s sshd) uri(user string, b *bench) string {
	return "qemu+ssh://" + user + "@" + s.addr + "/system?socket=" + b.SocketPath()
}

func (s sshd) proof() libvirt.Proof {
	return libvirt.Proof{SSH: libvirt.SSH{Key: s.key, KnownHosts: s.known}}
}

// TestSSH: a real libvirtd behind a real sshd has its machine built, healed and removed.
func TestSSH(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), startSSHD(t, "")
	b.healBy(t, b.remote(t, s.uri("root", b), s.proof()))
}

// TestSSHByAProgram: where the forwarding of sockets is switched off, a program on the host speaks to the daemon, and
// what that complains of is told.
func TestSSHByAProgram(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), startSSHD(t, "AllowStreamLocalForwarding no")
	p := b.remote(t, s.uri("root", b), s.proof())
	order := b.order("far")
	order.Template.Seed = true
	order.Template.Accel = fleet.AccelTCG
	must(t, p.Create(t.Context(), order))
	destroyed(t, p, order.Ref)
	must(t, b.KillLibvirtd(background(t)))
	for _, says := range []string{"the program that speaks to the daemon ended: nc: ", "is libvirtd running there?"} {
		_, err := b.remote(t, s.uri("root", b), s.proof()).List(t.Context())
		if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
		_ = os.Remove(b.SocketPath()) // a killed daemon leaves it, one that ended does not
	}
	must(t, b.StartLibvirtd(background(t)))
}

// TestWrongSSHKeys: a wrong host key, a key that is not let in, and a user without rights are told in a sentence.
func TestWrongSSHKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must(t, os.Chmod(b.SocketPath(), 0o700))
	must(t, os.Chmod(b.Info().Dir, 0o755)) // as the folder of a real one
	s, other := startSSHD(t, ""), startSSHD(t, "")
	swapped := s.proof()
	line, err := os.ReadFile(other.known)
	must(t, err)
	swapped.SSH.KnownHosts = filepath.Join(t.TempDir(), "known_hosts")
	must(t,
		os.WriteFile(swapped.SSH.KnownHosts,
			[]byte(strings.ReplaceAll(string(line), portOf(t, other.addr), portOf(t, s.addr))), 0o600))
	unknown := s.proof()
	unknown.SSH.KnownHosts = other.known
	stranger := s.proof()
	stranger.SSH.Key = other.key
	for name, c := range map[string]struct {
		user  string
		proof libvirt.Proof
		says  string
	}{
		"another host key":   {"root", swapped, "shows another host key than"},
		"an unknown host":    {"root", unknown, "add it with ssh-keyscan"},
		"a key without door": {"root", stranger, "does not let hale in as root: add the public half of " + other.key},
		"a user without":     {"guest", s.proof(), "guest may not use " + b.SocketPath()},
		"the right ones":     {"root", s.proof(), ""},
	} {
		_, err := b.remote(t, s.uri(c.user, b), c.proof).List(t.Context())
		checkSays(t, name, err, c.says)
	}
}

func portOf(t testing.TB, addr string) string {
	t.Helper()
	parsed, err := netip.ParseAddrPort(addr)
	must(t, err)
	return fmt.Sprint(parsed.Port())
}
