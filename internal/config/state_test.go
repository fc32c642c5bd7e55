package config

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/adapters"
	"hale/internal/core/change"
	"hale/internal/secret"

	"github.com/google/go-cmp/cmp"
)

func TestTheStateIsInEtcdServers(t *testing.T) {
	t.Parallel()
	is := sound(t, aroundAPI+`
state:
  etcd:
    endpoints: ["https://10.0.0.1:2379", "https://10.0.0.2:2379", "http://127.0.0.1:2379"]
    prefix: /ours/
    ca: etcd-ca.pem
    tls: {certificate: cert.pem, key: /etc/ssl/key.pem}
    user: hale
    password: {env: HALE_ETCD}
`)
	password, err := secret.Env("HALE_ETCD")
	if err != nil {
		t.Fatal(err)
	}
	want := Etcd{Endpoints: []string{"https://10.0.0.1:2379", "https://10.0.0.2:2379", "http://127.0.0.1:2379"},
		Prefix: "/ours/", CA: "/etc/hale/etcd-ca.pem", Certificate: "/etc/hale/cert.pem", Key: "/etc/ssl/key.pem",
		User: "hale", Password: password}
	if diff := cmp.Diff(want, is.Etcd, addresses); diff != "" {
		t.Errorf("the state (-want +got):\n%s", diff)
	}
	was := sound(t, aroundAPI)
	if was.Etcd.Used() {
		t.Errorf("without the key the state is in %+v", was.Etcd)
	}
	if diff := cmp.Diff([]change.Difference{{Kind: change.StateChanged}}, Compare(was, is)); diff != "" {
		t.Errorf("what differs (-want +got):\n%s", diff)
	}
}

// What other servers cannot see is said.
func TestASimulatedProviderIsNotShared(t *testing.T) {
	t.Parallel()
	said := sound(t, `
providers: {lab: {type: simulated}}
fleets: {web: {provider: lab, size: 3, template: {image: web.qcow2}, checks: {a: {ping: {}}}}}
state: {etcd: {endpoints: ["http://localhost:2379"]}}
`).Warnings(adapters.All())
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "exist inside one hale") }) {
		t.Errorf("it warns of %q", said)
	}
}

// Files that differ only in where this server listens, or keeps its state, say the same of the fleets.
func TestTheFingerprintIsOfTheFleets(t *testing.T) {
	t.Parallel()
	of := func(text string) string {
		said, err := sound(t, text).Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	is := of(aroundAPI)
	same := of(aroundAPI + "api: {}\nstate: {etcd: {endpoints: [\"http://localhost:2379\"]}}\n")
	other := of(aroundAPI + "    limits: {in_repair: 2}\n")
	if is != same || is == other {
		t.Errorf("the fingerprints are %s, %s for the same, and %s for another", is, same, other)
	}
}
