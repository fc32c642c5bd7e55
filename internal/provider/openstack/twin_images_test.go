package openstack_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
)

// twinCopy is an image as Nova makes them: of a server's disk, as it was when that began.
type twinCopy struct {
	id, name, status string
	properties       map[string]string
	created          time.Time
	boots            int // from the disk, until it was copied
}

const copyTime = 3 * time.Second

func (w *twin) serveImages() {
	w.handle("GET /image/v2/images", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		list := []any{map[string]any{"id": twinImage, "name": "tiny", "status": "active", "size": 4096}}
		if q.URL.Query().Get("name") != "tiny" {
			list = nil
		}
		for _, i := range w.copies {
			shown := i.render(w.project)
			for key := range q.URL.Query() {
				if shown[key] != q.URL.Query().Get(key) {
					shown = nil
					break
				}
			}
			if shown != nil {
				list = append(list, shown)
			}
		}
		if list == nil {
			list = []any{}
		}
		return 200, map[string]any{"images": list, "first": "/v2/images"}
	})
	w.handle("DELETE /image/v2/images/{id}", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		if w.copies[q.PathValue("id")] == nil {
			return 404, map[string]any{
				"message": "Failed to find image<br /><br />\n\n\n",
				"code":    "404 Not Found",
				"title":   "Not Found",
			}
		}
		delete(w.copies, q.PathValue("id"))
		return 204, nil
	})
}

func (i *twinCopy) render(project string) map[string]any {
	out := map[string]any{
		"id":         i.id,
		"name":       i.name,
		"status":     i.status,
		"owner":      project,
		"size":       nil,
		"created_at": i.created.UTC().Format(time.RFC3339),
	}
	for key, value := range i.properties {
		out[key] = value
	}
	if i.status == "active" {
		out["size"] = 4096 + i.boots
	}
	return out
}

// bootsOf is how often was booted from the disk that an image is of, and whether there is such an image.
func (w *twin) bootsOf(image any) (int, bool) {
	id, _ := image.(string)
	if id == twinImage {
		return 0, true
	}
	i := w.copies[id]
	if i == nil || i.status != "active" {
		return 0, false
	}
	return i.boots, true
}

// createImage is Nova's: the image is there at once, and whole after a while.
func (w *twin) createImage(s *twinServer, how map[string]any) (int, any) {
	i := &twinCopy{
		id:         uuid.NewString(),
		status:     "queued",
		created:    time.Now(),
		boots:      s.boots,
		properties: map[string]string{"instance_uuid": s.ID},
	}
	i.name, _ = how["name"].(string)
	metadata, _ := how["metadata"].(map[string]any)
	for key, value := range metadata {
		i.properties[key], _ = value.(string)
	}
	w.copies[i.id] = i
	s.record("createImage", "u")
	lost := w.fullStore
	s.later(copyTime, "image_uploading", func() {
		if i.status = "active"; lost {
			delete(w.copies, i.id)
		}
	})
	return 202, map[string]any{"image_id": i.id}
}

// copiesOf returns the images of the copy, whole or not.
func (w *twin) copiesOf(n fleet.SnapshotName) []*twinCopy {
	var found []*twinCopy
	w.look(func() {
		for _, i := range w.copies {
			p := i.properties
			if p["hale_snapshot"] == string(n.ID) && p["hale_machine"] == string(n.Machine) &&
				p["hale_installation"] == string(n.Installation) {
				found = append(found, i)
			}
		}
	})
	return found
}

func (h harness) DiskBoots(_ providertest.T, ref provider.Ref) int {
	nova, n := h.nova(ref.ID), 0
	h.look(func() { n = h.servers[nova].boots })
	return n
}

func (h harness) CopiedBoots(t providertest.T, name fleet.SnapshotName, c fleet.Copy) int {
	for _, i := range h.copiesOf(name) {
		if i.status == "active" && c.Where == fmt.Sprintf("image %s (%s)", i.id, i.name) {
			return i.boots
		}
	}
	t.Errorf("there is no image of %+v", c)
	return 0
}

func (h harness) Copies(_ providertest.T, name fleet.SnapshotName) int { return len(h.copiesOf(name)) }
