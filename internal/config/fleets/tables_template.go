package fleets

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

func templateShape(all kinds.All) keys.Object[kinds.TemplateDraft] {
	var own []keys.Field[keys.Own]
	for _, k := range all.Providers {
		own = append(own, k.Template.Fields...)
	}
	return keys.Object[kinds.TemplateDraft]{Fields: append([]keys.Field[kinds.TemplateDraft]{
		keys.May("image", "A qcow2 base image; each instance gets an overlay of its own. A template has one of "+
			"image, kernel and xml. Relative paths begin at the folder of this file. In a cloud: the image's name or "+
			"id. On vSphere: the path of a template below the datacenter's folder of machines.", keys.Text("a path",
			"web.qcow2"),
			func(t *kinds.TemplateDraft) *keys.At[string] { return &t.Image }),
		keys.May("kernel", "Direct boot of this kernel, together with initrd; the machine has no disk.",
			keys.Text("a path", "vmlinuz"),
			func(t *kinds.TemplateDraft) *keys.At[string] { return &t.Kernel }),
		keys.May("initrd", "The initial RAM disk for kernel.", keys.Text("a path", "initrd.img"),
			func(t *kinds.TemplateDraft) *keys.At[string] { return &t.Initrd }),
		keys.May("cmdline", "The command line for kernel.", keys.Text("a kernel command line", "console=ttyS0"),
			func(t *kinds.TemplateDraft) *keys.At[string] { return &t.Cmdline }),
		keys.Or("memory", defaultMemory, "Main memory. On vSphere, without it: the template's.",
			keys.Size(16<<20, 16<<40),
			func(t *kinds.TemplateDraft) *keys.At[uint64] { return &t.Memory }),
		keys.Or("cpus", defaultCPUs, "Virtual processors. On vSphere, without it: the template's.",
			keys.Integer(1, 1024),
			func(t *kinds.TemplateDraft) *keys.At[int] { return &t.CPUs }),
		keys.Or("network", defaultNetwork, "The provider's network that the machine is attached to. On vSphere, "+
			"without it: the template's.", keys.Text("a network's name", "default"),
			func(t *kinds.TemplateDraft) *keys.At[string] { return &t.Network }),
		keys.May("disks", "The disks, by name. `root` is the one made from image; with xml, name those that it has, "+
			"or {} when there is none. `ephemeral`: it is lost in a recreate. `keep`: it may not be lost, which "+
			"forbids the recreate. With a size, the disk is made for the machine, and attached to each of its "+
			"instances in turn.", keys.Mapping[kinds.DiskDraft]{
			Key: "DISK", Each: diskShape(),
		}, func(t *kinds.TemplateDraft) *keys.At[[]keys.Named[kinds.DiskDraft]] { return &t.Disks }).Said(
			"root: keep, with an image"),
		keys.May("user_data", "cloud-init user data, given to the machine as a NoCloud seed: the text, or `{file: "+
			"PATH}`. Put no secrets here; `{heartbeat.CHECK}` becomes the machine's own token of a heartbeat check "+
			"with a `secret`.", textShape("user data", "seed.yaml"),
			func(t *kinds.TemplateDraft) *keys.At[kinds.TextDraft] { return &t.UserData }),
		keys.Or("seed", false, "Add a NoCloud seed, which sets the host name, also without user_data.", keys.Boolean(),
			func(t *kinds.TemplateDraft) *keys.At[bool] { return &t.Seed }),
		keys.May("xml", "Your own libvirt domain, a Go text/template: the text, or `{file: PATH}`.",
			textShape("domain XML",
				"web.xml"),
			func(t *kinds.TemplateDraft) *keys.At[kinds.TextDraft] { return &t.XML }),
		keys.Or("accel", defaultAccel, "`auto`: KVM where the processor really has it, emulation elsewhere.",
			keys.Choice(nil, policy.AccelAuto, policy.AccelKVM, policy.AccelTCG),
			func(t *kinds.TemplateDraft) *keys.At[policy.Accel] { return &t.Accel }),
		keys.May("metadata", "Texts that each instance bears at its provider, by keys, for `{meta.KEY}` in programs "+
			"and for people. Put no secrets here.",
			keys.Mapping[string]{Key: "KEY", Names: metadataKeys, Each: keys.Text("a text", "database")},
			func(t *kinds.TemplateDraft) *keys.At[[]keys.Named[string]] { return &t.Metadata }),
	}, keys.Within(own, func(t *kinds.TemplateDraft) *keys.Own { return &t.Own })...)}
}

func diskShape() keys.Shorthand[kinds.DiskDraft, kinds.DiskKind] {
	return keys.Shorthand[kinds.DiskDraft, kinds.DiskKind]{
		Short: keys.Choice(nil, kinds.DiskEphemeral, kinds.DiskKeep),
		Long: keys.Object[kinds.DiskDraft]{Fields: []keys.Field[kinds.DiskDraft]{
			keys.Must("size", "1GiB", "Make an empty disk of this size. The guest finds it by its serial number, "+
				"which is the disk's name; with xml, `{{.Disks.DISK}}` is its path.", keys.Size(1<<20, 1<<50),
				func(d *kinds.DiskDraft) *keys.At[uint64] { return &d.Size }),
			keys.Or("keep", true, "Whether it outlives the instances: the next one gets the very same disk. It is "+
				"made once, and never removed by hale.",
				keys.Boolean(), func(d *kinds.DiskDraft) *keys.At[bool] { return &d.Keep }),
			keys.May("type", "openstack only: the type of volume that it is made as.", keys.Text("a type of volume",
				"ssd"), func(d *kinds.DiskDraft) *keys.At[string] { return &d.Type }).
				Said("Cinder's default"),
		}},
		Take: func(kind keys.At[kinds.DiskKind]) kinds.DiskDraft { return kinds.DiskDraft{Kind: kind} },
	}
}

func textShape(noun, file string) keys.Shorthand[kinds.TextDraft, string] {
	return keys.Shorthand[kinds.TextDraft, string]{
		Short: keys.Text(noun, "{file: "+file+"}"),
		Long: keys.Object[kinds.TextDraft]{Fields: []keys.Field[kinds.TextDraft]{
			keys.Must("file", file, "The file that holds the text.", keys.Text("a path", file),
				func(t *kinds.TextDraft) *keys.At[string] { return &t.File }),
		}},
		Take: func(inline keys.At[string]) kinds.TextDraft { return kinds.TextDraft{Inline: inline} },
	}
}
