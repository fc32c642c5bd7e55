package labtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"hale/internal/testbed/lab"
)

// SSHD is a real sshd on 127.0.0.1, for one test.
type SSHD struct {
	Addr  string // host:port
	Key   string // file with the private key that it lets in
	Known string // file with its host key, in the form of known_hosts(5)
}

// Guest is a user who may log in, and use the lab's libvirtd if its socket is open to all. It has the user id of the
// account nobody: libvirtd looks up its clients' ids.
const Guest = "guest"

// sshdScript makes the host that logins see: its users, and the lab's libvirtd in the usual place.
const sshdScript = `set -e
mount --make-rprivate /
mount --bind "$1" /etc/passwd
mount -t tmpfs none /run
mkdir /run/sshd /run/libvirt
mount --bind "$5" /run/libvirt
cp "$4" /run/authorized
exec "$2" -D -e -f "$3"`

// StartSSHD starts one on the lab's host, in namespaces that end with the test. The key is good for root and for Guest.
// options are further lines of sshd_config. Without a lab there is no libvirtd.
func StartSSHD(t testing.TB, l *lab.Lab, options string) SSHD {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests installs it", err)
	}
	dir := t.TempDir()
	s := SSHD{Addr: freeAddress(t), Key: filepath.Join(dir, "hale"), Known: filepath.Join(dir, "known_hosts")}
	public, host := newSSHKey(t, s.Key), newSSHKey(t, filepath.Join(dir, "host"))
	_, port, err := net.SplitHostPort(s.Addr)
	must(t, err)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	must(t, os.Chmod(dir, 0o755))
	write("known_hosts", knownhosts.Line([]string{s.Addr}, host)+"\n")
	keys := write("authorized", string(ssh.MarshalAuthorizedKey(public)))
	users, err := os.ReadFile("/etc/passwd")
	must(t, err)
	passwd := write("passwd", string(users)+Guest+":x:65534:65534::/:/bin/sh\n")
	config := write("sshd_config",
		fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile /run/authorized\n"+
			"PermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nUsePAM no\nPidFile none\n%s\n",
			port, filepath.Join(dir, "host"), options))
	libvirt := t.TempDir()
	if l != nil {
		libvirt = filepath.Dir(l.SocketPath())
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", "-c", sshdScript, "sh", passwd, program,
		config, keys, libvirt)
	cmd.Stderr = t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{ // as the first process it takes all of its logins along when it ends
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		_ = cmd.Wait()
	})
	awaitPort(t, s.Addr)
	return s
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

// startWithin is how long sshd may take on a busy machine.
const startWithin = time.Minute

func awaitPort(t testing.TB, addr string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
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

// Impostor writes a file of known_hosts(5) in which another key than the server's own stands under its address.
func (s SSHD) Impostor(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "known_hosts")
	line := knownhosts.Line([]string{s.Addr}, newSSHKey(t, filepath.Join(dir, "key")))
	must(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
	return path
}
