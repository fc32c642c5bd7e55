package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/lab"
	"hale/internal/testbed/vcsim"
)

const vcenterFleet = `
providers:
  vc:
    type: vsphere
    vcenter: {url: %q, user: %q, password: {file: %q}, thumbprint: %q, datacenter: %s, cluster: %s, datastore: %s}
fleets:
  web:
    provider: vc
    size: 2
    template: {image: %s, network: %s, disks: {root: ephemeral}}
    checks:
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms}
    build_within: 1m
    silence: act
    repair: {steps: [start, reboot, recreate], attempts: 50 in 1h, backoff: 500ms}
`

// hypervisor runs the guests of a simulated vCenter: plain QEMU processes.
type hypervisor struct {
	guest lab.Guest
	built atomic.Uint32

	mu      sync.Mutex
	running map[string]*vm
	twice   []string // those that were started while they ran
}

// vm is one QEMU.
type vm struct {
	cmd     *exec.Cmd
	address netip.Addr
	ended   chan struct{}
}

func (m *vm) Address() netip.Addr    { return m.address }
func (m *vm) Ended() <-chan struct{} { return m.ended }
func (m *vm) Kill() {
	_ = m.cmd.Process.Kill() // an error says that it has ended
	<-m.ended
}

// boot starts a guest with an address of its own and returns when it serves.
func (h *hypervisor) boot(ctx context.Context, name string) (vcsim.Machine, error) {
	n := h.built.Add(1)
	m := &vm{address: netip.AddrFrom4([4]byte{10, 78, byte(n / 250), byte(n%250 + 1)}), ended: make(chan struct{})}
	m.cmd = exec.Command("qemu-system-x86_64", "-machine", "q35,accel=tcg", "-m", fmt.Sprint(lab.GuestMemoryMiB),
		"-nodefaults", "-display", "none",
		"-kernel", h.guest.Kernel, "-initrd", h.guest.Initrd, "-append", lab.KernelArgs+" hale.name="+name,
		"-netdev", fmt.Sprintf("user,id=n,hostfwd=tcp:%s:80-:80", m.address), "-device",
		"virtio-net-pci,netdev=n,romfile=")
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	h.enter(name, m)
	go func() { // ends with the process
		_ = m.cmd.Wait()
		close(m.ended)
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if page, err := pageAt(ctx, m.address.String()); err == nil && page.Name == name {
			return m, nil
		}
		select {
		case <-tick.C:
		case <-m.ended:
			return nil, errors.New("QEMU ended")
		case <-ctx.Done():
			m.Kill()
			return nil, ctx.Err()
		}
	}
}

// enter notes who runs under the name.
func (h *hypervisor) enter(name string, m *vm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before := h.running[name]; before != nil {
		select {
		case <-before.ended:
		default:
			h.twice = append(h.twice, name)
		}
	}
	h.running[name] = m
}

func (h *hypervisor) signal(t testing.TB, name string, s syscall.Signal) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.running[name].cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// newVCenter starts a vCenter with real guests, and hale's folder with a configuration for it.
func newVCenter(t *testing.T) (stage, *vcsim.VCenter, *hypervisor) {
	t.Helper()
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	// A guest's address is of a net of its own that ends here: a loopback address must not pass for a guest's.
	if out, err := exec.CommandContext(t.Context(), "ip", "route", "replace", "local", "10.78.0.0/16",
		"dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := &hypervisor{guest: guest, running: map[string]*vm{}}
	vc := vcsim.Start(t)
	vc.Live(t, h.boot)
	c, err := newController()
	if err != nil {
		t.Fatal(err)
	}
	s := stage{
		t,
		&props{hale: c, journal: follow(c.client), dice: run.dice(t.Name()), settings: settings{fleet: "web", size: 2}},
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(c.path("log"))
			t.Logf("the end of hale's log:\n%s", tail(string(log), 60))
		}
		s.journal.end()
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	password := filepath.Join(c.dir, "password")
	s.must(os.WriteFile(password, []byte(vcsim.Password), 0o600))
	sum := sha256.Sum256(vc.Certificate().Raw)
	thumbprint := strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
	text := fmt.Sprintf(vcenterFleet, vc.URL(), vcsim.User, password, thumbprint, vcsim.Datacenter, vcsim.Cluster,
		vcsim.Datastore, vcsim.Template, vcsim.Network)
	s.must(os.WriteFile(c.path("hale.yaml"), []byte(text), 0o600))
	return s, vc, h
}

// TestAFleetOnVCenterWithRealGuests: vCenter is simulated, its machines are not. One that loses its process is started
// by vCenter's order. One that stands still, unnoticed by vCenter, fails its page check and is reset.
func TestAFleetOnVCenterWithRealGuests(t *testing.T) {
	t.Parallel()
	s, vc, h := newVCenter(t)
	run.scene()
	s.raise()
	s.stands()

	run.scene()
	victim := s.pick()
	before, mark := s.machine(victim), s.journal.mark()
	h.signal(t, victim, syscall.SIGKILL)
	s.wantCalls(s.healed(victim, mark), "start")
	s.stands()
	s.alone(victim, mark)
	if now := s.machine(victim); now.Instance != before.Instance || now.Address == before.Address {
		t.Errorf("before: %+v\nafter: %+v", before, now)
	}

	run.scene()
	victim = s.pick()
	before, mark = s.machine(victim), s.journal.mark()
	h.signal(t, victim, syscall.SIGSTOP)
	bad := s.event("the verdict", mark, of(victim, verdict("unhealthy")))
	if bad.Check != "page" || bad.Result != "timeout" {
		t.Errorf("the verdict rests on %s, %s", bad.Check, bad.Result)
	}
	s.wantCalls(s.healed(victim, mark), "reboot")
	s.stands()
	s.alone(victim, mark)
	if now := s.machine(victim); now.Instance != before.Instance {
		t.Errorf("before: %+v\nafter: %+v", before, now)
	}

	for name := range s.machines() {
		page, err := pageAt(t.Context(), s.machine(name).Address)
		if err != nil || page.Name != name {
			t.Errorf("at %s's address is %+v, %v", name, page, err)
		}
	}
	if got := vc.Machines(); len(got) != 2 || got["web-1"] != 1 || got["web-2"] != 1 {
		t.Errorf("vCenter has %v", got)
	}
	if h.mu.Lock(); len(h.twice) > 0 {
		t.Errorf("two processes at once had %v", h.twice)
	}
	h.mu.Unlock()
}
