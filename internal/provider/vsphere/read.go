package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Identity returns vCenter's own id and the datacenter's, for each host that answers it.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	ctx, c, err := p.open(ctx, "vsphere.identity", "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	inv, err := c.survey(ctx)
	if err != nil {
		return nil, c.fault(err)
	}
	id := c.conn.vc.ServiceContent.About.InstanceUuid + "/" + c.conn.datacenter.Value
	all := map[fleet.HostName]string{}
	for _, h := range inv.hosts {
		if c.conn.hosted(h) && inv.offered(h) && hostTrouble(h) == nil {
			all[fleet.HostName(h.Name)] = id
		}
	}
	if len(all) == 0 {
		return nil, fault.New(fault.Transient, c.op, "", errors.New("no host answers vCenter"))
	}
	return all, nil
}

// List implements provider.Reader, with one question for everything and one for the marks that may have changed.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	ctx, c, err := p.open(ctx, "vsphere.list", "")
	if err != nil {
		return provider.Listing{}, err
	}
	defer c.end()
	inv, err := c.survey(ctx)
	if err != nil {
		return provider.Listing{}, c.fault(err)
	}
	signs, err := c.signs(ctx, inv)
	if err != nil {
		return provider.Listing{}, c.fault(err)
	}
	var l provider.Listing
	for _, h := range inv.hosts {
		if c.conn.hosted(h) && inv.offered(h) {
			l.Hosts = append(l.Hosts, provider.HostAnswer{
				Name: fleet.HostName(h.Name), Place: p.place(inv, h), Err: hostTrouble(h), Address: ownAddress(h),
				Disabled: h.Runtime.InMaintenanceMode,
			})
		}
	}
	if len(l.Hosts) == 0 {
		return provider.Listing{}, fault.New(fault.Transient, c.op, "", errors.New("vCenter names no host"))
	}
	slices.SortFunc(l.Hosts, func(a, b provider.HostAnswer) int {
		return strings.Compare(string(a.Name), string(b.Name))
	})
	for i := range inv.vms {
		vm := &inv.vms[i]
		host, ok := inv.hostOf(vm)
		if !ok || !c.conn.hosted(host) || hostTrouble(host) != nil || idOf(vm) == "" || template(vm) {
			continue
		}
		l.Instances = append(l.Instances, inv.describe(vm, signs[vm.Self]))
	}
	c.explain(ctx, inv, l.Instances)
	return l, nil
}

// Get implements provider.Reader. The instance is found wherever it is by now.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	ctx, c, err := p.open(ctx, "vsphere.get", ref.ID)
	if err != nil {
		return fleet.Instance{}, err
	}
	defer c.end()
	vm, err := c.find(ctx, ref)
	if err != nil {
		return fleet.Instance{}, err
	}
	inv, err := c.around(ctx, []mo.VirtualMachine{vm})
	if err != nil {
		return fleet.Instance{}, c.fault(err)
	}
	host, ok := inv.hostOf(&vm)
	if !ok {
		return fleet.Instance{}, c.fault(errors.New("vCenter does not say on which host it is"))
	}
	if err := hostTrouble(host); err != nil {
		return fleet.Instance{}, c.fault(err)
	}
	found := []fleet.Instance{inv.describe(&vm, decodeMark(ref.ID, vm.Config.ExtraConfig))}
	c.explain(ctx, inv, found)
	return found[0], nil
}

// find reads the machine with the id. It is an error of kind fault.NotFound only when vCenter can name all its
// machines, but none with the id.
func (c *call) find(ctx context.Context, ref provider.Ref) (mo.VirtualMachine, error) {
	var vm mo.VirtualMachine
	refs, err := c.withID(ctx, ref.ID)
	switch {
	case err != nil:
		return vm, c.fault(err)
	case len(refs) > 1:
		return vm, fault.New(fault.Permanent, c.op, c.subject,
			fmt.Errorf("%d virtual machines have the id; give the copies another instanceUuid", len(refs)))
	case len(refs) == 0:
		return vm, c.absent(ctx, ref)
	}
	vm, err = c.machine(ctx, refs[0])
	switch {
	case told[*types.ManagedObjectNotFound](err):
		return vm, c.missing() // it was there a moment ago
	case err != nil:
		return vm, c.fault(err)
	case vm.Config == nil:
		return vm, c.fault(fmt.Errorf("vCenter cannot read its configuration: it is %s", vm.Runtime.ConnectionState))
	case template(&vm):
		return vm, c.missing()
	}
	return vm, nil
}

// withID returns the machines with the id.
func (c *call) withID(ctx context.Context, id fleet.InstanceID) ([]types.ManagedObjectReference, error) {
	var refs []types.ManagedObjectReference
	err := c.read(ctx, func() error {
		res, err := methods.FindAllByUuid(ctx, c.conn.vc, &types.FindAllByUuid{
			This:         *c.conn.vc.ServiceContent.SearchIndex,
			Datacenter:   &c.conn.datacenter,
			Uuid:         string(id),
			VmSearch:     true,
			InstanceUuid: types.NewBool(true),
		})
		if err == nil {
			refs = res.Returnval
		}
		return err
	})
	return refs, err
}

// absent says that the machine does not exist, unless an inaccessible machine may be it: of such a machine vCenter
// knows little more than the path.
func (c *call) absent(ctx context.Context, ref provider.Ref) error {
	inv, err := c.survey(ctx)
	if err != nil {
		return c.fault(err)
	}
	for i := range inv.vms {
		vm := &inv.vms[i]
		if idOf(vm) == "" && (ref.Adopted || strings.Contains(vm.Name, string(ref.Mark.Machine))) {
			return c.fault(fmt.Errorf("vCenter cannot read %s, which is %s and may be the machine",
				vm.Name, vm.Runtime.ConnectionState))
		}
	}
	return c.missing()
}

// signs reads the marks of all machines: remembered where the configuration is the same.
func (c *call) signs(ctx context.Context, inv *inventory) (map[types.ManagedObjectReference]signed, error) {
	out, there := map[types.ManagedObjectReference]signed{}, map[types.ManagedObjectReference]bool{}
	var unread []types.ObjectSpec
	for i := range inv.vms {
		vm := &inv.vms[i]
		there[vm.Self] = true
		if idOf(vm) == "" || vm.Config == nil {
			continue
		}
		if s, ok := c.p.marks.get(vm.Self, vm.Config.ChangeVersion); ok {
			out[vm.Self] = s
			continue
		}
		unread = append(unread, types.ObjectSpec{Obj: vm.Self})
	}
	c.p.marks.keep(there)
	for some := range slices.Chunk(unread, marksAtOnce) {
		if err := c.readSigns(ctx, some, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// marksAtOnce bounds one answer: an extra configuration has some kilobytes.
const marksAtOnce = 200

func (c *call) readSigns(ctx context.Context, of []types.ObjectSpec,
	out map[types.ManagedObjectReference]signed) error {
	spec := types.PropertyFilterSpec{ObjectSet: of, PropSet: []types.PropertySpec{{
		Type: kindVM, PathSet: []string{"config.instanceUuid", "config.changeVersion", "config.extraConfig"}}}}
	var objects []types.ObjectContent
	err := c.read(ctx, func() (err error) {
		objects, err = c.conn.retrieve(ctx, spec)
		return err
	})
	var gone *types.ManagedObjectNotFound
	if err != nil {
		if _, ok := vimfault.As(err, &gone); !ok {
			return err
		}
		left := slices.DeleteFunc(of, func(o types.ObjectSpec) bool { return o.Obj == gone.Obj })
		if len(left) == len(of) {
			return err
		}
		return c.readSigns(ctx, left, out) // it was removed since it was listed
	}
	for i := range objects {
		var vm mo.VirtualMachine
		object := readable(objects[i])
		if err := mo.LoadObjectContent([]types.ObjectContent{object}, &vm); err != nil {
			return err
		}
		if vm.Config == nil || len(object.MissingSet) != len(objects[i].MissingSet) {
			continue // gone meanwhile, or hidden from the user
		}
		s := decodeMark(idOf(&vm), vm.Config.ExtraConfig)
		c.p.marks.put(vm.Self, vm.Config.ChangeVersion, s)
		out[vm.Self] = s
	}
	return nil
}

// idOf is the instance's id; empty: vCenter cannot read it.
func idOf(vm *mo.VirtualMachine) fleet.InstanceID {
	if vm.Config != nil && vm.Config.InstanceUuid != "" {
		return fleet.InstanceID(vm.Config.InstanceUuid)
	}
	return fleet.InstanceID(vm.Summary.Config.InstanceUuid)
}

func template(vm *mo.VirtualMachine) bool { return vm.Config != nil && vm.Config.Template }

func (inv *inventory) hostOf(vm *mo.VirtualMachine) (mo.HostSystem, bool) {
	if vm.Runtime.Host == nil {
		return mo.HostSystem{}, false
	}
	h, ok := inv.hosts[*vm.Runtime.Host]
	return h, ok
}

// offered reports whether the host is there for machines: one in maintenance, or asleep, counts as long as it has any.
func (inv *inventory) offered(h mo.HostSystem) bool {
	return takes(h) || slices.ContainsFunc(inv.vms, func(vm mo.VirtualMachine) bool {
		return vm.Runtime.Host != nil && *vm.Runtime.Host == h.Self && !template(&vm)
	})
}

// takes reports whether machines can be started on the host.
func takes(h mo.HostSystem) bool {
	return !h.Runtime.InMaintenanceMode && h.Runtime.PowerState != types.HostSystemPowerStateStandBy
}

// hostTrouble says why vCenter's word on the host's machines is an old one.
func hostTrouble(h mo.HostSystem) error {
	if s := h.Runtime.ConnectionState; s != types.HostSystemConnectionStateConnected {
		return fmt.Errorf("vCenter has lost host %s: %s", h.Name, s)
	}
	return nil
}

// describe puts an instance together. Who stopped it is left open.
func (inv *inventory) describe(vm *mo.VirtualMachine, s signed) fleet.Instance {
	i := fleet.Instance{ID: idOf(vm), Name: vm.Name, Power: powerOf(vm), Mark: s.mark, Metadata: s.metadata,
		Size: sizeOf(vm)}
	if h, ok := inv.hostOf(vm); ok {
		i.Host = fleet.HostName(h.Name)
	}
	if len(vm.Network) > 0 {
		i.Network = inv.networks[vm.Network[0]]
	}
	if vm.Config != nil {
		if store := storeOf(vm.Config.Files.VmPathName); inv.stores[store] {
			i.Storage = store
		}
	}
	if i.Power == fleet.PowerRunning || i.Power == fleet.PowerPaused {
		i.Address = addressOf(vm)
	}
	return i
}

// storeOf is the datastore of a path such as "[store] web-1/web-1.vmx".
func storeOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	return name
}

// powerOf translates the power state, which is worth something only while vCenter can read the machine.
func powerOf(vm *mo.VirtualMachine) fleet.Power {
	if vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected {
		return fleet.PowerUnknown
	}
	switch vm.Runtime.PowerState {
	case types.VirtualMachinePowerStatePoweredOn:
		return fleet.PowerRunning
	case types.VirtualMachinePowerStatePoweredOff:
		return fleet.PowerOff
	case types.VirtualMachinePowerStateSuspended:
		return fleet.PowerPaused
	}
	return fleet.PowerUnknown
}

// addressOf is what the tools in the guest say, or said last: its main address, unless that is one of the link only.
func addressOf(vm *mo.VirtualMachine) netip.Addr {
	if vm.Guest == nil {
		return netip.Addr{}
	}
	texts := []string{vm.Guest.IpAddress}
	for _, n := range vm.Guest.Net {
		texts = append(texts, n.IpAddress...)
	}
	var six netip.Addr
	for k, text := range texts {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil, !a.IsValid(), a.IsLinkLocalUnicast(), a.IsLoopback():
		case k == 0, a.Is4():
			return a
		case !six.IsValid():
			six = a
		}
	}
	return six
}
