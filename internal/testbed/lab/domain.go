package lab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// KernelArgs are the kernel command line words that make the guest boot fast under emulation.
const KernelArgs = "quiet tsc=reliable no_timer_check mitigations=off nokaslr random.trust_cpu=on cryptomgr.notests " +
	"audit=0 apparmor=0 ima=off 8250.nr_uarts=1 i8042.noaux i8042.nokbd raid=noautodetect"

// GuestMemoryMiB is what a guest needs to boot with a margin; below 80 it hangs.
const GuestMemoryMiB = 96

// DomainSpec describes a domain for tests of the lab itself.
type DomainSpec struct {
	Name string
	MAC  string // hardware address, by which DHCP gives the address; empty: one that follows from the name
	Disk string // path of a qcow2 file, may be empty
	Seed string // path of a NoCloud ISO image, may be empty
	// fault from boot on: nohttp, http503, slow, hang, nonet, panic, off, deaf, nodhcp; empty for none
	Sick  string
	After time.Duration // when Sick begins, whole seconds after the guest serves; 0 means it never was well
	Panic bool          // with a panic device, so that libvirt sees a kernel panic
}

var domainTemplate = template.Must(template.New("domain").Funcs(template.FuncMap{
	"x": escapeXML,
}).Parse(`<domain type='{{.Type}}'>
  <name>{{x .Name}}</name>
  <memory unit='MiB'>{{.Memory}}</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{{x .Guest.Kernel}}</kernel>
    <initrd>{{x .Guest.Initrd}}</initrd>
    <cmdline>{{x .Cmdline}}</cmdline>
  </os>
  <features><acpi/>{{if eq .Type "qemu"}}<tcg><tb-cache unit='MiB'>64</tb-cache></tcg>{{end}}</features>
  {{if eq .Type "qemu"}}<cpu mode='custom' match='exact'><model fallback='allow'>qemu64</model></cpu>{{end}}
  <on_crash>preserve</on_crash>
  <devices>
    {{with .Disk}}<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{{x .}}'/><target dev='vda' bus='virtio'/></disk>{{end}}
    {{with .Seed}}<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{{x .}}'/><target dev='vdb' bus='virtio'/><readonly/></disk>{{end}}
    <interface type='network'><source network='default'/><mac address='{{.MAC}}'/><model type='virtio'/><rom enabled='no'/></interface>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    <serial type='file'><source path='/var/log/libvirt/{{x .Name}}.console'/></serial>
    {{if .Panic}}<panic model='isa'/>{{end}}
  </devices>
</domain>
`))

// DomainXML renders a spec for virsh define. The guest's console goes to log/NAME.console in the lab's folder.
func (l *Lab) DomainXML(s DomainSpec) string {
	cmdline := KernelArgs + " console=ttyS0 hale.name=" + s.Name
	if s.Sick != "" {
		cmdline += fmt.Sprintf(" hale.sick=%s hale.after=%d", s.Sick, int(s.After.Seconds()))
	}
	var b strings.Builder
	err := domainTemplate.Execute(&b, struct {
		DomainSpec
		Type, Cmdline, MAC string
		Memory             int
		Guest              Guest
	}{s, l.info.Accel.DomainType(), cmdline, cmp.Or(s.MAC, macOf(s.Name)), GuestMemoryMiB, l.info.Guest})
	if err != nil {
		panic(err) // the template is a constant, writing to memory does not fail
	}
	return b.String()
}

// macOf derives a hardware address in QEMU's range from a name.
func macOf(name string) string {
	h := sha256.Sum256([]byte(name))
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", h[0], h[1], h[2])
}

func escapeXML(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // writing to memory does not fail
	return b.String()
}

// NewDisk makes an empty disk of its own for a domain, on top of the guest's, and returns its path.
func (l *Lab) NewDisk(ctx context.Context, name string) (string, error) {
	path := filepath.Join(l.info.Images, name+".qcow2")
	base := filepath.Join(l.info.Images, "base.qcow2")
	_, err := run(ctx, "", "qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "qcow2", path)
	return path, err
}
