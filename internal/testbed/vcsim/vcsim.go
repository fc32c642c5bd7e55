// Package vcsim is a vCenter for tests: govmomi's simulator behind a wire that can be frozen and cut. Its guests get
// addresses and count their boots, or are real ones (Live). It also refuses what a real vCenter refuses and the
// simulator does not.
//
// It promises that everything of it ends with the test: server, wire, files. Each test has its own, on loopback. It is
// for tests only.
package vcsim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// What every one of these vCenters has.
const (
	Datacenter = "DC0"
	Cluster    = "DC0_C0"
	Datastore  = "LocalDS_0"
	Network    = "VM Network"
	// Template is the path of a virtual machine that is off, below the datacenter's.
	Template = "template"
	User     = "user"
	Password = "pass"
)

// T is the test. *testing.T is one.
type T interface {
	Helper()
	Cleanup(f func())
	Context() context.Context
	Fatal(args ...any)
}

// VCenter is one simulated vCenter.
type VCenter struct {
	model  *simulator.Model
	server *simulator.Server
	wire   *wire
	guests *guests
	rules  *strict
	// person is another client, straight to the server.
	person *govmomi.Client
}

// creating keeps models apart while they are made: the simulator's own client is one for all.
var creating sync.Mutex

// Start starts a vCenter of one cluster with three hosts, which share a datastore.
func Start(t T) *VCenter {
	t.Helper()
	model := simulator.VPX()
	model.Host, model.Cluster, model.ClusterHost, model.Machine, model.Autostart = 0, 1, 3, 1, false
	creating.Lock()
	err := model.Create()
	creating.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Remove)
	model.Service.TLS = new(tls.Config)
	v := &VCenter{model: model, guests: newGuests()}
	v.rules = &strict{v: v}
	model.Map().Handler = v.rules.handle
	model.Map().AddHandler(v.guests)
	v.server = model.Service.NewServer()
	t.Cleanup(v.server.Close)
	v.wire = newWire(t, v.server.URL.Host)
	t.Cleanup(v.wire.close)

	u := *v.server.URL
	u.User = url.UserPassword("person@vsphere.local", Password)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if v.person, err = govmomi.NewClient(ctx, &u, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.person.CloseIdleConnections() })
	v.furnish(ctx, t)
	return v
}

// furnish makes the template of the one machine that the model has, on the first host, and the datastore one that hosts
// share.
func (v *VCenter) furnish(ctx context.Context, t T) {
	t.Helper()
	for _, o := range v.model.Map().All("Datastore") {
		if ds, ok := o.(*simulator.Datastore); ok {
			v.guests.disks.at(ds.Name, ds.Info.GetDatastoreInfo().Url)
		}
		v.model.Map().AtomicUpdate(v.model.Service.Context, o, []types.PropertyChange{
			{Name: "summary.multipleHostAccess", Val: true},
		})
	}
	vm := v.all()[0]
	on, err := find.NewFinder(v.person.Client).HostSystem(ctx, "/"+Datacenter+"/host/"+Cluster+"/"+v.Hosts()[0])
	must(t, err)
	host := on.Reference()
	task, err := v.machine(vm.Self).Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host},
		types.VirtualMachineMovePriorityDefaultPriority)
	must(t, err)
	must(t, task.WaitEx(ctx))
	task, err = v.machine(vm.Self).Rename(ctx, Template)
	must(t, err)
	must(t, task.WaitEx(ctx))
	v.set(vm.Self, types.PropertyChange{Name: "config.template", Val: true})
}

// URL is where it answers, by way of the wire.
func (v *VCenter) URL() string { return "https://" + v.wire.addr() + "/sdk" }

// Roots are the authorities that signed its certificate: the certificate itself.
func (v *VCenter) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(v.server.Certificate())
	return pool
}

// Certificate is the server's.
func (v *VCenter) Certificate() *x509.Certificate { return v.server.Certificate() }

// Hosts are the names of its hosts.
func (v *VCenter) Hosts() []string {
	return []string{Cluster + "_H0", Cluster + "_H1", Cluster + "_H2"}
}

// Freeze lets nothing through in either direction any more, while connections stay; Thaw lets what was held back go on
// its way.
func (v *VCenter) Freeze() { v.wire.hold(bothWays) }

// Thaw ends Freeze, and the silence of SilenceAfter and SilenceAfterOrders.
func (v *VCenter) Thaw() {
	v.rules.silenceAfter(nil)
	v.wire.hold(noWay)
}

// Cut ends all connections and refuses new ones, until Mend.
func (v *VCenter) Cut() { v.wire.cut() }

// Mend ends Cut.
func (v *VCenter) Mend(t T) { v.wire.mend(t) }

// SilenceAfter loses vCenter's answers from the first call of one of the methods on, which vCenter still carries out.
// It ends with Thaw.
func (v *VCenter) SilenceAfter(methods ...string) { v.rules.silenceAfter(methods) }

// SilenceAfterOrders lets vCenter answer so many orders. It loses the answers from the next one on, which vCenter still
// carries out. The channel is closed when it has that order. It ends with Thaw.
func (v *VCenter) SilenceAfterOrders(n int) <-chan struct{} { return v.rules.lose(n) }

// Before lets something happen right before the next call of the method.
func (v *VCenter) Before(method string, happens func()) {
	v.rules.mu.Lock()
	defer v.rules.mu.Unlock()
	v.rules.before = map[string]func(){method: happens}
}

// Refuse lets the next call of the method fail.
func (v *VCenter) Refuse(method string, fault types.BaseMethodFault) {
	v.rules.mu.Lock()
	defer v.rules.mu.Unlock()
	v.rules.refused = map[string]types.BaseMethodFault{method: fault}
}

// Each has ask decide at every call of the method whether it fails. It replaces the function that was set before.
func (v *VCenter) Each(method string, ask func() types.BaseMethodFault) {
	v.rules.mu.Lock()
	defer v.rules.mu.Unlock()
	v.rules.each = map[string]func() types.BaseMethodFault{method: ask}
}

// Calls returns how often the method was called since the start.
func (v *VCenter) Calls(method string) int { return v.rules.count(method) }

// all returns the machines.
func (v *VCenter) all() []*simulator.VirtualMachine {
	var out []*simulator.VirtualMachine
	for _, o := range v.model.Map().All("VirtualMachine") {
		if vm, ok := o.(*simulator.VirtualMachine); ok {
			out = append(out, vm)
		}
	}
	return out
}

// look returns a copy of what is there of the machine.
func (v *VCenter) look(vm *simulator.VirtualMachine) mo.VirtualMachine {
	var out mo.VirtualMachine
	v.model.Map().WithLock(v.context(), vm.Reference(), func() { out = vm.VirtualMachine })
	return out
}

// set changes a machine without a call to vCenter.
func (v *VCenter) set(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	if o := v.model.Map().Get(ref); o != nil {
		v.model.Map().AtomicUpdate(v.context(), o, changes)
	}
}

// context is for one access to the model: locks are the context's.
func (v *VCenter) context() *simulator.Context {
	return &simulator.Context{
		Context: context.Background(),
		Map:     v.model.Map(),
		Session: v.model.Service.Context.Session,
	}
}
