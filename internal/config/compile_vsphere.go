package config

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"hale/internal/fleet"
)

// VCenter is a vCenter, and where in it machines are.
type VCenter struct {
	URL, User string
	// Password is in a file, or in a variable of hale's environment.
	PasswordFile, PasswordEnv string
	CA                        string // a file's absolute path; empty: the system's
	Thumbprint                string
	Insecure                  bool
	Datacenter, Cluster       string
	Folder, Pool, Datastore   string
	AntiAffinity              bool
}

// sameAddress reports whether the same machines are meant.
func (v VCenter) sameAddress(other VCenter) bool {
	return v.URL == other.URL && v.Datacenter == other.Datacenter && v.Cluster == other.Cluster
}

// thumbprintLike is a SHA-256, or an older SHA-1, in hex with colons.
var thumbprintLike = regexp.MustCompile(`^([0-9A-F]{2}:){31}[0-9A-F]{2}$|^([0-9A-F]{2}:){19}[0-9A-F]{2}$`)

// compileVCenter returns the vCenter and its hosts, as far as the file says where these stand.
func compileVCenter(n named[providerDraft], f *finder) (VCenter, []Host) {
	if !n.value.vcenter.written() {
		f.add(n.under("vcenter"), "is missing", "add vcenter: {url: …, user: …, password: {file: …}, datacenter: …}")
		return VCenter{}, nil
	}
	d := n.value.vcenter.value
	f.secret(d.password) // finds what is wrong with it
	v := VCenter{
		URL: d.url.value, User: d.user.value, PasswordFile: resolve(d.password.value.file),
		PasswordEnv: d.password.value.env.value, CA: resolve(d.ca),
		Thumbprint: strings.ToUpper(d.thumbprint.value), Insecure: d.insecure.value, Datacenter: d.datacenter.value,
		Cluster: d.cluster.value,
		Folder:  d.folder.value, Pool: d.pool.value, Datastore: d.datastore.value, AntiAffinity: d.antiAffinity.value,
	}
	vcenterURL(d.url, f)
	for _, path := range []at[string]{d.datacenter, d.cluster, d.folder, d.pool, d.datastore} {
		if path.known() && (strings.HasPrefix(path.value, "/") || strings.HasSuffix(path.value, "/")) {
			f.add(path.spot, "begins or ends with a slash", "write folder/name")
		}
	}
	switch {
	case d.thumbprint.given() && !thumbprintLike.MatchString(v.Thumbprint):
		f.add(d.thumbprint.spot, "is no thumbprint",
			"write the 32 bytes of the SHA-256 in hex, with colons between them")
	case d.insecure.value && (d.thumbprint.written() || d.ca.written()):
		f.add(d.insecure.spot, "believes any certificate, whatever ca and thumbprint say", "take it out")
	}
	if d.pool.written() && !d.cluster.written() {
		f.add(d.pool.spot, "comes without its cluster", "add cluster")
	}
	if d.ca.given() {
		if _, err := os.Stat(v.CA); err != nil {
			f.add(d.ca.spot, "is a file that is not there, or may not be read", "write its path")
		}
	}
	var hosts []Host
	for _, h := range d.hosts.value {
		l := h.value
		hosts = append(hosts, Host{Name: fleet.HostName(h.name), Place: fleet.Place{
			Rack: l.rack.value, Room: l.room.value, Zone: l.zone.value, Storage: l.storage.value}})
	}
	slices.SortFunc(hosts, func(a, b Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return v, hosts
}

// vcenterURL judges the address. What was written is not repeated, since a password might be in it.
func vcenterURL(v at[string], f *finder) {
	if !v.given() {
		return
	}
	const form = "write https://vcenter.example.org"
	u, err := url.Parse(v.value)
	switch {
	case err != nil, u.Host == "", u.RawQuery != "", u.Fragment != "":
		f.add(v.spot, "is not vCenter's address", form)
	case u.User != nil:
		f.add(v.spot, "holds a user name or a password", "write user, and password: {file: PATH}")
	case u.Scheme != "https":
		f.add(v.spot, fmt.Sprintf("%s is not spoken", u.Scheme), form)
	}
}

// cloned judges a template that vCenter clones, and returns what is cloned: sizes that nobody wrote are the template's
// own.
func (c *fleetCompiler) cloned(t fleet.Template) fleet.Template {
	d := c.draft.template.value
	other := func(s spot, written bool) {
		if written {
			c.add(s, "does not belong to a machine of vSphere, which is cloned from a template",
				"take it out, and name the template by image")
		}
	}
	for _, s := range []at[string]{d.kernel, d.initrd, d.cmdline} {
		other(s.spot, s.written())
	}
	other(d.xml.spot, d.xml.written())
	other(d.accel.spot, d.accel.written())
	if d.memory.given() && d.memory.value%(4<<20) != 0 {
		c.add(d.memory.spot, "is no multiple of 4MiB, as vCenter wants it", "round it")
	}
	if i := slices.IndexFunc(c.drafts,
		func(p named[providerDraft]) bool { return p.name == c.draft.provider.value }); i >= 0 {
		for _, n := range d.disks.value {
			if n.value.size.written() && !c.drafts[i].value.vcenter.value.datastore.written() {
				c.add(n.spot, "is made by hale, and nobody says where",
					fmt.Sprintf("add providers.%s.vcenter.datastore", c.drafts[i].name))
			}
		}
	}
	t.Image, t.Accel = d.image.value, ""
	if !d.memory.written() {
		t.Memory = 0
	}
	if !d.cpus.written() {
		t.CPUs = 0
	}
	if !d.network.written() {
		t.Network = ""
	}
	return t
}
