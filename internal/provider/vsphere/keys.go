package vsphere

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the provider type vsphere.
func Kind() kinds.Provider {
	return kinds.Provider{
		Word: "vsphere", Doc: "for a datacenter of VMware vCenter", Central: true, Builds: true,
		Maintains: true, Usages: []policy.Usage{policy.UsageCPU, policy.UsageMemory},
		Keys: keys.Under("vcenter", "vsphere only, and needed there: which vCenter, and where in it.", vcenterShape(),
			compileKeys),
		Template: keys.SectionOf("vsphere", nil, cloned),
		Without:  []string{"kernel", "initrd", "cmdline", "xml", "accel"},
		Why:      "does not belong to a machine of vSphere, which is cloned from a template",
		Instead:  "take it out, and name the template by image",
		Stored:   kinds.StoredAs[Settings],
		Remarks: kinds.Remarks{
			"adjust":      {Has: "memory and processors while it is off; metadata at once"},
			"rebuild":     {Has: "where the template has one disk"},
			"soft-reboot": {Has: "by VMware Tools in the guest"},
			"migrate":     {Lacks: "DRS moves machines, and hale follows"},
			"evacuate":    {Lacks: "vSphere HA restarts machines elsewhere, and hale follows"},
			"rescue":      {Lacks: "vSphere has no such mode"},
			"revert":      {Lacks: "not built: hale does not put a copy back there"},
		},
	}
}

// Settings are what the keys come to.
type Settings struct {
	VCenter `json:"VCenter"`
}

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

// SameAddress implements kinds.Settings.
func (s Settings) SameAddress(was kinds.Settings, _ kinds.Hosts) bool {
	o, ok := was.(Settings)
	return ok && s.URL == o.URL && s.Datacenter == o.Datacenter && s.Cluster == o.Cluster
}

// Connect implements kinds.Settings. The adapter logs in with the first call.
func (s Settings) Connect(_ context.Context, c kinds.Connection) (kinds.Connected, error) {
	const op = "vsphere.connect"
	o := Options{
		URL: s.URL, User: s.User, Thumbprint: s.Thumbprint, Unverified: s.Insecure, Datacenter: s.Datacenter,
		Cluster: s.Cluster, Folder: s.Folder, Pool: s.Pool, Datastore: s.Datastore, AntiAffinity: s.AntiAffinity,
		Places: c.Places(), Logger: c.Logger,
	}
	var err error
	if o.Password, err = secret.Of(fleet.Secret{File: s.PasswordFile, Env: s.PasswordEnv}); err != nil {
		return kinds.Connected{}, fault.New(fault.Invalid, op, string(c.Name), err)
	}
	if s.CA != "" {
		if o.Roots, err = roots(s.CA); err != nil {
			return kinds.Connected{}, fault.New(fault.Invalid, op, string(c.Name), err)
		}
	}
	p, err := New(o)
	if err != nil {
		return kinds.Connected{}, err
	}
	return c.Real(p, p), nil
}

// roots reads certificates in PEM.
func roots(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New(path + " holds no certificate")
	}
	return pool, nil
}

// vcenterDraft is which vCenter is meant, and where in it.
type vcenterDraft struct {
	url, user                   keys.At[string]
	password                    keys.At[keys.SecretRef]
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
			"the password itself. It is read at each login.", keys.Secret(),
			func(v *vcenterDraft) *keys.At[keys.SecretRef] { return &v.password }),
		keys.May("ca", "A file with the certificates of the authorities that vCenter's must come from, in PEM. "+
			"Relative paths begin at the folder of this file.",
			keys.Text("a path", "vcenter-ca.pem"),
			func(v *vcenterDraft) *keys.At[string] { return &v.ca }).Said("those that the system trusts"),
		keys.May("thumbprint", "The SHA-256 of vCenter's certificate, in hex with colons. hale accepts exactly this "+
			"certificate, also a self-signed one.", keys.Text("a thumbprint", "AB:CD:…"),
			func(v *vcenterDraft) *keys.At[string] { return &v.thumbprint }),
		keys.Or("insecure", false, "Accept any certificate. An attacker on the network can then read the password.",
			keys.Boolean(),
			func(v *vcenterDraft) *keys.At[bool] { return &v.insecure }),
		keys.Must("datacenter", "DC1", "The datacenter, with the folders before it, if any: the provider is this one.",
			keys.Text("a datacenter", "DC1"),
			func(v *vcenterDraft) *keys.At[string] { return &v.datacenter }),
		keys.May("cluster", "The cluster, or the lone host, with the folders before it; only its hosts count.",
			keys.Text("a cluster", "C1"),
			func(v *vcenterDraft) *keys.At[string] { return &v.cluster }).Said("the whole datacenter"),
		keys.May("folder", "The folder of new machines, below the datacenter's own. vCenter lets no two of one name "+
			"into a folder, and hale counts on that: leave it as it is.",
			keys.Text("a folder", "hale"),
			func(v *vcenterDraft) *keys.At[string] { return &v.folder }).Said("the datacenter's own"),
		keys.May("resource_pool", "The resource pool of new machines, below the cluster's own; needs cluster.",
			keys.Text("a resource pool", "web"),
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

// thumbprintLike is a SHA-256, or an older SHA-1, in hex with colons.
var thumbprintLike = regexp.MustCompile(`^([0-9A-F]{2}:){31}[0-9A-F]{2}$|^([0-9A-F]{2}:){19}[0-9A-F]{2}$`)

func compileKeys(e kinds.Entry, v keys.At[vcenterDraft]) kinds.Made {
	if !v.Written() {
		e.Add(e.Spot.Under("vcenter"), "is missing",
			"add vcenter: {url: …, user: …, password: {file: …}, datacenter: …}")
		return kinds.Made{Settings: Settings{}}
	}
	d := v.Value
	password := e.Place(d.password)
	s := Settings{VCenter{
		URL: d.url.Value, User: d.user.Value, PasswordFile: password.File, PasswordEnv: password.Env,
		CA: keys.Path(d.ca), Thumbprint: strings.ToUpper(d.thumbprint.Value), Insecure: d.insecure.Value,
		Datacenter: d.datacenter.Value, Cluster: d.cluster.Value, Folder: d.folder.Value, Pool: d.pool.Value,
		Datastore: d.datastore.Value, AntiAffinity: d.antiAffinity.Value,
	}}
	judge(e.Finder, d, s)
	var hosts []kinds.Host
	for _, h := range d.hosts.Value {
		l := h.Value
		hosts = append(hosts, kinds.Host{Name: fleet.HostName(h.Name), Place: fleet.Place{
			Rack: l.rack.Value, Room: l.room.Value, Zone: l.zone.Value, Storage: l.storage.Value}})
	}
	slices.SortFunc(hosts, func(a, b kinds.Host) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return kinds.Made{Settings: s, Hosts: hosts}
}

func judge(f *keys.Finder, d vcenterDraft, s Settings) {
	judgeURL(f, d.url)
	for _, path := range []keys.At[string]{d.datacenter, d.cluster, d.folder, d.pool, d.datastore} {
		if path.Known() && (strings.HasPrefix(path.Value, "/") || strings.HasSuffix(path.Value, "/")) {
			f.Add(path.Spot, "begins or ends with a slash", "write folder/name")
		}
	}
	switch {
	case d.thumbprint.Given() && !thumbprintLike.MatchString(s.Thumbprint):
		f.Add(d.thumbprint.Spot, "is no thumbprint",
			"write the 32 bytes of the SHA-256 in hex, with colons between them")
	case d.insecure.Value && (d.thumbprint.Written() || d.ca.Written()):
		f.Add(d.insecure.Spot, "believes any certificate, whatever ca and thumbprint say", "take it out")
	}
	if d.pool.Written() && !d.cluster.Written() {
		f.Add(d.pool.Spot, "comes without its cluster", "add cluster")
	}
	if d.ca.Given() {
		if _, err := os.Stat(s.CA); err != nil {
			f.Add(d.ca.Spot, "is a file that is not there, or may not be read", "write its path")
		}
	}
}

// judgeURL judges the address. What was written is not repeated, since a password might be in it.
func judgeURL(f *keys.Finder, v keys.At[string]) {
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
func cloned(m kinds.Machine, _ *struct{}) policy.Template {
	d, t := m.Draft, m.Common
	if d.Memory.Given() && d.Memory.Value%(4<<20) != 0 {
		m.Add(d.Memory.Spot, "is no multiple of 4MiB, as vCenter wants it", "round it")
	}
	if s, ok := m.Settings.(Settings); ok && s.Datastore == "" {
		for _, n := range d.Disks.Value {
			if n.Value.Size.Written() {
				m.Add(n.Spot, "is made by hale, and nobody says where",
					fmt.Sprintf("add providers.%s.vcenter.datastore", m.Provider))
			}
		}
	}
	t.Image, t.Accel = d.Image.Value, ""
	if !d.Memory.Written() {
		t.Memory = 0
	}
	if !d.CPUs.Written() {
		t.CPUs = 0
	}
	if !d.Network.Written() {
		t.Network = ""
	}
	return t
}
