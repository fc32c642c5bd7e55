package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/keys"
)

// List is a file that tells other programs which machines there are.
type List struct {
	Name string
	Form ListForm
	Path string // absolute
	Mode fs.FileMode
	// Fleets are those in it; nil: all.
	Fleets []fleet.Name
	// Serving leaves out machines that surely do not serve.
	Serving bool
	Port    uint16 // of Prometheus's targets
	Zone    Zone   // of the DNS
}

// Zone is a zone of the DNS. Origin, Server and Mail are full names that end in a dot.
type Zone struct {
	Origin, Server, Mail string
	TTL                  time.Duration
}

// ListForm is what is written.
type ListForm string

// The forms.
const (
	ListPrometheus ListForm = "prometheus"
	ListJSON       ListForm = "json"
	ListZone       ListForm = "zone"
)

type listDraft struct {
	prometheus keys.At[targetsDraft]
	json       keys.At[jsonDraft]
	zone       keys.At[zoneDraft]
	fleets     keys.At[[]keys.At[string]]
	which      keys.At[listed]
	mode       keys.At[string]
}

type (
	targetsDraft struct {
		path keys.At[string]
		port keys.At[int]
	}
	jsonDraft struct{ path keys.At[string] }
	zoneDraft struct {
		path, origin, server, mail keys.At[string]
		ttl                        keys.At[time.Duration]
	}
)

// listed is which machines are in a list.
type listed string

const (
	listedAll     listed = "all"
	listedServing listed = "serving"
)

func discoveryShape() keys.Mapping[listDraft] {
	path := func(example string) keys.Scalar[string] { return keys.Text("a path", example) }
	name := keys.Text
	return keys.Mapping[listDraft]{Key: "LIST", Each: keys.Object[listDraft]{Fields: []keys.Field[listDraft]{
		keys.May("prometheus",
			"A list has one of prometheus, json and zone. Targets for Prometheus's `file_sd_configs`, "+
				"each with labels `__meta_hale_…`. Over HTTP, hale's API has the same at `/v1/discovery/prometheus`.",
			keys.Object[targetsDraft]{Fields: []keys.Field[targetsDraft]{
				keys.Must("path", "/var/lib/hale-lists/web.json",
					"The file. Its folder must be one in which hale may make "+
						"files.", path("/var/lib/hale-lists/web.json"),
					func(d *targetsDraft) *keys.At[string] { return &d.path }),
				keys.Must("port", "9100", "At which port the machines are scraped.", keys.Integer(1, 65535),
					func(d *targetsDraft) *keys.At[int] { return &d.port }),
			}}, func(d *listDraft) *keys.At[targetsDraft] { return &d.prometheus }),
		keys.May("json", "The machines as plain JSON.", keys.Object[jsonDraft]{Fields: []keys.Field[jsonDraft]{
			keys.Must("path", "/var/lib/hale-lists/machines.json", "The file.",
				path("/var/lib/hale-lists/machines.json"),
				func(d *jsonDraft) *keys.At[string] { return &d.path }),
		}}, func(d *listDraft) *keys.At[jsonDraft] { return &d.json }),
		keys.May("zone", "A zone file of the DNS: each machine under its name, and all of a fleet under the fleet's.",
			keys.Object[zoneDraft]{Fields: []keys.Field[zoneDraft]{
				keys.Must("path", "/var/lib/hale-lists/zone", "The file.", path("/var/lib/hale-lists/zone"),
					func(d *zoneDraft) *keys.At[string] { return &d.path }),
				keys.Must("origin", "vms.example.org", "The zone's name.", name("a name of the DNS", "vms.example.org"),
					func(d *zoneDraft) *keys.At[string] { return &d.origin }),
				keys.Must("server", "ns1.example.org", "Its name server, which lies outside of it.",
					name("a name of the DNS", "ns1.example.org"),
					func(d *zoneDraft) *keys.At[string] { return &d.server }),
				keys.May("mail", "Who looks after it, as zones have it: with a dot in place of the @.",
					name("a name of the DNS", "hostmaster.example.org"),
					func(d *zoneDraft) *keys.At[string] { return &d.mail }).Said("hostmaster in the zone"),
				keys.Or("ttl", 30*time.Second, "How long an answer may be kept.",
					keys.Duration(time.Second, 24*time.Hour),
					func(d *zoneDraft) *keys.At[time.Duration] { return &d.ttl }),
			}}, func(d *listDraft) *keys.At[zoneDraft] { return &d.zone }),
		keys.May("fleets", "Whose machines are in it.", keys.List[string]{Noun: "one fleet", Each: keys.Name()},
			func(d *listDraft) *keys.At[[]keys.At[string]] { return &d.fleets }).Said("those of all fleets"),
		keys.May("which",
			"`all` machines with an address, or only those that are `serving`: all but those that surely do "+
				"not, by their health or as they are in repair or about to leave.",
			keys.Choice(nil, listedAll, listedServing), func(d *listDraft) *keys.At[listed] { return &d.which }).
			Said("serving in a zone, else all"),
		keys.Or("mode", "0644", "The file's permissions.", octal(),
			func(d *listDraft) *keys.At[string] { return &d.mode }),
	}}}
}

// octal is a file's permissions.
func octal() keys.Scalar[string] {
	return keys.Scalar[string]{
		Noun: "permissions", Example: `"0644"`, Forms: []keys.Form{keys.FormText, keys.FormNumber},
		Parse: func(text string) (string, *keys.Flaw) {
			if !regexp.MustCompile("^0[0-7]{3}$").MatchString(text) {
				return "", keys.Flawf(`write for example "0644"`, "%q is no permissions of a file", text)
			}
			return text, nil
		},
		Format: func(s string) any { return s },
		JSON:   keys.Schema{Type: "string", Pattern: "^0[0-7]{3}$", Noun: "permissions"},
	}
}

// compileDiscovery judges the lists.
func compileDiscovery(drafts []keys.Named[listDraft], fleets []string, f *keys.Finder) []List {
	var out []List
	taken := map[string]string{}
	for _, n := range drafts {
		l := listOf(n, f)
		l.Fleets = listedFleets(n.Value.fleets, fleets, f)
		if other, twice := taken[l.Path]; twice && l.Path != "" {
			f.Add(n.Spot, "has the same file as "+other, "give each list a file of its own")
		}
		taken[l.Path] = n.Name
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b List) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func listOf(n keys.Named[listDraft], f *keys.Finder) List {
	d := n.Value
	l := List{Name: n.Name, Serving: d.which.Value == listedServing}
	if mode, err := strconv.ParseUint(d.mode.Value, 8, 32); err == nil {
		l.Mode = fs.FileMode(mode)
	}
	var forms []ListForm
	if d.prometheus.Written() {
		forms = append(forms, ListPrometheus)
		l.Path, l.Port = keys.Path(d.prometheus.Value.path),
			uint16(d.prometheus.Value.port.Value) //nolint:gosec // bounded
	}
	if d.json.Written() {
		forms = append(forms, ListJSON)
		l.Path = keys.Path(d.json.Value.path)
	}
	if d.zone.Written() {
		forms = append(forms, ListZone)
		l.Path, l.Zone = keys.Path(d.zone.Value.path), zoneOf(d.zone.Value, f)
		l.Serving = l.Serving || !d.which.Written()
	}
	switch {
	case len(forms) == 0 && n.OK:
		f.Add(n.Spot, "does not say what to write", "add one of prometheus: {…}, json: {…} and zone: {…}")
	case len(forms) > 1:
		f.Add(n.Spot, fmt.Sprintf("is both %s and %s", forms[0], forms[1]), "make it two lists")
	}
	l.Form = cmp.Or(forms...)
	return l
}

func zoneOf(d zoneDraft, f *keys.Finder) Zone {
	z := Zone{TTL: d.ttl.Value, Origin: absolute(d.origin, f), Server: absolute(d.server, f), Mail: absolute(d.mail, f)}
	if z.Mail == "" {
		z.Mail = "hostmaster." + z.Origin
	}
	if d.server.Given() && d.origin.Given() && strings.HasSuffix("."+z.Server, "."+z.Origin) {
		f.Add(d.server.Spot, "lies in the zone, which has no address for it", "name a server outside of "+z.Origin)
	}
	return z
}

// domainName is a name of the DNS, with or without the last dot.
var domainName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.?$`)

// absolute is the name with the last dot.
func absolute(name keys.At[string], f *keys.Finder) string {
	if !name.Given() {
		return ""
	}
	if !domainName.MatchString(name.Value) {
		f.Add(name.Spot, fmt.Sprintf("%q is no name of the DNS", name.Value), "write for example vms.example.org")
	}
	return strings.TrimSuffix(name.Value, ".") + "."
}

func listedFleets(d keys.At[[]keys.At[string]], fleets []string, f *keys.Finder) []fleet.Name {
	var out []fleet.Name
	for _, name := range d.Value {
		if name.Known() && !slices.Contains(fleets, name.Value) {
			f.Add(name.Spot, "there is no fleet "+name.Value,
				cmp.Or(keys.DidYouMean(name.Value, fleets), "add it under fleets"))
		}
		out = append(out, fleet.Name(name.Value))
	}
	return out
}
