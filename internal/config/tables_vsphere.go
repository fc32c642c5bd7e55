package config

// The keys of a provider of type vsphere.

// vcenterDraft is which vCenter is meant, and where in it.
type vcenterDraft struct {
	url, user                   at[string]
	password                    at[secretDraft]
	ca, thumbprint              at[string]
	insecure                    at[bool]
	datacenter, cluster, folder at[string]
	pool, datastore             at[string]
	antiAffinity                at[bool]
	hosts                       at[[]named[labelsDraft]]
}

// labelsDraft is where a host stands that the provider itself knows.
type labelsDraft struct {
	rack, room, zone, storage at[string]
}

func vcenterShape() object[vcenterDraft] {
	return object[vcenterDraft]{fields: []field[vcenterDraft]{
		must("url", "https://vcenter.example.org", "vCenter's address.", text("an address",
			"https://vcenter.example.org"),
			func(v *vcenterDraft) *at[string] { return &v.url }),
		must("user", "hale@vsphere.local",
			"Who hale is there. Which rights it takes is in [the guide](../guide/vsphere.md).",
			text("a user", "hale@vsphere.local"), func(v *vcenterDraft) *at[string] { return &v.user }),
		must("password", "{file: /run/secrets/vcenter}", "The password: `{file: PATH}` or `{env: NAME}`, never the "+
			"password itself. It is read at each login.", secretShape(),
			func(v *vcenterDraft) *at[secretDraft] { return &v.password }),
		may("ca", "A file with the certificates of the authorities that vCenter's must come from, in PEM. Relative "+
			"paths begin at the folder of this file.",
			text("a path", "vcenter-ca.pem"),
			func(v *vcenterDraft) *at[string] { return &v.ca }).said("those that the system trusts"),
		may("thumbprint", "The SHA-256 of vCenter's certificate, in hex with colons: this one is believed though "+
			"nobody signed it.", text("a thumbprint", "AB:CD:…"),
			func(v *vcenterDraft) *at[string] { return &v.thumbprint }),
		or("insecure", false, "Believe any certificate. Whoever is in between then has the password.", boolean(),
			func(v *vcenterDraft) *at[bool] { return &v.insecure }),
		must("datacenter", "DC1", "The datacenter, with the folders before it, if any: the provider is this one.",
			text("a datacenter",
				"DC1"),
			func(v *vcenterDraft) *at[string] { return &v.datacenter }),
		may("cluster", "The cluster, or the lone host, whose hosts count, with the folders before it.",
			text("a cluster",
				"C1"),
			func(v *vcenterDraft) *at[string] { return &v.cluster }).said("the whole datacenter"),
		may("folder", "The folder of new machines, below the datacenter's own. vCenter lets no two of one name into "+
			"a folder, and hale counts on that: leave it as it is.",
			text("a folder", "hale"),
			func(v *vcenterDraft) *at[string] { return &v.folder }).said("the datacenter's own"),
		may("resource_pool", "The resource pool of new machines, below the cluster's own; needs cluster.",
			text("a resource pool",
				"web"),
			func(v *vcenterDraft) *at[string] { return &v.pool }).said("the cluster's own"),
		may("datastore", "The datastore of new machines, with the folders before it. Disks that outlive their "+
			"machines need it.", text("a datastore", "nas1"),
			func(v *vcenterDraft) *at[string] { return &v.datastore }).said("that of the template"),
		or("anti_affinity", false, "Have DRS keep the machines of each fleet on different hosts, by a rule of hale's "+
			"for each. Where hale builds them is said by fleets.FLEET.placement.", boolean(),
			func(v *vcenterDraft) *at[bool] { return &v.antiAffinity }),
		may("hosts", "Where hosts stand, by the names that vCenter has for them. It knows their cluster, which is "+
			"their zone unless you say otherwise, and their datastores.",
			mapping[labelsDraft]{key: "HOST", each: labelsShape(), names: keyForm{noun: "the name of a host",
				pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$"}},
			func(v *vcenterDraft) *at[[]named[labelsDraft]] { return &v.hosts }).said("not known"),
	}}
}

func labelsShape() object[labelsDraft] {
	return object[labelsDraft]{fields: []field[labelsDraft]{
		may("rack", "The rack that it stands in.", text("a rack", "r1"),
			func(l *labelsDraft) *at[string] { return &l.rack }),
		may("room", "The room.", text("a room", "m1"), func(l *labelsDraft) *at[string] { return &l.room }),
		may("zone", "The zone.", text("a zone", "z1"),
			func(l *labelsDraft) *at[string] { return &l.zone }).said("its cluster"),
		may("storage", "What its machines' disks lie on, where several hosts share it.", text("a storage", "nas1"),
			func(l *labelsDraft) *at[string] { return &l.storage }).said("the datastore, where several hosts have it"),
	}}
}
