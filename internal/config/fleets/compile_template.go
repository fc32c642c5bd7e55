package fleets

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

func (c *compiler) template() policy.Template {
	d := &c.draft.template.Value
	c.source()
	t := policy.Template{
		Image: keys.Path(d.Image), Kernel: keys.Path(d.Kernel), Initrd: keys.Path(d.Initrd), Cmdline: d.Cmdline.Value,
		Memory: d.Memory.Value, CPUs: d.CPUs.Value, Network: d.Network.Value, Disks: c.disks(),
		UserData: c.content(d.UserData), Seed: d.Seed.Value, XML: c.content(d.XML), Accel: d.Accel.Value,
		Metadata: c.metadata(),
	}
	c.goTemplate(t.XML)
	if c.known {
		c.foreignKeys(d.Seen)
	}
	if c.kind.Template.Make == nil {
		return t
	}
	return c.kind.Template.Make(kinds.Machine{Finder: c.Finder, Spot: c.draft.template.Spot, Draft: d, Common: t,
		Needed: c.builds(), Provider: c.draft.provider.Value, Settings: c.Settings}, &d.Own)
}

// foreignKeys reports keys of the template that mean nothing to the provider.
func (c *compiler) foreignKeys(written keys.Seen) {
	for _, other := range c.All.Providers {
		if other.Word != c.kind.Word {
			c.kind.Foreign(c.Finder, written, keys.Names(other.Template.Fields))
		}
	}
	for _, key := range c.kind.Without {
		spot, there := written[key]
		switch {
		case there && c.kind.Why == "":
			c.kind.NotOf(c.Finder, spot)
		case there:
			c.Add(spot, c.kind.Why, c.kind.Instead)
		}
	}
}

// source reports a template that is built from nothing, from half of something, or from several things.
func (c *compiler) source() {
	t := c.draft.template
	d := t.Value
	var sources []keys.Spot
	for _, s := range []keys.At[string]{d.Image, d.Kernel} {
		if s.Written() {
			sources = append(sources, s.Spot)
		}
	}
	if d.XML.Written() {
		sources = append(sources, d.XML.Spot)
	}
	switch {
	case len(sources) > 1:
		c.Add(sources[1], "is a second thing to build from", "write one of image, kernel and xml")
	case len(sources) == 1 || d.Initrd.Written() || !c.builds() || c.kind.Source:
	case !t.Written():
		c.Add(t.Spot, "is missing", "add template: {image: …}, or one with kernel and initrd, or with xml")
	default:
		c.Add(t.Spot, "does not say what to build from", "add image, or kernel and initrd, or xml")
	}
	if d.Kernel.Written() && !d.Initrd.Written() {
		c.Add(d.Kernel.Spot, "comes without initrd", "add initrd")
	}
	for _, s := range []keys.At[string]{d.Initrd, d.Cmdline} {
		if s.Written() && !d.Kernel.Written() {
			c.Add(s.Spot, "comes without kernel", "add kernel, or take it out")
		}
	}
	for _, s := range []keys.At[string]{d.Image, d.Kernel, d.Initrd} {
		if s.Known() && !c.kind.Images && strings.Contains(s.Value, "://") {
			c.Add(s.Spot, "is an address; a path is wanted", "fetch the file and write its path")
		}
	}
}

// longestDisk keeps a made disk's name within the serial number that its guest sees.
const longestDisk = 20

// builds reports whether the fleet needs a template: such machines are built from one, unless they are there already.
func (c *compiler) builds() bool {
	t := c.draft.template
	return t.How != keys.Broken && c.kind.Builds && (t.Written() || !c.selects())
}

// disks returns the template's disks, sorted by name. An image makes the disk root, which is kept unless declared.
func (c *compiler) disks() []policy.Disk {
	d := c.draft.template.Value
	var disks []policy.Disk
	for _, n := range d.Disks.Value {
		made := n.Value.Size.Written()
		switch {
		case !n.OK: // said already
		case made && d.Image.Written() && n.Name == "root":
			c.Add(n.Spot, "root is made from the image and has its size", "write root: ephemeral or root: keep")
		case made && len(n.Name) > longestDisk:
			c.Add(n.Spot, fmt.Sprintf("%q is too long for a serial number", n.Name),
				fmt.Sprintf("choose a name of at most %d letters", longestDisk))
		case made:
		case d.Kernel.Written():
			c.Add(n.Spot, "a machine booted from kernel and initrd has no disk but those that are made",
				"give it a size, or take it out")
		case d.Image.Written() && n.Name != "root":
			c.Add(n.Spot, "an image makes only the disk root",
				"give it a size, take it out, or describe the machine by xml")
		}
		disk := policy.Disk{Name: n.Name, Ephemeral: n.Value.Kind.Value == kinds.DiskEphemeral,
			Size: n.Value.Size.Value,
			Type: n.Value.Type.Value}
		if n.Value.Type.Written() && !c.kind.Volumes && c.known {
			c.Add(n.Value.Type.Spot, "does not belong to the fleet's provider, which is no cloud", "take it out")
		}
		if made {
			disk.Ephemeral = !n.Value.Keep.Value
		}
		disks = append(disks, disk)
	}
	if d.Image.Written() && !slices.ContainsFunc(disks, func(d policy.Disk) bool { return d.Name == "root" }) {
		disks = append(disks, policy.Disk{Name: "root"})
	}
	slices.SortFunc(disks, func(a, b policy.Disk) int { return strings.Compare(a.Name, b.Name) })
	return disks
}

// keepsDisks reports whether there is a disk that goes from instance to instance.
func (c *compiler) keepsDisks() bool {
	return slices.ContainsFunc(c.draft.template.Value.Disks.Value, func(n keys.Named[kinds.DiskDraft]) bool {
		return n.Value.Size.Known() && n.Value.Keep.Value
	})
}

// loss returns what is wrong with a recreate of the template; nil: it would lose nothing, or that cannot be told
// because the disks are badly declared.
func (c *compiler) loss(t policy.Template) *keys.Flaw {
	d := c.draft.template.Value
	badly := slices.ContainsFunc(d.Disks.Value, func(n keys.Named[kinds.DiskDraft]) bool { return !n.OK })
	name, lost := t.DiskLost()
	switch {
	case badly || d.Disks.How == keys.Broken:
		return nil
	case d.XML.Written() && !d.Disks.Written():
		return keys.Flawf("declare template.disks, each ephemeral or keep ({} when there is none), or take recreate "+
			"out of the ladder",
			"recreate might lose a disk of your xml")
	case lost:
		return keys.Flawf(fmt.Sprintf("declare disks: {%s: ephemeral} or take recreate out of the ladder", name),
			"recreate would lose disk %s", name)
	}
	return nil
}

// content returns a text, read from its file where it is not written in place.
func (c *compiler) content(v keys.At[kinds.TextDraft]) string {
	if !v.Value.File.Known() || v.Value.File.How == keys.Absent {
		return v.Value.Inline.Value
	}
	data, err := keys.ReadText(keys.Path(v.Value.File))
	if err != nil {
		c.Add(v.Value.File.Spot, "cannot be read: "+err.Error(), "")
		return ""
	}
	return data
}

// goTemplate reports XML that is not a Go text/template. Which functions there are is the adapter's business.
func (c *compiler) goTemplate(xml string) {
	t := parse.New("xml")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(xml, "", "", map[string]*parse.Tree{}); err != nil {
		c.Add(c.draft.template.Value.XML.Spot, "is not a Go template: "+strings.TrimPrefix(err.Error(),
			"template: xml:"), "")
	}
}
