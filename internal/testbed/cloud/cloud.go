// Package cloud gives tests a real OpenStack: Keystone, Placement, Glance, Neutron, Cinder and Nova, these two with
// drivers that do nothing, from the distribution's packages (scripts/openstack/install.sh), on a MariaDB, a RabbitMQ
// and a memcached of their own.
//
// It promises to touch nothing outside: all of it listens on the loopback of a network namespace of its own, and lives
// in a PID namespace. That namespace ends with the program that started it, even when that is killed. Machines there
// are Nova's word only: nothing boots, no address answers, and nothing is stored on volumes. They can crash
// (Cloud.Crash), their hypervisor can fail (Cloud.Fail), and services can be killed or stopped (Cloud.Signal).
//
// It needs root and about 2.5 GiB, and takes 40 s to 3 minutes to start. It is for tests only: product code does not
// import it.
//
// A test package uses it so:
//
//	func TestMain(m *testing.M) { os.Exit(cloud.Main(m, cloud.Options{})) }
//
//	func TestHeal(t *testing.T) {
//		c := cloud.Running()
//
// With HALE_CLOUD=DIR in the environment the tests use the cloud that scripts/openstack/start.sh DIR left running, and
// leave it so.
package cloud

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/testbed/lab"
)

//go:embed daemons
var daemons embed.FS

// envRunning names the folder of a cloud that runs already.
const envRunning = "HALE_CLOUD"

// Where things are in every cloud's network.
const (
	// RabbitMQ is where Nova tells what happens, in the exchange "nova".
	RabbitMQ = "amqp://os:hale@127.0.0.1:5672/"
	// Keystone is the address for authentication.
	Keystone = "http://127.0.0.1:5000/v3"
	// Nova is the compute service's address.
	Nova = "http://127.0.0.1:8774"
	// Neutron, Glance and Cinder are the addresses of the network, the image and the block storage service.
	Neutron = "http://127.0.0.1:9696"
	Glance  = "http://127.0.0.1:9292"
	Cinder  = "http://127.0.0.1:8776"
	// NovaSoft is the same service; what is deleted there is only set aside for an hour (SOFT_DELETED).
	NovaSoft = "http://127.0.0.1:8773"
)

// The accounts in a cloud's file. Admin sees hosts; Demo and Other are plain members, each of the project of that name.
const (
	Admin = "admin"
	Demo  = "demo"
	Other = "other"
)

// The regions. Proxied has the same services, at ports with a 1 before the real ones. Only a test's own proxy listens
// there.
const (
	Region  = "RegionOne"
	Proxied = "Proxied"
)

// What every cloud has.
const (
	Image    = "tiny"
	Flavor   = "m1.nano"
	Bigger   = "m1.micro"
	Network  = "private" // each project's own
	Shared   = "shared"  // the admin's, for all projects
	External = "public"  // floating addresses come from here
	Fast     = "fast"    // a type of volume beside the default
	Absent   = "absent"  // a type; making a volume of it fails
)

// Options describe a cloud. The zero value is one with a single host.
type Options struct {
	// Computes is how many hosts it has; 0 means one.
	Computes int
}

// Cloud is a running OpenStack. Its methods may be called concurrently.
type Cloud struct {
	dir   string
	first int       // its first process, as this program numbers it
	cmd   *exec.Cmd // nil if another program started it
	life  io.Closer
}

// running is the cloud of Main, set before the tests run.
var running *Cloud

// Running returns the cloud that Main started. It is nil in a program without Main.
func Running() *Cloud { return running }

// Main runs the tests of a package that uses a cloud, and returns the program's exit code. It moves the tests into a
// network of their own, starts the cloud or joins the one that HALE_CLOUD names, and ends it afterwards.
func Main(m interface{ Run() int }, o Options) int {
	code, err := run(m, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cloud:", err)
		return 1
	}
	return code
}

func run(m interface{ Run() int }, o Options) (int, error) {
	var err error
	if dir := os.Getenv(envRunning); dir != "" {
		if running, err = attach(dir); err != nil {
			return 1, err
		}
		return m.Run(), nil
	}
	if err := lab.EnterOwnNetwork(); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if running, err = start(ctx, o); err != nil {
		return 1, err
	}
	code := m.Run()
	return code, running.close()
}

// attach moves the program into the network of the cloud that runs in the folder.
func attach(dir string) (*Cloud, error) {
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return nil, fmt.Errorf("no cloud in %s: %w", dir, err)
	}
	outer := strings.TrimSpace(string(pid))
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", outer, outer))
	if err != nil {
		return nil, fmt.Errorf("the cloud in %s has ended: %w", dir, err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		return nil, fmt.Errorf("the cloud in %s: %w", dir, err)
	}
	return &Cloud{dir: dir, first: first}, lab.EnterNetworkAt(fmt.Sprintf("/proc/%d/ns/net", first))
}

// start starts a cloud in this program's network, which must be one of its own, and waits until a server can be made.
func start(ctx context.Context, o Options) (*Cloud, error) {
	dir, err := os.MkdirTemp("", "hale-cloud-")
	if err != nil {
		return nil, err
	}
	parts := filepath.Join(dir, "daemons")
	if err := unpack(parts); err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, "start.log"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	ready := filepath.Join(dir, "ready")
	c := &Cloud{dir: dir}
	// The start alone is bounded by ctx; the life ends when the other end of its standard input does.
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(parts, "cloud.sh"), dir, parts, ready, "wipe")
	c.cmd.Env = append(os.Environ(), "NOVA_COMPUTES="+strconv.Itoa(max(o.Computes, 1)))
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Setsid: true}
	if c.life, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.first = c.cmd.Process.Pid
	if err := c.awaitReady(ctx, ready); err != nil {
		said, _ := os.ReadFile(out.Name()) // it says more than the error, if it can be read
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said)), c.close())
	}
	return c, nil
}

// unpack writes the programs of the cloud's first processes to the folder.
func unpack(to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return fs.WalkDir(daemons, "daemons", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := daemons.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, d.Name()), data, 0o755)
	})
}

func (c *Cloud) awaitReady(ctx context.Context, ready string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(ready); err == nil {
			return nil
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", c.first)); err != nil || zombie(c.first) {
			return errors.New("it ended while it started")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it did not start in time: %w", ctx.Err())
		}
	}
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err != nil || bytes.HasPrefix(state, []byte("Z"))
}

// close ends every process of the cloud and removes its folder.
func (c *Cloud) close() error {
	c.life.Close()
	c.cmd.Process.Kill() // the kernel ends all others before its first process is gone
	c.cmd.Wait()         // reports the kill
	return os.RemoveAll(c.dir)
}

// CloudsFile returns the path of a clouds.yaml with the accounts Admin, Demo and Other.
func (c *Cloud) CloudsFile() string { return filepath.Join(c.dir, "clouds.yaml") }

// Crash lets the machine of the server end as if its guest or its process had died; Nova hears of it from its driver a
// moment later.
func (c *Cloud) Crash(server string) error {
	return os.WriteFile(filepath.Join(c.dir, "crashes", server), nil, 0o644)
}

// Operation is what Nova asks its driver to do with a server.
type Operation string

// The operations that can be let fail.
const (
	Destroy Operation = "destroy"
	Spawn   Operation = "spawn" // also the second half of a rebuild
	Reboot  Operation = "reboot"
	PowerOn Operation = "power_on"
	Copy    Operation = "snapshot" // the image is given up half-way
)

// Fail lets the operation fail with the server from now on, as if its hypervisor could not do it.
func (c *Cloud) Fail(server string, o Operation) error {
	return os.WriteFile(c.failure(server, o), nil, 0o644)
}

// Mend takes Fail back.
func (c *Cloud) Mend(server string, o Operation) error { return os.Remove(c.failure(server, o)) }

func (c *Cloud) failure(server string, o Operation) string {
	return filepath.Join(c.dir, "crashes", server+"."+string(o))
}

// Boots returns how often a guest booted from the disk that the server has.
func (c *Cloud) Boots(server string) (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "disks", server))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// Signal sends a signal to all processes of a service: "nova-api", "nova-compute1", "keystone", "neutron", "rabbitmq"
// and so on, as the folder run names them. A service that was killed stays away; for one that comes back, use SIGSTOP
// and SIGCONT.
func (c *Cloud) Signal(ctx context.Context, service string, sig syscall.Signal) error {
	group, err := os.ReadFile(filepath.Join(c.dir, "run", service+".pid"))
	if err != nil {
		return err
	}
	// The number counts in the cloud's own PID namespace.
	cmd := exec.CommandContext(ctx, "nsenter", "--pid=/proc/"+strconv.Itoa(c.first)+"/ns/pid", "--",
		"kill", "-"+strconv.Itoa(int(sig)), "--", "-"+strings.TrimSpace(string(group)))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("signal %v to %s: %w: %s", sig, service, err, bytes.TrimSpace(said))
	}
	return nil
}
