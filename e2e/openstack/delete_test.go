package openstack

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"hale/internal/cloud"
)

// TestS50ADeleteThatFails: when the hypervisor does not give the old server up, hale builds nothing beside it, leaves the machine alone and tells
// a person; when that one has mended it and says so, the machine is recreated.
func TestS50ADeleteThatFails(t *testing.T) {
	m := newMachines(t, theCloud+`
fleets:
  web:
    provider: cloud
    size: 1
    `+template+`
    repair: {steps: [recreate: {}]}
    grace: 5s
`, "web-1")
	old := m.awaitWell("the first build")["web-1"].ID
	var built atomic.Int32
	m.proxy.set(func(w http.ResponseWriter, q *http.Request, through http.Handler) {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers") {
			built.Add(1)
		}
		through.ServeHTTP(w, q)
	})
	if err := cloud.Running().Fail(old, cloud.Destroy); err != nil {
		t.Fatal(err)
	}
	if err := servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, old, servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("quarantine", func() (string, bool) {
		one := m.machine("web-1")
		return fmt.Sprintf("%+v", one), one.Quarantine != nil && one.NeedsPerson
	})
	if reason := m.machine("web-1").Quarantine.Reason.Code; reason != "delete-failed" {
		t.Errorf("it is in quarantine for %s", reason)
	}
	if all := m.all(); built.Load() != 0 || len(all) != 1 || all["web-1"].ID != old {
		t.Fatalf("%d were built beside it: %v", built.Load(), all)
	}

	if err := cloud.Running().Mend(old, cloud.Destroy); err != nil {
		t.Fatal(err)
	}
	m.says("retry", "web-1")
	now := m.awaitWell("a person had mended it")
	if now["web-1"].ID == old || built.Load() != 1 {
		t.Errorf("it is server %s, which was %s; %d were built", now["web-1"].ID, old, built.Load())
	}
}
