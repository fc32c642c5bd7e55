package vsphere_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/provider/vsphere"
	"hale/internal/secret"
	"hale/internal/testbed/vcsim"
)

// patience is how long anything may take on a busy machine.
const patience = 10 * time.Second

// bench is a simulated vCenter for one test.
type bench struct{ *vcsim.VCenter }

func newBench(t providertest.T) bench {
	t.Helper()
	return bench{vcsim.Start(t)}
}

// New opens a handle, by way of the wire.
func (b bench) New(t providertest.T) provider.Provider { return b.handle(t, func(*vsphere.Options) {}) }

// handle opens one with other options.
func (b bench) handle(t providertest.T, change func(o *vsphere.Options)) *vsphere.Provider {
	t.Helper()
	o := vsphere.Options{
		URL:        b.URL(),
		User:       vcsim.User,
		Password:   password(t),
		Roots:      b.Roots(),
		Datacenter: vcsim.Datacenter,
		Cluster:    vcsim.Cluster,
		Datastore:  vcsim.Datastore,
		Keepalive:  time.Second,
		Logger:     slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	change(&o)
	p, err := vsphere.New(o)
	must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (b bench) Hosts() []fleet.HostName {
	var hosts []fleet.HostName
	for _, h := range b.VCenter.Hosts() {
		hosts = append(hosts, fleet.HostName(h))
	}
	return hosts
}

func (b bench) Patience() time.Duration { return patience }
func (b bench) Watched()                {}
func (b bench) Pooled()                 {}

func (b bench) Template() policy.Template {
	return policy.Template{
		Image: vcsim.Template, Memory: 64 << 20, CPUs: 1, Network: vcsim.Network, UserData: "#cloud-config\n",
		Disks: []policy.Disk{{Name: "root", Ephemeral: true}},
	}
}

func (b bench) Adjusted() policy.Template {
	t := b.Template()
	t.Memory, t.CPUs, t.Metadata = 128<<20, 2, fleet.MetadataOf(map[string]string{"tier": "gold"})
	return t
}

// Counts implements providertest.Counted: a simulated vCenter counts nothing in particular.
func (b bench) Counts() []policy.Usage { return nil }

func (b bench) Kill(t providertest.T, id fleet.InstanceID)   { b.VCenter.Kill(t, string(id)) }
func (b bench) Mute(t providertest.T, id fleet.InstanceID)   { b.VCenter.Mute(t, string(id)) }
func (b bench) Deafen(t providertest.T, id fleet.InstanceID) { b.VCenter.Deafen(t, string(id)) }
func (b bench) Disconnect(providertest.T)                    { b.Cut() }
func (b bench) Reconnect(t providertest.T)                   { b.Mend(t) }
func (b bench) Freeze(providertest.T)                        { b.VCenter.Freeze() }
func (b bench) Thaw(providertest.T)                          { b.VCenter.Thaw() }

func (b bench) LoseAnswers(_ providertest.T, after int) <-chan struct{} {
	return b.SilenceAfterOrders(after)
}
func (b bench) HearAnswers(providertest.T) { b.VCenter.Thaw() }

// Belongings are all disks: each test has a vCenter for itself.
func (b bench) Belongings(t providertest.T, _ fleet.Installation, _ []fleet.InstanceID) []string {
	return b.Files(t, "")
}

func (b bench) FailHost(_ providertest.T, host fleet.HostName)   { b.Lose(string(host)) }
func (b bench) RepairHost(_ providertest.T, host fleet.HostName) { b.Find(string(host)) }

func (b bench) Pause(t providertest.T, id fleet.InstanceID) {
	b.Do(t, string(id), func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
		return vm.Suspend(ctx)
	})
}

func (b bench) Boot(t providertest.T, ref provider.Ref) string {
	return strconv.Itoa(b.Boots(t, string(ref.ID)))
}

func (b bench) DiskBoots(t providertest.T, ref provider.Ref) int {
	t.Helper()
	return b.VCenter.DiskBoots(t, string(ref.ID)) // simulated guests boot at once
}

// CopiedBoots reads the count past the provider.
func (b bench) CopiedBoots(t providertest.T, _ fleet.SnapshotName, c fleet.Copy) int {
	t.Helper()
	return b.VCenter.DiskBoots(t, b.IDOf(t, c.Where))
}

// Copies counts those that are whole and those that are not: a test has a vCenter for itself, and each copy of it a
// name of its own.
func (b bench) Copies(t providertest.T, name fleet.SnapshotName) int {
	t.Helper()
	return b.Bearing(t, "hale.copy",
		strings.Join([]string{string(name.Installation), string(name.Machine), string(name.ID)}, " "))
}

func (b bench) Stranger(t providertest.T, host fleet.HostName, name string) provider.Ref {
	id := b.Clone(t, vcsim.Template, name, string(host))
	t.Cleanup(func() { b.Remove(t, name) })
	return provider.Ref{ID: fleet.InstanceID(id), Host: host}
}

// CopyOf is a clone: vCenter copies the extra configuration along.
func (b bench) CopyOf(t providertest.T, ref provider.Ref, name string) provider.Ref {
	t.Helper()
	seen, err := b.New(t).Get(t.Context(), ref)
	must(t, err)
	id := b.Clone(t, seen.Name, name, string(ref.Host))
	t.Cleanup(func() { b.Remove(t, name) })
	b.Do(t, id, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOff(ctx) })
	return provider.Ref{ID: fleet.InstanceID(id), Host: ref.Host}
}

func must(t providertest.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestVSphereConforms(t *testing.T) {
	t.Parallel()
	for _, c := range providertest.Cases(newBench(t)) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, newBench(t))
		})
	}
}

// password keeps the password in a file, as an operator does.
func password(t providertest.T) secret.Secret {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(path, []byte(vcsim.Password+"\n"), 0o600))
	s, err := secret.File(path)
	must(t, err)
	return s
}
