package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hale/internal/keys"
	"hale/internal/secret"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse: no input makes the reader panic; whatever is refused has a place within the file; what is accepted is
// accepted again, with the same result.
func FuzzParse(f *testing.F) {
	f.Add(Starter())
	stories, err := filepath.Glob("testdata/invalid/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, story := range stories {
		archive, err := txtar.ParseFile(story)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	ready, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range ready {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`providers: {lab: {type: simulated}}
fleets:
  web:
    provider: lab
    size: 3
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks:
      page: {http: {status: [200, 4xx], body: up, headers: {A: b, B: {file: c}, Cookie: {env: D}}, redirects: 2}, down: 3 in 5, not_every: [{at: "23:00-01:00", zone: Europe/Berlin, days: [fri]}], depends_on: [own]}
      own: {exec: {command: [check, "{ip}"], env: {A: "{name}", B: {env: C}}, warning: ok}}
      login: {ssh: {banner: "OpenSSH_(9|10)"}}
      game: {udp: {port: 1, send_hex: "ff 00", answer: info}}
      names: {dns: {name: www.example.org, type: SRV, answer: ["0 5 5060 sip.example.org"]}}
      orders: {grpc: {port: 50051, service: shop.v1.Orders, tls: true, insecure: true}}
      beat: {heartbeat: {token: {env: BEAT}}, every: 1m}
      directory: {tls: {port: 636, certificate_days: 14, host: ldap.example.org}}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parsed("hale.yaml", data)
		again, errAgain := parsed("hale.yaml", data)
		zones := cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })
		if diff := cmp.Diff(c, again, cmpopts.EquateComparable(netip.Addr{}, secret.Secret{}), zones); diff != "" {
			t.Fatalf("not the same twice:\n%s", diff)
		}
		if err == nil {
			return
		}
		var problems keys.Problems
		if !errors.As(err, &problems) || len(problems) == 0 || c != nil {
			t.Fatalf("refused without problems: %v", err)
		}
		for _, p := range problems {
			if p.File != "hale.yaml" || p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("no place: %+v", p)
			}
		}
		if err.Error() != errAgain.Error() {
			t.Errorf("not the same problems twice:\n%v\n%v", err, errAgain)
		}
	})
}
