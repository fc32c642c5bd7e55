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
}

func cloudShape() shorthand[cloudDraft, string] {
	return shorthand[cloudDraft, string]{
		short: text("a name in clouds.yaml", "production"),
		long: object[cloudDraft]{fields: []field[cloudDraft]{
			must("name", "production", "The entry of clouds.yaml.", text("a name in clouds.yaml", "production"), func(c *cloudDraft) *at[string] { return &c.name }),
			may("file", "The file, where it is not in one of the usual places (`OS_CLIENT_CONFIG_FILE`, the working folder, `~/.config/openstack`, `/etc/openstack`). "+
				"Relative paths begin at the folder of this file.", text("a path", "clouds.yaml"), func(c *cloudDraft) *at[string] { return &c.file }),
			may("region", "The region, where it is not that of the entry.", text("a region", "RegionOne"), func(c *cloudDraft) *at[string] { return &c.region }),
		}},
		take: func(name at[string]) cloudDraft { return cloudDraft{name: name} },
	}
}

func serverShape() object[serverDraft] {
	return object[serverDraft]{
		fields: []field[serverDraft]{
			must("flavor", "m1.small", "The flavor: processors, memory and disk.", text("a flavor", "m1.small"), func(s *serverDraft) *at[string] { return &s.flavor }),
			may("networks", "Further networks, beside the template's, whose ports go with the instance.", list[string]{noun: "one network", each: text("a network", "storage")},
				func(s *serverDraft) *at[[]at[string]] { return &s.networks }).said("none"),
			or("keep_port", false, "The machine's port, and with it its address, hardware address and floating address, goes from instance to instance.", boolean(),
				func(s *serverDraft) *at[bool] { return &s.keepPort }),
			may("floating_ip", "The external network of which the machine has a floating address of its own. It is allocated with the machine's first instance, goes from instance to instance, also "+
				"without `keep_port`, and is released when the machine is removed from its fleet.", text("an external network", "public"),
				func(s *serverDraft) *at[string] { return &s.floatingIP }).said("none"),
			may("security_groups", "The security groups of the machine's port.", list[string]{noun: "one security group", each: text("a security group", "web")},
				func(s *serverDraft) *at[[]at[string]] { return &s.securityGroups }).said("the project's default"),
			may("server_group", "The server group, whose policy (affinity or anti-affinity) Nova's scheduler follows.", text("a server group", "web-apart"),
				func(s *serverDraft) *at[string] { return &s.serverGroup }),
			may("keypair", "The key pair that cloud-init lets in.", text("a key pair", "operators"), func(s *serverDraft) *at[string] { return &s.keyPair }),
			may("zone", "The availability zone.", text("an availability zone", "nova"), func(s *serverDraft) *at[string] { return &s.zone }),
			or("config_drive", false, "Give user data and metadata by a drive, too.", boolean(), func(s *serverDraft) *at[bool] { return &s.configDrive }),
		},
		later: map[string]string{
			"volume": "boot from the image", "volumes": "take it out", "boot_volume": "boot from the image",
		},
	}
}
