package config

import "hale/internal/keys"

// The keys of a provider of type openstack, and what a template says to a cloud.

// cloudDraft is which cloud is meant.
type cloudDraft struct {
	name, file, region keys.At[string]
}

// serverDraft is what a cloud is told of a machine, beside image, network and user data.
type serverDraft struct {
	flavor, serverGroup, keyPair, zone keys.At[string]
	floatingIP                         keys.At[string]
	networks, securityGroups           keys.At[[]keys.At[string]]
	keepPort, configDrive              keys.At[bool]
	bootVolume                         keys.At[bootVolumeDraft]
	volumeZone                         keys.At[string]
}

// bootVolumeDraft is the volume that a server boots from.
type bootVolumeDraft struct {
	size keys.At[uint64]
	made keys.At[string] // its type
}

func cloudShape() keys.Shorthand[cloudDraft, string] {
	return keys.Shorthand[cloudDraft, string]{
		Short: keys.Text("a name in clouds.yaml", "production"),
		Long: keys.Object[cloudDraft]{Fields: []keys.Field[cloudDraft]{
			keys.Must("name", "production", "The entry of clouds.yaml.", keys.Text("a name in clouds.yaml",
				"production"), func(c *cloudDraft) *keys.At[string] { return &c.name }),
			keys.May("file", "The file, where it is not in one of the usual places (`OS_CLIENT_CONFIG_FILE`, the "+
				"working folder, `~/.config/openstack`, `/etc/openstack`). Relative paths begin at the folder of "+
				"this file.",
				keys.Text("a path",
					"clouds.yaml"), func(c *cloudDraft) *keys.At[string] { return &c.file }),
			keys.May("region", "The region, where it is not that of the entry.", keys.Text("a region",
				"RegionOne"), func(c *cloudDraft) *keys.At[string] { return &c.region }),
		}},
		Take: func(name keys.At[string]) cloudDraft { return cloudDraft{name: name} },
	}
}

func serverShape() keys.Object[serverDraft] {
	return keys.Object[serverDraft]{
		Fields: []keys.Field[serverDraft]{
			keys.Must("flavor", "m1.small", "The flavor: processors, memory and disk.", keys.Text("a flavor",
				"m1.small"), func(s *serverDraft) *keys.At[string] { return &s.flavor }),
			keys.May("networks", "Further networks, beside the template's, whose ports go with the instance.",
				keys.List[string]{Noun: "one network", Each: keys.Text("a network",
					"storage")},
				func(s *serverDraft) *keys.At[[]keys.At[string]] { return &s.networks }).Said("none"),
			keys.Or("keep_port", false, "The machine's port, and with it its address, hardware address and floating "+
				"address, goes from instance to instance.", keys.Boolean(),
				func(s *serverDraft) *keys.At[bool] { return &s.keepPort }),
			keys.May("floating_ip", "The external network of which the machine has a floating address of its own. It "+
				"is allocated with the machine's first instance, goes from instance to instance, also without "+
				"`keep_port`, and is released when the machine is removed from its fleet.",
				keys.Text("an external network",
					"public"),
				func(s *serverDraft) *keys.At[string] { return &s.floatingIP }).Said("none"),
			keys.May("security_groups", "The security groups of the machine's port.",
				keys.List[string]{Noun: "one security group", Each: keys.Text("a security group",
					"web")},
				func(s *serverDraft) *keys.At[[]keys.At[string]] { return &s.securityGroups }).Said(
				"the project's default"),
			keys.May("server_group", "The server group, whose policy (affinity or anti-affinity) Nova's scheduler "+
				"follows.",
				keys.Text("a server group",
					"web-apart"),
				func(s *serverDraft) *keys.At[string] { return &s.serverGroup }),
			keys.May("keypair", "The key pair that cloud-init lets in.", keys.Text("a key pair", "operators"),
				func(s *serverDraft) *keys.At[string] { return &s.keyPair }),
			keys.May("zone", "The availability zone.", keys.Text("an availability zone", "nova"),
				func(s *serverDraft) *keys.At[string] { return &s.zone }),
			keys.May("boot_volume", "Boot from a volume of this size with the image on it, not from a disk of the "+
				"flavor's. It goes with the instance.", bootVolumeShape(),
				func(s *serverDraft) *keys.At[bootVolumeDraft] { return &s.bootVolume }).Said("the flavor's disk"),
			keys.May("volume_zone", "The availability zone of the volumes that are kept (`disks` with a size), where "+
				"Cinder has zones of its own.",
				keys.Text("an availability zone", "nova"),
				func(s *serverDraft) *keys.At[string] { return &s.volumeZone }).Said("Cinder's choice"),
			keys.Or("config_drive", false, "Give user data and metadata by a drive, too.", keys.Boolean(),
				func(s *serverDraft) *keys.At[bool] { return &s.configDrive }),
		},
		Later: map[string]string{
			"volume": "write boot_volume: 20GiB", "volumes": "write template.disks: {data: {size: 20GiB}}",
		},
	}
}

func bootVolumeShape() keys.Shorthand[bootVolumeDraft, uint64] {
	return keys.Shorthand[bootVolumeDraft, uint64]{
		Short: keys.Size(1<<30, 1<<50),
		Long: keys.Object[bootVolumeDraft]{Fields: []keys.Field[bootVolumeDraft]{
			keys.Must("size", "20GiB", "Its size.", keys.Size(1<<30, 1<<50),
				func(b *bootVolumeDraft) *keys.At[uint64] { return &b.size }),
			keys.May("type", "The type of volume.", keys.Text("a type of volume", "ssd"),
				func(b *bootVolumeDraft) *keys.At[string] { return &b.made }).Said("Cinder's default"),
		}},
		Take: func(size keys.At[uint64]) bootVolumeDraft { return bootVolumeDraft{size: size} },
	}
}
