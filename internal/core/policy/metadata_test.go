package policy_test

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// TestMetadataAreReadAsWritten: what is kept comes out again under its key, two of the same content are equal, and what
// could be taken for something else is left out.
func TestMetadataAreReadAsWritten(t *testing.T) {
	t.Parallel()
	good := map[string]string{"role": "db", "tier": "", "a.b:c_d-9": "x = y, {meta.role} \"quoted\"", "Z": "grüße"}
	texts := maps.Clone(good)
	for key, value := range map[string]string{"": "x", "a b": "x", "a=b": "x", "{a}": "x", "lines": "a\nrole=web",
		"nul": "a\x00b"} {
		texts[key] = value
	}
	m := fleet.MetadataOf(texts)
	if diff := cmp.Diff(good, maps.Collect(m.All())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if m != fleet.MetadataOf(good) {
		t.Errorf("the same texts differ: %q", m)
	}
	if v, ok := m.Value("tier"); v != "" || !ok {
		t.Errorf("an empty text is %q, %t", v, ok)
	}
	if v, ok := m.Value("rol"); ok {
		t.Errorf("no key is %q", v)
	}
	if m := fleet.MetadataOf(nil); m != "" {
		t.Errorf("none are %q", m)
	}
}

// TestMetadataAreBounded: what is too much is left out, and the rest is whole.
func TestMetadataAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", fleet.MetadataLimit-len("b=\n"))
	m := fleet.MetadataOf(map[string]string{"a": "1", "b": long, "c": "2"})
	if diff := cmp.Diff(map[string]string{"a": "1", "c": "2"}, maps.Collect(m.All())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if m := fleet.MetadataOf(map[string]string{"b": long}); len(m) != fleet.MetadataLimit {
		t.Errorf("%d bytes are kept of one that fits exactly", len(m))
	}
}

// TestPlaceholdersAreFilledOnce: what comes out of one is not looked at again, and what is unknown is named, never left
// empty.
func TestPlaceholdersAreFilledOnce(t *testing.T) {
	t.Parallel()
	f := policy.Facts{
		Machine: "web-7", Instance: "i-1", Host: "h2", Address: netip.MustParseAddr("10.0.0.1"),
		Metadata: fleet.MetadataOf(map[string]string{"role": "{name}", "empty": ""}),
	}
	text := "{ip} {name} {id} {host} {fleet} {number} {meta.role} [{meta.empty}] {meta.rack} {other}"
	if got, want := f.Filler().Replace(text), "10.0.0.1 web-7 i-1 h2 web 7 {name} [] {meta.rack} {other}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	nowhere := f
	nowhere.Host = ""
	for _, c := range []struct {
		facts policy.Facts
		texts []string
		want  string
	}{
		{f, nil, ""},
		{f, []string{"{host} {meta.role}", "{meta.empty}"}, ""},
		{f, []string{"{meta.role}", "-x{meta.rack}"}, "{meta.rack}"},
		{f, []string{"{meta.}", "{meta.a b}", "{meta.open"}, ""},
		{nowhere, []string{"{meta.role}"}, ""},
		{nowhere, []string{"at {host}"}, "{host}"},
	} {
		if got := c.facts.Unknown(c.texts...); got != c.want {
			t.Errorf("of %q %q is unknown, want %q", c.texts, got, c.want)
		}
	}
}

// TestWhatWouldBeAnOptionIsUnfit: only where it begins an argument; control characters are unfit everywhere.
func TestWhatWouldBeAnOptionIsUnfit(t *testing.T) {
	t.Parallel()
	f := policy.Facts{
		Machine: "web-7", Instance: "-a", Host: "h1",
		Metadata: fleet.MetadataOf(map[string]string{"evil": "-oProxyCommand=x", "well": "db-1", "none": "",
			"bell": "a\ab", "dash": "-"}),
	}
	for _, c := range []struct {
		arg, want string
	}{
		{"{meta.well}", ""},
		{"{meta.evil}", "{meta.evil}"},
		{"{meta.dash}", "{meta.dash}"},
		{"{meta.evil}.example.org", "{meta.evil}"},
		{"{meta.none}{meta.evil}", "{meta.evil}"},
		{"{meta.none}-x", "{meta.none}"},
		{"{id}", "{id}"},
		{"--peer={meta.evil}", ""},
		{"-x", ""},
		{"{meta.well}{meta.evil}", ""},
		{"x{meta.bell}", "{meta.bell}"},
		{"{other}", ""},
	} {
		if got := f.Unfit([]string{"/bin/x", c.arg}, nil); got != c.want {
			t.Errorf("%s: %q, want %q", c.arg, got, c.want)
		}
	}
	if got := f.Unfit([]string{"/bin/x"}, []policy.Variable{{Name: "A", Value: "{meta.evil}"}}); got != "" {
		t.Errorf("a variable is no option: %q", got)
	}
	if got := f.Unfit([]string{"/bin/x"}, []policy.Variable{{Name: "A", Value: "{meta.bell}"}}); got != "{meta.bell}" {
		t.Errorf("a bell in a variable: %q", got)
	}
}
