package libvirt

import (
	"context"
	"fmt"
	"path"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// volPhysical is VIR_STORAGE_VOL_GET_PHYSICAL: the file's true size, whatever its first bytes, which the guest wrote,
// pretend to be.
const volPhysical = 1

// Console implements provider.ConsoleReader: it reads the end of the file that the domain's first serial port, or
// console, is written to.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	ctx, s, err := p.open(ctx, "libvirt.console", ref)
	if err != nil {
		return nil, err
	}
	defer s.end()
	dom, err := s.describeDomain(ref)
	if err != nil {
		return nil, err
	}
	file := consoleFile(dom)
	if file == "" {
		return nil, s.unsupported(fmt.Errorf("its serial port has no log file: the domain has " +
			"no <log file=…> there"))
	}
	pool, err := s.StoragePoolLookupByTargetPath(path.Dir(file))
	if isCode(err, golibvirt.ErrNoStoragePool) {
		return nil, s.unsupported(fmt.Errorf("its console is written to %s, and that folder is no storage pool of "+
			"the host", file))
	}
	if err != nil {
		return nil, s.fault(err)
	}
	there, err := s.has(pool, path.Base(file))
	if err != nil || !there {
		return nil, err // it has written nothing yet
	}
	return s.tail(ctx, pool, path.Base(file), limit)
}

// tail reads the end of a file.
func (s *session) tail(ctx context.Context, pool golibvirt.StoragePool, name string, limit int) ([]byte, error) {
	vol, err := s.StorageVolLookupByName(pool, name)
	if err != nil {
		return nil, s.fault(err)
	}
	_, _, size, err := s.StorageVolGetInfoFlags(vol, volPhysical)
	if err != nil {
		return nil, s.fault(err)
	}
	if size == 0 {
		return nil, nil
	}
	offset := size - min(size, uint64(limit)) //nolint:gosec // a limit is positive
	data, err := download(ctx, s.host.addr, vol, offset, limit)
	if err != nil {
		return nil, s.fault(err)
	}
	return data, nil
}

// describeDomain returns the domain's XML, of the running one where it runs.
func (s *session) describeDomain(ref provider.Ref) (*libvirtxml.Domain, error) {
	found, err := s.find(ref.ID)
	if err != nil {
		return nil, err
	}
	text, err := s.DomainGetXMLDesc(found, 0)
	if err != nil {
		return nil, s.fault(err)
	}
	var dom libvirtxml.Domain
	if err := dom.Unmarshal(text); err != nil {
		return nil, s.fault(err)
	}
	return &dom, nil
}

// consoleFile returns the file that the first serial port, or else the first console, is written to; empty: none is.
func consoleFile(dom *libvirtxml.Domain) string {
	if dom.Devices == nil {
		return ""
	}
	for _, c := range dom.Devices.Serials {
		if file := written(c.Source, c.Log); file != "" {
			return file
		}
	}
	for _, c := range dom.Devices.Consoles {
		if file := written(c.Source, c.Log); file != "" {
			return file
		}
	}
	return ""
}

// written returns the file that a character device's output goes to.
func written(source *libvirtxml.DomainChardevSource, log *libvirtxml.DomainChardevLog) string {
	switch {
	case log != nil && log.File != "":
		return log.File
	case source != nil && source.File != nil:
		return source.File.Path
	}
	return ""
}

func (s *session) unsupported(err error) error {
	return fault.New(fault.Unsupported, s.op, s.subject, err)
}
