package lossless_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/state/lossless"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// plain is what JSON says, without the order of members.
func plain(t require, data []byte) any {
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return out
}

type require interface{ Fatalf(string, ...any) }

type (
	part struct {
		ID    string
		Count int `json:",omitempty"`
	}
	word struct {
		Order string
		Text  string
	}
	cover struct{ Image string }
	book  struct {
		Title    string
		Part     *part  `json:",omitempty"`
		Parts    []part `json:",omitempty"`
		Word     *word  `json:",omitempty"`
		Words    []word `json:",omitempty"`
		Template cover
		Notes    map[string]string `json:",omitempty"`
		Health   struct{ Since int }
	}
)

func TestWhatIsUnknownGoesWithWhatItIsSaidOf(t *testing.T) {
	t.Parallel()
	const stored = `{"Title": "a", "New": [1, {"x": null}], "Part": {"ID": "p1", "New": 1},
		"Parts": [{"ID": "p1", "New": 1}, {"ID": "p2"}, {"ID": "p3", "New": 3}],
		"Word": {"Order": "o1", "Text": "", "New": 1}, "Words": [{"Order": "o1", "Text": "x", "New": 1}],
		"Template": {"Image": "i1", "New": 1}, "Notes": {"k": "v"}, "Health": {"Since": 1, "New": 1}}`
	for name, c := range map[string]struct {
		change func(*book)
		want   string
	}{
		"nothing changes": {func(*book) {}, stored},
		"all that stays changes": {func(b *book) {
			b.Title, b.Health.Since, b.Part.Count, b.Word.Text = "b", 2, 7, "y"
			b.Words[0].Text = "z"
		}, `{"Title": "b", "New": [1, {"x": null}], "Part": {"ID": "p1", "Count": 7, "New": 1},
			"Parts": [{"ID": "p1", "New": 1}, {"ID": "p2"}, {"ID": "p3", "New": 3}],
			"Word": {"Order": "o1", "Text": "y", "New": 1}, "Words": [{"Order": "o1", "Text": "z", "New": 1}],
			"Template": {"Image": "i1", "New": 1}, "Notes": {"k": "v"}, "Health": {"Since": 2, "New": 1}}`},
		"things go": {func(b *book) {
			b.Part, b.Parts, b.Word, b.Words, b.Notes = nil, nil, nil, nil, nil
		}, `{"Title": "a", "New": [1, {"x": null}], "Template": {"Image": "i1", "New": 1},
			"Health": {"Since": 1, "New": 1}}`},
		"others stand in their place": {func(b *book) {
			b.Part, b.Word, b.Words[0].Order, b.Template.Image = &part{ID: "p9"}, &word{Order: "o2"}, "o2", "i2"
		}, `{"Title": "a", "New": [1, {"x": null}], "Part": {"ID": "p9"},
			"Parts": [{"ID": "p1", "New": 1}, {"ID": "p2"}, {"ID": "p3", "New": 3}],
			"Word": {"Order": "o2", "Text": ""}, "Words": [{"Order": "o2", "Text": "x"}],
			"Template": {"Image": "i2"}, "Notes": {"k": "v"}, "Health": {"Since": 1, "New": 1}}`},
		"a list is another": {func(b *book) {
			b.Parts = []part{{ID: "p3"}, {ID: "p4"}, {ID: "p2", Count: 1}, {ID: "p1"}}
		}, `{"Title": "a", "New": [1, {"x": null}], "Part": {"ID": "p1", "New": 1},
			"Parts": [{"ID": "p3", "New": 3}, {"ID": "p4"}, {"ID": "p2", "Count": 1}, {"ID": "p1", "New": 1}],
			"Word": {"Order": "o1", "Text": "", "New": 1}, "Words": [{"Order": "o1", "Text": "x", "New": 1}],
			"Template": {"Image": "i1", "New": 1}, "Notes": {"k": "v"}, "Health": {"Since": 1, "New": 1}}`},
	} {
		var b book
		rest, err := lossless.Unmarshal([]byte(stored), &b)
		if err != nil || rest == nil {
			t.Fatalf("%v, rest %v", err, rest)
		}
		c.change(&b)
		data, kept, err := rest.Marshal(&b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, []byte(c.want)), plain(t, data)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		// What went does not come back with the next of its place, and what stays is written the same way every time.
		again, _, err := kept.Marshal(&b)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: the second time, %v, it is\n%s\nand was\n%s", name, err, again, data)
		}
	}
}

func TestWhatWentDoesNotComeBack(t *testing.T) {
	t.Parallel()
	var b book
	rest, err := lossless.Unmarshal([]byte(`{"Health": {}, "Words": [{"Order": "o1", "New": 1}]}`), &b)
	if err != nil {
		t.Fatal(err)
	}
	words := b.Words
	b.Words = nil
	_, rest, err = rest.Marshal(b)
	if err != nil || rest != nil {
		t.Fatalf("%v, the rest is %+v", err, rest)
	}
	b.Words = words
	data, _, err := rest.Marshal(b)
	if want, _ := json.Marshal(b); err != nil || !bytes.Equal(data, want) {
		t.Errorf("%v %s", err, data)
	}
}

func TestWhatIsWrongIsAnError(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{", `{"Title": 7}`, `{"Title": 7, "New": 1}`, `{} {}`, `{"New": 1} x`} {
		var b book
		if rest, err := lossless.Unmarshal([]byte(data), &b); err == nil {
			t.Errorf("%s: rest %v", data, rest)
		}
	}
}

// TestAsEncodingJSONWhereAllIsKnown compares with what was there before.
func TestAsEncodingJSONWhereAllIsKnown(t *testing.T) {
	t.Parallel()
	m := stocked()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got belief.Machine
	rest, err := lossless.Unmarshal(data, &got)
	if err != nil || rest != nil {
		t.Fatalf("%v, rest %+v", err, rest)
	}
	if diff := cmp.Diff(m, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	again, rest, err := rest.Marshal(got)
	if err != nil || rest != nil || !bytes.Equal(again, data) {
		t.Errorf("%v %s", err, again)
	}
}

func stocked() belief.Machine {
	return belief.Machine{
		Name: "web-2", Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks,
			Check: "page"},
		Incidents: 3, Repairs: 5,
		Current:  belief.Incarnation{ID: "i-2", Generation: 2, Host: "h1", Certified: true},
		Incident: &belief.Incident{ID: "web-2/3", Cause: belief.CauseChecks},
		Repair: &belief.Repair{
			ID:     "web-2/r5",
			Kind:   belief.RepairHeal,
			Intent: &belief.Intent{ID: "web-2/r5/call1", Op: fleet.OpReboot},
			Climb:  belief.Climb{Aim: belief.Aim{Target: belief.Incarnation{ID: "i-2"}}},
		},
		Kept: []belief.KeptInstance{{Incarnation: belief.Incarnation{ID: "i-1"}}}, Attempts: []fleet.Instant{1, 2},
	}
}

// TestUnknownMembersSurviveAtEveryDepth puts a member that no version knows into every object of a belief that a rapid
// draw chooses.
func TestUnknownMembersSurviveAtEveryDepth(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(stocked())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		said := plain(t, data)
		n := 0
		sprinkle(said, func() bool {
			chosen := rapid.Bool().Draw(t, "here")
			if chosen {
				n++
			}
			return chosen
		})
		stored, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		var m belief.Machine
		rest, err := lossless.Unmarshal(stored, &m)
		if err != nil || (rest == nil) != (n == 0) {
			t.Fatalf("%v, %d are unknown, rest %+v", err, n, rest)
		}
		m.Waiting, m.Repair.Phase, m.Incident.Paged = fleet.ReasonBackoff, belief.PhaseVerify, true
		got, kept, err := rest.Marshal(m)
		if err != nil || (kept == nil) != (n == 0) {
			t.Fatalf("%v, rest %+v", err, kept)
		}
		known, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		want := plain(t, known)
		graft(want, said)
		if diff := cmp.Diff(want, plain(t, got)); diff != "" {
			t.Fatalf("%s", diff)
		}
	})
}

const foreign = "Zzz"

// sprinkle puts an unknown member into the objects that are chosen, in a fixed order.
func sprinkle(v any, chosen func() bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			sprinkle(v[name], chosen)
		}
		if chosen() {
			v[foreign] = map[string]any{"deep": []any{1.0, "x"}}
		}
	case []any:
		for _, e := range v {
			sprinkle(e, chosen)
		}
	}
}

// graft copies the unknown members from one to the other, which has the same shape.
func graft(to, from any) {
	switch f := from.(type) {
	case map[string]any:
		into, _ := to.(map[string]any)
		for name, v := range f {
			if name == foreign {
				into[name] = v
			} else {
				graft(into[name], v)
			}
		}
	case []any:
		into, _ := to.([]any)
		for i := range f {
			graft(into[i], f[i])
		}
	}
}

// BenchmarkUnmarshal is what loading one belief costs, beside encoding/json.
func BenchmarkUnmarshal(b *testing.B) {
	data, err := json.Marshal(stocked())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			var m belief.Machine
			if err := json.Unmarshal(data, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lossless", func(b *testing.B) {
		for b.Loop() {
			var m belief.Machine
			if _, err := lossless.Unmarshal(data, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
