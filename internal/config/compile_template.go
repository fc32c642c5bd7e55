package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"hale/internal/fleet"
	"hale/internal/keys"
)

func (c *fleetCompiler) template() fleet.Template {
	d := c.draft.template.Value
	c.source()
	t := fleet.Template{
		Image: resolve(d.image), Kernel: resolve(d.kernel), Initrd: resolve(d.initrd), Cmdline: d.cmdline.Value,
		Memory: d.memory.Value, CPUs: d.cpus.Value, Network: d.network.Value, Disks: c.disks(),
		UserData: c.content(d.userData), Seed: d.seed.Value, XML: c.content(d.xml), Accel: d.accel.Value,
		Metadata: c.metadata(), Options: c.settings(),
	}
	if c.providerIs(ProviderExec) { // what it means by an image is its own business
		t.Image = d.image.Value
	}
	c.execTemplate()
	c.goTemplate(t.XML)
	if t.Server = c.server(); c.providerIs(ProviderOpenStack) {
		t.Image, t.Memory, t.CPUs, t.Accel = d.image.Value, 0, 0, "" // a name, and what the flavor says
	}
	if c.providerIs(ProviderVSphere) {
		return c.cloned(t)
	}
	return t
}

// source reports a template that is built from nothing, from half of something, or from several things.
func (c *fleetCompiler) source() {
	t := c.draft.template
	d := t.Value
	var sources []keys.Spot
	for _, s := range []keys.At[string]{d.image, d.kernel} {
		if s.Written() {
			sources = append(sources, s.Spot)
		}
	}
	if d.xml.Written() {
		sources = append(sources, d.xml.Spot)
	}
	switch {
	case len(sources) > 1:
		c.Add(sources[1], "is a second thing to build from", "write one of image, kernel and xml")
	case len(sources) == 1 || d.initrd.Written() || !c.builds() || c.providerIs(ProviderOpenStack):
	case !t.Written():
		c.Add(t.Spot, "is missing", "add template: {image: …}, or one with kernel and initrd, or with xml")
	default:
		c.Add(t.Spot, "does not say what to build from", "add image, or kernel and initrd, or xml")
	}
	if d.kernel.Written() && !d.initrd.Written() {
		c.Add(d.kernel.Spot, "comes without initrd", "add initrd")
	}
	for _, s := range []keys.At[string]{d.initrd, d.cmdline} {
		if s.Written() && !d.kernel.Written() {
			c.Add(s.Spot, "comes without kernel", "add kernel, or take it out")
		}
	}
	for _, s := range []keys.At[string]{d.image, d.kernel, d.initrd} {
		if s.Known() && !c.providerIs(ProviderExec) && strings.Contains(s.Value, "://") {
			c.Add(s.Spot, "is an address; a path is wanted", "fetch the file and write its path")
		}
	}
}

// longestDisk keeps a made disk's name within the serial number that its guest sees.
const longestDisk = 20

// builders are the providers that build machines from what a template says.
var builders = []ProviderType{ProviderLibvirt, ProviderOpenStack, ProviderVSphere}

// builds reports whether the fleet needs a template: such machines are built from one, unless they are there already.
func (c *fleetCompiler) builds() bool {
	t := c.draft.template
	return t.How != keys.Broken && slices.ContainsFunc(builders, c.providerIs) && (t.Written() || !c.selects())
}

// disks returns the template's disks, sorted by name. An image makes the disk root, which is kept unless declared.
func (c *fleetCompiler) disks() []fleet.Disk {
	d := c.draft.template.Value
	var disks []fleet.Disk
	for _, n := range d.disks.Value {
		made := n.Value.size.Written()
		switch {
		case !n.OK: // said already
		case made && d.image.Written() && n.Name == "root":
			c.Add(n.Spot, "root is made from the image and has its size", "write root: ephemeral or root: keep")
		case made && len(n.Name) > longestDisk:
			c.Add(n.Spot, fmt.Sprintf("%q is too long for a serial number", n.Name),
				fmt.Sprintf("choose a name of at most %d letters", longestDisk))
		case made:
		case d.kernel.Written():
			c.Add(n.Spot, "a machine booted from kernel and initrd has no disk but those that are made",
				"give it a size, or take it out")
		case d.image.Written() && n.Name != "root":
			c.Add(n.Spot, "an image makes only the disk root",
				"give it a size, take it out, or describe the machine by xml")
		}
		disk := fleet.Disk{Name: n.Name, Ephemeral: n.Value.kind.Value == diskEphemeral, Size: n.Value.size.Value,
			Type: n.Value.made.Value}
		if n.Value.made.Written() && !c.providerIs(ProviderOpenStack) && c.providerKnown() {
			c.Add(n.Value.made.Spot, "does not belong to the fleet's provider, which is no cloud", "take it out")
		}
		if made {
			disk.Ephemeral = !n.Value.keep.Value
		}
		disks = append(disks, disk)
	}
	if d.image.Written() && !slices.ContainsFunc(disks, func(d fleet.Disk) bool { return d.Name == "root" }) {
		disks = append(disks, fleet.Disk{Name: "root"})
	}
	slices.SortFunc(disks, func(a, b fleet.Disk) int { return strings.Compare(a.Name, b.Name) })
	return disks
}

// keepsDisks reports whether there is a disk that goes from instance to instance.
func (c *fleetCompiler) keepsDisks() bool {
	return slices.ContainsFunc(c.draft.template.Value.disks.Value, func(n keys.Named[diskDraft]) bool {
		return n.Value.size.Known() && n.Value.keep.Value
	})
}

// loss returns what is wrong with a recreate of the template; nil: it would lose nothing, or that cannot be told
// because the disks are badly declared.
func (c *fleetCompiler) loss(t fleet.Template) *keys.Flaw {
	d := c.draft.template.Value
	badly := slices.ContainsFunc(d.disks.Value, func(n keys.Named[diskDraft]) bool { return !n.OK })
	name, lost := t.DiskLost()
	switch {
	case badly || d.disks.How == keys.Broken:
		return nil
	case d.xml.Written() && !d.disks.Written():
		return keys.Flawf("declare template.disks, each ephemeral or keep ({} when there is none), or take recreate "+
			"out of the ladder",
			"recreate might lose a disk of your xml")
	case lost:
		return keys.Flawf(fmt.Sprintf("declare disks: {%s: ephemeral} or take recreate out of the ladder", name),
			"recreate would lose disk %s", name)
	}
	return nil
}

// resolve makes a path absolute; a relative one begins at the folder of the file that it is written in.
func resolve(v keys.At[string]) string {
	if !v.Known() || filepath.IsAbs(v.Value) {
		return v.Value
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(v.File), v.Value))
	if err != nil { // there is no working folder; the path stays as relative as the file's
		return filepath.Join(filepath.Dir(v.File), v.Value)
	}
	return path
}

// content returns a text, read from its file where it is not written in place.
func (c *fleetCompiler) content(v keys.At[textDraft]) string {
	if !v.Value.file.Known() || v.Value.file.How == keys.Absent {
		return v.Value.inline.Value
	}
	data, err := readRegular(resolve(v.Value.file))
	if err != nil {
		c.Add(v.Value.file.Spot, "cannot be read: "+err.Error(), "")
		return ""
	}
	return data
}

var errNoFile = errors.New("there is no such file")

// readRegular reads a text file of reasonable size. The error is one for people, without the path.
func readRegular(path string) (string, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoFile
	case errors.Is(err, fs.ErrPermission):
		return "", errors.New("permission denied")
	case err != nil:
		return "", errors.New("it is not reachable")
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", errors.New("permission denied")
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileRead+1))
	switch {
	case err != nil:
		return "", errors.New("reading failed")
	case len(data) > maxFileRead:
		return "", fmt.Errorf("it is larger than %s", keys.FormatSize(maxFileRead))
	case !utf8.Valid(data):
		return "", errors.New("it is not UTF-8 text")
	}
	return string(data), nil
}

// goTemplate reports XML that is not a Go text/template. Which functions there are is the adapter's business.
func (c *fleetCompiler) goTemplate(xml string) {
	t := parse.New("xml")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(xml, "", "", map[string]*parse.Tree{}); err != nil {
		c.Add(c.draft.template.Value.xml.Spot, "is not a Go template: "+strings.TrimPrefix(err.Error(),
			"template: xml:"), "")
	}
}
