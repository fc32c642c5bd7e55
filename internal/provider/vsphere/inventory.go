package vsphere

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// What is asked of each kind. Of a machine's configuration only what is short; the mark is read when it may have
// changed.
var (
	ofVM = []string{
		"name",
		"config.instanceUuid",
		"config.changeVersion",
		"config.template",
		"config.files.vmPathName",
		"config.hardware.memoryMB",
		"config.hardware.numCPU",
		"summary.config.instanceUuid",
		"runtime.powerState",
		"runtime.connectionState",
		"runtime.host",
		"runtime.cleanPowerOff",
		"guest.ipAddress",
		"guest.net",
		"network",
		"datastore",
	}
	ofHost = []string{
		"name",
		"parent",
		"runtime.connectionState",
		"runtime.inMaintenanceMode",
		"runtime.powerState",
		"datastore",
		"config.virtualNicManagerInfo.netConfig",
	}
	asked = []types.PropertySpec{
		{Type: kindVM, PathSet: ofVM},
		{Type: kindHost, PathSet: ofHost},
		{Type: kindCompute, PathSet: []string{"name"}},
		{Type: kindDatastore, PathSet: []string{"name", "summary.multipleHostAccess"}},
		{Type: kindNetwork, PathSet: []string{"name"}},
	}
)

// inventory is the datacenter as vCenter tells it at one moment.
type inventory struct {
	vms      []mo.VirtualMachine
	hosts    map[types.ManagedObjectReference]mo.HostSystem
	clusters map[types.ManagedObjectReference]string // a lone host's own compute resource is none
	stores   map[string]bool                         // by name: whether several hosts have it
	storeOf  map[types.ManagedObjectReference]string
	networks map[types.ManagedObjectReference]string
}

func newInventory() *inventory {
	return &inventory{
		hosts:    map[types.ManagedObjectReference]mo.HostSystem{},
		clusters: map[types.ManagedObjectReference]string{},
		stores:   map[string]bool{},
		storeOf:  map[types.ManagedObjectReference]string{},
		networks: map[types.ManagedObjectReference]string{},
	}
}

// survey reads the whole datacenter in one question, and further pages where vCenter cuts the answer.
func (c *call) survey(ctx context.Context) (*inventory, error) {
	var objects []types.ObjectContent
	err := c.read(ctx, func() error {
		var err error
		objects, err = c.conn.retrieve(ctx, types.PropertyFilterSpec{
			PropSet: asked, ObjectSet: c.conn.all(),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return sorted(objects)
}

// all are the objects of the datacenter.
func (c *conn) all() []types.ObjectSpec {
	return []types.ObjectSpec{{
		Obj:  c.view,
		Skip: types.NewBool(true),
		SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "ContainerView", Path: "view"},
		},
	}}
}

// pageObjects is how many objects one answer has at most.
const pageObjects = 250

// retrieve asks the property collector, page by page.
func (c *conn) retrieve(ctx context.Context, spec types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	collector := c.vc.ServiceContent.PropertyCollector
	res, err := methods.RetrievePropertiesEx(ctx, c.vc, &types.RetrievePropertiesEx{
		This: collector, SpecSet: []types.PropertyFilterSpec{spec},
		Options: types.RetrieveOptions{MaxObjects: pageObjects},
	})
	if err != nil || res.Returnval == nil {
		return nil, err
	}
	objects, token := res.Returnval.Objects, res.Returnval.Token
	for token != "" {
		more, err := methods.ContinueRetrievePropertiesEx(ctx, c.vc, &types.ContinueRetrievePropertiesEx{
			This:  collector,
			Token: token,
		})
		if err != nil {
			return nil, err
		}
		objects, token = append(objects, more.Returnval.Objects...), more.Returnval.Token
	}
	return objects, nil
}

// sorted puts what was retrieved into its places.
func sorted(objects []types.ObjectContent) (*inventory, error) {
	inv := newInventory()
	for i := range objects {
		object := readable(objects[i])
		switch object.Obj.Type {
		case kindVM:
			var vm mo.VirtualMachine
			if err := mo.LoadObjectContent([]types.ObjectContent{object}, &vm); err != nil {
				return nil, err
			}
			inv.vms = append(inv.vms, vm)
		case kindHost:
			var host mo.HostSystem
			if err := mo.LoadObjectContent([]types.ObjectContent{object}, &host); err != nil {
				return nil, err
			}
			inv.hosts[object.Obj] = host
		case kindCluster:
			inv.clusters[object.Obj] = nameOf(object)
		case kindDatastore:
			name := nameOf(object)
			inv.storeOf[object.Obj] = name
			inv.stores[name] = shared(object)
		case kindNetwork, "DistributedVirtualPortgroup", "OpaqueNetwork":
			inv.networks[object.Obj] = nameOf(object)
		}
	}
	return inv, nil
}

// readable drops the refusals of properties that the user may not read. hale then knows little of such a machine, and
// all of the others.
func readable(object types.ObjectContent) types.ObjectContent {
	object.MissingSet = slices.DeleteFunc(slices.Clone(object.MissingSet), func(m types.MissingProperty) bool {
		_, ok := m.Fault.Fault.(*types.NoPermission)
		return ok
	})
	return object
}

func nameOf(object types.ObjectContent) string {
	for _, p := range object.PropSet {
		if name, ok := p.Val.(string); ok && p.Name == "name" {
			return name
		}
	}
	return ""
}

func shared(object types.ObjectContent) bool {
	for _, p := range object.PropSet {
		if yes, ok := p.Val.(bool); ok && p.Name == "summary.multipleHostAccess" {
			return yes
		}
	}
	return false
}

// around completes what is known of some machines by their hosts, stores and networks.
func (c *call) around(ctx context.Context, vms []mo.VirtualMachine) (*inventory, error) {
	var refs []types.ManagedObjectReference
	for i := range vms {
		if h := vms[i].Runtime.Host; h != nil {
			refs = append(refs, *h)
		}
		refs = append(append(refs, vms[i].Network...), vms[i].Datastore...)
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		return strings.Compare(a.String(), b.String())
	})
	spec := types.PropertyFilterSpec{PropSet: asked}
	for _, ref := range slices.Compact(refs) {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	if len(spec.ObjectSet) == 0 {
		return newInventory(), nil
	}
	var objects []types.ObjectContent
	err := c.read(ctx, func() (err error) {
		objects, err = c.conn.retrieve(ctx, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	inv, err := sorted(objects)
	if err == nil {
		inv.vms = vms
	}
	return inv, err
}

// machine reads one machine, its extra configuration and disks included.
func (c *call) machine(ctx context.Context, ref types.ManagedObjectReference) (mo.VirtualMachine, error) {
	var vm mo.VirtualMachine
	err := c.read(ctx, func() error {
		vm = mo.VirtualMachine{}
		return c.conn.one(ctx, ref, &vm, append([]string{"config.extraConfig", "config.hardware.device"}, ofVM...)...)
	})
	return vm, err
}

// hosted reports whether the host counts for this provider.
func (c *conn) hosted(h mo.HostSystem) bool {
	return c.scope == (types.ManagedObjectReference{}) || h.Parent != nil && *h.Parent == c.scope || h.Self == c.scope
}

// place is where the host stands: by its labels, and else by what vCenter knows.
func (p *Provider) place(inv *inventory, h mo.HostSystem) fleet.Place {
	place := p.o.Places[fleet.HostName(h.Name)]
	if place.Zone == "" && h.Parent != nil {
		place.Zone = inv.clusters[*h.Parent]
	}
	if place.Storage != "" || p.o.Datastore == "" {
		return place
	}
	for _, ref := range h.Datastore {
		if name := inv.storeOf[ref]; name == storeName(p.o.Datastore) && inv.stores[name] {
			place.Storage = name
		}
	}
	return place
}

// storeName is a datastore's name without the folders before it.
func storeName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// management is what vSphere calls the network card by which a host is managed.
const management = string(types.HostVirtualNicManagerNicTypeManagement)

// ownAddress is where the host itself answers: the first of its management cards. Invalid: vCenter tells of none.
func ownAddress(h mo.HostSystem) netip.Addr {
	if h.Config == nil || h.Config.VirtualNicManagerInfo == nil {
		return netip.Addr{}
	}
	for _, n := range h.Config.VirtualNicManagerInfo.NetConfig {
		if n.NicType != management {
			continue
		}
		for _, card := range n.CandidateVnic {
			if !slices.Contains(n.SelectedVnic, card.Key) || card.Spec.Ip == nil {
				continue
			}
			if a, err := netip.ParseAddr(card.Spec.Ip.IpAddress); err == nil && provider.HostsOwn(a) {
				return a
			}
		}
	}
	return netip.Addr{}
}
