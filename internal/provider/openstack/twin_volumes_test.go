package openstack_test

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// twinStorage is the twin's Cinder, and what Nova and Cinder agree on between them.
type twinStorage struct {
	volumes       map[string]*twinVolume
	noStorage     bool   // there is none in the catalogue
	speaks        string // its newest microversion
	most          int    // the quota
	making        time.Duration
	ignoresFilter bool   // lists whatever is asked for
	hidden        string // the name of what no list shows yet
}

type twinVolume struct {
	ID, Name, Type, Zone string
	Size                 int
	Metadata             map[string]string
	Created              time.Time
	server               string // that has it, or is to have it
	goes                 bool   // with its server
	fails                bool
	odd                  string // status, whatever else
	going                bool
}

// twinMapping is an entry of a server's block_device_mapping_v2.
type twinMapping struct {
	Boot    int    `json:"boot_index"`
	Source  string `json:"source_type"`
	To      string `json:"destination_type"`
	UUID    string `json:"uuid"`
	Size    int    `json:"volume_size"`
	Type    string `json:"volume_type"`
	GoesToo bool   `json:"delete_on_termination"`
}

func (w *twin) storage(handle func(string, func(http.ResponseWriter, *http.Request) (int, any))) {
	w.twinStorage = twinStorage{volumes: map[string]*twinVolume{}, speaks: "3.70", most: 1000, making: time.Second}
	handle("GET /volume/v3/{$}", func(http.ResponseWriter, *http.Request) (int, any) {
		return 200, map[string]any{
			"versions": []any{
				map[string]any{"id": "v3.0", "status": "CURRENT", "version": w.speaks, "min_version": "3.0"},
			},
		}
	})
	handle("GET /volume/v3/{project}/volumes/detail", w.listVolumes)
	handle("POST /volume/v3/{project}/volumes", w.makeVolume)
	handle("GET /volume/v3/{project}/volumes/{id}", w.withVolume(func(v *twinVolume, _ map[string]any) (int, any) {
		return 200, map[string]any{"volume": w.renderVolume(v)}
	}))
	handle("POST /volume/v3/{project}/volumes/{id}/metadata",
		w.withVolume(func(v *twinVolume, body map[string]any) (int, any) {
			for key, value := range body["metadata"].(map[string]any) {
				v.Metadata[key] = value.(string)
			}
			return 200, map[string]any{"metadata": v.Metadata}
		}))
	handle("DELETE /volume/v3/{project}/volumes/{id}", w.withVolume(func(v *twinVolume, _ map[string]any) (int, any) {
		if s := w.volumeStatus(v); s != "available" && s != "error" {
			return 400, mistake("badRequest", 400,
				"Invalid volume: Volume status must be available or error or error_restoring or error_extending or "+
					"error_managing.")
		}
		v.going = true
		return 202, nil
	}))
}

// swap has servers that are there get volumes, and lose them.
func (w *twin) swap() {
	w.handle("POST /compute/v2.1/servers/{id}/os-volume_attachments",
		w.withServer(func(s *twinServer, body map[string]any) (int, any) {
			wanted, _ := body["volumeAttachment"].(map[string]any)
			id, _ := wanted["volumeId"].(string)
			if v := w.volumes[id]; v == nil || w.volumeStatus(v) != "available" {
				return 400, mistake("badRequest", 400, "Invalid volume: volume "+id+" status must be 'available'.")
			}
			w.volumes[id].server, w.volumes[id].goes, s.Updated = s.ID, false, time.Now()
			return 200, map[string]any{"volumeAttachment": map[string]any{"volumeId": id}}
		}))
	w.handle("DELETE /compute/v2.1/servers/{id}/os-volume_attachments/{volume}",
		func(_ http.ResponseWriter, q *http.Request) (int, any) {
			v := w.volumes[q.PathValue("volume")]
			if v == nil || v.server != q.PathValue("id") {
				return 404, mistake("itemNotFound", 404, "volume_id not found: "+q.PathValue("volume"))
			}
			v.odd = "detaching"
			time.AfterFunc(time.Second, func() { w.look(func() { v.odd, v.server = "", "" }) })
			return 202, nil
		})
}

func (w *twin) withVolume(
	do func(*twinVolume, map[string]any) (int, any),
) func(http.ResponseWriter, *http.Request) (int, any) {
	return func(_ http.ResponseWriter, q *http.Request) (int, any) {
		v := w.volumes[q.PathValue("id")]
		if v == nil || v.going && q.Method == http.MethodGet {
			return 404, mistake("itemNotFound", 404, "Volume "+q.PathValue("id")+" could not be found.")
		}
		body := map[string]any{}
		if q.Body != nil {
			json.NewDecoder(q.Body).Decode(&body)
		}
		return do(v, body)
	}
}

func (w *twin) volumeStatus(v *twinVolume) string {
	s := w.servers[v.server]
	switch {
	case v.odd != "":
		return v.odd
	case v.going:
		return "deleting"
	case v.server != "" && (s == nil || s.Launched):
		return "in-use"
	case v.server != "":
		return "reserved"
	case time.Since(v.Created) < w.making:
		return "creating"
	case v.fails:
		return "error"
	}
	return "available"
}

func (w *twin) renderVolume(v *twinVolume) map[string]any {
	attachments := []any{}
	if v.server != "" && w.volumeStatus(v) == "in-use" {
		attachments = append(attachments, map[string]any{"server_id": v.server, "volume_id": v.ID})
	}
	return map[string]any{
		"id":                           v.ID,
		"name":                         v.Name,
		"status":                       w.volumeStatus(v),
		"created_at":                   v.Created.UTC().Format("2006-01-02T15:04:05.000000"),
		"metadata":                     v.Metadata,
		"size":                         v.Size,
		"attachments":                  attachments,
		"os-vol-tenant-attr:tenant_id": w.project,
	}
}

func (w *twin) listVolumes(_ http.ResponseWriter, q *http.Request) (int, any) {
	filter := map[string]string{}
	if err := json.Unmarshal([]byte(q.URL.Query().Get("metadata")), &filter); err != nil {
		return 400, mistake("badRequest", 400, err.Error())
	}
	found := []any{}
	for _, v := range w.volumes {
		matches := w.hidden == "" || v.Name != w.hidden
		for key, value := range filter {
			matches = matches && v.Metadata[key] == value
		}
		if matches || w.ignoresFilter {
			found = append(found, w.renderVolume(v))
		}
	}
	return 200, map[string]any{"volumes": found}
}

func (w *twin) makeVolume(rw http.ResponseWriter, q *http.Request) (int, any) {
	var body struct {
		Volume struct {
			Name, Description string
			Size              int
			Metadata          map[string]string
			Type              string `json:"volume_type"`
			Zone              string `json:"availability_zone"`
		} `json:"volume"`
	}
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil || body.Volume.Size < 1 {
		return 400, mistake("badRequest", 400, "Invalid input received.")
	}
	in := body.Volume
	switch {
	case in.Type != "" && in.Type != "fast":
		return 404, mistake("itemNotFound", 404, "Volume type with name "+in.Type+" could not be found.")
	case len(w.volumes) >= w.most:
		rw.Header().Set("Retry-After", "0")
		return 413, map[string]any{"overLimit": map[string]any{
			"code":       413,
			"message":    "VolumeLimitExceeded: Maximum number of volumes allowed exceeded for quota 'volumes'.",
			"retryAfter": "0",
		}}
	}
	v := w.addVolume(twinVolume{Name: in.Name, Size: in.Size, Type: in.Type, Zone: in.Zone, Metadata: in.Metadata})
	return 202, map[string]any{"volume": w.renderVolume(v)}
}

func (w *twin) addVolume(v twinVolume) *twinVolume {
	v.ID, v.Created = uuid.NewString(), time.Now()
	for id, gone := range w.volumes {
		if gone.going {
			delete(w.volumes, id)
		}
	}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	w.volumes[v.ID] = &v
	return &v
}

// attach reserves the volumes for a server, or makes those that Nova is to make.
func (w *twin) attach(server string, disks []twinMapping) (int, any) {
	for _, d := range disks {
		if d.Source != "volume" {
			continue
		}
		if v := w.volumes[d.UUID]; v == nil || w.volumeStatus(v) != "available" {
			return 400, mistake("badRequest", 400, "Invalid volume: volume "+d.UUID+" status must be 'available'.")
		}
	}
	for _, d := range disks {
		switch {
		case d.To != "volume":
		case d.Source == "volume":
			w.volumes[d.UUID].server, w.volumes[d.UUID].goes = server, d.GoesToo
		default:
			w.addVolume(twinVolume{Size: d.Size, Type: d.Type, Name: d.Source, server: server, goes: d.GoesToo})
		}
	}
	return 0, nil
}

// detach lets go of a deleted server's volumes.
func (w *twin) detach(server string) {
	for id, v := range w.volumes {
		switch {
		case v.server != server:
		case v.goes:
			delete(w.volumes, id)
		default:
			v.server = ""
		}
	}
}

// imageOf is what Nova says of the server's image: nothing, where it boots from a volume.
func (w *twin) imageOf(s *twinServer) any {
	for _, v := range w.volumes {
		if v.server == s.ID && v.Name == "image" {
			return ""
		}
	}
	return map[string]any{"id": twinImage}
}

func (w *twin) volumesOf(s *twinServer) []map[string]any {
	has := []map[string]any{}
	for _, v := range w.volumes {
		if v.server == s.ID {
			has = append(has, map[string]any{"id": v.ID, "delete_on_termination": v.goes})
		}
	}
	return has
}
