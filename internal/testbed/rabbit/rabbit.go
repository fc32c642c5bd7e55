// Package rabbit starts a private RabbitMQ, of the system's package, for tests.
//
// It promises that the broker listens on loopback only, at ports of its own, and keeps its data in the test's folder.
// The broker and all that it started end with the test or its process. As root, or as a user who may make a process
// namespace.
package rabbit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// server is where Debian and Ubuntu have it.
const server = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// Broker is one RabbitMQ.
type Broker struct {
	Port    int
	TLSPort int
	CA      string // a PEM file with the authority behind the TLS port

	t    testing.TB
	dir  string
	epmd int
	dist int
	cmd  *exec.Cmd
}

// User is an account of the broker. Each permission is a regular expression on the names of queues and exchanges.
type User struct {
	Name, Password         string
	Configure, Write, Read string
}

// startLimit is more than a broker needs to start on a machine that has much else to do.
const startLimit = 3 * time.Minute

// Start starts a broker that knows the users, and waits until it listens.
func Start(t testing.TB, users ...User) *Broker {
	t.Helper()
	b := &Broker{t: t, dir: t.TempDir(), Port: freePort(t), TLSPort: freePort(t), epmd: freePort(t), dist: freePort(t)}
	b.certify()
	b.write("definitions.json", definitions(users))
	b.write("rabbitmq.conf", fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
listeners.ssl.1 = 127.0.0.1:%d
ssl_options.cacertfile = %[3]s/ca.pem
ssl_options.certfile = %[3]s/cert.pem
ssl_options.keyfile = %[3]s/key.pem
load_definitions = %[3]s/definitions.json
log.console = false
vm_memory_high_watermark.relative = 0.2
`, b.Port, b.TLSPort, b.dir))
	b.Restart()
	t.Cleanup(b.Kill)
	return b
}

// Restart starts the broker again after Kill, with its ports and what it kept on its disk.
func (b *Broker) Restart() {
	b.t.Helper()
	log, err := os.OpenFile(filepath.Join(b.dir, "out.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	b.must(err)
	defer log.Close()
	// Its own process namespace ends with its first process, and with it the daemons that Erlang starts.
	b.cmd = exec.CommandContext(context.Background(), "unshare", "--fork", "--pid", "--kill-child", "--", server)
	b.cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + b.dir, "RABBITMQ_ALLOW_INPUT=1",
		fmt.Sprintf("RABBITMQ_NODENAME=hale%d@localhost", b.Port),
		"RABBITMQ_CONFIG_FILE=" + filepath.Join(b.dir, "rabbitmq.conf"),
		"RABBITMQ_CONF_ENV_FILE=" + filepath.Join(b.dir, "none"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(b.dir, "plugins"),
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(b.dir, "data"), "RABBITMQ_LOG_BASE=" + filepath.Join(b.dir, "log"),
		fmt.Sprintf("ERL_EPMD_PORT=%d", b.epmd),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", b.dist),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-noinput +S 2:2 -kernel inet_dist_use_interface {127,0,0,1}",
	}
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	b.must(b.cmd.Start())
	b.await()
}

// await waits until the broker greets who connects.
func (b *Broker) await() {
	b.t.Helper()
	deadline := time.NewTimer(startLimit)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !greets(b.Port) {
		select {
		case <-tick.C:
		case <-deadline.C:
			out, _ := os.ReadFile(filepath.Join(b.dir, "out.log"))
			b.t.Fatalf("RabbitMQ did not start within %s:\n%s", startLimit, out)
		}
	}
}

// greets reports whether an AMQP server answers: it closes what speaks another version, and says its own before.
func greets(port int) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("AMQP\x00\x00\x00\x00")); err != nil {
		return false
	}
	answer := make([]byte, 4)
	_, err = io.ReadFull(conn, answer)
	return err == nil && string(answer) == "AMQP"
}

// Kill ends the broker at once, as a loss of power does.
func (b *Broker) Kill() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed, and says so
	b.cmd = nil
	// The namespace's own processes are gone a moment later.
	for greets(b.Port) {
		continue
	}
}

// Freeze halts the broker: its connections stay, and nothing answers. The function lets it go on.
func (b *Broker) Freeze() (thaw func()) {
	b.t.Helper()
	pid := b.first()
	b.must(unix.Kill(pid, unix.SIGSTOP))
	return func() { b.must(unix.Kill(pid, unix.SIGCONT)) }
}

// first is the first process of the broker's namespace.
func (b *Broker) first() int {
	b.t.Helper()
	pid := b.cmd.Process.Pid
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	b.must(err)
	child, err := strconv.Atoi(strings.TrimSpace(string(data)))
	b.must(err)
	return child
}

// Address is the broker's, in the clear.
func (b *Broker) Address() string { return fmt.Sprintf("amqp://127.0.0.1:%d", b.Port) }

// TLSAddress is the broker's, encrypted.
func (b *Broker) TLSAddress() string { return fmt.Sprintf("amqps://127.0.0.1:%d", b.TLSPort) }

func (b *Broker) write(name, text string) {
	b.t.Helper()
	b.must(os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
}

func (b *Broker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// certify makes an authority that vouches for 127.0.0.1.
func (b *Broker) certify() {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	b.must(err)
	c := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "a broker for tests"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	b.must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	b.must(err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	b.write("ca.pem", text)
	b.write("cert.pem", text)
	b.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	b.CA = filepath.Join(b.dir, "ca.pem")
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Ctl asks the broker's own tool, and returns what it prints.
func (b *Broker) Ctl(args ...string) string {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "/usr/lib/rabbitmq/bin/rabbitmqctl",
		append([]string{"--quiet", "--no-table-headers"}, args...)...)
	cmd.Env = b.cmd.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("rabbitmqctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}
