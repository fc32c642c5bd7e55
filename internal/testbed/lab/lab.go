// Package lab gives tests and the demo a real hypervisor on any Debian or Ubuntu machine: a private libvirtd with QEMU,
// a DHCP network, and a tiny guest. The guest boots in about two seconds, answers ping and HTTP, and can be made sick
// in many ways.
//
// It promises to touch nothing outside. libvirtd, its QEMUs and its dnsmasq live in mount, PID and network namespaces
// apart from the machine's, with folders of their own. One process, the warden, is PID 1 in there; when it ends, or the
// program that started it is killed, everything in there ends too. A system-wide libvirtd beside it is not disturbed.
//
// It needs root, and the packages of scripts/install-deps.sh. It is for tests and shows only:
// product code does not import it.
//
// A test package uses it so:
//
//	func TestMain(m *testing.M) { lab.Main(m) }
//
//	func TestHeal(t *testing.T) {
//		guest, err := lab.BuildGuest(t.Context(), "") // Main has built it
//		l, err := lab.Start(t.Context(), lab.Options{Guest: guest})
//		t.Cleanup(func() { l.Close() })
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/accel"
)

// DefaultSubnet is where guests get their addresses unless Options say otherwise.
var DefaultSubnet = netip.MustParsePrefix("10.97.0.0/16")

// Options describe a lab. The zero value is a lab without a guest image in a temporary folder.
type Options struct {
	// Dir holds the lab's files, sockets and logs. Sockets limit its length to 80 bytes. Empty means a
	// temporary folder that Close removes.
	Dir string
	// Guest is the image that domains boot; its disk becomes the volume base.qcow2 of the pool "default".
	// The zero Guest is allowed.
	Guest Guest
	// Subnet is a /16; two labs in one network namespace need different ones. Default DefaultSubnet.
	Subnet netip.Prefix
	// Detached gives the lab a network namespace of its own and lets it outlive this program;
	// Attach finds it again. Otherwise the lab is in the program's network and dies with it.
	Detached bool
	// OwnNetwork gives the lab a network namespace of its own, as a host has one. The program's network does not reach
	// its guests, and another lab's guests may have the same addresses. A detached lab always has one.
	OwnNetwork bool
	// Listen has libvirtd listen on TCP, too, as these lines of libvirtd.conf say. Empty: it does not.
	Listen string
	// Env are further variables of libvirtd's environment, as NAME=VALUE.
	Env []string
}

// Info is what others need to use a lab; Start writes it to lab.json in its folder.
type Info struct {
	PID         int          `json:"pid"`          // of the warden, as the caller numbers it; killing it ends all
	Dir         string       `json:"dir"`          // absolute
	Socket      string       `json:"socket"`       // libvirt's socket
	URI         string       `json:"uri"`          // for virsh -c
	Network     string       `json:"network"`      // identity of the network namespace, as "net:[4026532001]"
	NetworkPath string       `json:"network_path"` // to enter it, for nsenter --net=PATH
	Bridge      string       `json:"bridge"`       // of the libvirt network "default"
	Subnet      netip.Prefix `json:"subnet"`
	Images      string       `json:"images"` // folder of the storage pool "default"
	Accel       accel.Accel  `json:"accel"`  // how QEMU will run guests here
	Guest       Guest        `json:"guest"`  // zero if the lab was started without
	Detached    bool         `json:"detached"`
}

// Lab is a running private hypervisor. Its methods may be called concurrently.
type Lab struct {
	info    Info
	listen  string
	ownNet  bool
	env     []string
	tempDir bool
	warden  *exec.Cmd // nil if attached
	life    io.Closer // nil if attached or detached

	closeOnce sync.Once
	closeErr  error
}

// Main runs the tests of a package that uses labs, and exits. It becomes the warden where this process was started as
// one. It makes the guest image while the machine's network is still there, and then moves the tests into a network of
// their own.
func Main(m interface{ Run() int }) {
	RunIfChild()
	if err := prepareMain(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepareMain() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if !inLabNetwork() {
		if _, err := BuildGuest(ctx, ""); err != nil {
			return err
		}
	}
	return EnterOwnNetwork()
}

// Accel says how QEMU runs guests on this machine.
func Accel() accel.Accel { return accel.Detect() }

// Start starts a private libvirtd with a network and a storage pool, both named "default"; ctx
// bounds the start only. Everything ends with Close or, unless Detached, with this process.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l, err := newLab(o)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start lab in %s: %w", l.info.Dir, err), l.Close())
	}
	return l, nil
}

// newLab checks the options and fills in what is missing.
func newLab(o Options) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the lab needs root: it makes namespaces, bridges and virtual machines")
	}
	if !o.Detached && !inLabNetwork() {
		return nil, errOwnNetwork
	}
	if !o.Subnet.IsValid() {
		o.Subnet = DefaultSubnet
	}
	if o.Subnet.Bits() != 16 || !o.Subnet.Addr().Is4() {
		return nil, fmt.Errorf("subnet %s is not an IPv4 /16", o.Subnet)
	}
	l := &Lab{tempDir: o.Dir == ""}
	dir, err := filepath.Abs(o.Dir)
	if l.tempDir {
		dir, err = os.MkdirTemp("", "hale-lab-")
	}
	if err != nil {
		return nil, err
	}
	if len(dir) > 80 {
		return nil, fmt.Errorf("folder %s is too long a name for sockets below it", dir)
	}
	o.Subnet = o.Subnet.Masked()
	socket := filepath.Join(dir, "run", "libvirt-sock")
	l.info = Info{
		Dir:      dir,
		Socket:   socket,
		URI:      "qemu+unix:///system?socket=" + url.QueryEscape(socket),
		Bridge:   fmt.Sprintf("hale%d", o.Subnet.Addr().As4()[1]),
		Subnet:   o.Subnet,
		Images:   filepath.Join(dir, "images"),
		Accel:    Accel(),
		Guest:    o.Guest,
		Detached: o.Detached,
	}
	l.listen, l.env, l.ownNet = o.Listen, o.Env, o.OwnNetwork || o.Detached
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	if err := l.writeFiles(); err != nil {
		return err
	}
	if err := l.startWarden(ctx, filepath.Join(cache, "libvirt")); err != nil {
		return err
	}
	if err := l.defineDefaults(ctx); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l.info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(infoFile(l.info.Dir), append(data, '\n'), 0o644)
}

// startWarden starts this program again as the warden and waits until libvirtd answers.
func (l *Lab) startWarden(ctx context.Context, capsCache string) error {
	cfg, err := json.Marshal(wardenConfig{
		Dir:        l.info.Dir,
		CapsCache:  capsCache,
		OwnNetwork: l.ownNet,
		Detached:   l.info.Detached,
		TempDir:    l.tempDir,
		Listen:     l.listen != "",
		Env:        l.env,
	})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(l.info.Dir, "log", "warden.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, readyW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	defer readyW.Close()
	lifeR, life, err := os.Pipe()
	if err != nil {
		return err
	}
	defer lifeR.Close()
	l.life = life
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe") // ctx bounds the start only
	cmd.Args[0] = "hale-lab-warden"
	cmd.Env = append(withoutEnv(os.Environ(), envWarden), envWarden+"="+string(cfg))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{readyW, lifeR} // readyFD, lifeFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Setsid: true}
	if l.ownNet {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	l.warden, l.info.PID = cmd, cmd.Process.Pid
	readyW.Close()
	if err := awaitReady(ctx, ready); err != nil {
		return err
	}
	l.info.NetworkPath = networkPath(l.info.PID)
	l.info.Network, err = os.Readlink(l.info.NetworkPath)
	return err
}

// awaitReady reads the warden's one message.
func awaitReady(ctx context.Context, ready *os.File) error {
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Now()) })
	defer stop()
	text, err := io.ReadAll(ready)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case string(text) == "ok":
		return nil
	case len(text) == 0:
		return errors.New("the warden ended without a word: does this program call lab.RunIfChild first of all?")
	}
	return errors.New(string(text))
}

func infoFile(dir string) string { return filepath.Join(dir, "lab.json") }

// Attach returns the lab that Start left running in dir.
func Attach(ctx context.Context, dir string) (*Lab, error) {
	data, err := os.ReadFile(infoFile(dir))
	if err != nil {
		return nil, fmt.Errorf("no lab in %s: %w", dir, err)
	}
	l := &Lab{}
	if err := json.Unmarshal(data, &l.info); err != nil {
		return nil, fmt.Errorf("%s: %w", infoFile(dir), err)
	}
	conn, err := dialControl(ctx, l.info.Dir)
	if err != nil {
		return nil, err
	}
	return l, conn.Close()
}

// Info returns what others need to use the lab.
func (l *Lab) Info() Info { return l.info }

// SocketPath returns libvirt's socket, visible to every process of the machine.
func (l *Lab) SocketPath() string { return l.info.Socket }

// URI returns libvirt's address for virsh and its library.
func (l *Lab) URI() string { return l.info.URI }

// Close ends libvirtd, every domain and dnsmasq at once and returns when they are gone. It removes
// the bridge, and the folder if it was a temporary one; in a folder of the caller's the logs stay.
// A second call returns what the first did.
func (l *Lab) Close() error {
	l.closeOnce.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Lab) close() error {
	err := l.endWarden()
	if !l.info.Detached && inLabNetwork() {
		err = errors.Join(err, removeBridge(l.info.Bridge))
	}
	for _, path := range []string{infoFile(l.info.Dir), controlSocket(l.info.Dir)} {
		if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if l.tempDir {
		err = errors.Join(err, os.RemoveAll(l.info.Dir))
	}
	return err
}

// endWarden returns when the warden's whole PID namespace is empty: the kernel ends PID 1 last.
func (l *Lab) endWarden() error {
	if l.warden == nil {
		return l.stopAttached()
	}
	if l.life != nil {
		l.life.Close()
	}
	err := l.warden.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	l.warden.Wait() // reports the kill
	return err
}

// stopAttached asks the warden of another program to end. Its pid comes from the socket, so
// that a number given away since cannot be meant.
func (l *Lab) stopAttached() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := dialControl(ctx, l.info.Dir)
	if err != nil {
		return nil // it is gone already
	}
	defer conn.Close()
	pid, err := peerPID(conn)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("warden %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if err := json.NewEncoder(conn).Encode(request{Op: opStop}); err != nil {
		return err
	}
	return awaitExit(ctx, fd)
}

func awaitExit(ctx context.Context, pidfd int) error {
	return await(ctx, func() error {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
		if err == nil && n == 0 {
			err = errors.New("the warden still runs")
		}
		return err
	})
}

// Wipe removes the files of an ended lab from dir, and dir itself if nothing else is in it.
// It refuses while the lab runs.
func Wipe(ctx context.Context, dir string) error {
	if conn, err := dialControl(ctx, dir); err == nil {
		conn.Close()
		return fmt.Errorf("the lab in %s runs", dir)
	}
	for _, name := range append(labFolders(), "lab.json", "lab.sock") {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
