package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The warden is this program, started again as PID 1 of a new PID and mount namespace. It is the parent of libvirtd
// and, because they daemonize, of every QEMU and dnsmasq. It reaps them at once: a lazy PID 1 makes libvirt's destroy
// 1.6 s slower. When it ends, for whatever reason, the kernel ends them all. It lives as long as the other end of its
// life pipe is open; the pipe does what a parent death signal would do, without depending on the thread that started
// it.

const envWarden = "HALE_LAB_WARDEN"

// wardenConfig travels in the environment.
type wardenConfig struct {
	Dir        string   `json:"dir"`
	CapsCache  string   `json:"caps_cache"`  // libvirt's knowledge about QEMU, shared by all labs
	OwnNetwork bool     `json:"own_network"` // the namespace is new and must be prepared
	Detached   bool     `json:"detached"`    // no life pipe
	TempDir    bool     `json:"temp_dir"`    // Dir ends with the lab
	Listen     bool     `json:"listen"`      // libvirtd listens on TCP, too
	Env        []string `json:"env"`         // of libvirtd
}

// Inherited files: the warden writes "ok" or what went wrong to the first and closes it.
const (
	readyFD = 3
	lifeFD  = 4
)

// RunIfChild must be called at the start of main or TestMain of every program that starts a lab (Main does it). In the
// process that Start starts it becomes the warden and never returns.
func RunIfChild() {
	text, ok := os.LookupEnv(envWarden)
	if !ok {
		return
	}
	os.Unsetenv(envWarden)
	unix.CloseOnExec(readyFD)
	unix.CloseOnExec(lifeFD)
	ready := os.NewFile(readyFD, "ready")
	w, err := newWarden(text)
	if err != nil {
		fmt.Fprint(ready, err)
		os.Exit(1)
	}
	fmt.Fprint(ready, "ok")
	ready.Close()
	w.serve()
	os.Exit(0)
}

type warden struct {
	cfg     wardenConfig
	control *net.UnixListener
	client  *http.Client
	log     *slog.Logger
	reaped  chan struct{} // a token after each reaped process

	mu      sync.Mutex
	daemon  int // pid of libvirtd, 0 while there is none
	serving int // pid of the last libvirtd that accepted connections
	ended   int // pid of the libvirtd that the lab killed
}

func newWarden(text string) (*warden, error) {
	w := &warden{
		log:    slog.New(slog.NewTextHandler(os.Stderr, nil)), // log/warden.log
		reaped: make(chan struct{}, 1),
	}
	if err := json.Unmarshal([]byte(text), &w.cfg); err != nil {
		return nil, err
	}
	if err := isolate(w.cfg); err != nil {
		return nil, err
	}
	// A lost first packet must not cost the second that TCP waits; a sick guest may be slow to answer.
	dialer := &net.Dialer{Timeout: 500 * time.Millisecond}
	w.client = &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext},
		Timeout:   5 * time.Second,
	}
	go w.reap()
	if !w.cfg.Detached {
		go w.endWithParent(os.NewFile(lifeFD, "life"))
	}
	if err := w.startDaemon(); err != nil {
		return nil, err
	}
	path := controlSocket(w.cfg.Dir)
	os.Remove(path)
	var err error
	w.control, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	return w, err
}

// endWithParent ends the warden, and with it the whole lab, when the other end is closed. A temporary folder goes too:
// a killed program cannot remove it.
func (w *warden) endWithParent(life io.Reader) {
	io.Copy(io.Discard, life)
	if w.cfg.TempDir {
		unix.Kill(-1, unix.SIGKILL) // everything but this process
		os.RemoveAll(w.cfg.Dir)
	}
	os.Exit(0)
}

// isolate makes the new namespaces usable: own /proc and /sys, and the lab's folders over libvirt's fixed ones.
func isolate(cfg wardenConfig) error {
	if cfg.OwnNetwork {
		if err := prepareNetwork(); err != nil {
			return err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount /sys: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", flags, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	for _, b := range binds(cfg) {
		for _, dir := range []string{b.from, b.to} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := unix.Mount(b.from, b.to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", b.to, err)
		}
	}
	return nil
}

type bind struct{ from, to string }

func binds(cfg wardenConfig) []bind {
	return []bind{
		{filepath.Join(cfg.Dir, "etc"), "/etc/libvirt"},
		{filepath.Join(cfg.Dir, "lib"), "/var/lib/libvirt"},
		{filepath.Join(cfg.Dir, "log"), "/var/log/libvirt"},
		{filepath.Join(cfg.Dir, "run"), "/run/libvirt"},
		{cfg.CapsCache, "/var/cache/libvirt"},
	}
}

// reap collects every child and orphan as it ends.
func (w *warden) reap() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGCHLD)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid == 0:
			<-ch
		default:
			w.collect(pid, status)
		}
	}
}

func (w *warden) collect(pid int, status unix.WaitStatus) {
	w.mu.Lock()
	if pid == w.daemon {
		w.daemon = 0
		w.log.Info("libvirtd ended", "signal", status.Signal(), "code", status.ExitStatus())
	}
	if pid == w.serving && pid != w.ended {
		w.revive()
	}
	w.mu.Unlock()
	select {
	case w.reaped <- struct{}{}:
	default:
	}
}

// revive starts libvirtd again when it died of itself, as a host's service manager does. (libvirt 9.0 has a fault that
// seldom ends it when a client vanishes.) One that dies before it ever answers stays dead: that is a matter for a
// person. The caller holds the lock, so that no other call finds libvirtd gone.
func (w *warden) revive() {
	w.log.Warn("libvirtd died of itself, and is started again")
	if err := w.spawnDaemon(); err != nil {
		w.log.Error("libvirtd stays dead", "error", err)
		return
	}
	go func() {
		if err := w.awaitDaemon(); err != nil {
			w.log.Error("libvirtd does not answer", "error", err)
		}
	}()
}

// serve answers requests until told to stop.
func (w *warden) serve() {
	for {
		conn, err := w.control.AcceptUnix()
		if err != nil {
			return
		}
		go w.answer(conn)
	}
}

func (w *warden) answer(conn *net.UnixConn) {
	defer conn.Close()
	var q request
	if err := json.NewDecoder(conn).Decode(&q); err != nil {
		return
	}
	r, err := w.perform(q)
	if err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(conn).Encode(r)
}

func (w *warden) perform(q request) (reply, error) {
	switch q.Op {
	case opKillDaemon:
		return reply{}, w.signalDaemon(unix.SIGKILL)
	case opFreezeDaemon:
		return reply{}, w.signalDaemon(unix.SIGSTOP)
	case opThawDaemon:
		return reply{}, w.signalDaemon(unix.SIGCONT)
	case opStartDaemon:
		return reply{}, w.startDaemon()
	case opProcesses:
		return reply{Processes: qemus()}, nil
	case opKill:
		return reply{}, w.killQEMU(q.Name)
	case opTune:
		return reply{}, tuneBridge(q.Name)
	case opGet:
		return w.get(q.URL)
	case opStop:
		return reply{}, w.control.Close() // ends serve, and with it the warden
	}
	return reply{}, fmt.Errorf("unknown request %q", q.Op)
}

// startDaemon starts libvirtd and waits until it accepts connections.
func (w *warden) startDaemon() error {
	w.mu.Lock()
	err := w.spawnDaemon()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.awaitDaemon()
}

// awaitDaemon waits until libvirtd accepts connections.
func (w *warden) awaitDaemon() error {
	sock := filepath.Join(w.cfg.Dir, "run", "libvirt-sock")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var dialer net.Dialer
	return await(ctx, func() error {
		if w.daemonPID() == 0 {
			return final(fmt.Errorf("libvirtd ended at once, see %s", filepath.Join(w.cfg.Dir, "log")))
		}
		conn, err := dialer.DialContext(ctx, "unix", sock)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.serving = w.daemon
		w.mu.Unlock()
		return conn.Close()
	})
}

// spawnDaemon starts the process. The lock is held.
func (w *warden) spawnDaemon() error {
	if w.daemon != 0 {
		return errors.New("libvirtd runs already")
	}
	stale, err := filepath.Glob(filepath.Join(w.cfg.Dir, "run", "*-sock*"))
	if err != nil {
		return err
	}
	for _, sock := range append(stale, filepath.Join(w.cfg.Dir, "run", "libvirtd.pid")) {
		if err := os.Remove(sock); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	out, err := os.OpenFile(filepath.Join(w.cfg.Dir, "log", "libvirtd.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	w.serving, w.ended = 0, 0
	// Not os/exec: reap waits for every process, this one too.
	args := []string{"libvirtd", "--pid-file", "/run/libvirt/libvirtd.pid"}
	if w.cfg.Listen {
		args = append(args, "--listen")
	}
	w.daemon, err = syscall.ForkExec("/usr/sbin/libvirtd", args, &syscall.ProcAttr{
		Env: slices.Concat(withoutEnv(os.Environ(), "PATH"),
			[]string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, w.cfg.Env),
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	return err
}

func (w *warden) daemonPID() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemon
}

// signalDaemon also waits for the end where the signal is SIGKILL.
func (w *warden) signalDaemon(sig unix.Signal) error {
	w.mu.Lock()
	pid := w.daemon
	err := errors.New("libvirtd does not run")
	if pid != 0 {
		err = unix.Kill(pid, sig) // under the lock: reap cannot have given the number away
		if sig == unix.SIGKILL {
			w.ended = pid
		}
	}
	w.mu.Unlock()
	if err != nil || sig != unix.SIGKILL {
		return err
	}
	return w.awaitReaped(func() bool { return w.daemonPID() != pid })
}

// killQEMU kills the process of a domain and waits until it is gone.
func (w *warden) killQEMU(domain string) error {
	killed := map[int]bool{}
	for _, p := range qemus() {
		if p.Domain == domain {
			if err := unix.Kill(p.PID, unix.SIGKILL); err != nil {
				return err
			}
			killed[p.PID] = true
		}
	}
	if len(killed) == 0 {
		return fmt.Errorf("domain %q has no process", domain)
	}
	return w.awaitReaped(func() bool {
		return !slices.ContainsFunc(qemus(), func(p Process) bool { return killed[p.PID] })
	})
}

// awaitReaped waits until done holds, looking again whenever a process was reaped, and now and then.
func (w *warden) awaitReaped(done func() bool) error {
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-w.reaped:
		case <-tick.C:
		case <-deadline.C:
			return errors.New("the process does not end")
		}
	}
	return nil
}

// qemus lists the domains' processes. QEMUs that libvirt starts only to ask for their abilities have no guest name.
func qemus() []Process {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var out []Process
	for _, path := range entries {
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			continue // ended meanwhile, or a zombie
		}
		p := parseQEMU(strings.Split(string(data), "\x00"))
		if p.Domain == "" {
			continue
		}
		if _, err := fmt.Sscanf(path, "/proc/%d/", &p.PID); err == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return a.PID - b.PID })
	return out
}

// macPattern finds the address in both ways of writing a device, mac=… and "mac":"…".
var macPattern = regexp.MustCompile(`\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)

// parseQEMU reads a QEMU command line as libvirt writes it; the Domain stays empty for any other.
func parseQEMU(argv []string) Process {
	var p Process
	if !strings.Contains(filepath.Base(argv[0]), "qemu") {
		return p
	}
	for i := 1; i+1 < len(argv); i++ {
		switch argv[i] {
		case "-name":
			for opt := range strings.SplitSeq(argv[i+1], ",") {
				if name, ok := strings.CutPrefix(opt, "guest="); ok {
					p.Domain = name
				}
			}
		case "-uuid":
			p.UUID = argv[i+1]
		case "-device":
			if mac := macPattern.FindString(argv[i+1]); p.MAC == "" {
				p.MAC = mac
			}
		}
	}
	return p
}

// get asks a guest over HTTP, from inside the lab's network.
func (w *warden) get(url string) (reply, error) {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil) // the client has a timeout
	if err != nil {
		return reply{}, err
	}
	resp, err := w.client.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return reply{Status: resp.StatusCode, Body: string(body)}, err
}
