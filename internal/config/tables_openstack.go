package config

// The keys of a provider of type openstack, and what a template says to a cloud.

// cloudDraft is which cloud is meant.
type cloudDraft struct {
	name, file, region at[string]
}

// serverDraft is what a cloud is told of a machine, beside image, network and user data.
type serverDraft struct {
	flavor, serverGroup, keyPair, zone at[string]
	floatingIP                         at[string]
	networks, securityGroups           at[[]at[string]]
	keepPort, configDrive              at[bool]
	bootVolume                         at[bootVolumeDraft]
	volumeZone                         at[string]
}

// bootVolumeDraft is the volume that a server boots from.
type bootVolumeDraft struct {
	size at[uint64]
	made at[string] // its type
}

func cloudShape() shorthand[cloudDraft, string] {
	return shorthand[cloudDraft, string]{
		short: text("a name in clouds.yaml", "production"),
		long: object[cloudDraft]{fields: []field[cloudDraft]{
			must("name", "production", "The entry of clouds.yaml.", text("a name in clouds.yaml",
				"production"), func(c *cloudDraft) *at[string] { return &c.name }),
			may("file", "The file, where it is not in one of the usual places (`OS_CLIENT_CONFIG_FILE`, the working "+
				"folder, `~/.config/openstack`, `/etc/openstack`). Relative paths begin at the folder of this file.",
				text("a path",
					"clouds.yaml"), func(c *cloudDraft) *at[string] { return &c.file }),
			may("region", "The region, where it is not that of the entry.", text("a region",
				"RegionOne"), func(c *cloudDraft) *at[string] { return &c.region }),
		}},
		take: func(name at[string]) cloudDraft { return cloudDraft{name: name} },
	}
}

func serverShape() object[serverDraft] {
	return object[serverDraft]{
		fields: []field[serverDraft]{
			must("flavor", "m1.small", "The flavor: processors, memory and disk.", text("a flavor",
				"m1.small"), func(s *serverDraft) *at[string] { return &s.flavor }),
			may("networks", "Further networks, beside the template's, whose ports go with the instance.",
				list[string]{noun: "one network", each: text("a network",
					"storage")},
				func(s *serverDraft) *at[[]at[string]] { return &s.networks }).said("none"),
			or("keep_port", false, "The machine's port, and with it its address, hardware address and floating "+
				"address, goes from instance to instance.", boolean(),
				func(s *serverDraft) *at[bool] { return &s.keepPort }),
			may("floating_ip", "The external network of which the machine has a floating address of its own. It is "+
				"allocated with the machine's first instance, goes from instance to instance, also without "+
				"`keep_port`, and is released when the machine is removed from its fleet.", text("an external network",
				"public"),
				func(s *serverDraft) *at[string] { return &s.floatingIP }).said("none"),
			may("security_groups", "The security groups of the machine's port.",
				list[string]{noun: "one security group", each: text("a security group",
					"web")},
				func(s *serverDraft) *at[[]at[string]] { return &s.securityGroups }).said("the project's default"),
			may("server_group", "The server group, whose policy (affinity or anti-affinity) Nova's scheduler follows.",
				text("a server group",
					"web-apart"),
				func(s *serverDraft) *at[string] { return &s.serverGroup }),
			may("keypair", "The key pair that cloud-init lets in.", text("a key pair", "operators"),
				func(s *serverDraft) *at[string] { return &s.keyPair }),
			may("zone", "The availability zone.", text("an availability zone", "nova"),
				func(s *serverDraft) *at[string] { return &s.zone }),
			may("boot_volume", "Boot from a volume of this size with the image on it, not from a disk of the "+
				"flavor's. It goes with the instance.", bootVolumeShape(),
				func(s *serverDraft) *at[bootVolumeDraft] { return &s.bootVolume }).said("the flavor's disk"),
			may("volume_zone", "The availability zone of the volumes that are kept (`disks` with a size), where "+
				"Cinder has zones of its own.",
				text("an availability zone", "nova"),
				func(s *serverDraft) *at[string] { return &s.volumeZone }).said("Cinder's choice"),
			or("config_drive", false, "Give user data and metadata by a drive, too.", boolean(),
				func(s *serverDraft) *at[bool] { return &s.configDrive }),
		},
		later: map[string]string{
			"volume": "write boot_volume: 20GiB", "volumes": "write template.disks: {data: {size: 20GiB}}",
		},
	}
}

func bootVolumeShape() shorthand[bootVolumeDraft, uint64] {
	return shorthand[bootVolumeDraft, uint64]{
		short: size(1<<30, 1<<50),
		long: object[bootVolumeDraft]{fields: []field[bootVolumeDraft]{
			must("size", "20GiB", "Its size.", size(1<<30, 1<<50),
				func(b *bootVolumeDraft) *at[uint64] { return &b.size }),
			may("type", "The type of volume.", text("a type of volume", "ssd"),
				func(b *bootVolumeDraft) *at[string] { return &b.made }).said("Cinder's default"),
		}},
		take: func(size at[uint64]) bootVolumeDraft { return bootVolumeDraft{size: size} },
	}
}
