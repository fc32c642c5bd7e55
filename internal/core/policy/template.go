package policy

import (
	"reflect"
	"slices"

	"hale/internal/core/fleet"
)

// Cherished returns the template with what the disks say about which of them are to be kept: that is policy, and obeyed
// at once. What a made disk is belongs to how an instance is built.
func (t Template) Cherished(disks []Disk) Template {
	t.Disks = slices.Clone(t.Disks)
	for i := range t.Disks {
		k := slices.IndexFunc(disks, func(d Disk) bool { return d.Name == t.Disks[i].Name })
		if k >= 0 && disks[k].Size == 0 && t.Disks[i].Size == 0 {
			t.Disks[i] = disks[k]
		}
	}
	return t
}

// Has reports whether the number is that of one of the fleet's machines.
func (s *Spec) Has(ordinal int) bool {
	return ordinal <= s.Top() && !slices.Contains(s.Left, ordinal)
}

// Top returns the highest number that one of the fleet's machines may have.
func (s *Spec) Top() int { return s.Size + len(s.Left) }

// Builds reports whether an instance built from the one is as one built from the other: whether a disk that the
// template brings is to be kept makes no difference to that.
func (t Template) Builds(o Template) bool {
	same := slices.EqualFunc(t.Disks, o.Disks, func(a, b Disk) bool {
		return a.Name == b.Name && a.Size == b.Size && a.Type == b.Type && (a.Size == 0 || a.Ephemeral == b.Ephemeral)
	})
	t.Disks, o.Disks = nil, nil
	return same && reflect.DeepEqual(t, o)
}

// Server is what a template says to a cloud, beside its image, its first network and its user data. Names may be ids.
type Server struct {
	Flavor string
	// Networks are further ones; the first is Template.Network.
	Networks []string `json:",omitempty"`
	// KeepPort lets the first interface, with its address, go from instance to instance.
	KeepPort bool `json:",omitempty"`
	// FloatingIP is the external network that gives the machine an address of its own; empty: it has none.
	FloatingIP     string   `json:",omitempty"`
	SecurityGroups []string `json:",omitempty"`
	ServerGroup    string   `json:",omitempty"`
	KeyPair        string   `json:",omitempty"`
	Zone           string   `json:",omitempty"` // an availability zone
	ConfigDrive    bool     `json:",omitempty"`
	// BootVolume is the volume that the image is written to, to boot from it. It goes with the instance. The zero
	// value: the disk is the flavor's.
	BootVolume BootVolume `json:",omitzero"`
	// VolumeZone is the availability zone of the volumes that outlive their instances. Empty: the cloud's choice.
	VolumeZone string `json:",omitempty"`
}

// BootVolume is the root disk of a server that boots from a volume.
type BootVolume struct {
	Size uint64 // in bytes
	Type string `json:",omitempty"` // as Disk.Type
}

// Setting is a word of the provider's own, which hale hands on without knowing what it means.
type Setting struct{ Name, Value string }

// Template is what an instance is built from. The core reads only DiskLost; the rest is for the provider.
type Template struct {
	Image    string // qcow2 base image; each instance gets an overlay of its own
	Kernel   string // direct boot: kernel, Initrd and Cmdline
	Initrd   string
	Cmdline  string
	Memory   uint64 // bytes
	CPUs     int
	Network  string // a network of the provider
	Disks    []Disk // sorted by name
	UserData string // cloud-init user data, the text itself; non-empty, or Seed, adds a NoCloud seed
	Seed     bool   // add a NoCloud seed even without UserData
	XML      string // own domain XML, a Go text/template; the text itself
	Accel    Accel
	// Metadata is what its instances bear, for the placeholders {meta.KEY}.
	Metadata fleet.Metadata `json:",omitempty"`
	Tags     fleet.Tags     `json:",omitempty"` // what its instances are tagged with, where the provider has such
	Server   *Server        `json:",omitempty"` // clouds only; never changed once it is there
	Options  []Setting      `json:",omitempty"` // sorted by name
}

// Disk is one disk of a template. Kept disks (not Ephemeral) must survive every repair.
type Disk struct {
	Name      string // "root" is the one made from Image
	Ephemeral bool
	// Size in bytes is that of a disk which the provider makes empty beside the root disk. A kept one is made once per
	// machine, and attached to each of its instances in turn. 0: the template itself brings the disk.
	Size uint64 `json:",omitempty"`
	// Type is the kind of storage that a cloud makes such a disk on. Empty: the cloud's default.
	Type string `json:",omitempty"`
}

// Attached reports whether the disk outlives the instances: the next one gets the very same.
func (d Disk) Attached() bool { return !d.Ephemeral && d.Size > 0 }

// Accel chooses hardware or emulated virtualisation.
type Accel string

// The accelerators.
const (
	AccelAuto Accel = "auto" // KVM where the processor really offers it, emulation elsewhere
	AccelKVM  Accel = "kvm"
	AccelTCG  Accel = "tcg"
)

// DiskLost returns the name of a kept disk that a recreate would lose, since it cannot be attached again, and whether
// there is one.
func (t Template) DiskLost() (string, bool) {
	for _, d := range t.Disks {
		if !d.Ephemeral && !d.Attached() {
			return d.Name, true
		}
	}
	return "", false
}

// HasAttached reports whether the template has a disk that outlives the instances.
func (t *Template) HasAttached() bool { return slices.ContainsFunc(t.Disks, Disk.Attached) }
