package libvirt_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// patience is how long a boot may take on a busy machine.
const patience = 60 * time.Second

// bench is a real libvirtd with QEMU, for one test.
type bench struct {
	*lab.Lab
	guest lab.Guest
	state string // the folder for the instances' files
	relay *relay // where the exam's handles connect to
}

// subnets counts the labs, so that those of tests that run at the same time are apart.
var subnets atomic.Uint32

func newBench(t testing.TB) *bench {
	t.Helper()
	return startBench(t, lab.Options{})
}

// startBench starts a lab with the options, its guest and a network of its own.
func startBench(t testing.TB, o lab.Options) *bench {
	t.Helper()
	guest, err := lab.BuildGuest(background(t), "")
	if err != nil {
		t.Fatal(err)
	}
	o.Guest, o.Subnet = guest, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(100 + subnets.Add(1)), 0, 0}), 16)
	l, err := lab.Start(background(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{Lab: l, guest: guest, state: l.Info().Images, relay: relayTo(t, l.SocketPath())}
}

// New opens a handle on the bench's daemon, by way of the relay.
func (b *bench) New(t providertest.T) provider.Provider { return b.handleAt(t, b.relay.uri()) }

func (b *bench) handle(t providertest.T) *libvirt.Provider { return b.handleAt(t, b.URI()) }

func (b *bench) handleAt(t providertest.T, uri string) *libvirt.Provider {
	t.Helper()
	p, err := libvirt.New(libvirt.Options{
		Hosts:     []libvirt.HostOptions{{URI: uri}},
		StateDir:  b.state,
		Keepalive: 500 * time.Millisecond,
		Logger:    slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (b *bench) Hosts() []fleet.HostName { return []fleet.HostName{""} }
func (b *bench) Patience() time.Duration { return patience }
func (b *bench) Watched()                {}
func (b *bench) Noting()                 {}

func (b *bench) Template() policy.Template {
	return policy.Template{
		Image: "base.qcow2", Kernel: b.guest.Kernel, Initrd: b.guest.Initrd,
		Cmdline: "console=ttyS0 quiet nokaslr mitigations=off tsc=reliable no_timer_check random.trust_cpu=on " +
			"cryptomgr.notests hale.name={name}",
		Memory: 96 << 20, CPUs: 1, Network: "default",
		Disks: []policy.Disk{{Name: "root", Ephemeral: true}},
	}
}

func (b *bench) Adjusted() policy.Template {
	t := b.Template()
	t.Memory, t.CPUs, t.Metadata = 128<<20, 2, fleet.MetadataOf(map[string]string{"tier": "gold <1>"})
	return t
}

func (b *bench) Kill(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	processes, err := b.Processes(t.Context())
	must(t, err)
	i := slices.IndexFunc(processes, func(p lab.Process) bool { return p.UUID == string(id) })
	if i < 0 {
		t.Fatalf("%s has no process", id)
	}
	must(t, b.KillQEMU(t.Context(), processes[i].Domain))
}

func (b *bench) Pause(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	must(t, b.Suspend(t.Context(), string(id)))
}

func (b *bench) Boot(t providertest.T, ref provider.Ref) string {
	t.Helper()
	page, err := b.AwaitPage(background(t), b.nameOf(t, ref.ID))
	must(t, err)
	return page.BootID
}

func (b *bench) DiskBoots(t providertest.T, ref provider.Ref) int {
	t.Helper()
	page, err := b.AwaitPage(background(t), b.nameOf(t, ref.ID))
	must(t, err)
	return page.Boots
}

// Printed is what the guest writes when it serves.
func (b *bench) Printed(t providertest.T, ref provider.Ref) string {
	t.Helper()
	name := b.nameOf(t, ref.ID)
	_, err := b.AwaitPage(background(t), name)
	must(t, err)
	return "GUEST-READY name=" + name
}

// CopiedBoots reads the copy's only disk, which must need no other file.
func (b *bench) CopiedBoots(t providertest.T, _ fleet.SnapshotName, c fleet.Copy) int {
	t.Helper()
	info, err := exec.CommandContext(t.Context(), "qemu-img", "info", "--output=json", c.Where).Output()
	must(t, err)
	if strings.Contains(string(info), "backing") {
		t.Errorf("%s needs another file: %s", c.Where, info)
	}
	raw := filepath.Join(t.TempDir(), "raw")
	_, err = exec.CommandContext(t.Context(), "qemu-img", "convert", "-f", "qcow2", "-O", "raw", c.Where, raw).Output()
	must(t, err)
	disk, err := os.Open(raw)
	must(t, err)
	defer disk.Close()
	sector := make([]byte, 16)
	_, err = io.ReadFull(disk, sector)
	must(t, err)
	boots, err := strconv.Atoi(strings.TrimSpace(string(sector)))
	must(t, err)
	return boots
}

func (b *bench) Copies(t providertest.T, name fleet.SnapshotName) int {
	t.Helper()
	n := 0
	for _, file := range b.files(t) {
		if strings.HasPrefix(file, fmt.Sprintf("%s.%s.%s.", name.Machine, name.ID, name.Installation)) {
			n++
		}
	}
	return n
}

// Belongings are the files of the installation and of its instances.
func (b *bench) Belongings(t providertest.T, installation fleet.Installation, ids []fleet.InstanceID) []string {
	t.Helper()
	var found []string
	for _, file := range b.files(t) {
		of := func(id fleet.InstanceID) bool { return strings.Contains(file, string(id)) }
		if slices.ContainsFunc(ids, of) || strings.Contains(file, string(installation)) {
			found = append(found, file)
		}
	}
	return found
}

// Screened is a domain of the user's own: hale's own machine has no screen.
func (b *bench) Screened() policy.Template {
	t := b.Template()
	t.XML = strings.Replace(ownXML, "</devices>", "<video><model type='vga'/></video></devices>", 1)
	return t
}

func (b *bench) Deafen(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	must(t, b.Break(t.Context(), b.nameOf(t, id), lab.FaultDeaf))
}

// Stranger defines and starts a domain without any trace of hale. It runs, though it has nothing to boot from.
func (b *bench) Stranger(t providertest.T, _ fleet.HostName, name string) provider.Ref {
	t.Helper()
	id := uuid.NewString()
	file := filepath.Join(t.TempDir(), "stranger.xml")
	must(t,
		os.WriteFile(file,
			fmt.Appendf(nil, `<domain type='qemu'><name>%s</name><uuid>%s</uuid><memory unit='MiB'>96</memory>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices><controller type='usb' model='none'/></devices></domain>`,
				name, id), 0o600))
	for _, args := range [][]string{{"define", file}, {"start", name}} {
		_, err := b.Virsh(background(t), args...)
		must(t, err)
	}
	t.Cleanup(func() {
		must(t, b.Destroy(background(t), name))
		must(t, b.Undefine(background(t), name))
	})
	return provider.Ref{ID: fleet.InstanceID(id)}
}

func (b *bench) Counts() []policy.Usage {
	return []policy.Usage{policy.UsageCPU, policy.UsageReceived, policy.UsageSent}
}

func (b *bench) Halt(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	must(t, b.Break(t.Context(), b.nameOf(t, id), lab.FaultHalt))
}

func (b *bench) Mute(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	must(t, b.Break(t.Context(), b.nameOf(t, id), lab.FaultMute))
}

// nameOf returns the domain's name.
func (b *bench) nameOf(t providertest.T, id fleet.InstanceID) string {
	t.Helper()
	name, err := b.Virsh(t.Context(), "domname", string(id))
	must(t, err)
	return strings.TrimSpace(name)
}

func (b *bench) Disconnect(t providertest.T) { t.Helper(); must(t, b.KillLibvirtd(background(t))) }
func (b *bench) Reconnect(t providertest.T)  { t.Helper(); must(t, b.StartLibvirtd(background(t))) }
func (b *bench) Freeze(t providertest.T)     { t.Helper(); must(t, b.FreezeLibvirtd(background(t))) }
func (b *bench) Thaw(t providertest.T)       { t.Helper(); must(t, b.ThawLibvirtd(background(t))) }

// background bounds calls that also cleanups make, after the test's own context ended.
func background(t providertest.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t providertest.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestExam asks the questions in labs side by side: what takes long is to wait for guests.
func TestExam(t *testing.T) {
	t.Parallel()
	const labs = 3
	for n := range labs {
		t.Run("lab "+strconv.Itoa(n+1), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for i, c := range providertest.Cases(b) {
				if i%labs == n {
					t.Run(c.Name, func(t *testing.T) { c.Run(t, b) })
				}
			}
		})
	}
}
