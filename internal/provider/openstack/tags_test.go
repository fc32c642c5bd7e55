package openstack_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
)

// TestWhatServersBear: metadata and tags that people wrote are seen in the list and of each server, a tag that is
// changed within a minute; hale's own are not.
func TestWhatServersBear(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		p, w := h.administrator(t)
		_, own := running(t, p)
		var id string
		w.look(func() {
			for _, s := range w.servers {
				s.Tags, s.Updated = append(s.Tags, "a person's"), time.Now()
			}
			id = w.plant("db-main", map[string]string{"role": "db"}, []string{"prod", "eu"}, "")
		})
		time.Sleep(time.Minute)
		for range 2 {
			seen := map[fleet.InstanceID]fleet.Instance{}
			l, err := p.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range l.Instances {
				seen[i.ID] = i
			}
			if i := seen[fleet.InstanceID(id)]; i.Metadata != "role=db\n" || i.Tags != "eu\nprod\n" {
				t.Errorf("it bears %q, and is tagged with %q", i.Metadata, i.Tags)
			}
			if i := seen[own.ID]; i.Tags != "a person's\n" || i.Metadata != "" || i.Mark.Machine == "" {
				t.Errorf("hale's own is %+v", i)
			}
		}
		w.look(func() { w.servers[id].Tags = []string{"test"} })
		time.Sleep(time.Minute)
		l, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range l.Instances {
			if i.ID == fleet.InstanceID(id) && i.Tags != "test\n" {
				t.Errorf("a minute later it is tagged with %q", i.Tags)
			}
		}
	})
}

// TestAServerThatWasCertifiedBeforeComesToNameItself: metadata of an older hale count, and Certify writes what they
// lack.
func TestAServerThatWasCertifiedBeforeComesToNameItself(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		p, w := h.administrator(t)
		_, own := running(t, p)
		nova := h.nova(own.ID)
		w.look(func() { w.servers[nova].Metadata["hale_certified"] = "true" })
		if seen, err := p.Get(t.Context(), own); err != nil || !seen.Mark.Certified {
			t.Errorf("an older one is %+v, %v", seen, err)
		}
		if err := p.Certify(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		w.look(func() {
			if of := w.servers[nova].Metadata["hale_server"]; of != nova {
				t.Errorf("server %s bears the mark of %q", nova, of)
			}
		})
	})
}
