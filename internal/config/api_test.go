package config

import (
	"testing"

	"hale/internal/access"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/secret"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const aroundAPI = `
providers: {lab: {type: libvirt, uri: qemu:///system}}
fleets:
  web:
    provider: lab
    size: 3
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks: {a: {ping: {}}}
`

func TestTheAPIIsOpenToThoseWhoAreNamed(t *testing.T) {
	t.Parallel()
	got := sound(t, aroundAPI+`
api:
  listen: ":7117"
  tls: {certificate: cert.pem, key: /etc/ssl/key.pem}
  client_ca: clients.pem
  names: [hale.example.org]
  certificates: [{name: "spiffe://example.org/ci", role: operator, fleets: [web]}]
  openid:
    issuer: https://id.example.org
    client_id: hale
    client_secret: {env: HALE_CLIENT}
    roles: [{group: operators, role: operator}, {email: ana@example.org, role: admin, fleets: [web]}]
  second_person: [fence, brake-off]
  limits: {requests: 5}
`).API
	client, err := secret.Env("HALE_CLIENT")
	if err != nil {
		t.Fatal(err)
	}
	web := []fleet.Name{"web"}
	want := API{
		Listen: ":7117", Certificate: "/etc/hale/cert.pem", Key: "/etc/ssl/key.pem", ClientCA: "/etc/hale/clients.pem",
		Names:        []string{"hale.example.org"},
		Certificates: []CertificateRole{{"spiffe://example.org/ci", access.Grant{Role: access.Operator, Fleets: web}}},
		OpenID: &OpenID{
			Issuer: "https://id.example.org", ClientID: "hale", ClientSecret: client, GroupsClaim: "groups",
			Roles: []OpenIDRole{
				{Group: "operators", Grant: access.Grant{Role: access.Operator}},
				{Email: "ana@example.org", Grant: access.Grant{Role: access.Admin, Fleets: web}},
			},
		},
		SecondPerson: []access.Risk{access.RiskFence, access.RiskBrakeOff},
		Limits:       APILimits{Requests: 5, Strangers: 10, Connections: 4096, Streams: 4096},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(secret.Secret{})); diff != "" {
		t.Errorf("the API (-want +got):\n%s", diff)
	}
}

func TestWithoutAWordTheAPIIsOnTheSocketOnly(t *testing.T) {
	t.Parallel()
	if got := sound(t, aroundAPI).API; got.Listen != "" {
		t.Errorf("it listens at %s", got.Listen)
	}
	if got := sound(t, aroundAPI+"api: {}\n").API; got.Listen != "127.0.0.1:7117" || got.Limits.Requests == 0 {
		t.Errorf("%+v", got)
	}
}

func TestALoopbackNeedsNoTLS(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "localhost:80"} {
		if got := sound(t, aroundAPI+"api: {listen: \""+at+"\"}\n").API; got.Listen != at {
			t.Errorf("%+v", got)
		}
	}
}

func TestAnEditOfTheAPIIsADifference(t *testing.T) {
	t.Parallel()
	was, is := sound(t, aroundAPI), sound(t, aroundAPI+"api: {}\n")
	want := []change.Difference{{Kind: change.AccessChanged}}
	if diff := cmp.Diff(want, Compare(was, is)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
