package app_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/testbed/vcsim"
)

// onVCenter is a fleet of two on a simulated vCenter. What vCenter says of its machines is all that is known of them.
const onVCenter = `
providers:
  vc:
    type: vsphere
    vcenter:
      {url: "%s", user: user, password: {file: "%s"}, thumbprint: "%s", datacenter: DC0, cluster: DC0_C0,
        datastore: LocalDS_0, anti_affinity: true}
fleets:
  web:
    provider: vc
    size: 2
    template: {image: template, network: VM Network, disks: {root: ephemeral}}
    repair: {steps: [start: {}, recreate: {}], backoff: 0s}
    limits: {in_repair: 1, brake: {at_least: 2}}
`

// S01, S02 and S50 on vCenter, with hale's own engine: a fleet is built under its machines' names. One that loses its
// process is started again, and one that a person destroys is cloned anew, once.
func TestAFleetOnVCenterIsBuiltAndHealed(t *testing.T) {
	t.Parallel()
	vc := vcsim.Start(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(vcsim.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, fmt.Sprintf(onVCenter, vc.URL(), password, thumbprint(vc)))
	h.run()
	built := h.await("built", allWell)
	if got := vc.Machines(); got["web-1"] != 1 || got["web-2"] != 1 || len(got) != 2 {
		t.Fatalf("vCenter has %v", got)
	}
	first, second := machine(built, "web-1"), machine(built, "web-2")
	for rule, apart := range vc.Rules(t) {
		slices.Sort(apart)
		if !strings.HasPrefix(rule, "hale-web-") || !slices.Equal(apart, []string{"web-1", "web-2"}) {
			t.Errorf("rule %s keeps %v apart", rule, apart)
		}
	}

	vc.Kill(t, first.Instance)
	healed := h.await("started again", func(f api.Fleet) bool {
		return allWell(f) && vc.Boots(t, first.Instance) == 2
	})
	if now := machine(healed, "web-1"); now.Instance != first.Instance {
		t.Errorf("it was replaced instead: %s, was %s", now.Instance, first.Instance)
	}
	vc.Remove(t, "web-2")
	healed = h.await("cloned anew", func(f api.Fleet) bool {
		return allWell(f) && machine(f, "web-2").Instance != second.Instance
	})
	if now := machine(healed, "web-1"); now.Instance != first.Instance {
		t.Errorf("its neighbour was replaced, too: %s, was %s", now.Instance, first.Instance)
	}
	if got := vc.Machines(); got["web-1"] != 1 || got["web-2"] != 1 || len(got) != 2 {
		t.Errorf("vCenter has %v", got)
	}
}

func machine(f api.Fleet, name string) api.Machine {
	i := slices.IndexFunc(f.Machines, func(m api.Machine) bool { return m.Name == name })
	return f.Machines[i]
}

// thumbprint is the SHA-256 of vCenter's certificate as people write it.
func thumbprint(vc *vcsim.VCenter) string {
	var pieces []string
	for _, b := range sha256.Sum256(vc.Certificate().Raw) {
		pieces = append(pieces, fmt.Sprintf("%02X", b))
	}
	return strings.Join(pieces, ":")
}
