package lossless_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/state/lossless"
)

// FuzzBelief: whatever a store says of a machine, it is refused, or judged by the laws, begun anew, and written back
// with nothing lost.
func FuzzBelief(f *testing.F) {
	for _, seed := range []string{
		`{"Name": "web-1"}`,
		`{"Name": "web-1", "New": {"x": [1, {"y": null}]}, "Repair": {"ID": 1, "Step": "recreate", "New": 1}}`,
		`{"Name": "web-1", "Current": {"ID": "a"}, "Incident": {"ID": 3}, ` +
			`"Evidence": [{"Check": "page"}], "Kept": [{"ID": "b", "New": 2}]}`,
		`{"Repair": {"Intent": {}}}`, `null`, `{}`, `[]`, `{"Name": 1}`, `{"name": "web-1", "NAME": "web-2"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m belief.Machine
		rest, err := lossless.Unmarshal(data, &m)
		if err != nil {
			return
		}
		_ = m.Check()
		anew := m.Clone().Restart(fleet.Now{}, policy.Spec{})
		_ = anew.Check()
		written, kept, err := rest.Marshal(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again belief.Machine
		back, err := lossless.Unmarshal(written, &again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v: %s", err, written)
		}
		twice, _, err := back.Marshal(again)
		if err != nil || (kept == nil) != (rest == nil) {
			t.Fatalf("%v; of the rest %v there is %v", err, rest, kept)
		}
		var x, y any
		if json.Unmarshal(written, &x) == nil && json.Unmarshal(twice, &y) == nil && !cmp.Equal(x, y) {
			t.Errorf("written twice, it is another:\n%s\n%s", written, twice)
		}
	})
}
