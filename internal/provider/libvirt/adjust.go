package libvirt

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// sizeXML is what a domain has of its host, as the daemon writes it: memory in KiB, and how many of its processors are
// there from the start where it could have more.
type sizeXML struct {
	Memory  uint64 `xml:"memory"`
	Current uint64 `xml:"currentMemory"`
	VCPU    struct {
		Most    int    `xml:",chardata"`
		Current string `xml:"current,attr"`
	} `xml:"vcpu"`
}

// size is what the domain starts with, or started with.
func (x *sizeXML) size() fleet.Size {
	return fleet.Size{Memory: x.Memory << 10, CPUs: x.cpus()}
}

func (x *sizeXML) cpus() int {
	if n, err := strconv.Atoi(strings.TrimSpace(x.VCPU.Current)); err == nil {
		return n
	}
	return x.VCPU.Most
}

// Adjust implements provider.Adjuster. The size stands in the domain's definition, which counts from its next start;
// texts are written there, and on the domain that runs. Of a domain with XML of the user's own, that says the size.
func (p *Provider) Adjust(ctx context.Context, order provider.Blueprint) error {
	s, dom, err := p.openMarked(ctx, "libvirt.adjust", order.Ref)
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.notAside(dom); err != nil {
		return err
	}
	sizes, err := s.resizes(dom, &order.Template)
	if err != nil {
		return err
	}
	if len(sizes) > 0 {
		if err := s.mustBeOff(dom); err != nil {
			return err
		}
		if err := p.alone(ctx, claim{op: s.op, ref: order.Ref}); err != nil {
			return err
		}
	}
	defer s.host.facts.forget(dom.UUID)
	for _, resize := range sizes {
		if err := s.write(resize); err != nil {
			return err
		}
	}
	return s.bear(dom, order.Template.Metadata)
}

// resizes are the orders that it takes to give the domain the template's size: the most that it may have first, since
// what it starts with is never more.
func (s *session) resizes(dom golibvirt.Domain, t *policy.Template) ([]func() error, error) {
	if t.XML != "" {
		return nil, nil
	}
	text, err := s.DomainGetXMLDesc(dom, golibvirt.DomainXMLInactive)
	if err != nil {
		return nil, s.fault(err)
	}
	var has sizeXML
	if err := xml.Unmarshal([]byte(text), &has); err != nil {
		return nil, s.fault(err)
	}
	var out []func() error
	order := func(is bool, do func(flags uint32) error, flags uint32) {
		if !is {
			out = append(out, func() error { return do(flags) })
		}
	}
	if kib := t.Memory >> 10; kib > 0 {
		set := func(flags uint32) error { return s.DomainSetMemoryFlags(dom, kib, flags) }
		order(has.Memory == kib, set, uint32(golibvirt.DomainMemConfig|golibvirt.DomainMemMaximum))
		order(has.Memory == kib && has.Current == kib, set, uint32(golibvirt.DomainMemConfig))
	}
	if n := t.CPUs; n > 0 {
		set := func(flags uint32) error {
			return s.DomainSetVcpusFlags(dom, uint32(n), flags) //nolint:gosec // the configuration's
		}
		order(has.VCPU.Most == n, set, uint32(golibvirt.DomainVCPUConfig|golibvirt.DomainVCPUMaximum))
		order(has.VCPU.Most == n && has.cpus() == n, set, uint32(golibvirt.DomainVCPUConfig))
	}
	return out, nil
}

// bear writes texts on the domain, beside those that it bears.
func (s *session) bear(dom golibvirt.Domain, texts fleet.Metadata) error {
	f, err := s.readFacts(dom)
	if err != nil {
		return err
	}
	if f.bears.Covers(texts) {
		return nil
	}
	element, err := encodeMetadata(f.bears.With(texts))
	if err != nil {
		return s.invalid(err)
	}
	return s.writeElement(dom, metadataPrefix, metadataSpace, element)
}
