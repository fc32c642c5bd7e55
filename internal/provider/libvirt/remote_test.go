package libvirt_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
	"hale/internal/secret"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/lab/labtest"
)

// newTLSBench is a real libvirtd that listens with TLS on 127.0.0.1, where conf may ask for more.
func newTLSBench(t testing.TB, a *labtest.Authority, conf string, env ...string) (b *bench, port string) {
	t.Helper()
	port, listen := a.Listen(t)
	return startBench(t, lab.Options{Env: env, Listen: listen + conf + "\n"}), port
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
	ours := labtest.NewAuthority(t, "ours")
	b, port := newTLSBench(t, ours, `auth_tls = "none"`)
	uri := "qemu+tls://127.0.0.1:" + port + "/system"
	b.healBy(t, b.remote(t, uri, libvirt.Proof{TLS: libvirt.TLS(ours.Client(t, "hale"))}))
}

// TestWrongCertificates: who is not who he should be is told in a sentence, with the way out, and nothing is asked.
func TestWrongCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := labtest.NewAuthority(t, "ours"), labtest.NewAuthority(t, "theirs")
	hale := libvirt.TLS(ours.Client(t, "hale"))
	b, port := newTLSBench(t, ours, "auth_tls = \"none\"\ntls_allowed_dn_list = [\"CN=hale\"]")
	other, alien := libvirt.TLS(ours.Client(t, "other")), libvirt.TLS(theirs.Client(t, "hale"))
	missing := hale
	missing.Key += ".not"
	at := func(host string) string { return "qemu+tls://" + host + ":" + port + "/system" }
	for name, c := range map[string]struct {
		uri  string
		tls  libvirt.TLS
		says string
	}{
		"the daemon's is of another authority": {at("127.0.0.1"),
			libvirt.TLS{CA: alien.CA, Certificate: hale.Certificate, Key: hale.Key},
			"shows a certificate that hale does not trust: it must be signed by the authority in " +
				alien.CA},
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
	ours := labtest.NewAuthority(t, "ours")
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
		return libvirt.Proof{TLS: libvirt.TLS(ours.Client(t, "hale")), SASL: libvirt.SASL{User: "hale", Password: kept}}
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
	order.Template.Accel = policy.AccelTCG // a remote daemon offers KVM whether or not the processor has it
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

// sshd is a real one before a bench's daemon.
type sshd struct {
	labtest.SSHD
	bench *bench
}

func (b *bench) sshd(t testing.TB, options string) sshd {
	t.Helper()
	return sshd{labtest.StartSSHD(t, b.Lab, options), b}
}

// uri is that of the bench's daemon behind the server.
func (s sshd) uri(user string) string {
	return "qemu+ssh://" + user + "@" + s.Addr + "/system?socket=" + s.bench.SocketPath()
}

func (s sshd) proof() libvirt.Proof {
	return libvirt.Proof{SSH: libvirt.SSH{Key: s.Key, KnownHosts: s.Known}}
}

// TestSSH: a real libvirtd behind a real sshd has its machine built, healed and removed.
func TestSSH(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.sshd(t, "")
	b.healBy(t, b.remote(t, s.uri("root"), s.proof()))
}

// TestSSHByAProgram: where the forwarding of sockets is switched off, a program on the host speaks to the daemon, and
// what that complains of is told.
func TestSSHByAProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.sshd(t, "AllowStreamLocalForwarding no")
	p := b.remote(t, s.uri("root"), s.proof())
	order := b.order("far")
	order.Template.Seed = true
	order.Template.Accel = policy.AccelTCG
	must(t, p.Create(t.Context(), order))
	destroyed(t, p, order.Ref)
	must(t, b.KillLibvirtd(background(t)))
	for _, says := range []string{"the program that speaks to the daemon ended: nc: ", "is libvirtd running there?"} {
		_, err := b.remote(t, s.uri("root"), s.proof()).List(t.Context())
		if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
		_ = os.Remove(b.SocketPath()) // a killed daemon leaves it, one that ended does not
	}
	must(t, b.StartLibvirtd(background(t)))
}

// TestSSHByLibvirtsOwnProgram: where the daemon's socket is in its usual place, the program is virt-ssh-helper; there
// is no other on this host.
func TestSSHByLibvirtsOwnProgram(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("virt-ssh-helper")
	if err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests installs it", err)
	}
	only := t.TempDir()
	must(t, os.Chmod(only, 0o755))
	must(t, os.Symlink(program, filepath.Join(only, "virt-ssh-helper")))
	b := newBench(t)
	s := b.sshd(t, "AllowStreamLocalForwarding no\nSetEnv PATH="+only)
	b.healBy(t, b.remote(t, "qemu+ssh://root@"+s.Addr+"/system", s.proof()))
}

// TestWrongSSHKeys: a wrong host key, a key that is not let in, and a user without rights are told in a sentence.
func TestWrongSSHKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must(t, os.Chmod(b.SocketPath(), 0o700))
	must(t, os.Chmod(b.Info().Dir, 0o755)) // as the folder of a real one
	s, other := b.sshd(t, ""), b.sshd(t, "")
	swapped := s.proof()
	swapped.SSH.KnownHosts = s.Impostor(t)
	unknown := s.proof()
	unknown.SSH.KnownHosts = other.Known
	stranger := s.proof()
	stranger.SSH.Key = other.Key
	for name, c := range map[string]struct {
		user  string
		proof libvirt.Proof
		says  string
	}{
		"another host key":   {"root", swapped, "shows another host key than"},
		"an unknown host":    {"root", unknown, "add it with ssh-keyscan"},
		"a key without door": {"root", stranger, "does not let hale in as root: add the public half of " + other.Key},
		"a user without":     {"guest", s.proof(), "guest may not use " + b.SocketPath()},
		"the right ones":     {"root", s.proof(), ""},
	} {
		_, err := b.remote(t, s.uri(c.user), c.proof).List(t.Context())
		checkSays(t, name, err, c.says)
	}
}
