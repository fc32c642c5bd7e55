package notification

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// recorded is one notification as Nova 26.2 (Zed) sent it, with the kind that it is of; none: it says nothing that a
// listing shows.
type recorded struct {
	Event string `json:"event"`
	Want  Kind   `json:"want"`
	Body  string `json:"body"`
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/zed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	for line := range bytes.Lines(data) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func TestWhatNovaReallySendsIsUnderstood(t *testing.T) {
	t.Parallel()
	for i, r := range recordings(t) {
		n, err := decode([]byte(r.Body))
		switch {
		case r.Want == "":
			if !errors.Is(err, errOther) {
				t.Errorf("line %d, %s: %+v, %v; want nothing", i+1, r.Event, n, err)
			}
			continue
		case err != nil || n.Kind != r.Want:
			t.Errorf("line %d, %s: %q, %v; want %q", i+1, r.Event, n.Kind, err, r.Want)
			continue
		}
		if n.By.User == "" || n.By.Project == "" || !strings.HasPrefix(n.By.Request, "req-") {
			t.Errorf("line %d, %s: no asker: %+v", i+1, r.Event, n.By)
		}
		if n.At.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("line %d, %s: at %s", i+1, r.Event, n.At)
		}
		switch n.Kind {
		case HostChanged:
			if n.Host != "fake1" || n.Instance != "" {
				t.Errorf("line %d: %+v", i+1, n)
			}
		default:
			if len(n.Instance) != 36 || len(n.Project) != 32 {
				t.Errorf("line %d, %s: about %q of project %q", i+1, r.Event, n.Instance, n.Project)
			}
		}
	}
}
