package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"hale/internal/keys"
	"hale/internal/secret"
)

// Etcd is the etcd servers that keep hale's state. The zero value: hale keeps it itself, in its data folder.
type Etcd struct {
	Endpoints        []string
	Prefix           string        // of hale's keys
	CA               string        // a file in PEM form; empty: who the system trusts
	Certificate, Key string        // files in PEM form, by which hale shows who it is; empty: it does not
	User             string        // empty: none
	Password         secret.Secret // of the user
	// Listen is where the active server takes reports of those that stand by (address:port), and Advertise where those
	// reach it; empty: it takes none.
	Listen, Advertise string
}

// Used reports whether the state is in etcd servers.
func (e *Etcd) Used() bool { return len(e.Endpoints) > 0 }

// Cluster is where this server is one of hale's own cluster. The zero value: nowhere.
type Cluster struct {
	Listen    string // address:port
	Advertise string // where the other servers reach it
}

// Used reports whether the state is in a cluster of hale's own.
func (c Cluster) Used() bool { return c.Listen != "" }

type stateDraft struct {
	etcd    keys.At[etcdDraft]
	cluster keys.At[clusterDraft]
}

type clusterDraft struct{ listen, advertise keys.At[string] }

type etcdDraft struct {
	endpoints        keys.At[[]keys.At[string]]
	prefix, ca, user keys.At[string]
	reach            clusterDraft
	tls              keys.At[keyPairDraft]
	password         keys.At[keys.SecretRef]
}

const defaultPrefix = "/hale/"

func stateShape() keys.Object[stateDraft] {
	return keys.Object[stateDraft]{Fields: []keys.Field[stateDraft]{
		keys.May("cluster", "This server is one of a cluster of hale servers, three or five, which keep the state "+
			"together. `hale server init` begins one, `hale server join` joins it.", clusterShape(),
			func(s *stateDraft) *keys.At[clusterDraft] { return &s.cluster }),
		keys.May("etcd", "etcd servers, 3.4 or later. hale's keys are "+
			"below the prefix, and hale touches no others. They compact their history themselves "+
			"(--auto-compaction-retention).", etcdShape(),
			func(s *stateDraft) *keys.At[etcdDraft] { return &s.etcd }),
	}}
}

const exampleAddress = "10.0.0.1:7120"

func clusterShape() keys.Object[clusterDraft] {
	const example = exampleAddress
	return keys.Object[clusterDraft]{Fields: []keys.Field[clusterDraft]{
		keys.Must("listen", example, "The address and port for the other servers, as `10.0.0.1:7120` or `:7120`. "+
			"Everything there is TLS, and both sides show who they are.", keys.Text("an address and port", example),
			func(c *clusterDraft) *keys.At[string] { return &c.listen }),
		keys.May("advertise", "Where the other servers reach it, where that is not `listen`.",
			keys.Text("an address and port", example),
			func(c *clusterDraft) *keys.At[string] { return &c.advertise }).Said("where it listens"),
	}}
}

func compileCluster(s keys.At[stateDraft], f *keys.Finder) Cluster {
	d := s.Value.cluster.Value
	out := Cluster{Listen: d.listen.Value}
	switch {
	case s.Given() && !s.Value.cluster.Given() && !s.Value.etcd.Given():
		f.Add(s.Spot, "does not say where the state is", "write cluster: or etcd:, or take the key away: then the "+
			"state is in the data folder")
	case s.Value.cluster.Given() && s.Value.etcd.Given():
		f.Add(s.Value.cluster.Spot, "says that the state is in a cluster of hale's own, and in etcd servers, too",
			"take one of them away")
	}
	if !d.listen.Known() {
		return out
	}
	out.Advertise = reachable(d, s.Value.cluster.Spot, f)
	return out
}

// reachable returns where other servers reach this one.
func reachable(d clusterDraft, at keys.Spot, f *keys.Finder) string {
	if !hasPort(d.listen.Value) {
		f.Add(d.listen.Spot, fmt.Sprintf("%q is not an address and port", d.listen.Value), "write it as 10.0.0.1:7120")
	}
	out := d.advertise.Value
	if !d.advertise.Written() {
		out = d.listen.Value
	}
	if host, port, err := net.SplitHostPort(out); err != nil || host == "" || port == "" || port == "0" ||
		isEverywhere(host) {
		f.Add(at, fmt.Sprintf("other servers cannot reach this one at %q", out),
			"add advertise: with the address and port by which they do, as 10.0.0.1:7120")
	}
	return out
}

// isEverywhere reports whether the address stands for all of a machine's.
func isEverywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

func etcdShape() keys.Object[etcdDraft] {
	const example = "https://10.0.0.1:2379"
	return keys.Object[etcdDraft]{Fields: []keys.Field[etcdDraft]{
		keys.Must("endpoints", "[\""+example+"\"]", "Where they answer clients: all of them, so that hale goes on "+
			"when one is away.", keys.List[string]{Noun: "one address", Each: keys.Text("an address", example)},
			func(e *etcdDraft) *keys.At[[]keys.At[string]] { return &e.endpoints }),
		keys.Or("prefix", defaultPrefix, "What hale's keys begin with. Two installations have two.",
			keys.Text("the beginning of keys", defaultPrefix),
			func(e *etcdDraft) *keys.At[string] { return &e.prefix }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.",
			keys.Text("a path", "etcd-ca.pem"), func(e *etcdDraft) *keys.At[string] { return &e.ca }),
		keys.May("tls", "The certificate by which hale shows who it is.", keyPairShape(),
			func(e *etcdDraft) *keys.At[keyPairDraft] { return &e.tls }),
		keys.May("user", "The etcd user that hale signs in as. It must be able to read and write below the prefix.",
			keys.Text("a user", "hale"), func(e *etcdDraft) *keys.At[string] { return &e.user }),
		keys.May("password", "The user's password.", keys.Secret(),
			func(e *etcdDraft) *keys.At[keys.SecretRef] { return &e.password }),
		keys.May("listen", "The address and port of this server for those that stand by, as `10.0.0.1:7120`: with "+
			"`vantages`, they look at machines, too, and report there. Everything there is TLS.",
			keys.Text("an address and port", exampleAddress),
			func(e *etcdDraft) *keys.At[string] { return &e.reach.listen }),
		keys.May("advertise", "Where the other servers reach that, where that is not `listen`.",
			keys.Text("an address and port", exampleAddress),
			func(e *etcdDraft) *keys.At[string] { return &e.reach.advertise }).Said("where it listens"),
	}}
}

func compileEtcd(s keys.At[stateDraft], f *keys.Finder) Etcd {
	d := s.Value.etcd.Value
	out := Etcd{Endpoints: keys.Values(d.endpoints), CA: keys.Path(d.ca), User: d.user.Value,
		Certificate: keys.Path(d.tls.Value.certificate), Key: keys.Path(d.tls.Value.key),
		Password: f.Secret(d.password)}
	if out.Used() {
		out.Prefix = d.prefix.Value
	}
	for _, e := range d.endpoints.Value {
		at, err := url.Parse(e.Value)
		switch {
		case !e.Known():
		case err != nil, at.Scheme != "http" && at.Scheme != "https", !hasPort(at.Host), at.Path != "":
			f.Add(e.Spot, fmt.Sprintf("%q is not the address of an etcd server", e.Value),
				"write it as https://10.0.0.1:2379")
		case at.Scheme == "http" && !isLoopback(at.Host):
			f.Add(e.Spot, "hale's state would go over the network in the clear",
				"have etcd speak TLS (--cert-file, --key-file), and write https://"+at.Host)
		}
	}
	switch {
	case d.reach.listen.Known() && d.reach.listen.Given():
		out.Listen, out.Advertise = d.reach.listen.Value, reachable(d.reach, s.Value.etcd.Spot, f)
	case d.reach.advertise.Written():
		f.Add(d.reach.advertise.Spot, "says where this server is reached, and no key says where it listens",
			"add listen: with the address and port, as 10.0.0.1:7120")
	}
	if d.user.Written() != d.password.Written() {
		f.Add(s.Value.etcd.Spot, "names a user without a password, or a password without a user",
			"write both, or neither")
	}
	return out
}
