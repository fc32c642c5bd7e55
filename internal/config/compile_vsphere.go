package config

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"hale/internal/fleet"
	"hale/internal/keys"
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
func compileVCenter(n keys.Named[providerDraft], f *keys.Finder) (VCenter, []Host) {
	if !n.Value.vcenter.Written() {
		f.Add(n.Under("vcenter"), "is missing", "add vcenter: {url: …, user: …, password: {file: …}, datacenter: …}")
		return VCenter{}, nil
	}
	d := n.Value.vcenter.Value
	secretAt(f, d.password) // finds what is wrong with it
	v := VCenter{
		URL: d.url.Value, User: d.user.Value, PasswordFile: resolve(d.password.Value.file),
		PasswordEnv: d.password.Value.env.Value, CA: resolve(d.ca),
		Thumbprint: strings.ToUpper(d.thumbprint.Value), Insecure: d.insecure.Value, Datacenter: d.datacenter.Value,
		Cluster: d.cluster.Value,
		Folder:  d.folder.Value, Pool: d.pool.Value, Datastore: d.datastore.Value, AntiAffinity: d.antiAffinity.Value,
	}
	vcenterURL(d.url, f)
	for _, path := range []keys.At[string]{d.datacenter, d.cluster, d.folder, d.pool, d.datastore} {
		if path.Known() && (strings.HasPrefix(path.Value, "/") || strings.HasSuffix(path.Value, "/")) {
			f.Add(path.Spot, "begins or ends with a slash", "write folder/name")
		}
	}
	switch {
	case d.thumbprint.Given() && !thumbprintLike.MatchString(v.Thumbprint):
		f.Add(d.thumbprint.Spot, "is no thumbprint",
			"write the 32 bytes of the SHA-256 in hex, with colons between them")
	case d.insecure.Value && (d.thumbprint.Written() || d.ca.Written()):
		f.Add(d.insecure.Spot, "believes any certificate, whatever ca and thumbprint say", "take it out")
	}
	if d.pool.Written() && !d.cluster.Written() {
		f.Add(d.pool.Spot, "comes without its cluster", "add cluster")
	}
	if d.ca.Given() {
		if _, err := os.Stat(v.CA); err != nil {
			f.Add(d.ca.Spot, "is a file that is not there, or may not be read", "write its path")
		}
	}
	var hosts []Host
	for _, h := range d.hosts.Value {
		l := h.Value
		hosts = append(hosts, Host{Name: fleet.HostName(h.Name), Place: fleet.Place{
			Rack: l.rack.Value, Room: l.room.Value, Zone: l.zone.Value, Storage: l.storage.Value}})
	}
	slices.SortFunc(hosts, func(a, b Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return v, hosts
}

// vcenterURL judges the address. What was written is not repeated, since a password might be in it.
func vcenterURL(v keys.At[string], f *keys.Finder) {
	if !v.Given() {
		return
	}
	const form = "write https://vcenter.example.org"
	u, err := url.Parse(v.Value)
	switch {
	case err != nil, u.Host == "", u.RawQuery != "", u.Fragment != "":
		f.Add(v.Spot, "is not vCenter's address", form)
	case u.User != nil:
		f.Add(v.Spot, "holds a user name or a password", "write user, and password: {file: PATH}")
	case u.Scheme != "https":
		f.Add(v.Spot, fmt.Sprintf("%s is not spoken", u.Scheme), form)
	}
}

// cloned judges a template that vCenter clones, and returns what is cloned: sizes that are not written are the
// template's own.
func (c *fleetCompiler) cloned(t fleet.Template) fleet.Template {
	d := c.draft.template.Value
	other := func(s keys.Spot, written bool) {
		if written {
			c.Add(s, "does not belong to a machine of vSphere, which is cloned from a template",
				"take it out, and name the template by image")
		}
	}
	for _, s := range []keys.At[string]{d.kernel, d.initrd, d.cmdline} {
		other(s.Spot, s.Written())
	}
	other(d.xml.Spot, d.xml.Written())
	other(d.accel.Spot, d.accel.Written())
	if d.memory.Given() && d.memory.Value%(4<<20) != 0 {
		c.Add(d.memory.Spot, "is no multiple of 4MiB, as vCenter wants it", "round it")
	}
	if i := slices.IndexFunc(c.drafts,
		func(p keys.Named[providerDraft]) bool { return p.Name == c.draft.provider.Value }); i >= 0 {
		for _, n := range d.disks.Value {
			if n.Value.size.Written() && !c.drafts[i].Value.vcenter.Value.datastore.Written() {
				c.Add(n.Spot, "is made by hale, and nobody says where",
					fmt.Sprintf("add providers.%s.vcenter.datastore", c.drafts[i].Name))
			}
		}
	}
	t.Image, t.Accel = d.image.Value, ""
	if !d.memory.Written() {
		t.Memory = 0
	}
	if !d.cpus.Written() {
		t.CPUs = 0
	}
	if !d.network.Written() {
		t.Network = ""
	}
	return t
}
