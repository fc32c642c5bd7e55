package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// undefineFlags let go of everything that hangs on a domain's definition.
const undefineFlags = golibvirt.DomainUndefineManagedSave | golibvirt.DomainUndefineSnapshotsMetadata |
	golibvirt.DomainUndefineCheckpointsMetadata | golibvirt.DomainUndefineNvram

// Create claims name and id by defining the domain, mark included, then makes its files and starts it. Failures after
// the claim undo it; fault.UnknownOutcome where that could not be made certain.
func (p *Provider) Create(ctx context.Context, order provider.Blueprint) error {
	ctx, s, err := p.open(ctx, "libvirt.create", order.Ref)
	if err != nil {
		return err
	}
	defer s.end()
	b, err := p.prepare(ctx, s, order)
	if err != nil {
		return err
	}
	dom, err := b.claim(s)
	if err != nil {
		return err
	}
	// Asked again, now that others see it: of two who claim the same on two hosts at most one goes on.
	if err = p.alone(ctx, b.claims()); err == nil {
		err = b.finish(ctx, s, dom)
	}
	if err != nil {
		return p.undo(s, &b, err)
	}
	return nil
}

// build is an order that was found to be possible.
type build struct {
	order   provider.Blueprint
	uuid    golibvirt.UUID
	xml     string
	pool    golibvirt.StoragePool
	base    volume // the zero volume: no disk
	overlay string // file names in the pool; empty: none
	seed    string
	console string
	disks   []disk
	absent  []string // file names of kept disks that are not there yet
	fresh   []string // and of those that this order made
}

// prepare checks the order and finds what it needs. It changes nothing but that StateDir may become a pool.
func (p *Provider) prepare(ctx context.Context, s *session, order provider.Blueprint) (build, error) {
	uuid, err := parseID(order.ID)
	if err != nil {
		return build{}, s.invalid(err)
	}
	if err := checkOrder(order); err != nil {
		return build{}, s.invalid(err)
	}
	if p.installation != "" && order.Mark.Installation != p.installation {
		return build{}, s.conflict(fmt.Errorf("the order is of another installation, %s", order.Mark.Installation))
	}
	order.ID = idOf(uuid) // one way of writing it, for the names of files
	order.Mark.Instance = order.ID
	b := build{order: order, uuid: uuid}
	if err := b.free(s); err != nil {
		return b, err
	}
	plan := newBlueprint(order, uuid)
	if plan.Type, err = p.domainType(s, order.Template.Accel); err != nil {
		return b, err
	}
	if err := b.findFiles(ctx, s, p, &plan); err != nil {
		return b, err
	}
	if err := p.elsewhere(ctx, &b); err != nil {
		return b, err
	}
	if b.xml, err = plan.render(order.Template.XML, order.Mark); err != nil {
		return b, s.invalid(err)
	}
	if !strings.Contains(b.xml, b.console) {
		b.console = "" // a domain of the user's own that keeps its console elsewhere, or nowhere
	}
	return b, nil
}

// hostnameLike is what names of instances look like.
var hostnameLike = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// diskLike is what names of made disks look like.
var diskLike = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// checkOrder finds what no host could build.
func checkOrder(o provider.Blueprint) error {
	t := o.Template
	var problems []error
	if !hostnameLike.MatchString(o.Name) {
		problems = append(problems,
			fmt.Errorf("%q cannot be a name: it becomes a host name and part of file names", o.Name))
	}
	if o.Mark.Installation == "" || o.Mark.Machine == "" {
		problems = append(problems, errors.New("the mark is not complete"))
	}
	if t.XML == "" && t.Memory < 1<<20 {
		problems = append(problems, fmt.Errorf("%d bytes of memory are too few", t.Memory))
	}
	if t.XML == "" && t.Image == "" && t.Kernel == "" {
		problems = append(problems, errors.New("neither an image nor a kernel to boot from"))
	}
	for _, d := range t.Disks {
		if d.Name != rootDisk && d.Size == 0 && t.XML == "" {
			problems = append(problems, fmt.Errorf("disk %q: only %q can be made without a size", d.Name, rootDisk))
		}
		if d.Size > 0 && !diskLike.MatchString(d.Name) {
			problems = append(problems,
				fmt.Errorf("disk %q cannot be a disk's name: it becomes a serial number and part of file names",
					d.Name))
		}
	}
	return errors.Join(problems...)
}

// rootDisk is the template's disk that is made from its image.
const rootDisk = "root"

// free refuses the order when its id or name is taken.
func (b build) free(s *session) error {
	if _, err := s.DomainLookupByUUID(b.uuid); err == nil {
		return s.conflict(errors.New("the id exists"))
	} else if !isCode(err, golibvirt.ErrNoDomain) {
		return s.fault(err)
	}
	taken, err := s.DomainLookupByName(b.order.Name)
	if err == nil {
		return s.conflict(fmt.Errorf("the name %s belongs to VM %s", b.order.Name, idOf(taken.UUID)))
	}
	if !isCode(err, golibvirt.ErrNoDomain) {
		return s.fault(err)
	}
	return nil
}

// findFiles names the instance's files and finds its base image.
func (b *build) findFiles(ctx context.Context, s *session, p *Provider, plan *blueprint) (err error) {
	t, dir := b.order.Template, p.stateDir
	seeded := t.Seed || t.UserData != ""
	b.console = fileName(b.order, consoleSuffix)
	plan.Console = path.Join(dir, b.console)
	if b.pool, err = s.poolAt(dir); err != nil {
		return err
	}
	if t.Image != "" {
		if b.base, err = p.baseImage(ctx, s, t.Image); err != nil {
			return err
		}
		suffix := overlaySuffix
		if slices.ContainsFunc(t.Disks, func(d policy.Disk) bool { return d.Name == rootDisk && !d.Ephemeral }) {
			suffix = keptSuffix
		}
		b.overlay = fileName(b.order, suffix)
		plan.Disk = path.Join(dir, b.overlay)
	}
	if seeded {
		b.seed = fileName(b.order, seedSuffix)
		plan.Seed = path.Join(dir, b.seed)
	}
	return b.findDisks(s, p, plan)
}

// domainType chooses how the host runs the guest. A daemon on this machine offers KVM even where the processor has
// none, so here the processor is asked; a remote daemon's word must do.
func (p *Provider) domainType(s *session, wanted policy.Accel) (string, error) {
	switch wanted {
	case policy.AccelKVM:
		return typeKVM, nil
	case policy.AccelTCG:
		return typeQEMU, nil
	case policy.AccelAuto:
	}
	if s.host.addr.local() {
		return p.localAccel().DomainType(), nil
	}
	text, err := s.Capabilities()
	if err != nil {
		return "", s.fault(err)
	}
	var caps struct {
		Domains []struct {
			Type string `xml:"type,attr"`
		} `xml:"guest>arch>domain"`
	}
	if err := xml.Unmarshal(text, &caps); err != nil {
		return "", s.fault(err)
	}
	for _, d := range caps.Domains {
		if d.Type == typeKVM {
			return typeKVM, nil
		}
	}
	return typeQEMU, nil
}

// claim defines the domain: of several claims to a name the daemon lets one win.
func (b build) claim(s *session) (golibvirt.Domain, error) {
	var dom golibvirt.Domain
	err := s.write(func() (err error) {
		dom, err = s.DomainDefineXMLFlags(b.xml, 0)
		return err
	})
	if isCode(err, golibvirt.ErrOperationFailed) {
		// Another domain had the name or the id. Say which; the daemon's own words must do where it has gone since.
		if taken := b.free(s); taken != nil {
			return dom, taken
		}
		return dom, s.conflict(err)
	}
	return dom, err
}

// finish makes the files and starts the domain.
func (b *build) finish(ctx context.Context, s *session, dom golibvirt.Domain) error {
	if b.overlay != "" {
		if err := s.createOverlay(b.pool, b.overlay, b.base); err != nil {
			return err
		}
	}
	if b.seed != "" {
		if err := b.makeSeed(ctx, s); err != nil {
			return err
		}
	}
	if b.console != "" {
		// So that the daemon knows the file, and removes it when it is told to.
		if _, err := s.createFile(b.pool, b.console, 0); err != nil {
			return err
		}
	}
	if err := b.makeDisks(s); err != nil {
		return err
	}
	return s.order(func() error { return s.DomainCreate(dom) })
}

func (b *build) makeSeed(ctx context.Context, s *session) error {
	image, err := makeSeed(b.order.ID, b.order.Name, b.order.Template.UserData)
	if err != nil {
		return err
	}
	vol, err := s.createFile(b.pool, b.seed, len(image))
	if err != nil {
		return err
	}
	return s.spaceFault(b.pool, upload(ctx, s.host.addr, vol, image), uint64(len(image)))
}

// undo removes what a failed build left, if the domain is surely off. It returns the build's error: with its own kind
// when nothing is left, else as fault.UnknownOutcome.
func (p *Provider) undo(s *session, b *build, failed error) error {
	kind := fault.Transient
	if f := (*fault.Error)(nil); errors.As(failed, &f) && f.Kind != fault.UnknownOutcome {
		kind = f.Kind
	} else if k, answered := kindOf(failed); k != "" {
		kind = k
	} else if answered {
		kind = fault.Permanent
	}
	err := p.remove(s, b.order.ID)
	if err == nil {
		err = b.dropFresh(s)
	}
	if err != nil {
		return fault.New(fault.UnknownOutcome, s.op, s.subject,
			errors.Join(failed, fmt.Errorf("and not undone: %w", err)))
	}
	s.settled()
	return fault.New(kind, s.op, s.subject, failed)
}

// Delete removes an instance that is off, and its ephemeral files; those also when the domain is gone already.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	_, s, err := p.open(ctx, "libvirt.delete", ref)
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.marked(ref, p.installation)
	if err == nil {
		err = s.mustBeOff(dom)
	}
	if err != nil && !isCode(err, golibvirt.ErrNoDomain) {
		return err
	}
	if err := p.alone(ctx, claim{op: s.op, ref: ref}); err != nil {
		return err
	}
	return p.remove(s, ref.ID)
}

// remove undefines the domain unless it is on, and then removes its ephemeral files.
func (p *Provider) remove(s *session, id fleet.InstanceID) error {
	uuid, err := parseID(id)
	if err != nil {
		return s.invalid(err)
	}
	dom, err := s.find(id)
	if err == nil {
		err = s.undefine(dom)
	}
	if err != nil && !isCode(err, golibvirt.ErrNoDomain) {
		return err
	}
	s.host.facts.forget(uuid)
	return s.removeFiles(p.stateDir, idOf(uuid))
}

// mustBeOff refuses what is only done to a domain that is off.
func (s *session) mustBeOff(dom golibvirt.Domain) error {
	active, err := s.DomainIsActive(dom)
	if err != nil {
		return s.fault(err)
	}
	if active != 0 {
		return s.conflict(errors.New("it is not off"))
	}
	return nil
}

// undefine removes a domain that is off. Undefining one that runs would leave it running without a definition. So
// undefine asks whether it is off before, and once more after, in case another client started it meanwhile.
func (s *session) undefine(dom golibvirt.Domain) error {
	if err := s.mustBeOff(dom); err != nil {
		return err
	}
	if err := s.order(func() error { return s.DomainUndefineFlags(dom, undefineFlags) }); err != nil {
		return s.stayedOff(dom, err)
	}
	_, err := s.DomainLookupByUUID(dom.UUID)
	if isCode(err, golibvirt.ErrNoDomain) {
		s.settled()
		return nil
	}
	if err == nil {
		err = errors.New("it was started while it was removed")
	}
	return s.fault(err)
}

// Certify sets the mark's Certified flag, in the definition and in the running domain.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	ref.Adopted = false // it has no mark to be written on
	s, dom, err := p.openMarked(ctx, "libvirt.certify", ref)
	if err != nil {
		return err
	}
	defer s.end()
	mark, err := s.readMark(dom)
	if err != nil || mark.Certified && mark.Instance != "" {
		return err
	}
	mark.Certified, mark.Instance = true, idOf(dom.UUID)
	element, err := encodeMark(mark)
	if err != nil {
		return s.invalid(err)
	}
	defer s.host.facts.forget(dom.UUID)
	return s.writeMark(dom, element)
}

func (s *session) writeMark(dom golibvirt.Domain, element string) error {
	return s.writeElement(dom, markPrefix, markSpace, element)
}

// writeElement writes the element of a namespace into the domain's metadata, of its definition and where it runs.
func (s *session) writeElement(dom golibvirt.Domain, prefix, space, element string) error {
	active, err := s.DomainIsActive(dom)
	if err != nil {
		return s.fault(err)
	}
	affect := golibvirt.DomainAffectConfig
	if active != 0 {
		affect |= golibvirt.DomainAffectLive
	}
	return s.write(func() error {
		return s.DomainSetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{element},
			golibvirt.OptString{prefix}, golibvirt.OptString{space}, affect)
	})
}
