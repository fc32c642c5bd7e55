package openstack

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"hale/internal/testbed/cloud"
)

// aside is what a server is called that could not be deleted.
const aside = "web-1 (could not be deleted)"

// recreated is a fleet of one with a policy for deletes that fail.
func recreated(onDeleteFailure string) string {
	return theCloud + `
fleets:
  web:
    provider: cloud
    size: 1
    ` + template + `
    repair: {steps: [recreate: {on_delete_failure: ` + onDeleteFailure + `}]}
    grace: 5s
`
}

// cannotDestroy makes the server's hypervisor fail to delete it, until the test ends or mends it.
func cannotDestroy(t *testing.T, server string) {
	t.Helper()
	if err := cloud.Running().Fail(server, cloud.Destroy); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Running().Mend(server, cloud.Destroy); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestS50ADeleteThatFails: when the hypervisor fails to delete the old server, hale builds nothing beside it, leaves
// the machine alone and tells a person. When the person has mended it and says so, hale recreates the machine.
func TestS50ADeleteThatFails(t *testing.T) {
	m := newMachines(t, recreated("stop"), "web-1")
	old := m.awaitWell("the first build")["web-1"].ID
	var built atomic.Int32
	m.proxy.set(func(w http.ResponseWriter, q *http.Request, through http.Handler) {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers") {
			built.Add(1)
		}
		through.ServeHTTP(w, q)
	})
	cannotDestroy(t, old)
	if err := servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, old,
		servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("quarantine", func() (string, bool) {
		one := m.machine("web-1")
		return fmt.Sprintf("%+v", one), one.Quarantine != nil && one.NeedsPerson
	})
	if reason := m.machine("web-1").Quarantine.Reason.Code; reason != "delete-failed" {
		t.Errorf("it is in quarantine for %s", reason)
	}
	if all := m.all(); built.Load() != 0 || len(all) != 1 || all[aside].ID != old {
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

// TestS50ItGoesOnBesideWhatCannotBeDeleted: where the policy says so, the next server is built all the same, by the
// same port; the old one is off, and says by its name what it is.
func TestS50ItGoesOnBesideWhatCannotBeDeleted(t *testing.T) {
	m := newMachines(t, recreated("continue"), "web-1")
	old := m.awaitWell("the first build")["web-1"].ID
	cannotDestroy(t, old)
	if err := servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, old,
		servers.StateError).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.await("the next server", func() (string, bool) {
		f, err := m.status()
		all := m.all()
		return fmt.Sprint(all,
			err), err == nil && f.Healthy == 1 && all["web-1"].ID != old && all["web-1"].Status == "ACTIVE"
	})
	all := m.all()
	if s := all[aside]; len(all) != 2 || s.ID != old || s.Status == "ACTIVE" {
		t.Errorf("the servers are %+v", all)
	}
	if bound := m.ports(); len(bound) != 1 || bound[0].DeviceID != all["web-1"].ID {
		t.Errorf("the ports are %+v", bound)
	}
}
