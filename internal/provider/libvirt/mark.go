package libvirt

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// markSpace is the XML namespace of the mark in a domain's metadata; the number is the format's version.
const (
	markSpace  = "urn:hale:mark:1"
	markPrefix = "hale"
)

// markXML is the mark as it is written. All values are text, so that a damaged one is noticed and not half-read.
type markXML struct {
	XMLName      xml.Name `xml:"mark"`
	Installation string   `xml:"installation,attr"`
	Fleet        string   `xml:"fleet,attr"`
	Machine      string   `xml:"machine,attr"`
	Generation   string   `xml:"generation,attr"`
	Certified    string   `xml:"certified,attr"`
	Built        string   `xml:"built,attr"`
	Kept         string   `xml:"kept,attr,omitempty"`     // "true", or none
	Instance     string   `xml:"instance,attr,omitempty"` // none: written by an older hale
}

// encodeMark renders the mark as an element without a namespace, which libvirt adds.
func encodeMark(m fleet.Mark) (string, error) {
	kept := ""
	if m.Kept {
		kept = "true"
	}
	b, err := xml.Marshal(markXML{
		Kept:         kept,
		Instance:     string(m.Instance),
		Installation: string(m.Installation),
		Fleet:        string(m.Fleet),
		Machine:      string(m.Machine),
		Generation:   strconv.FormatUint(uint64(m.Generation), 10),
		Certified:    strconv.FormatBool(m.Certified),
		Built:        m.Built.UTC().Format(time.RFC3339Nano),
	})
	return string(b), err
}

// decodeMark reads what encodeMark wrote, with or without the namespace.
func decodeMark(s string) (fleet.Mark, error) {
	var x markXML
	if err := xml.Unmarshal([]byte(s), &x); err != nil {
		return fleet.Mark{}, err
	}
	return x.mark()
}

func (x markXML) mark() (fleet.Mark, error) {
	generation, gerr := strconv.ParseUint(x.Generation, 10, 64)
	certified, cerr := strconv.ParseBool(x.Certified)
	built, berr := time.Parse(time.RFC3339Nano, x.Built)
	kept, kerr := x.Kept == "true", error(nil)
	if !kept && x.Kept != "" {
		kerr = fmt.Errorf("kept is %q", x.Kept)
	}
	if err := errors.Join(gerr, cerr, berr, kerr); err != nil {
		return fleet.Mark{}, fmt.Errorf("damaged mark: %w", err)
	}
	return fleet.Mark{
		Installation: fleet.Installation(x.Installation),
		Fleet:        fleet.Name(x.Fleet),
		Machine:      fleet.MachineName(x.Machine),
		Generation:   fleet.Generation(generation),
		Certified:    certified,
		Built:        built.UTC(),
		Kept:         kept,
		Instance:     fleet.InstanceID(x.Instance),
	}, nil
}

// readMark reads the domain's mark from the host. No mark, a damaged one, or one that a person copied from another
// domain, is the zero mark: not hale's.
func (s *session) readMark(dom golibvirt.Domain) (fleet.Mark, error) {
	text, err := s.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{markSpace},
		golibvirt.DomainAffectCurrent)
	if isCode(err, golibvirt.ErrNoDomainMetadata) {
		return fleet.Mark{}, nil
	}
	if err != nil {
		return fleet.Mark{}, s.fault(err)
	}
	mark, err := decodeMark(text)
	if err != nil {
		return fleet.Mark{}, nil //nolint:nilerr // a damaged mark proves nothing, so the instance is a stranger's
	}
	return mark.Of(idOf(dom.UUID)), nil
}

// invalid makes an error about the request itself.
func (s *session) invalid(err error) error { return fault.New(fault.Invalid, s.op, s.subject, err) }

// parseID reads an instance id, which is the domain's UUID.
func parseID(id fleet.InstanceID) (golibvirt.UUID, error) {
	u, err := uuid.Parse(string(id))
	if err != nil {
		return golibvirt.UUID{}, fmt.Errorf("%q is no instance id: %w", id, err)
	}
	return golibvirt.UUID(u), nil
}

func idOf(u golibvirt.UUID) fleet.InstanceID { return fleet.InstanceID(uuid.UUID(u).String()) }
