package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// A domain that gets the disks of a copy bears the copy's name until it has them all: until then it may have none, or a
// part of one, and does not start.
const (
	revertSpace  = "urn:hale:revert:1"
	revertPrefix = "halerevert"
)

type revertXML struct {
	XMLName xml.Name `xml:"revert"`
	Copy    string   `xml:"copy,attr"`
}

// Revert implements provider.Reverter: the daemon copies the copy's files to where the domain's own ones were.
func (p *Provider) Revert(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) error {
	ctx, s, err := p.open(ctx, "libvirt.revert", ref)
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.marked(ref, p.installation)
	if err != nil {
		return err
	}
	if err := s.mustBeOff(dom); err != nil {
		return err
	}
	if err := s.notAside(dom); err != nil {
		return err
	}
	if err := p.alone(ctx, claim{op: s.op, ref: ref}); err != nil {
		return err
	}
	pool, err := s.poolAt(p.stateDir)
	if err != nil {
		return err
	}
	disks, err := p.toPutBack(ctx, s, pool, ref, name)
	if err != nil {
		return err
	}
	element, err := xml.Marshal(revertXML{Copy: string(name.ID)})
	if err != nil {
		return s.invalid(err)
	}
	if err := s.reverting(dom, golibvirt.OptString{string(element)}); err != nil {
		return err
	}
	for _, d := range disks {
		if err := s.putBack(d); err != nil {
			return err
		}
	}
	if err := s.reverting(dom, golibvirt.OptString{}); err != nil {
		return err
	}
	return s.stayedOff(dom, s.boot(dom))
}

// toPutBack returns the files of the copy with the domain's own ones that they are to take the place of.
// fault.Invalid: it is no copy of these disks.
func (p *Provider) toPutBack(ctx context.Context, s *session, pool golibvirt.StoragePool, ref provider.Ref,
	name fleet.SnapshotName) ([]copiedDisk, error) {
	if name.Host != ref.Host {
		return nil, s.invalid(fmt.Errorf("the copy lies on host %s", name.Host))
	}
	made, err := s.wholeCopy(ctx, pool, name)
	if err != nil {
		return nil, err
	}
	if made == nil {
		return nil, s.invalid(errors.New("there is no such copy that is whole"))
	}
	disks, err := s.toCopy(ref, name, p.stateDir)
	if err != nil {
		return nil, err
	}
	for _, d := range disks {
		if !slices.ContainsFunc(made.Disks, func(c copiedDisk) bool {
			return c.Target == d.Target &&
				c.File == d.File
		}) ||
			len(made.Disks) != len(disks) {
			return nil, s.invalid(fmt.Errorf("the copy is of other disks: it has %s", made.copy().Where))
		}
	}
	need := uint64(spareBytes)
	for _, d := range disks {
		v, err := s.volumeAt(d.File)
		if err != nil {
			return nil, err
		}
		need += bytesOf(v.described.Allocation)
	}
	if _, _, _, free, err := s.StoragePoolGetInfo(pool); err != nil {
		return nil, s.fault(err)
	} else if free < need {
		return nil, fault.New(fault.NoSpace, s.op, s.subject,
			fmt.Errorf("the disks of the copy take %d MiB, and %d MiB are free", need>>20, free>>20))
	}
	return disks, nil
}

// putBack makes the disk's file anew, with what is in the file of the copy.
func (s *session) putBack(d copiedDisk) error {
	from, err := s.volumeAt(d.File)
	if err != nil {
		return err
	}
	pool, err := s.poolAt(path.Dir(d.Source))
	if err != nil {
		return err
	}
	if err := s.StoragePoolRefresh(pool, 0); err != nil {
		if _, answered := codeOf(err); answered {
			return fault.New(fault.Transient, s.op, s.subject, err) // a file is being made, perhaps this one
		}
		return s.fault(err)
	}
	name := path.Base(d.Source)
	old, err := s.StorageVolLookupByName(pool, name)
	if err == nil {
		err = s.order(func() error { return s.StorageVolDelete(old, 0) })
	}
	if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
		return s.fault(err)
	}
	text, err := (&libvirtxml.StorageVolume{
		Name: name, Capacity: from.described.Capacity, Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: d.format},
		},
	}).Marshal()
	if err != nil {
		return s.invalid(err)
	}
	return s.spaceFault(pool, s.write(func() error {
		_, err := s.StorageVolCreateXMLFrom(pool, text, from.vol, 0)
		return err
	}), 0)
}

// reverting writes on the domain that it gets the disks of a copy, or that it has them.
func (s *session) reverting(dom golibvirt.Domain, element golibvirt.OptString) error {
	return s.write(func() error {
		return s.DomainSetMetadata(dom, int32(golibvirt.DomainMetadataElement), element,
			golibvirt.OptString{revertPrefix}, golibvirt.OptString{revertSpace}, golibvirt.DomainAffectConfig)
	})
}

// notReverting refuses a domain that has not got all the disks of a copy yet.
func (s *session) notReverting(dom golibvirt.Domain) error {
	text, err := s.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{revertSpace},
		golibvirt.DomainAffectCurrent)
	switch {
	case isCode(err, golibvirt.ErrNoDomainMetadata):
		return nil
	case err != nil:
		return s.fault(err)
	}
	var x revertXML
	if err := xml.Unmarshal([]byte(strings.TrimSpace(text)), &x); err != nil {
		return s.invalid(err)
	}
	return s.conflict(fmt.Errorf("its disks are being put back from copy %s: that has to end first", x.Copy))
}
