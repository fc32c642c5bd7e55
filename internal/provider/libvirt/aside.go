package libvirt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// The shelf is the XML element in which a domain that was put aside remembers the disks that it gave up, as they were
// attached.
const (
	shelfSpace  = "urn:hale:shelf:1"
	shelfPrefix = "haleshelf"
)

// Keep implements provider.Keeper. The mark is set last: until then the same call goes on where an earlier one ended.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, claim{op: "libvirt.keep", ref: ref}, func(s *session, dom golibvirt.Domain) error {
		if err := s.rename(dom, fmt.Sprintf("%s-kept-g%d", name, ref.Mark.Generation)); err != nil {
			return err
		}
		return s.shelve(dom, ref.Mark)
	}, true)
}

// Restore implements provider.Keeper. The name is claimed first: of several claims the daemon lets one win.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	c := claim{op: "libvirt.restore", ref: ref, name: name}
	return p.putAside(ctx, c, func(s *session, dom golibvirt.Domain) error {
		if err := s.rename(dom, name); err != nil {
			return err
		}
		return s.unshelve(dom)
	}, false)
}

// putAside does what it takes to an instance that is off and bears the mark, and then writes into the mark whether it
// is kept.
func (p *Provider) putAside(
	ctx context.Context, c claim, change func(*session, golibvirt.Domain) error, kept bool,
) error {
	s, dom, err := p.openMarked(ctx, c.op, c.ref)
	if err != nil {
		return err
	}
	defer s.end()
	mark, err := s.readMark(dom)
	if err != nil || mark.Kept == kept {
		return err
	}
	if err := s.mustBeOff(dom); err != nil {
		return err
	}
	if err := p.alone(ctx, c); err != nil {
		return err
	}
	defer s.host.facts.forget(dom.UUID)
	if err := change(s, dom); err != nil {
		return err
	}
	mark.Kept, mark.Instance = kept, idOf(dom.UUID)
	element, err := encodeMark(mark)
	if err != nil {
		return s.invalid(err)
	}
	return s.writeMark(dom, element)
}

// rename gives the domain, which is off, the name.
func (s *session) rename(dom golibvirt.Domain, name string) error {
	if dom.Name == name {
		return nil
	}
	if taken, err := s.DomainLookupByName(name); err == nil {
		return s.conflict(fmt.Errorf("the name %s belongs to VM %s", name, idOf(taken.UUID)))
	} else if !isCode(err, golibvirt.ErrNoDomain) {
		return s.fault(err)
	}
	return s.write(func() error {
		_, err := s.DomainRename(dom, golibvirt.OptString{name}, 0)
		return err
	})
}

// keptDisks returns the disks of the domain that belong to the machine of the mark.
func (s *session) keptDisks(dom golibvirt.Domain, mark fleet.Mark) ([]libvirtxml.DomainDisk, error) {
	text, err := s.DomainGetXMLDesc(dom, golibvirt.DomainXMLInactive|golibvirt.DomainXMLSecure)
	if err != nil {
		return nil, s.fault(err)
	}
	var d libvirtxml.Domain
	if err := d.Unmarshal(text); err != nil {
		return nil, s.invalid(err)
	}
	var out []libvirtxml.DomainDisk
	for _, disk := range d.Devices.Disks {
		file := path.Base(fileOf(disk))
		if strings.HasPrefix(file, string(mark.Machine)+".") &&
			strings.HasSuffix(file, "."+string(mark.Installation)+keptSuffix) {
			out = append(out, disk)
		}
	}
	return out, nil
}

// shelve takes the machine's kept disks out of the domain's definition, and remembers them first.
func (s *session) shelve(dom golibvirt.Domain, mark fleet.Mark) error {
	attached, err := s.keptDisks(dom, mark)
	if err != nil || len(attached) == 0 {
		return err // none, or taken out already
	}
	texts := make([]string, len(attached))
	for i := range attached {
		if texts[i], err = attached[i].Marshal(); err != nil {
			return s.invalid(err)
		}
	}
	if err := s.writeShelf(dom, texts); err != nil {
		return err
	}
	for _, text := range texts {
		if err := s.write(func() error {
			return s.DomainDetachDeviceFlags(dom, text, uint32(golibvirt.DomainAffectConfig))
		}); err != nil {
			return err
		}
	}
	return nil
}

// unshelve attaches what was remembered and is not attached.
func (s *session) unshelve(dom golibvirt.Domain) error {
	texts, err := s.readShelf(dom)
	if err != nil || len(texts) == 0 {
		return err
	}
	mark, err := s.readMark(dom)
	if err != nil {
		return err
	}
	attached, err := s.keptDisks(dom, mark)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, d := range attached {
		has[fileOf(d)] = true
	}
	for _, text := range texts {
		var d libvirtxml.DomainDisk
		if err := d.Unmarshal(text); err != nil {
			return s.invalid(err)
		}
		if has[fileOf(d)] {
			continue
		}
		if err := s.write(func() error {
			return s.DomainAttachDeviceFlags(dom, text, uint32(golibvirt.DomainAffectConfig))
		}); err != nil {
			return err
		}
	}
	return nil
}

// shelfXML holds the disks' XML as text: libvirt would judge elements.
type shelfXML struct {
	XMLName xml.Name `xml:"shelf"`
	Disks   string   `xml:",chardata"` // a JSON list, in base64
}

func (s *session) writeShelf(dom golibvirt.Domain, texts []string) error {
	list, err := json.Marshal(texts)
	if err != nil {
		return s.invalid(err)
	}
	element, err := xml.Marshal(shelfXML{Disks: base64.StdEncoding.EncodeToString(list)})
	if err != nil {
		return s.invalid(err)
	}
	return s.write(func() error {
		return s.DomainSetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{string(element)},
			golibvirt.OptString{shelfPrefix}, golibvirt.OptString{shelfSpace}, golibvirt.DomainAffectConfig)
	})
}

func (s *session) readShelf(dom golibvirt.Domain) ([]string, error) {
	text, err := s.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{shelfSpace},
		golibvirt.DomainAffectCurrent)
	if isCode(err, golibvirt.ErrNoDomainMetadata) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fault(err)
	}
	var x shelfXML
	if err := xml.Unmarshal([]byte(text), &x); err != nil {
		return nil, s.invalid(err)
	}
	list, err := base64.StdEncoding.DecodeString(strings.TrimSpace(x.Disks))
	if err != nil {
		return nil, s.invalid(err)
	}
	var texts []string
	if err := json.Unmarshal(list, &texts); err != nil {
		return nil, s.invalid(err)
	}
	return texts, nil
}
