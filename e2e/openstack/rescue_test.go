package openstack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"hale/internal/core/fleet"
	"hale/internal/provider/providertest"
)

// Unrescue is a person who is done with the server.
func (h *harness) Unrescue(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	p := h.person()
	if err := servers.Unrescue(t.Context(), p.compute, p.find(t, id).ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

// TestS48RescuedAtLast: when no reboot helps, hale puts a server into Nova's rescue mode and leaves it to a person,
// also after hale was killed. When the person ends the rescue, it is the same server, and healthy.
func TestS48RescuedAtLast(t *testing.T) {
	m := newMachines(t, theCloud+`
fleets:
  web:
    provider: cloud
    size: 1
    `+template+`
    checks:
      `+flag+`
    repair: {steps: [reboot: {verify_within: 10s}, rescue: {}]}
    on_external_stop: heal
    grace: 5s
`, "web-1")
	id := m.awaitWell("the first build")["web-1"].ID
	sick := filepath.Join(m.dir, "sick")
	if err := os.WriteFile(sick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rescued := func() (string, bool) {
		one := m.machine("web-1")
		return fmt.Sprintf("%+v", one), one.NeedsPerson && one.Repair == nil && m.all()["web-1"].Status == "RESCUE"
	}
	m.await("a rescue", rescued)
	since := time.Now()
	m.kill()
	m.start()
	m.await("hale to look after it again", func() (string, bool) {
		f, err := m.status()
		return fmt.Sprint(err), err == nil && len(f.Machines) == 1 && f.Machines[0].Cause == "rescued"
	})
	end := time.NewTimer(15 * time.Second) // fifteen polls
	<-end.C
	if said, is := rescued(); !is || len(m.orders(since)) != 0 {
		t.Fatalf("it was disturbed: %v, %s", m.orders(since), said)
	}

	if err := os.Remove(sick); err != nil {
		t.Fatal(err)
	}
	if err := servers.Unrescue(t.Context(), m.person.compute, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if now := m.awaitWell("a person had repaired it")["web-1"].ID; now != id || len(m.orders(since)) != 0 {
		t.Errorf("it is server %s, which was %s, and was given %v", now, id, m.orders(since))
	}
}
