package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"hale/api"
)

// TestWhatNoFleetOwnsIsListed takes a fleet out of the configuration: apply and reload name the machines that run on
// unwatched, status lists them, also after a restart, and the fleet takes them back when it returns.
func TestWhatNoFleetOwnsIsListed(t *testing.T) {
	t.Parallel()
	e := &ending{T: t, fleets: 2}
	e.begin(e.listen())
	e.feel("well")
	e.start()
	e.await("all are healthy", func(s api.Status) bool { return e.healthy(s) == 6 && len(s.Unowned) == 0 })
	whole, err := os.ReadFile(e.path("hale.yaml"))
	e.must(err)
	without := regexp.MustCompile(`  f1:.*\n`).ReplaceAll(whole, nil)
	e.must(os.WriteFile(e.path("other.yaml"), without, 0o600))

	wants := func(said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("it lacks %q:\n%s", part, said)
			}
		}
	}
	wants(
		e.says("apply", e.path("other.yaml")),
		"fleet f1: 3 machines run on, and nothing watches or repairs them without it: f1-1, f1-2, f1-3",
	)
	if said := e.says("status"); strings.Contains(said, "owned by no fleet") {
		t.Errorf("apply changed something:\n%s", said)
	}
	e.must(os.WriteFile(e.path("hale.yaml"), without, 0o600))
	wants(e.says("reload"), "fleet f1: 3 machines run on")
	var since time.Time
	listed := func(s api.Status) bool {
		if len(s.Unowned) != 3 {
			return false
		}
		u := s.Unowned[0]
		if u.Fleet != "f1" || u.Machine != "f1-1" || u.Provider != "lab" || u.Installation != "" ||
			u.Power != "running" {
			t.Errorf("listed is %+v", u)
		}
		since = u.Since
		return true
	}
	e.await("they are listed", listed)
	first := since
	wants(e.says("status"), "Marked by hale, owned by no fleet", "f1-2")

	e.end(lenient)
	e.start()
	e.await("they are listed after a restart", listed)
	if !since.Equal(first) {
		t.Errorf("since %v, and before the restart %v", since, first)
	}
	e.must(os.WriteFile(e.path("hale.yaml"), []byte("fleets:\n"), 0o600))
	wants(e.says("reload"), "provider lab") // with nothing left to list them from
	e.must(os.WriteFile(e.path("hale.yaml"), whole, 0o600))
	wants(e.says("reload"), "The configuration was read again")
	e.await("the fleet has them back", func(s api.Status) bool { return e.healthy(s) == 6 && len(s.Unowned) == 0 })
	e.wantEachOnce()
	e.end(lenient)
}
