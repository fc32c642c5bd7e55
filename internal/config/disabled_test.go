package config

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// A host that its provider's people disabled is held for a day, or for as long as is written. vCenter tells which hosts
// are in maintenance, although hale moves no machine there.
func TestAHostThatIsDisabledIsHeld(t *testing.T) {
	t.Parallel()
	const (
		vcenter = "{type: vsphere, vcenter: {url: https://vc.example.org, datacenter: dc, " +
			"user: hale, password: {env: VC}, " +
			"cluster: c, datastore: d, folder: hale}}"
		cloud = "{type: openstack, cloud: b, hosts: [{name: compute-1}]}"
	)
	for name, c := range map[string]struct {
		provider, server, said string
		meaning                policy.HostDisabled
		lasts                  time.Duration
	}{
		"vCenter, for a day":    {vcenter, "", "hold", policy.HostDisabledHold, 24 * time.Hour},
		"vCenter, as written":   {vcenter, "", "{hold: 8h}", policy.HostDisabledHold, 8 * time.Hour},
		"OpenStack, for a day":  {cloud, ", server: {flavor: f}", "hold", policy.HostDisabledHold, 24 * time.Hour},
		"OpenStack, as a fault": {cloud, ", server: {flavor: f}", "heal", policy.HostDisabledHeal, 0},
		"OpenStack, not minded": {cloud, ", server: {flavor: f}", "ignore", "", 0},
		"OpenStack, as written": {cloud, ", server: {flavor: f}", "{hold: 30m}", policy.HostDisabledHold,
			30 * time.Minute},
		"vCenter, not minded": {vcenter, "", "ignore", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sound(t, "providers:\n  lab: "+c.provider+"\nfleets:\n  web:\n    provider: lab\n    size: 3\n"+
				"    template: {image: i, network: n, disks: {root: ephemeral}"+c.server+"}\n"+
				"    on_host_disabled: "+c.said+"\n").Fleets[0].Repair
			if r.OnHostDisabled != c.meaning || r.DisabledHold != c.lasts {
				t.Errorf("it means %q, for %s", r.OnHostDisabled, r.DisabledHold)
			}
		})
	}
}
