package libvirt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"slices"
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

// Keep implements provider.Keeper. What it gives up is written down first, and the mark is set last: until then the
// same call goes on where an earlier one ended, Restore takes it back, and nothing lets the domain run.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, claim{op: "libvirt.keep", ref: ref}, func(s *session, dom golibvirt.Domain) error {
		return s.shelve(dom, ref.Mark, fmt.Sprintf("%s-kept-g%d", name, ref.Mark.Generation))
	}, true)
}

// Restore implements provider.Keeper. The name is claimed first: of several claims the daemon lets one win. A domain of
// which half was put aside is made whole, too.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	c := claim{op: "libvirt.restore", ref: ref, name: name}
	return p.putAside(ctx, c, func(s *session, dom golibvirt.Domain) error {
		if err := s.rename(dom, name); err != nil {
			return err
		}
		if err := s.unshelve(dom); err != nil {
			return err
		}
		return s.forgetShelf(dom)
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
	if err == nil && mark.Kept == kept {
		var half bool
		if half, err = s.halfAside(dom); !half || kept {
			return err
		}
	}
	if err != nil {
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

// shelve gives the domain another name and takes the machine's kept disks out of its definition. It remembers these
// first, beside those that an earlier call took out.
func (s *session) shelve(dom golibvirt.Domain, mark fleet.Mark, name string) error {
	attached, err := s.keptDisks(dom, mark)
	if err != nil {
		return err
	}
	had, err := s.readShelf(dom)
	if err != nil {
		return err
	}
	texts := make([]string, len(attached))
	for i := range attached {
		if texts[i], err = attached[i].Marshal(); err != nil {
			return s.invalid(err)
		}
	}
	remembered := texts
	for _, text := range had.disks {
		if had.open && !slices.ContainsFunc(attached, func(d libvirtxml.DomainDisk) bool { return isOf(text, d) }) {
			remembered = append(slices.Clone(remembered), text)
		}
	}
	if err := s.writeShelf(dom, remembered); err != nil {
		return err
	}
	if err := s.rename(dom, name); err != nil {
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

// isOf reports whether the text is of a disk in the same file.
func isOf(text string, d libvirtxml.DomainDisk) bool {
	var was libvirtxml.DomainDisk
	return was.Unmarshal(text) == nil && fileOf(was) == fileOf(d)
}

// unshelve attaches what was remembered and is not attached.
func (s *session) unshelve(dom golibvirt.Domain) error {
	shelf, err := s.readShelf(dom)
	if err != nil || len(shelf.disks) == 0 {
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
	for _, text := range shelf.disks {
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
	Open    bool     `xml:"open,attr,omitempty"` // it is cleared once all is given back; an older hale left it
	Disks   string   `xml:",chardata"`           // a JSON list, in base64
}

// shelf is what a domain gave up, or is about to.
type shelf struct {
	disks []string
	open  bool
}

// halfAside reports whether the domain is about to give up what it has, or did not get all of it back.
func (s *session) halfAside(dom golibvirt.Domain) (bool, error) {
	has, err := s.readShelf(dom)
	return has.open, err
}

// whole refuses a domain that was put aside, or half of it, or that has not got all the disks of a copy yet.
func (s *session) whole(dom golibvirt.Domain) error {
	if err := s.notAside(dom); err != nil {
		return err
	}
	return s.notReverting(dom)
}

// notAside refuses a domain that was put aside, or half of it.
func (s *session) notAside(dom golibvirt.Domain) error {
	mark, err := s.readMark(dom)
	if err != nil {
		return err
	}
	half, err := s.halfAside(dom)
	switch {
	case err != nil:
		return err
	case mark.Kept:
		return s.conflict(errors.New("it was put aside"))
	case half:
		return s.conflict(errors.New("half of it was put aside: its name and its disks are given back first"))
	}
	return nil
}

// forgetShelf clears what the domain remembers: it has all of it again.
func (s *session) forgetShelf(dom golibvirt.Domain) error {
	return s.putShelf(dom, golibvirt.OptString{})
}

func (s *session) writeShelf(dom golibvirt.Domain, texts []string) error {
	list, err := json.Marshal(texts)
	if err != nil {
		return s.invalid(err)
	}
	element, err := xml.Marshal(shelfXML{Open: true, Disks: base64.StdEncoding.EncodeToString(list)})
	if err != nil {
		return s.invalid(err)
	}
	return s.putShelf(dom, golibvirt.OptString{string(element)})
}

func (s *session) putShelf(dom golibvirt.Domain, element golibvirt.OptString) error {
	return s.write(func() error {
		return s.DomainSetMetadata(dom, int32(golibvirt.DomainMetadataElement), element,
			golibvirt.OptString{shelfPrefix}, golibvirt.OptString{shelfSpace}, golibvirt.DomainAffectConfig)
	})
}

func (s *session) readShelf(dom golibvirt.Domain) (shelf, error) {
	text, err := s.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{shelfSpace},
		golibvirt.DomainAffectCurrent)
	if isCode(err, golibvirt.ErrNoDomainMetadata) {
		return shelf{}, nil
	}
	if err != nil {
		return shelf{}, s.fault(err)
	}
	var x shelfXML
	if err := xml.Unmarshal([]byte(text), &x); err != nil {
		return shelf{}, s.invalid(err)
	}
	list, err := base64.StdEncoding.DecodeString(strings.TrimSpace(x.Disks))
	if err != nil {
		return shelf{}, s.invalid(err)
	}
	has := shelf{open: x.Open}
	if err := json.Unmarshal(list, &has.disks); err != nil {
		return shelf{}, s.invalid(err)
	}
	return has, nil
}
