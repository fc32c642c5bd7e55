package libvirt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// blueprint is everything that a domain's XML is made from. Its exported fields are what an own XML template may use.
type blueprint struct {
	Name    string
	UUID    string
	MAC     string // derived from the UUID, so that no lease of another instance ever fits
	Type    string // "kvm" or "qemu"
	Disk    string // path of the overlay; empty: none
	Seed    string // path of the NoCloud seed; empty: none
	Console string // path of the file that the serial port is written to
	Memory  uint64 // bytes
	CPUs    int
	Network string
	Kernel  string
	Initrd  string
	Cmdline string
	Disks   map[string]string // paths of the made disks, by their names
	made    []policy.Disk     // those, in the template's order
	// metadata is what the instance bears beside the mark.
	metadata fleet.Metadata
}

// Domain types of libvirt.
const (
	typeKVM  = "kvm"
	typeQEMU = "qemu"
)

// tcgCache bounds QEMU's translation cache, which otherwise grows to a share of the host's memory; in MiB.
const tcgCache = 64

// newBlueprint fills in what does not depend on the host. Paths and type are the caller's.
func newBlueprint(order provider.Blueprint, uuid [16]byte) blueprint {
	t := order.Template
	if t.Network == "" {
		t.Network = "default"
	}
	b := blueprint{
		Name: order.Name, UUID: string(order.ID), MAC: macOf(uuid), Memory: t.Memory, CPUs: t.CPUs,
		Network: t.Network, Kernel: t.Kernel, Initrd: t.Initrd,
		Cmdline: strings.ReplaceAll(t.Cmdline, "{name}", order.Name), Disks: map[string]string{}, metadata: t.Metadata,
	}
	for _, d := range disks(order) {
		b.made = append(b.made, d.Disk)
	}
	return b
}

// macOf derives a unicast, locally administered address from the instance's id.
func macOf(uuid [16]byte) string {
	h := sha256.Sum256(uuid[:])
	return fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", h[0], h[1], h[2], h[3], h[4])
}

// render makes the domain's XML: hale's own, or the one of the template ownXML. Either bears the mark, the name and the
// UUID of the blueprint.
func (b blueprint) render(ownXML string, mark fleet.Mark) (string, error) {
	dom := b.domain()
	if ownXML != "" {
		var err error
		if dom, err = b.own(ownXML); err != nil {
			return "", err
		}
	}
	if name, missing := b.unattached(dom); missing {
		return "", fmt.Errorf("own XML: it has no disk with the file {{.Disks.%s}}, which is made for it", name)
	}
	element, err := encodeMark(mark)
	if err != nil {
		return "", err
	}
	element = strings.NewReplacer("<mark ", "<"+markPrefix+":mark xmlns:"+markPrefix+`="`+markSpace+`" `,
		"</mark>", "</"+markPrefix+":mark>").Replace(element)
	if dom.Metadata == nil {
		dom.Metadata = &libvirtxml.DomainMetadata{}
	}
	texts, err := placeMetadata(b.metadata)
	if err != nil {
		return "", err
	}
	dom.Metadata.XML += element + texts
	dom.Name, dom.UUID, dom.ID = b.Name, b.UUID, nil
	return dom.Marshal()
}

// own executes the user's template and reads the result.
func (b blueprint) own(text string) (*libvirtxml.Domain, error) {
	t, err := template.New("domain").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("own XML: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, b.escaped()); err != nil {
		return nil, fmt.Errorf("own XML: %w", err)
	}
	var dom libvirtxml.Domain
	if err := dom.Unmarshal(out.String()); err != nil {
		return nil, fmt.Errorf("own XML: %w", err)
	}
	if dom.Metadata != nil && strings.Contains(dom.Metadata.XML, markSpace) {
		return nil, errors.New("own XML: it must not contain a mark, which hale writes")
	}
	if dom.Metadata != nil && strings.Contains(dom.Metadata.XML, metadataSpace) && b.metadata != "" {
		return nil, errors.New("own XML: it has metadata in hale's namespace, and the template has metadata, too: " +
			"write them in one of the two")
	}
	return &dom, nil
}

// escaped returns the blueprint with its free texts made safe for XML.
func (b blueprint) escaped() blueprint {
	safe := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace
	for _, text := range []*string{
		&b.Name, &b.Disk, &b.Seed, &b.Console, &b.Network, &b.Kernel, &b.Initrd, &b.Cmdline,
	} {
		*text = safe(*text)
	}
	paths := make(map[string]string, len(b.Disks))
	for name, p := range b.Disks {
		paths[name] = safe(p)
	}
	b.Disks = paths
	return b
}

// domain is hale's own machine: small, and the same with and without KVM.
func (b blueprint) domain() *libvirtxml.Domain {
	d := &libvirtxml.Domain{
		Type:   b.Type,
		Memory: &libvirtxml.DomainMemory{Value: uint(b.Memory / 1024), Unit: "KiB"},
		VCPU:   &libvirtxml.DomainVCPU{Value: uint(max(b.CPUs, 1))},
		OS: &libvirtxml.DomainOS{
			Type:   &libvirtxml.DomainOSType{Arch: "x86_64", Machine: "q35", Type: "hvm"},
			Kernel: b.Kernel, Initrd: b.Initrd, Cmdline: b.Cmdline,
		},
		Features:   &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}},
		CPU:        &libvirtxml.DomainCPU{Mode: "host-passthrough"},
		OnPoweroff: "destroy",
		OnReboot:   "restart",
		OnCrash:    "destroy",
		Devices:    b.devices(),
	}
	if b.Kernel == "" {
		d.OS.BootDevices = []libvirtxml.DomainBootDevice{{Dev: "hd"}}
	}
	if b.Type == typeQEMU {
		d.Features.TCG = &libvirtxml.DomainFeatureTCG{
			TBCache: &libvirtxml.DomainFeatureTCGTBCache{Unit: "MiB", Size: tcgCache},
		}
		d.CPU = &libvirtxml.DomainCPU{
			Mode:  "custom",
			Match: "exact",
			Model: &libvirtxml.DomainCPUModel{Fallback: "allow", Value: "qemu64"},
		}
	}
	return d
}

// agentChannel is where the guest's agent listens. Every machine has it, asked for or not: it costs nothing, and a
// check or a soft reboot that is configured later finds it without a new instance.
func agentChannel() libvirtxml.DomainChannel {
	return libvirtxml.DomainChannel{
		Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{}},
		Target: &libvirtxml.DomainChannelTarget{
			VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: "org.qemu.guest_agent.0"},
		},
	}
}

// serialPort can be used by a person (virsh console), and what the guest writes to it is kept. It is appended to, so
// that a start does not wipe what the guest said at its end.
func (b blueprint) serialPort() libvirtxml.DomainSerial {
	port := libvirtxml.DomainSerial{Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}}}
	if b.Console != "" {
		port.Log = &libvirtxml.DomainChardevLog{File: b.Console, Append: "on"}
	}
	return port
}

func (b blueprint) devices() *libvirtxml.DomainDeviceList {
	l := &libvirtxml.DomainDeviceList{
		Controllers: []libvirtxml.DomainController{{Type: "usb", Model: "none"}},
		Interfaces: []libvirtxml.DomainInterface{{
			MAC: &libvirtxml.DomainInterfaceMAC{Address: b.MAC},
			Source: &libvirtxml.DomainInterfaceSource{
				Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: b.Network},
			},
			Model: &libvirtxml.DomainInterfaceModel{Type: "virtio"},
			ROM:   &libvirtxml.DomainROM{Enabled: "no"},
		}},
		Serials:    []libvirtxml.DomainSerial{b.serialPort()},
		Panics:     []libvirtxml.DomainPanic{{Model: "isa"}},
		MemBalloon: &libvirtxml.DomainMemBalloon{Model: "none"},
		Channels:   []libvirtxml.DomainChannel{agentChannel()},
	}
	if b.Disk != "" {
		l.Disks = append(l.Disks, libvirtxml.DomainDisk{
			Device: "disk",
			Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "qcow2", Discard: "unmap"},
			Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: b.Disk}},
			Target: &libvirtxml.DomainDiskTarget{Dev: "vda", Bus: "virtio"},
		})
	}
	l.Disks = append(l.Disks, b.dataDisks()...)
	if b.Seed != "" {
		l.Disks = append(l.Disks, libvirtxml.DomainDisk{
			Device:   "cdrom",
			Driver:   &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw"},
			Source:   &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: b.Seed}},
			Target:   &libvirtxml.DomainDiskTarget{Dev: "sda", Bus: "scsi"}, // cloud kernels have no SATA
			ReadOnly: &libvirtxml.DomainDiskReadOnly{},
		})
		l.Controllers = append(l.Controllers, libvirtxml.DomainController{Type: "scsi", Model: "virtio-scsi"})
	}
	return l
}
