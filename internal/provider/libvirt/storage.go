package libvirt

import (
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Files of an instance end with its id and one of these; kept disks are the person's and never removed.
const (
	overlaySuffix = ".qcow2"
	keptSuffix    = ".kept.qcow2"
	seedSuffix    = ".iso"
	consoleSuffix = ".console.log"
)

// fileName names one of the instance's files: for people by its front, for Delete by its id.
func fileName(order provider.Blueprint, suffix string) string {
	return fmt.Sprintf("%s-g%d-%s%s", order.Name, order.Mark.Generation, order.ID, suffix)
}

// removable reports whether the file is one that Delete of the instance removes.
func removable(name string, id fleet.InstanceID) bool {
	// virtlogd gives the older parts of a log numbers: ….console.log.0
	part := strings.TrimRight(strings.TrimRight(name, "0123456789"), ".")
	return strings.HasSuffix(name, "-"+string(id)+overlaySuffix) ||
		strings.HasSuffix(name, "-"+string(id)+seedSuffix) ||
		strings.HasSuffix(part, "-"+string(id)+consoleSuffix)
}

// poolAt returns the active storage pool of the folder, or makes a transient one.
func (s *session) poolAt(dir string) (golibvirt.StoragePool, error) {
	pool, err := s.StoragePoolLookupByTargetPath(dir)
	if err == nil {
		return pool, nil
	}
	if !isCode(err, golibvirt.ErrNoStoragePool) {
		return pool, s.fault(err)
	}
	sum := sha256.Sum256([]byte(dir))
	text, err := (&libvirtxml.StoragePool{
		Type: "dir", Name: fmt.Sprintf("hale-%x", sum[:4]), Target: &libvirtxml.StoragePoolTarget{Path: dir},
	}).Marshal()
	if err != nil {
		return pool, s.invalid(err)
	}
	err = s.write(func() (err error) {
		pool, err = s.StoragePoolCreateXML(text, golibvirt.StoragePoolCreateWithBuild)
		return err
	})
	if _, refused := codeOf(err); refused {
		// Another call may have been faster, or the folder belongs to a defined pool that is not active.
		if pool, lerr := s.StoragePoolLookupByTargetPath(dir); lerr == nil {
			return pool, nil
		}
		return pool, s.fault(err)
	}
	if err == nil {
		s.settled() // a pool is no part of what an order leaves behind
	}
	return pool, err
}

// volume is what hale needs to know of a file.
type volume struct {
	path   string
	format string
}

// image finds a base image and its format, which the host detects. An image without a folder lies in dir.
func (s *session) image(dir, image string) (volume, error) {
	if !path.IsAbs(image) {
		image = path.Join(dir, image)
	}
	pool, err := s.poolAt(path.Dir(image))
	if err != nil {
		return volume{}, err
	}
	vol, err := s.StorageVolLookupByName(pool, path.Base(image))
	if isCode(err, golibvirt.ErrNoStorageVol) {
		// The file may have come after the pool was read. Refused while a volume is being built: then it is transient.
		if err := s.StoragePoolRefresh(pool, 0); err != nil {
			return volume{}, s.fault(err)
		}
		vol, err = s.StorageVolLookupByName(pool, path.Base(image))
	}
	if isCode(err, golibvirt.ErrNoStorageVol) {
		return volume{}, s.invalid(fmt.Errorf("%w %s", errNoImage, image))
	}
	if err != nil {
		return volume{}, s.fault(err)
	}
	text, err := s.StorageVolGetXMLDesc(vol, 0)
	if err != nil {
		return volume{}, s.fault(err)
	}
	var x struct {
		Format struct {
			Type string `xml:"type,attr"`
		} `xml:"target>format"`
	}
	if err := xml.Unmarshal([]byte(text), &x); err != nil || x.Format.Type == "" {
		return volume{}, s.invalid(errors.Join(fmt.Errorf("the format of %s is not known", image), err))
	}
	return volume{path: image, format: x.Format.Type}, nil
}

// createOverlay makes a qcow2 file that holds what differs from base.
func (s *session) createOverlay(pool golibvirt.StoragePool, name string, base volume) error {
	_, err := s.createVolume(pool, &libvirtxml.StorageVolume{
		Name: name,
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"},
			Compat: "1.1",
		},
		BackingStore: &libvirtxml.StorageVolumeBackingStore{
			Path:   base.path,
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: base.format},
		},
	}, 0)
	return err
}

// createFile makes an empty raw file of the size in bytes.
func (s *session) createFile(pool golibvirt.StoragePool, name string, size int) (golibvirt.StorageVol, error) {
	return s.createVolume(pool, &libvirtxml.StorageVolume{
		Name:     name,
		Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: uint64(size)}, //nolint:gosec // a length
		Target:   &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	}, uint64(size)) //nolint:gosec // a length
}

// spareBytes is what a pool must have free beyond a new file's size for a failure to be about something else.
const spareBytes = 4 << 20

func (s *session) createVolume(pool golibvirt.StoragePool, vol *libvirtxml.StorageVolume,
	size uint64) (golibvirt.StorageVol, error) {
	text, err := vol.Marshal()
	if err != nil {
		return golibvirt.StorageVol{}, s.invalid(err)
	}
	var made golibvirt.StorageVol
	err = s.write(func() (err error) {
		made, err = s.StorageVolCreateXML(pool, text, 0)
		return err
	})
	return made, s.spaceFault(pool, err, size)
}

// spaceFault turns an error answer into fault.NoSpace when the pool is full: the daemon has no code for that.
func (s *session) spaceFault(pool golibvirt.StoragePool, err error, size uint64) error {
	if _, answered := codeOf(err); !answered {
		return err
	}
	_, _, _, free, ierr := s.StoragePoolGetInfo(pool)
	if ierr == nil && free < size+spareBytes {
		return fault.New(fault.NoSpace, s.op, s.subject, err)
	}
	return err
}

// removeFiles deletes the instance's ephemeral files from the folder's pool, and nothing else.
func (s *session) removeFiles(dir string, id fleet.InstanceID) error {
	pool, err := s.poolAt(dir)
	if err != nil {
		return err
	}
	// The daemon knows the files that there were when the pool was read, and those that it made; not the older parts of
	// a log. Refused while a volume is being made: then these parts stay.
	if err := s.StoragePoolRefresh(pool, 0); err != nil {
		if _, answered := codeOf(err); !answered {
			return s.fault(err)
		}
	}
	vols, _, err := s.StoragePoolListAllVolumes(pool, 1, 0)
	if err != nil {
		return s.fault(err)
	}
	for _, vol := range vols {
		if !removable(vol.Name, id) {
			continue
		}
		err := s.order(func() error { return s.StorageVolDelete(vol, 0) })
		if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
			return err
		}
	}
	return nil
}
