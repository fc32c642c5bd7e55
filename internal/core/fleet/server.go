package fleet

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
