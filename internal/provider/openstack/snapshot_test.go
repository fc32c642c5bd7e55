package openstack_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// copying is a scene with one server, which runs, and the name of a copy of its disk.
type copying struct {
	*scene
	provider.Snapshotter
	server *twinServer
	name   fleet.SnapshotName
}

func playCopy(t *testing.T, story func(c *copying)) {
	t.Helper()
	play(t, 1, func(s *scene) {
		c := &copying{
			scene:       s,
			Snapshotter: s.p.(provider.Snapshotter),
			name:        fleet.SnapshotName{Installation: "inst", Machine: "web-1", ID: "r3"},
		}
		c.server = s.living()[0]
		story(c)
	})
}

// copy makes the copy, and checks that there is one image of it.
func (c *copying) copy() fleet.Copy {
	c.Helper()
	made, err := c.Snapshot(c.Context(), c.orders[0].Ref, c.name)
	c.must("snapshot", err)
	if n := len(c.copiesOf(c.name)); n != 1 {
		c.Errorf("there are %d images of it", n)
	}
	return made
}

// plantImage puts an image into Glance that looks as Nova's do.
func (c *copying) plantImage(id, name, status string, properties map[string]string) {
	c.look(func() {
		c.copies[id] = &twinCopy{id: id, name: name, status: status, created: time.Now(), properties: properties}
	})
}

func ofCopy(n fleet.SnapshotName, server string) map[string]string {
	return map[string]string{
		"hale_snapshot":     string(n.ID),
		"hale_machine":      string(n.Machine),
		"hale_installation": string(n.Installation),
		"instance_uuid":     server,
	}
}

func TestACopyNamesItsMachine(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		made := c.copy()
		i := c.copiesOf(c.name)[0]
		if want := fmt.Sprintf("image %s (web-1.r3.snapshot)", i.id); made.Where != want || made.Bytes == 0 {
			c.Errorf("it is %+v, want %s", made, want)
		}
		if i.properties["hale_id"] != string(c.orders[0].ID) || i.properties["hale_generation"] != "1" {
			c.Errorf("it bears %v", i.properties)
		}
	})
}

// TestACopyIsMadeWhetherItRunsOrNot: of what holds still, too.
func TestACopyIsMadeWhetherItRunsOrNot(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"} {
		playCopy(t, func(c *copying) {
			c.look(func() { c.server.Status = status })
			c.copy()
		})
	}
}

// TestWhatNovaDoesNotCopyWholeIsRefused: before anything is asked of it.
func TestWhatNovaDoesNotCopyWholeIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*twinServer){
		"a volume":          func(s *twinServer) { s.volume = true },
		"an ephemeral disk": func(s *twinServer) { s.scratch = 10 },
		"a broken server":   func(s *twinServer) { s.Status = "ERROR" },
		"a rescued server":  func(s *twinServer) { s.Status = "RESCUE" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playCopy(t, func(c *copying) {
				c.look(func() { change(c.server) })
				_, err := c.Snapshot(c.Context(), c.orders[0].Ref, c.name)
				c.want("snapshot", err, fault.Unsupported)
				if n := len(c.copiesOf(c.name)); n != 0 {
					c.Errorf("there are %d images", n)
				}
			})
		})
	}
}

// TestACopyUnderWayIsWaitedFor: in whatever state its image is, and also when another process ordered it. No second
// copy is made.
func TestACopyUnderWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		short, cancel := context.WithTimeout(c.Context(), time.Second)
		_, err := c.Snapshot(short, c.orders[0].Ref, c.name)
		cancel()
		c.want("a snapshot without the time for it", err, fault.UnknownOutcome)
		c.want("its removal meanwhile", c.DropSnapshot(c.Context(), c.name), fault.Transient)
		c.copy()
		c.must("removal", c.DropSnapshot(c.Context(), c.name))
		if n := len(c.copiesOf(c.name)); n != 0 {
			c.Errorf("%d images are left", n)
		}
	})
	// Nova has made the image, and not yet said that it is at work.
	playCopy(t, func(c *copying) {
		c.plantImage("i1", "web-1.r3.snapshot", "queued", ofCopy(c.name, c.server.ID))
		go func() {
			c.pass(5 * time.Second)
			c.look(func() { c.copies["i1"].status = "active" })
		}()
		if made := c.copy(); !strings.HasPrefix(made.Where, "image i1 ") {
			c.Errorf("another one was made: %+v", made)
		}
	})
}

// TestWhatIsLeftOfACopyGoes: hale removes an unfinished image that Nova does not work on, and makes the copy anew.
func TestWhatIsLeftOfACopyGoes(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"queued", "saving", "killed"} {
		playCopy(t, func(c *copying) {
			c.plantImage("i1", "web-1.r3.snapshot", status, ofCopy(c.name, c.server.ID))
			c.pass(time.Minute)
			if made := c.copy(); strings.HasPrefix(made.Where, "image i1 ") {
				c.Errorf("%s: it is %+v", status, made)
			}
			c.plantImage("i2", "web-1.r3.snapshot", status, ofCopy(c.name, "no such server"))
			c.pass(time.Minute)
			c.must("removal of both", c.DropSnapshot(c.Context(), c.name))
			if n := len(c.copiesOf(c.name)); n != 0 {
				c.Errorf("%s: %d images are left", status, n)
			}
		})
	}
}

// TestACopyThatNovaGivesUpIsNone: it is neither reported nor left, and may be sent again.
func TestACopyThatNovaGivesUpIsNone(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		c.look(func() { c.fullStore = true })
		_, err := c.Snapshot(c.Context(), c.orders[0].Ref, c.name)
		c.want("snapshot", err, fault.Transient)
		if n := len(c.copiesOf(c.name)); n != 0 {
			c.Errorf("there are %d images", n)
		}
		c.look(func() { c.fullStore = false })
		c.copy()
	})
}

func TestARefusedCopyIsOfAKindOfItsOwn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		status int
		kind   fault.Kind
	}{
		"Quota exceeded for resources":            {403, fault.NoSpace},
		"Cannot 'createImage' while it is paused": {409, fault.Transient},
		"Instance 7a0d is locked":                 {409, fault.Locked},
	} {
		playCopy(t, func(c *copying) {
			c.makeTrouble(func(q *http.Request) effect {
				if strings.HasSuffix(q.URL.Path, "/action") {
					return effect{
						status: want.status,
						body:   fmt.Sprintf(`{"forbidden": {"code": %d, "message": %q}}`, want.status, text),
					}
				}
				return effect{}
			})
			_, err := c.Snapshot(c.Context(), c.orders[0].Ref, c.name)
			c.want(text, err, want.kind)
		})
	}
}

// TestOnlyCopiesOfTheNameGo: a foreign image of the same name stays. So does an image that inherited a copy's
// properties, since its server was made from that copy.
func TestOnlyCopiesOfTheNameGo(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		c.plantImage("theirs", "web-1.r3.snapshot", "active", map[string]string{})
		c.plantImage("heir", "backup", "active", ofCopy(c.name, c.server.ID))
		other := c.name
		other.Installation = "other"
		c.plantImage("other", "web-1.r3.snapshot", "active", ofCopy(other, c.server.ID))
		made, err := c.Snapshot(c.Context(), c.orders[0].Ref, c.name)
		c.must("snapshot", err)
		for _, id := range []string{"theirs", "heir", "other"} {
			if strings.HasPrefix(made.Where, "image "+id+" ") {
				c.Errorf("it is %+v", made)
			}
		}
		c.must("removal", c.DropSnapshot(c.Context(), c.name))
		c.look(func() {
			if len(c.copies) != 3 {
				c.Errorf("%d images are left of the other three", len(c.copies))
			}
		})
	})
}

// TestAListThatHeedsNoQuestionNamesNoCopy: what does not say of itself that it is the copy is not.
func TestAListThatHeedsNoQuestionNamesNoCopy(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		c.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/images") {
				return effect{
					status: 200,
					body: `{"images": [{"id": "tiny", "name": "tiny", "status": "active"}, {"id": "theirs", "name": "web-1.r3.snapshot", "status": "active"},
					{"id": "heir", "name": "backup", "status": "active", "hale_snapshot": "r3", "hale_machine": "web-1", "hale_installation": "inst"}]}`,
				}
			}
			if q.Method == http.MethodDelete {
				c.Errorf("%s was deleted", q.URL.Path)
			}
			return effect{}
		})
		c.must("removal of what is not there", c.DropSnapshot(c.Context(), c.name))
	})
}

// TestAnImageThatGoesMeanwhileIsRemoved: Glance's word for that is no service's own, so its list is asked.
func TestAnImageThatGoesMeanwhileIsRemoved(t *testing.T) {
	t.Parallel()
	playCopy(t, func(c *copying) {
		c.copy()
		c.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodDelete {
				clear(c.copies) // a person was faster
			}
			return effect{}
		})
		c.must("removal", c.DropSnapshot(c.Context(), c.name))
		c.makeTrouble(nil)
		c.copy()
		c.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodDelete {
				return effect{status: 404, body: nginx}
			}
			return effect{}
		})
		c.want("removal by way of a proxy that has lost glance", c.DropSnapshot(c.Context(), c.name), fault.Transient)
	})
}
