package openstack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"

	"hale/internal/core/fleet"
	"hale/internal/testbed/cloud"
)

// TestS68Adopted: a person made servers, and hale selects some by metadata and a tag. A preview shows their state and
// which ones hale would adopt, and writes the configuration for it. That configuration adopts one without a restart,
// and hale heals it. Neither writes anything on the servers.
func TestS68Adopted(t *testing.T) {
	servePages(t)
	p := newPerson(t, cloud.Demo)
	id, other := p.boot(t, "db-main", map[string]string{"role": "db"}), p.boot(t, "mail", nil)
	m := newStage(t)
	for _, each := range []string{id, other} {
		m.await("the servers to run", func() (string, bool) {
			now := p.find(t, fleet.InstanceID(each))
			return now.Status, now.Status == "ACTIVE"
		})
	}
	before := map[string]servers.Server{id: p.find(t, fleet.InstanceID(id)), other: p.find(t, fleet.InstanceID(other))}
	untouched := func(what string) {
		t.Helper()
		for each, was := range before {
			if now := p.find(t, fleet.InstanceID(each)); !now.Updated.Equal(was.Updated) ||
				!maps.Equal(now.Metadata, was.Metadata) || now.Status != was.Status {
				t.Errorf("%s touched it: %+v, was %+v", what, now, was)
			}
		}
	}

	m.config = filepath.Join(m.dir, "conf")
	if err := os.Mkdir(m.config, 0o700); err != nil {
		t.Fatal(err)
	}
	m.configure("conf/cloud.yaml", theCloud)
	written := filepath.Join(m.config, "db.yaml")
	if err := tags.Add(t.Context(), p.compute, id, "prod").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	before[id] = p.find(t, fleet.InstanceID(id))
	said := m.says("adopt", m.config, "--fleet", "db", "--metadata", "role=db", "--tag", "prod", "--check", "http:8080",
		"--write", written)
	for _, want := range []string{"db-main", "healthy", id[:8], "1 would be adopted"} {
		if !strings.Contains(said, want) {
			t.Errorf("the preview says nothing of %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, other[:8]) {
		t.Errorf("the preview would adopt what was not meant:\n%s", said)
	}
	untouched("the preview")
	byName := m.says("adopt", filepath.Join(m.config, "cloud.yaml"), "--fleet", "db", "--name", "db-*", "--check",
		"http:8080")
	if strings.Contains(byName, other[:8]) || !strings.Contains(byName, id[:8]) ||
		!strings.Contains(byName, "1 would be adopted") {
		t.Errorf("by name the preview says:\n%s", byName)
	}
	untouched("the preview by name")

	m.start()
	adopted := func() (string, bool) {
		f, err := m.status()
		return fmt.Sprintf("%+v, %v", f.Machines,
				err), err == nil && f.Healthy == 1 && len(f.Machines) == 1 && f.Machines[0].Adoption == "kept" &&
				f.InRepair == 0
	}
	m.await("its adoption", adopted)
	untouched("the adoption")
	if err := cloud.Running().Crash(id); err != nil {
		t.Fatal(err)
	}
	m.await("the crash", func() (string, bool) {
		now := p.find(t, fleet.InstanceID(id))
		return now.Status, now.Status == "SHUTOFF"
	})
	m.await("its healing", func() (string, bool) {
		now := p.find(t, fleet.InstanceID(id))
		return now.Status, now.Status == "ACTIVE"
	})
	m.await("health", adopted)
}
