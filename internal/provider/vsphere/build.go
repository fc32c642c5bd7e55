package vsphere

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Create clones the template under the machine's name, mark and id included: of several clones of one name into one
// folder vCenter lets one win. Then it attaches the kept disks and starts the instance, unless the clone did. Failures
// after the clone undo it; fault.UnknownOutcome where that could not be made certain.
func (p *Provider) Create(ctx context.Context, order provider.Blueprint) error {
	ctx, c, err := p.open(ctx, "vsphere.create", order.ID)
	if err != nil {
		return err
	}
	defer c.end()
	b, err := c.prepare(ctx, order)
	if err != nil {
		return err
	}
	vm, err := b.clone(ctx)
	if err != nil {
		return err
	}
	if err := b.finish(ctx, vm); err != nil {
		return b.undo(ctx, vm, err)
	}
	return nil
}

// build is an order that was found to be possible.
type build struct {
	*call
	order   provider.Blueprint
	source  mo.VirtualMachine // the template
	folder  types.ManagedObjectReference
	host    *types.ManagedObjectReference // nil: vCenter chooses one of the cluster
	cluster types.ManagedObjectReference
	pool    types.ManagedObjectReference
	store   *types.ManagedObjectReference // nil: the template's
	changes []types.BaseVirtualDeviceConfigSpec
	disks   []keptDisk
}

// prepare checks the order and finds what it needs. It changes nothing.
func (c *call) prepare(ctx context.Context, order provider.Blueprint) (*build, error) {
	if err := checkOrder(order, &c.p.o); err != nil {
		return nil, c.invalid(err)
	}
	if only := c.p.o.Installation; only != "" && order.Mark.Installation != only {
		return nil, c.conflict(fmt.Errorf("the order is of another installation, %s", order.Mark.Installation))
	}
	taken, err := c.withID(ctx, order.ID)
	if err != nil {
		return nil, c.fault(err)
	}
	if len(taken) > 0 {
		return nil, c.conflict(errors.New("the id exists"))
	}
	b := &build{call: c, order: order}
	if err := b.locate(ctx); err != nil {
		return nil, c.fault(err)
	}
	if err := b.wire(ctx); err != nil {
		return nil, c.fault(err)
	}
	if err := b.findDisks(ctx); err != nil {
		return nil, c.fault(err)
	}
	return b, nil
}

// nameLike is what names of instances look like: they become host names.
var nameLike = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// mostCPUs is more than any virtual machine has.
const mostCPUs = 4096

// memoryStep is what vCenter wants memory to be a multiple of, in bytes.
const memoryStep = 4 << 20

// checkOrder finds what no vCenter could build.
func checkOrder(order provider.Blueprint, o *Options) error {
	t := order.Template
	var problems []error
	if id, err := uuid.Parse(string(order.ID)); err != nil || id.String() != string(order.ID) {
		problems = append(problems, fmt.Errorf("%q is no instance id", order.ID))
	}
	if !nameLike.MatchString(order.Name) {
		problems = append(problems, fmt.Errorf("%q cannot be a name: it becomes a host name", order.Name))
	}
	if order.Mark.Installation == "" || order.Mark.Machine == "" {
		problems = append(problems, errors.New("the mark is not complete"))
	}
	if t.Image == "" || t.Kernel != "" || t.XML != "" {
		problems = append(problems, errors.New("image must name the template that hale clones"))
	}
	if t.CPUs < 0 || t.CPUs > mostCPUs {
		problems = append(problems, fmt.Errorf("%d processors", t.CPUs))
	}
	if t.Memory%memoryStep != 0 {
		problems = append(problems, fmt.Errorf("%d bytes of memory are no multiple of 4 MiB", t.Memory))
	}
	for _, d := range t.Disks {
		if d.Size > 0 && o.Datastore == "" {
			problems = append(problems, fmt.Errorf("disk %q: no datastore is configured to hold it", d.Name))
		}
		if d.Size > 0 && !diskLike.MatchString(d.Name) {
			problems = append(problems,
				fmt.Errorf("disk %q cannot be a disk's name: it becomes part of a file's name", d.Name))
		}
	}
	return errors.Join(problems...)
}

// locate finds what the order names.
func (b *build) locate(ctx context.Context) error {
	o := &b.p.o
	root := o.Datacenter + "/vm"
	var err error
	if b.source, err = b.template(ctx, b.order.Template.Image); err != nil {
		return err
	}
	if b.folder, err = b.seek(ctx, below(root, o.Folder)); err != nil {
		return err
	}
	if o.Datastore != "" {
		store, err := b.seek(ctx, o.Datacenter+"/datastore/"+o.Datastore)
		if err != nil {
			return err
		}
		b.store = &store
	}
	return b.locateHost(ctx)
}

// template finds the machine that instances are cloned from.
func (c *call) template(ctx context.Context, image string) (vm mo.VirtualMachine, err error) {
	ref, err := c.seek(ctx, c.p.o.Datacenter+"/vm/"+image)
	if err != nil {
		return vm, err
	}
	if ref.Type != kindVM {
		return vm, fault.New(fault.Invalid, c.op, c.subject, fmt.Errorf("%s is no virtual machine or template", image))
	}
	if vm, err = c.machine(ctx, ref); err == nil && vm.Config == nil {
		err = fmt.Errorf("vCenter cannot read the template %s: it is %s", image, vm.Runtime.ConnectionState)
	}
	return vm, err
}

func below(root, path string) string {
	if path == "" {
		return root
	}
	return root + "/" + path
}

// seek finds an object by its inventory path.
func (c *call) seek(ctx context.Context, path string) (ref types.ManagedObjectReference, err error) {
	err = c.read(ctx, func() error {
		ref, err = c.conn.at(ctx, path)
		return err
	})
	return ref, err
}

// locateHost finds the host of the order and the pool of its cluster.
func (b *build) locateHost(ctx context.Context) error {
	inv, err := b.survey(ctx)
	if err != nil {
		return err
	}
	for ref, h := range inv.hosts {
		if fleet.HostName(h.Name) != b.order.Host || !b.conn.hosted(h) {
			continue
		}
		if err := hostTrouble(h); err != nil {
			return err
		}
		b.cluster = *h.Parent
		switch {
		case takes(h):
			b.host = &ref
		case b.cluster.Type != kindCluster:
			return fmt.Errorf("host %s is in maintenance, or asleep", h.Name)
		} // else another one of its cluster, as vCenter likes
	}
	if b.cluster == (types.ManagedObjectReference{}) {
		return fault.New(fault.Invalid, b.op, b.subject, fmt.Errorf("vCenter has no host %q here", b.order.Host))
	}
	if b.p.o.Pool != "" {
		b.pool, err = b.seek(ctx, b.p.o.Datacenter+"/host/"+b.p.o.Cluster+"/Resources/"+b.p.o.Pool)
		return err
	}
	var compute mo.ComputeResource
	if err := b.read(ctx, func() error { return b.conn.one(ctx, b.cluster, &compute, "resourcePool") }); err != nil {
		return err
	}
	if compute.ResourcePool == nil {
		return errors.New("the host's cluster has no resource pool")
	}
	b.pool = *compute.ResourcePool
	return nil
}

// wire plans the change of the template's first network card, where the order names a network.
func (b *build) wire(ctx context.Context) error {
	name := b.order.Template.Network
	if name == "" {
		return nil
	}
	ref, err := b.seek(ctx, b.p.o.Datacenter+"/network/"+name)
	if err != nil {
		return err
	}
	cards := object.VirtualDeviceList(b.source.Config.Hardware.Device).SelectByType((*types.VirtualEthernetCard)(nil))
	if len(cards) == 0 {
		return fault.New(fault.Invalid, b.op, b.subject,
			fmt.Errorf("the template has no network card for network %s", name))
	}
	network, ok := object.NewReference(b.conn.vc, ref).(object.NetworkReference)
	if !ok {
		return fault.New(fault.Invalid, b.op, b.subject, fmt.Errorf("%s is no network", name))
	}
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return err
	}
	if card, ok := cards[0].(types.BaseVirtualEthernetCard); ok {
		c := card.GetVirtualEthernetCard()
		c.Backing, c.MacAddress, c.AddressType = backing, "", string(types.VirtualEthernetCardMacTypeGenerated)
	}
	b.changes = append(b.changes, &types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationEdit,
		Device:    cards[0],
	})
	return nil
}

// clone claims the name: the machine is there, off, with its id and mark, or nothing is.
func (b *build) clone(ctx context.Context) (types.ManagedObjectReference, error) {
	config, err := b.config()
	if err != nil {
		return types.ManagedObjectReference{}, b.invalid(err)
	}
	spec := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Host: b.host, Pool: &b.pool, Datastore: b.store}, Config: config,
		PowerOn: len(b.disks) == 0, // so that one that takes longer than the caller waits is whole in the end
	}
	result, err := b.call.order(ctx, func() (*object.Task, error) {
		return b.handle(b.source.Self).Clone(ctx, object.NewFolder(b.conn.vc, b.folder), b.order.Name, spec)
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	vm, ok := result.(types.ManagedObjectReference)
	if !ok {
		return vm, fault.New(fault.UnknownOutcome, b.op, b.subject, errors.New("vCenter does not say what it cloned"))
	}
	return vm, nil
}

// config is what the clone has and its template has not.
func (b *build) config() (*types.VirtualMachineConfigSpec, error) {
	t := b.order.Template
	mark, err := encodeMark(b.order.ID, b.order.Mark, nil)
	if err != nil {
		return nil, err
	}
	extra := append(guestInfo(b.order), mark)
	for key, value := range t.Metadata.All() {
		extra = append(extra, &types.OptionValue{Key: metaPrefix + key, Value: value})
	}
	return &types.VirtualMachineConfigSpec{
		InstanceUuid: string(b.order.ID),
		NumCPUs:      int32(t.CPUs), //nolint:gosec // bounded by checkOrder
		MemoryMB:     int64(t.Memory >> 20),
		ExtraConfig:  extra,
		DeviceChange: b.changes,
	}, nil
}

// guestInfo is what cloud-init in the guest reads, from its data source VMware.
func guestInfo(order provider.Blueprint) []types.BaseOptionValue {
	if order.Template.UserData == "" && !order.Template.Seed {
		return nil
	}
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	meta := fmt.Sprintf("instance-id: %q\nlocal-hostname: %q\n", order.ID, order.Name)
	info := []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.metadata", Value: text(meta)},
		&types.OptionValue{Key: "guestinfo.metadata.encoding", Value: "base64"},
	}
	if order.Template.UserData == "" {
		return info
	}
	return append(info, &types.OptionValue{Key: "guestinfo.userdata", Value: text(order.Template.UserData)},
		&types.OptionValue{Key: "guestinfo.userdata.encoding", Value: "base64"})
}

// finish makes the clone whole, and starts it.
func (b *build) finish(ctx context.Context, ref types.ManagedObjectReference) error {
	vm, err := b.machine(ctx, ref)
	if err != nil {
		return b.fault(err)
	}
	if idOf(&vm) != b.order.ID {
		return fault.New(fault.Permanent, b.op, b.subject,
			fmt.Errorf("vCenter gave it another instanceUuid, %s", idOf(&vm)))
	}
	if err := b.attach(ctx, &vm); err != nil {
		return err
	}
	if err := b.powerOn(ctx, &vm); err != nil {
		return err
	}
	err = b.keepApart(ctx, ref)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The instance is whole. The next one of the fleet enters it, too.
	b.p.log.Warn("the rule that keeps a fleet's machines apart was not changed",
		"fleet", b.order.Mark.Fleet, "err", err)
	return nil
}

// undo removes what a failed build left, and returns the build's error: with its own kind when nothing is left,
// else as fault.UnknownOutcome.
func (b *build) undo(ctx context.Context, ref types.ManagedObjectReference, failed error) error {
	kind := fault.KindOf(failed)
	if kind == fault.UnknownOutcome || kind == fault.Conflict {
		kind = fault.Transient
	}
	vm, err := b.machine(ctx, ref)
	if err == nil && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff { // by the clone itself
		if err = b.powerOff(ctx, ref); err == nil {
			vm, err = b.machine(ctx, ref)
		}
	}
	if err == nil {
		err = b.remove(ctx, vm)
	}
	if err == nil {
		err = b.dropFresh(ctx)
	}
	if err != nil {
		return fault.New(fault.UnknownOutcome, b.op, b.subject,
			errors.Join(failed, fmt.Errorf("and not undone: %w", err)))
	}
	return fault.New(kind, b.op, b.subject, failed)
}
