package openstack

import (
	"encoding/json"
	"testing"

	"hale/internal/core/fleet"
)

// FuzzAnswers: whatever the services answer, it is read, or refused; nothing of it is more than the bytes that were
// sent.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"servers": [{"id": "a", "status": "ACTIVE", "metadata": {"hale_id": "b"}, "image": "", ` +
			`"addresses": {"n": [{"addr": "10.0.0.1", "OS-EXT-IPS:type": "fixed"}]}}]}`,
		`{"servers": [{"id": "a", "image": {"id": "i"}, "updated": "2026-01-01T00:00:00Z", ` +
			`"OS-EXT-STS:power_state": 4}], ` +
			`"servers_links": [{"rel": "next"}]}`,
		`{"ports": [{"id": "p", "mac_address": "fa:16:3e:00:00:01", ` +
			`"fixed_ips": [{"ip_address": "10.0.0.1"}], "created_at": "x"}]}`,
		`{"volumes": [{"id": "v", "status": "in-use", "metadata": {"hale_machine": "web-1"}, ` +
			`"attachments": [{"server_id": "a"}]}]}`,
		`{"images": [{"id": "i", "status": "active"}]}`, `{"floatingips": [{"id": "f", "port_id": null}]}`,
		`{"instanceActions": [{"action": "stop"}]}`,
		`{"itemNotFound": {"code": 404, "message": "x"}}`, `{"servers": [null]}`, `{"servers": null}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = readAnswer(data)
		var all map[string]json.RawMessage
		if json.Unmarshal(data, &all) != nil {
			return
		}
		for _, list := range all {
			for _, s := range rowsOf[*server](t, list) {
				known(t, s)
			}
			for _, v := range rowsOf[volume](t, list) {
				_ = v.says(map[string]string{keyMachine: "web-1"})
			}
			made := rowsOf[port](t, list)
			for i := range made {
				if older(made[i], made[0]) != -older(made[0], made[i]) {
					t.Error("two ports are older than each other")
				}
			}
			rowsOf[floating](t, list)
			rowsOf[image](t, list)
			rowsOf[hypervisor](t, list)
			rowsOf[action](t, list)
		}
	})
}

func rowsOf[T any](t *testing.T, data []byte) []T {
	t.Helper()
	var all rows[T]
	if err := json.Unmarshal(data, &all); err != nil {
		return nil
	}
	if len(all) > mostRows || len(all) > len(data) {
		t.Errorf("%d rows of %d bytes", len(all), len(data))
	}
	return all
}

// known asks all that the adapter wants to know of a server.
func known(t *testing.T, s *server) {
	t.Helper()
	c := &call{p: &Provider{}}
	i := c.sketch(s)
	if i.ID != s.id() || s.gone() && i.Power == fleet.PowerRunning {
		t.Errorf("%+v becomes %+v", s, i)
	}
	if i.Mark.Installation != "" && !s.marked() {
		t.Errorf("it bears no mark, and is taken for hale's: %+v", s)
	}
}
