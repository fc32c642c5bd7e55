package config

import (
	"testing"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/policy"
	"hale/internal/secret"

	"github.com/google/go-cmp/cmp"
)

// Satellites look at a machine beside hale's server, and more than half of all must agree, unless the check says
// how many. Simulated machines are seen from the server alone.
func TestSatellitesAndVantages(t *testing.T) {
	t.Parallel()
	const fleets = `
providers: {lab: {type: libvirt, uri: qemu:///system}, toy: {type: simulated}}
fleets:
  web:
    provider: lab
    size: 3
    template: {kernel: k, initrd: i}
    checks:
      a: {ping: {}, vantages: 3}
      b: {ping: {}, vantages: 2}
      c: {ping: {}, vantages: 3, agree: 1}
      d: {ping: {}}
  toys: {provider: toy, size: 3, template: {image: i}, checks: {a: {ping: {}, vantages: 3}}}
satellites: {listen: ":7118", tls: {certificate: cert.pem, key: key.pem}, stale_after: 7s,
  tokens: {ams: {file: ams.token}, fra: {env: FRA}}}
`
	is := sound(t, fleets)
	ams, err := secret.File("/etc/hale/ams.token")
	if err != nil {
		t.Fatal(err)
	}
	fra, err := secret.Env("FRA")
	if err != nil {
		t.Fatal(err)
	}
	want := Satellites{Listen: ":7118", Certificate: "/etc/hale/cert.pem", Key: "/etc/hale/key.pem",
		Tokens: map[string]secret.Secret{"ams": ams, "fra": fra}, StaleAfter: 7 * time.Second}
	if diff := cmp.Diff(want, is.Satellites, addresses); diff != "" {
		t.Errorf("satellites (-want +got):\n%s", diff)
	}
	sight := func(n, agree int) policy.Sight {
		return policy.Sight{Vantages: n, Agree: agree, StaleAfter: 7 * time.Second}
	}
	for _, f := range is.Fleets {
		for _, c := range f.Checks {
			want := map[string]policy.Sight{"weba": sight(3, 2), "webb": sight(2, 2), "webc": sight(3, 1)}
			if got := c.Sight; got != want[string(f.Name)+string(c.Name)] {
				t.Errorf("%s of %s: %+v", c.Name, f.Name, got)
			}
		}
	}
	other := sound(t, fleets)
	other.Satellites.StaleAfter++
	if d := Compare(is, other); len(d) != 1 || d[0].Kind != change.SatellitesChanged {
		t.Errorf("what differs is %+v", d)
	}
}
