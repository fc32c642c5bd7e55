package openstack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/testbed/cloud"
)

// maintained is a fleet of the administrator's, who sees hypervisors, in a cloud whose people disable one now and then.
const maintained = `
providers:
  cloud:
    type: openstack
    cloud: {name: admin, file: CLOUDS, region: Proxied}
    hosts: [{name: compute1}, {name: compute2}, {name: compute3}]
    poll: 1s
fleets:
  web:
    provider: cloud
    size: 2
    template: {image: tiny, network: shared, disks: {root: ephemeral}, server: {flavor: m1.nano}}
    repair: {steps: [start: {verify_within: 1m}], attempts: 20 in 1h, backoff: 0s}
    grace: 5s
    on_external_stop: heal
    on_host_disabled: hold
`

// TestS72ADisabledComputeService: Nova's people disable a hypervisor. hale holds it and says so, and heals nothing
// there; when it has been enabled for a minute, the hold is over, and what was stopped meanwhile is started.
func TestS72ADisabledComputeService(t *testing.T) {
	m := newStage(t, "web-1", "web-2")
	m.person = newPerson(t, cloud.Admin)
	m.configure("hale.yaml", maintained)
	m.config = m.dir + "/hale.yaml"
	m.start()
	victim := m.awaitWell("the first builds")["web-1"]
	host := fleet.HostName(m.machine("web-1").Host)

	m.person.able(t, host, services.ServiceDisabled)
	t.Cleanup(func() { m.person.able(t, host, services.ServiceEnabled) })
	m.awaitHold("the hold of a disabled hypervisor", host, true)
	since := time.Now()
	if err := servers.Stop(t.Context(), m.person.compute, victim.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("web-1 to be held", func() (string, bool) {
		is := m.machine("web-1")
		return fmt.Sprint(is.Verdict, " ", is.Waiting), is.Waiting.Code == string(fleet.ReasonHold)
	})
	if why := m.says("why", "web-1"); !strings.Contains(why, "a hold covers it") ||
		!strings.Contains(why, "maintenance") {
		t.Errorf("hale why says\n%s", why)
	}

	enabled := time.Now()
	m.person.able(t, host, services.ServiceEnabled)
	m.awaitHold("the end of the hold", host, false)
	if took := time.Since(enabled); took < time.Minute {
		t.Errorf("the hold ended after %s", took)
	}
	if n := m.orders(since)["web-1"]; n > 1 { // the start, as soon as it was over
		t.Errorf("%d orders under the hold", n)
	}
	if said := m.says("events"); !strings.Contains(said, "the host is in use again") {
		t.Errorf("hale events says\n%s", said)
	}
	if now := m.awaitWell("once it is in use again"); now["web-1"].ID != victim.ID {
		t.Errorf("web-1 was built anew: %s, and was %s", now["web-1"].ID, victim.ID)
	}
}

// awaitHold waits until hale lists the provider's hold of the host, or, where held is false, until it lists none.
func (m *machines) awaitHold(what string, host fleet.HostName, held bool) {
	m.Helper()
	m.await(what, func() (string, bool) {
		f, err := m.status()
		if err != nil {
			return err.Error(), false
		}
		is := slices.ContainsFunc(f.Holds, func(h api.Hold) bool {
			return h.Host == string(host) && h.By == "the provider" && h.Reason == "maintenance"
		})
		return fmt.Sprintf("%+v", f.Holds), is == held
	})
}
