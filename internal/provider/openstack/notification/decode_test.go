package notification

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wrap puts a message into the bus's envelope.
func wrap(message string) string {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // a string can always be marshalled
	}
	return fmt.Sprintf(`{"oslo.version": "2.0", "oslo.message": %s}`, text)
}

func legacy(event, payload string) string {
	return wrap(fmt.Sprintf(`{"event_type": %q, "priority": "INFO", "timestamp": "2026-11-20 10:11:12.345678", "payload": %s,
		"_context_user_id": "u-1", "_context_project_id": "p-1", "_context_request_id": "req-1"}`, event, payload))
}

func versionedBody(event, data string) string {
	return legacy(event, fmt.Sprintf(`{"nova_object.name": "X", "nova_object.data": %s}`, data))
}

func TestEachFormIsUnderstood(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 10, 11, 12, 345678000, time.UTC)
	by := Asker{User: "u-1", Project: "p-1", Request: "req-1"}
	for name, c := range map[string]struct {
		body string
		want Notice
		err  error
	}{
		"legacy stop": {body: legacy("compute.instance.power_off.end",
			`{"instance_id": "i", "tenant_id": "t", "host": "h"}`),
			want: Notice{Kind: Stopped, Instance: "i", Project: "t", Host: "h"}},
		"versioned stop": {body: versionedBody("instance.power_off.end",
			`{"uuid": "i", "tenant_id": "t", "host": "h"}`),
			want: Notice{Kind: Stopped, Instance: "i", Project: "t", Host: "h"}},
		"it only begins": {body: legacy("compute.instance.power_off.start", `{"instance_id": "i"}`),
			err: errOther},
		"deleted softly": {body: versionedBody("instance.soft_delete.end", `{"uuid": "i"}`),
			want: Notice{Kind: Deleted, Instance: "i"}},
		"paused": {body: versionedBody("instance.pause.end", `{"uuid": "i"}`),
			want: Notice{Kind: Paused, Instance: "i"}},
		"suspended": {body: legacy("compute.instance.suspend.end", `{"instance_id": "i"}`),
			want: Notice{Kind: Paused, Instance: "i"}},
		"unpaused": {body: legacy("compute.instance.unpause.end", `{"instance_id": "i"}`),
			want: Notice{Kind: Started, Instance: "i"}},
		"rebuild failed": {body: versionedBody("instance.rebuild.error", `{"uuid": "i"}`),
			want: Notice{Kind: Failed, Instance: "i"}},
		"migrated, legacy": {body: legacy("compute.instance.live_migration._post.end", `{"instance_id": "i"}`),
			want: Notice{Kind: Changed, Instance: "i"}},
		"evacuated": {body: versionedBody("instance.evacuate", `{"uuid": "i"}`),
			want: Notice{Kind: Changed, Instance: "i"}},
		"a part of a deletion": {body: legacy("compute.instance.shutdown.end", `{"instance_id": "i"}`), err: errOther},
		"existence, hourly":    {body: legacy("compute.instance.exists", `{"instance_id": "i"}`), err: errOther},
		"snapshot":             {body: legacy("compute.instance.snapshot.end", `{"instance_id": "i"}`), err: errOther},
		"scheduler":            {body: legacy("scheduler.select_destinations.end", `{}`), err: errOther},
		"reset to error, legacy": {
			body: legacy("compute.instance.update", `{"instance_id": "i", "old_state": "active", "state": "error"}`),
			want: Notice{Kind: Failed, Instance: "i"},
		},
		"reset to error, versioned": {
			body: versionedBody("instance.update",
				`{"uuid": "i", "state": "error", "state_update": {"nova_object.data": {"old_state": "active", "state": "error"}}}`),
			want: Notice{Kind: Failed, Instance: "i"},
		},
		"only its task changed": {
			body: legacy("compute.instance.update",
				`{"instance_id": "i", "old_state": "active", "state": "active", "new_task_state": "powering-off"}`),
			err: errOther,
		},
		"an update to stopped": {body: legacy("compute.instance.update",
			`{"instance_id": "i", "old_state": "active", "state": "stopped"}`),
			want: Notice{Kind: Stopped, Instance: "i"}},
		"a host is disabled": {body: versionedBody("service.update",
			`{"host": "h7", "binary": "nova-compute", "disabled": true}`),
			want: Notice{Kind: HostChanged, Host: "h7"}},
		"the id is missing":  {body: legacy("compute.instance.delete.end", `{"host": "h"}`), err: errBroken},
		"the id is a number": {body: legacy("compute.instance.delete.end", `{"instance_id": 7}`), err: errBroken},
		"the id is endless": {body: legacy("compute.instance.delete.end",
			`{"instance_id": "`+strings.Repeat("i", 300)+`"}`),
			err: errBroken},
		"a list for a payload": {body: legacy("compute.instance.delete.end", `[]`), err: errBroken},
		"no event type":        {body: wrap(`{"payload": {}}`), err: errBroken},
		"envelope of a number": {body: `{"oslo.message": 5}`, err: errBroken},
		"nothing":              {body: "", err: errBroken},
		"without an envelope": {body: `{"event_type": "instance.delete.end", "payload": {"nova_object.data": {"uuid": "i"}}}`,
			want: Notice{Kind: Deleted, Instance: "i"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(c.body))
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if name != "without an envelope" {
				c.want.At, c.want.By = at, by
			}
			if got != c.want {
				t.Errorf("\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWhoAskedIsTakenFromThePayloadWhereTheContextIsTheClouds(t *testing.T) {
	t.Parallel()
	body := wrap(`{"event_type": "instance.power_off.end", "_context_user_id": null,
		"payload": {"nova_object.data": {"uuid": "i", "action_initiator_user": "u-2", "action_initiator_project": "p-2"}}}`)
	n, err := decode([]byte(body))
	if err != nil || n.By != (Asker{User: "u-2", Project: "p-2"}) {
		t.Errorf("by %+v, %v", n.By, err)
	}
	body = wrap(`{"event_type": "instance.power_off.end", "_context_user_id": null, "payload": {"nova_object.data": {"uuid": "i"}}}`)
	if n, err = decode([]byte(body)); err != nil || n.By != (Asker{}) {
		t.Errorf("by %+v, %v; want no asker", n.By, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(legacy("compute.instance.update", `{"instance_id": "i", "old_state": "active", "state": "error"}`)))
	f.Add([]byte(versionedBody("service.update", `{"host": "h"}`)))
	f.Add([]byte(versionedBody("instance.update", `{"uuid": "i", "state_update": {"nova_object.data": null}}`)))
	f.Add([]byte(`{"oslo.message": "\"{}\""}`))
	for _, r := range recordings(f) {
		f.Add([]byte(r.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := decode(body)
		switch {
		case err != nil && !errors.Is(err, errBroken) && !errors.Is(err, errOther) && !errors.Is(err, errHuge):
			t.Errorf("an error of no kind: %v", err)
		case err == nil && n.Kind != HostChanged && n.Instance == "":
			t.Errorf("about nothing: %+v", n)
		case len(n.Instance) > maxWord, len(n.Host) > maxWord, len(n.By.User) > maxWord:
			t.Errorf("endless: %+v", n)
		}
	})
}
