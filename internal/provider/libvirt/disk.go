package libvirt

import (
	"fmt"
	"path"
	"slices"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// disk is one that hale makes beside the root disk.
type disk struct {
	policy.Disk
	file string // its name in the pool
	made bool   // an earlier instance had it: it must be there
}

// disks returns those that the order asks for, in the template's order.
func disks(o provider.Blueprint) []disk {
	var out []disk
	for _, d := range o.Template.Disks {
		if d.Size == 0 {
			continue
		}
		k := disk{
			Disk: d,
			file: fmt.Sprintf("%s-g%d-%s-%s%s", o.Name, o.Mark.Generation, d.Name, o.ID, overlaySuffix),
			made: slices.Contains(o.Made, d.Name),
		}
		if d.Attached() {
			k.file = keptName(o.Mark, d.Name)
		}
		out = append(out, k)
	}
	return out
}

// keptName names a kept disk by the machine, the disk and the installation, so that every instance of the machine finds
// the same file, and never another's. Delete removes no file with this ending: see removable.
func keptName(m fleet.Mark, name string) string {
	return fmt.Sprintf("%s.%s.%s%s", m.Machine, name, m.Installation, keptSuffix)
}

// findDisks checks that each disk with data that the instance needs is there, and names the paths.
func (b *build) findDisks(s *session, p *Provider, plan *blueprint) error {
	for _, d := range disks(b.order) {
		if d.Attached() {
			there, err := s.has(b.pool, d.file)
			switch {
			case err != nil:
				return err
			case !there && d.made:
				return s.invalid(fmt.Errorf("the disk %s of %s is missing: there is no %s; put it back, or build the "+
					"machine without its data",
					d.Name, b.order.Mark.Machine, path.Join(p.stateDir, d.file)))
			case !there:
				b.absent = append(b.absent, d.file)
			}
		}
		plan.Disks[d.Name] = path.Join(p.stateDir, d.file)
		b.disks = append(b.disks, d)
	}
	return nil
}

// has reports whether the pool has the file. The daemon remembers what there was when the pool was read: one may have
// come since, and one may have gone.
func (s *session) has(pool golibvirt.StoragePool, name string) (bool, error) {
	vol, err := s.StorageVolLookupByName(pool, name)
	if err == nil {
		_, _, _, err = s.StorageVolGetInfo(vol) // looks at the file
	}
	if _, answered := codeOf(err); answered {
		if err := s.StoragePoolRefresh(pool, 0); err != nil {
			return false, s.fault(err)
		}
		_, err = s.StorageVolLookupByName(pool, name)
	}
	switch {
	case isCode(err, golibvirt.ErrNoStorageVol):
		return false, nil
	case err != nil:
		return false, s.fault(err)
	}
	return true, nil
}

// makeDisks makes the disks that are not there. A kept one that is there is never touched. Those that it may have made
// are in b.fresh.
func (b *build) makeDisks(s *session) error {
	for _, d := range b.disks {
		if d.Attached() && !slices.Contains(b.absent, d.file) {
			continue
		}
		if err := b.makeDisk(s, d); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) makeDisk(s *session, d disk) error {
	_, err := s.createVolume(b.pool, &libvirtxml.StorageVolume{
		Name:     d.file,
		Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: d.Size},
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"},
			Compat: "1.1",
		},
	}, 0)
	if _, refused := codeOf(err); d.Attached() && !refused {
		b.fresh = append(b.fresh, d.file) // made, or perhaps made; a refused one is not ours, whatever is there by now
	}
	return err
}

// dropFresh removes the kept disks that this very order made, for a domain that never ran: they are empty.
func (b *build) dropFresh(s *session) error {
	for _, name := range b.fresh {
		vol, err := s.StorageVolLookupByName(b.pool, name)
		if isCode(err, golibvirt.ErrNoStorageVol) {
			continue
		}
		if err == nil {
			err = s.order(func() error { return s.StorageVolDelete(vol, 0) })
		}
		if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
			return s.fault(err)
		}
	}
	return nil
}

// dataDisks are the made disks as hale's own machine has them. The guest tells them apart by their serial numbers.
func (b blueprint) dataDisks() []libvirtxml.DomainDisk {
	var out []libvirtxml.DomainDisk
	for i, d := range b.made {
		out = append(out, libvirtxml.DomainDisk{
			Device: "disk",
			Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "qcow2", Discard: "unmap"},
			Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: b.Disks[d.Name]}},
			Target: &libvirtxml.DomainDiskTarget{Dev: "vd" + string(rune('b'+i)), Bus: "virtio"},
			Serial: d.Name,
		})
	}
	return out
}

// unattached returns a disk that is made for the machine, and that its domain does not have.
func (b blueprint) unattached(dom *libvirtxml.Domain) (string, bool) {
	for _, d := range b.made {
		if dom.Devices == nil ||
			!slices.ContainsFunc(dom.Devices.Disks, func(has libvirtxml.DomainDisk) bool {
				return fileOf(has) == b.Disks[d.Name]
			}) {
			return d.Name, true
		}
	}
	return "", false
}

// fileOf returns the file that the disk lies in; empty: in none.
func fileOf(d libvirtxml.DomainDisk) string {
	if d.Source == nil || d.Source.File == nil {
		return ""
	}
	return d.Source.File.File
}
