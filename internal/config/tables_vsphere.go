package config

import "hale/internal/keys"

// The keys of a provider of type vsphere.

// vcenterDraft is which vCenter is meant, and where in it.
type vcenterDraft struct {
	url, user                   keys.At[string]
	password                    keys.At[secretDraft]
	ca, thumbprint              keys.At[string]
	insecure                    keys.At[bool]
	datacenter, cluster, folder keys.At[string]
	pool, datastore             keys.At[string]
	antiAffinity                keys.At[bool]
	hosts                       keys.At[[]keys.Named[labelsDraft]]
}

// labelsDraft is where a host stands that the provider itself knows.
type labelsDraft struct {
	rack, room, zone, storage keys.At[string]
}

func vcenterShape() keys.Object[vcenterDraft] {
	return keys.Object[vcenterDraft]{Fields: []keys.Field[vcenterDraft]{
		keys.Must("url", "https://vcenter.example.org", "vCenter's address.", keys.Text("an address",
			"https://vcenter.example.org"),
			func(v *vcenterDraft) *keys.At[string] { return &v.url }),
		keys.Must("user", "hale@vsphere.local",
			"Who hale is there. Which rights it takes is in [the guide](../guide/vsphere.md).",
			keys.Text("a user", "hale@vsphere.local"), func(v *vcenterDraft) *keys.At[string] { return &v.user }),
		keys.Must("password", "{file: /run/secrets/vcenter}", "The password: `{file: PATH}` or `{env: NAME}`, never "+
			"the password itself. It is read at each login.", secretShape(),
			func(v *vcenterDraft) *keys.At[secretDraft] { return &v.password }),
		keys.May("ca", "A file with the certificates of the authorities that vCenter's must come from, in PEM. "+
			"Relative paths begin at the folder of this file.",
			keys.Text("a path", "vcenter-ca.pem"),
			func(v *vcenterDraft) *keys.At[string] { return &v.ca }).Said("those that the system trusts"),
		keys.May("thumbprint", "The SHA-256 of vCenter's certificate, in hex with colons: this one is believed though "+
			"nobody signed it.", keys.Text("a thumbprint", "AB:CD:…"),
			func(v *vcenterDraft) *keys.At[string] { return &v.thumbprint }),
		keys.Or("insecure", false, "Believe any certificate. Whoever is in between then has the password.",
			keys.Boolean(),
			func(v *vcenterDraft) *keys.At[bool] { return &v.insecure }),
		keys.Must("datacenter", "DC1", "The datacenter, with the folders before it, if any: the provider is this one.",
			keys.Text("a datacenter",
				"DC1"),
			func(v *vcenterDraft) *keys.At[string] { return &v.datacenter }),
		keys.May("cluster", "The cluster, or the lone host, whose hosts count, with the folders before it.",
			keys.Text("a cluster",
				"C1"),
			func(v *vcenterDraft) *keys.At[string] { return &v.cluster }).Said("the whole datacenter"),
		keys.May("folder", "The folder of new machines, below the datacenter's own. vCenter lets no two of one name "+
			"into a folder, and hale counts on that: leave it as it is.",
			keys.Text("a folder", "hale"),
			func(v *vcenterDraft) *keys.At[string] { return &v.folder }).Said("the datacenter's own"),
		keys.May("resource_pool", "The resource pool of new machines, below the cluster's own; needs cluster.",
			keys.Text("a resource pool",
				"web"),
			func(v *vcenterDraft) *keys.At[string] { return &v.pool }).Said("the cluster's own"),
		keys.May("datastore", "The datastore of new machines, with the folders before it. Disks that outlive their "+
			"machines need it.", keys.Text("a datastore", "nas1"),
			func(v *vcenterDraft) *keys.At[string] { return &v.datastore }).Said("that of the template"),
		keys.Or("anti_affinity", false, "Have DRS keep the machines of each fleet on different hosts, by a rule of "+
			"hale's for each. Where hale builds them is said by fleets.FLEET.placement.", keys.Boolean(),
			func(v *vcenterDraft) *keys.At[bool] { return &v.antiAffinity }),
		keys.May("hosts", "Where hosts stand, by the names that vCenter has for them. It knows their cluster, which "+
			"is their zone unless you say otherwise, and their datastores.",
			keys.Mapping[labelsDraft]{Key: "HOST", Each: labelsShape(), Names: keys.KeyForm{Noun: "the name of a host",
				Pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$"}},
			func(v *vcenterDraft) *keys.At[[]keys.Named[labelsDraft]] { return &v.hosts }).Said("not known"),
	}}
}

func labelsShape() keys.Object[labelsDraft] {
	return keys.Object[labelsDraft]{Fields: []keys.Field[labelsDraft]{
		keys.May("rack", "The rack that it stands in.", keys.Text("a rack", "r1"),
			func(l *labelsDraft) *keys.At[string] { return &l.rack }),
		keys.May("room", "The room.", keys.Text("a room", "m1"),
			func(l *labelsDraft) *keys.At[string] { return &l.room }),
		keys.May("zone", "The zone.", keys.Text("a zone", "z1"),
			func(l *labelsDraft) *keys.At[string] { return &l.zone }).Said("its cluster"),
		keys.May("storage", "What its machines' disks lie on, where several hosts share it.", keys.Text("a storage",
			"nas1"),
			func(l *labelsDraft) *keys.At[string] { return &l.storage }).Said(
			"the datastore, where several hosts have it"),
	}}
}
