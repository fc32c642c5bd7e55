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
)

func (c *fleetCompiler) template() fleet.Template {
	d := c.draft.template.value
	c.source()
	t := fleet.Template{
		Image: resolve(d.image), Kernel: resolve(d.kernel), Initrd: resolve(d.initrd), Cmdline: d.cmdline.value,
		Memory: d.memory.value, CPUs: d.cpus.value, Network: d.network.value, Disks: c.disks(),
		UserData: c.content(d.userData), Seed: d.seed.value, XML: c.content(d.xml), Accel: d.accel.value,
		Metadata: c.metadata(), Options: c.settings(),
	}
	if c.providerIs(ProviderExec) { // what it means by an image is its own business
		t.Image = d.image.value
	}
	c.execTemplate()
	c.goTemplate(t.XML)
	if t.Server = c.server(); c.providerIs(ProviderOpenStack) {
		t.Image, t.Memory, t.CPUs, t.Accel = d.image.value, 0, 0, "" // a name, and what the flavor says
	}
	if c.providerIs(ProviderVSphere) {
		return c.cloned(t)
	}
	return t
}

// source reports a template that is built from nothing, from half of something, or from several things.
func (c *fleetCompiler) source() {
	t := c.draft.template
	d := t.value
	var sources []spot
	for _, s := range []at[string]{d.image, d.kernel} {
		if s.written() {
			sources = append(sources, s.spot)
		}
	}
	if d.xml.written() {
		sources = append(sources, d.xml.spot)
	}
	switch {
	case len(sources) > 1:
		c.add(sources[1], "is a second thing to build from", "write one of image, kernel and xml")
	case len(sources) == 1 || d.initrd.written() || !c.builds() || c.providerIs(ProviderOpenStack):
	case !t.written():
		c.add(t.spot, "is missing", "add template: {image: …}, or one with kernel and initrd, or with xml")
	default:
		c.add(t.spot, "does not say what to build from", "add image, or kernel and initrd, or xml")
	}
	if d.kernel.written() && !d.initrd.written() {
		c.add(d.kernel.spot, "comes without initrd", "add initrd")
	}
	for _, s := range []at[string]{d.initrd, d.cmdline} {
		if s.written() && !d.kernel.written() {
			c.add(s.spot, "comes without kernel", "add kernel, or take it out")
		}
	}
	for _, s := range []at[string]{d.image, d.kernel, d.initrd} {
		if s.known() && !c.providerIs(ProviderExec) && strings.Contains(s.value, "://") {
			c.add(s.spot, "is an address; a path is wanted", "fetch the file and write its path")
		}
	}
}

// longestDisk keeps a made disk's name within the serial number that its guest sees.
const longestDisk = 20

// builders are the providers whose machines are built from what a template says.
var builders = []ProviderType{ProviderLibvirt, ProviderOpenStack, ProviderVSphere}

// builds reports whether the fleet needs a template: such machines are built from one, unless they are there already.
func (c *fleetCompiler) builds() bool {
	t := c.draft.template
	return t.how != broken && slices.ContainsFunc(builders, c.providerIs) && (t.written() || !c.selects())
}

// disks returns the template's disks, sorted by name. An image makes the disk root, which is kept unless declared.
func (c *fleetCompiler) disks() []fleet.Disk {
	d := c.draft.template.value
	var disks []fleet.Disk
	for _, n := range d.disks.value {
		made := n.value.size.written()
		switch {
		case !n.ok: // said already
		case made && d.image.written() && n.name == "root":
			c.add(n.spot, "root is made from the image and has its size", "write root: ephemeral or root: keep")
		case made && len(n.name) > longestDisk:
			c.add(n.spot, fmt.Sprintf("%q is too long for a serial number", n.name),
				fmt.Sprintf("choose a name of at most %d letters", longestDisk))
		case made:
		case d.kernel.written():
			c.add(n.spot, "a machine booted from kernel and initrd has no disk but those that are made",
				"give it a size, or take it out")
		case d.image.written() && n.name != "root":
			c.add(n.spot, "an image makes only the disk root",
				"give it a size, take it out, or describe the machine by xml")
		}
		disk := fleet.Disk{Name: n.name, Ephemeral: n.value.kind.value == diskEphemeral, Size: n.value.size.value,
			Type: n.value.made.value}
		if n.value.made.written() && !c.providerIs(ProviderOpenStack) && c.providerKnown() {
			c.add(n.value.made.spot, "does not belong to the fleet's provider, which is no cloud", "take it out")
		}
		if made {
			disk.Ephemeral = !n.value.keep.value
		}
		disks = append(disks, disk)
	}
	if d.image.written() && !slices.ContainsFunc(disks, func(d fleet.Disk) bool { return d.Name == "root" }) {
		disks = append(disks, fleet.Disk{Name: "root"})
	}
	slices.SortFunc(disks, func(a, b fleet.Disk) int { return strings.Compare(a.Name, b.Name) })
	return disks
}

// keepsDisks reports whether there is a disk that goes from instance to instance.
func (c *fleetCompiler) keepsDisks() bool {
	return slices.ContainsFunc(c.draft.template.value.disks.value, func(n named[diskDraft]) bool {
		return n.value.size.known() && n.value.keep.value
	})
}

// loss returns what is wrong with a recreate of the template; nil: it would lose nothing, or nobody can tell because
// the disks are badly declared.
func (c *fleetCompiler) loss(t fleet.Template) *flaw {
	d := c.draft.template.value
	badly := slices.ContainsFunc(d.disks.value, func(n named[diskDraft]) bool { return !n.ok })
	name, lost := t.DiskLost()
	switch {
	case badly || d.disks.how == broken:
		return nil
	case d.xml.written() && !d.disks.written():
		return flawf("declare template.disks, each ephemeral or keep ({} when there is none), or take recreate out "+
			"of the ladder",
			"recreate might lose a disk of your xml")
	case lost:
		return flawf(fmt.Sprintf("declare disks: {%s: ephemeral} or take recreate out of the ladder", name),
			"recreate would lose disk %s", name)
	}
	return nil
}

// resolve makes a path absolute; a relative one begins at the folder of the file that it is written in.
func resolve(v at[string]) string {
	if !v.known() || filepath.IsAbs(v.value) {
		return v.value
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(v.file), v.value))
	if err != nil { // there is no working folder; the path stays as relative as the file's
		return filepath.Join(filepath.Dir(v.file), v.value)
	}
	return path
}

// content returns a text, read from its file where it is not written in place.
func (c *fleetCompiler) content(v at[textDraft]) string {
	if !v.value.file.known() || v.value.file.how == absent {
		return v.value.inline.value
	}
	data, err := readRegular(resolve(v.value.file))
	if err != nil {
		c.add(v.value.file.spot, "cannot be read: "+err.Error(), "")
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
		return "", fmt.Errorf("it is larger than %s", formatSize(maxFileRead))
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
		c.add(c.draft.template.value.xml.spot, "is not a Go template: "+strings.TrimPrefix(err.Error(),
			"template: xml:"), "")
	}
}
