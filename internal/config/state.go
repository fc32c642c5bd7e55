package config

import (
	"fmt"
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
}

// Used reports whether the state is in etcd servers.
func (e *Etcd) Used() bool { return len(e.Endpoints) > 0 }

type stateDraft struct{ etcd keys.At[etcdDraft] }

type etcdDraft struct {
	endpoints        keys.At[[]keys.At[string]]
	prefix, ca, user keys.At[string]
	tls              keys.At[keyPairDraft]
	password         keys.At[keys.SecretRef]
}

const defaultPrefix = "/hale/"

func stateShape() keys.Object[stateDraft] {
	return keys.Object[stateDraft]{Fields: []keys.Field[stateDraft]{
		keys.Must("etcd", "{endpoints: [\"https://10.0.0.1:2379\"]}", "etcd servers, 3.4 or later. hale's keys are "+
			"below the prefix, and hale touches no others. They compact their history themselves "+
			"(--auto-compaction-retention).", etcdShape(),
			func(s *stateDraft) *keys.At[etcdDraft] { return &s.etcd }),
	}}
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
	if d.user.Written() != d.password.Written() {
		f.Add(s.Value.etcd.Spot, "names a user without a password, or a password without a user",
			"write both, or neither")
	}
	return out
}
