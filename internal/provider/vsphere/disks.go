package vsphere

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// shelfDir is the folder of a datastore for the machines' kept disks, with one folder per installation. It is no
// instance's folder, which would go with the instance.
const shelfDir = "hale-disks"

// diskLike is what names of made disks look like.
var diskLike = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// keptDisk is a disk of the order that the template does not bring.
type keptDisk struct {
	disk  policy.Disk
	path  string // "[store] folder/file"; empty: it goes with the instance, and vCenter names it
	there bool
	fresh bool // this order made it
}

// diskFolder is where the kept disks of an installation lie.
func diskFolder(store string, of fleet.Installation) string {
	return fmt.Sprintf("[%s] %s/%s", store, shelfDir, of)
}

// findDisks finds which of the machine's kept disks are there. One that is missing, though there is data on it, ends
// the order.
func (b *build) findDisks(ctx context.Context) error {
	store := storeName(b.p.o.Datastore)
	folder := diskFolder(store, b.order.Mark.Installation)
	for _, d := range b.order.Template.Disks {
		if d.Size == 0 {
			continue
		}
		k := keptDisk{disk: d}
		if d.Attached() {
			k.path = fmt.Sprintf("%s/%s.%s.vmdk", folder, b.order.Mark.Machine, d.Name)
		}
		b.disks = append(b.disks, k)
	}
	if !slices.ContainsFunc(b.disks, func(k keptDisk) bool { return k.path != "" }) {
		return nil
	}
	files, err := b.files(ctx, folder, string(b.order.Mark.Machine)+".*.vmdk")
	if err != nil {
		return err
	}
	for i := range b.disks {
		k := &b.disks[i]
		k.there = k.path != "" && slices.Contains(files, path.Base(k.path))
		if !k.there && slices.Contains(b.order.Made, k.disk.Name) && k.path != "" {
			return fault.New(fault.Invalid, b.op, b.subject,
				fmt.Errorf("the kept disk %s is missing: %s", k.disk.Name, k.path))
		}
	}
	return nil
}

// files returns the names in a folder of a datastore that match. No such folder has none.
func (b *build) files(ctx context.Context, folder, pattern string) ([]string, error) {
	var store mo.Datastore
	if err := b.read(ctx, func() error { return b.conn.one(ctx, *b.store, &store, "browser") }); err != nil {
		return nil, err
	}
	result, err := b.call.order(ctx, func() (*object.Task, error) {
		return object.NewHostDatastoreBrowser(b.conn.vc, store.Browser).SearchDatastore(ctx, folder,
			&types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{pattern}})
	})
	var none *types.FileNotFound
	if refusedAs(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Transient, b.op, b.subject, err) // it was a question
	}
	found, ok := result.(types.HostDatastoreBrowserSearchResults)
	if !ok {
		return nil, errors.New("vCenter does not say what the datastore has")
	}
	var names []string
	for _, f := range found.File {
		names = append(names, path.Base(f.GetFileInfo().Path))
	}
	return names, nil
}

// attach makes the disks that are not there, and attaches all in one step.
func (b *build) attach(ctx context.Context, vm *mo.VirtualMachine) error {
	if len(b.disks) == 0 {
		return nil
	}
	if err := b.makeDisks(ctx); err != nil {
		return err
	}
	devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, k := range b.disks {
		device, err := newDisk(&devices, k)
		if err != nil {
			return b.invalid(err)
		}
		change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device}
		if k.path == "" {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
		}
		changes = append(changes, change)
	}
	return b.reconfigure(ctx, vm, types.VirtualMachineConfigSpec{DeviceChange: changes})
}

// newDisk describes a disk on the first controller that takes it, and notes it there.
func newDisk(devices *object.VirtualDeviceList, k keptDisk) (*types.VirtualDisk, error) {
	controller, err := devices.FindDiskController("")
	if err != nil {
		return nil, fmt.Errorf("the template has no disk controller: %w", err)
	}
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, k.path)
	backing := &types.VirtualDiskFlatVer2BackingInfo{
		DiskMode:        string(types.VirtualDiskModePersistent),
		ThinProvisioned: types.NewBool(true),
	}
	if k.path != "" {
		// no snapshot of an instance holds it
		backing.FileName, backing.DiskMode = k.path, string(types.VirtualDiskModeIndependent_persistent)
	}
	disk.Backing = backing
	if !k.there && !k.fresh {
		disk.CapacityInKB = int64(k.disk.Size >> 10)
	}
	*devices = append(*devices, disk)
	return disk, nil
}

// makeDisks makes the kept disks that no instance had yet. vCenter refuses to make one over another.
func (b *build) makeDisks(ctx context.Context) error {
	if !slices.ContainsFunc(b.disks, func(k keptDisk) bool { return k.path != "" && !k.there }) {
		return nil
	}
	folder := diskFolder(storeName(b.p.o.Datastore), b.order.Mark.Installation)
	datacenter := object.NewDatacenter(b.conn.vc, b.conn.datacenter)
	err := object.NewFileManager(b.conn.vc).MakeDirectory(ctx, folder, datacenter, true)
	if err != nil && !told[*types.FileAlreadyExists](err) {
		return b.doubt(err)
	}
	for i := range b.disks {
		k := &b.disks[i]
		if k.path == "" || k.there {
			continue
		}
		_, err := b.call.order(ctx, func() (*object.Task, error) {
			return object.NewVirtualDiskManager(b.conn.vc).CreateVirtualDisk(ctx, k.path, datacenter,
				&types.FileBackedVirtualDiskSpec{
					VirtualDiskSpec: types.VirtualDiskSpec{
						DiskType:    string(types.VirtualDiskTypeThin),
						AdapterType: string(types.VirtualDiskAdapterTypeLsiLogic),
					},
					CapacityKb: int64(k.disk.Size >> 10),
				})
		})
		if err != nil {
			return err
		}
		k.fresh = true
	}
	return nil
}

// dropFresh removes the kept disks that this order made, for an instance that never ran.
func (b *build) dropFresh(ctx context.Context) error {
	for _, k := range b.disks {
		if !k.fresh {
			continue
		}
		_, err := b.call.order(ctx, func() (*object.Task, error) {
			return object.NewVirtualDiskManager(b.conn.vc).DeleteVirtualDisk(ctx, k.path,
				object.NewDatacenter(b.conn.vc, b.conn.datacenter))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keptOn returns the kept disks of the machine: those in the folder for them.
func keptOn(vm *mo.VirtualMachine) []*types.VirtualDisk {
	return slices.DeleteFunc(disksOf(vm), func(d *types.VirtualDisk) bool {
		return !strings.Contains(fileOf(d), "] "+shelfDir+"/")
	})
}

func fileOf(disk *types.VirtualDisk) string {
	if backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return backing.GetVirtualDeviceFileBackingInfo().FileName
	}
	return ""
}

// detached takes the disks out of their machine, and leaves their files.
func detached(disks []*types.VirtualDisk) []types.BaseVirtualDeviceConfigSpec {
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, d := range disks {
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationRemove,
			Device:    d,
		})
	}
	return changes
}
