package belief_test

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func TestASelectorMeansNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s     policy.Selector
		means string // those of all that are meant
	}{
		"nothing":          {policy.Selector{}, ""},
		"a name":           {policy.Selector{Name: "db"}, "db"},
		"a beginning":      {policy.Selector{Name: "db*"}, "db db-1 db-main db-main-old"},
		"an end":           {policy.Selector{Name: "*-main"}, "db-main"},
		"a middle":         {policy.Selector{Name: "*-main*"}, "db-main db-main-old"},
		"one letter":       {policy.Selector{Name: "db-?"}, "db-1"},
		"a letter of any":  {policy.Selector{Name: "?l"}, "öl"},
		"everything":       {policy.Selector{Name: "*"}, "db db-1 db-main db-main-old mail öl a*b"},
		"two stars":        {policy.Selector{Name: "d**-*n"}, "db-main"},
		"but not some":     {policy.Selector{Name: "db-*", Except: []string{"*-old", "db-?"}}, "db-main"},
		"capitals differ":  {policy.Selector{Name: "DB"}, ""},
		"brackets are not": {policy.Selector{Name: "[a-z]*"}, ""},
	} {
		var means []string
		for _, n := range []string{"db", "db-1", "db-main", "db-main-old", "mail", "öl", "a*b"} {
			if c.s.Means(n) {
				means = append(means, n)
			}
		}
		if got := strings.Join(means, " "); got != c.means {
			t.Errorf("%s: %q means %s, want %s", name, c.s.Name, got, c.means)
		}
	}
}

// What is meant must bear all that it is asked for, beside its name.
func TestASelectorMeansWhatIsBorne(t *testing.T) {
	t.Parallel()
	db := fleet.MetadataOf(map[string]string{"role": "db"})
	all := map[string]fleet.Instance{
		"plain":  {},
		"db":     {Metadata: fleet.MetadataOf(map[string]string{"role": "db", "rack": "7"})},
		"dbs":    {Metadata: fleet.MetadataOf(map[string]string{"role": "dbs", "a": "role=db"})},
		"tagged": {Tags: fleet.TagsOf([]string{"prod", "db"})},
		"both":   {Metadata: db, Tags: fleet.TagsOf([]string{"db"})},
	}
	for name, c := range map[string]struct {
		s     policy.Selector
		means string
	}{
		"metadata":               {policy.Selector{Name: "*", Metadata: db}, "both db"},
		"a tag":                  {policy.Selector{Name: "*", Tags: []string{"db"}}, "both tagged"},
		"all of several tags":    {policy.Selector{Name: "*", Tags: []string{"db", "prod"}}, "tagged"},
		"metadata and a tag":     {policy.Selector{Name: "*", Metadata: db, Tags: []string{"db"}}, "both"},
		"a name and metadata":    {policy.Selector{Name: "d*", Metadata: db}, "db"},
		"no part of a tag":       {policy.Selector{Name: "*", Tags: []string{"pro"}}, ""},
		"no name, so not at all": {policy.Selector{Metadata: db}, ""},
		"ids":                    {policy.Selector{Name: "*", IDs: []fleet.InstanceID{"i-db", "i-plain"}}, "db plain"},
		"an id and a tag": {policy.Selector{Name: "*", Tags: []string{"db"}, IDs: []fleet.InstanceID{"i-both",
			"i-db"}}, "both"},
	} {
		var means []string
		for n, i := range all {
			if i.Name, i.ID = n, fleet.InstanceID("i-"+n); c.s.Matches(&i) {
				means = append(means, n)
			}
		}
		slices.Sort(means)
		if got := strings.Join(means, " "); got != c.means {
			t.Errorf("%s: means %s, want %s", name, got, c.means)
		}
	}
}

// Two selectors that surely meet are a mistake in the file; two that may not are none.
func TestASelectorWithinAnother(t *testing.T) {
	t.Parallel()
	a := fleet.MetadataOf(map[string]string{"role": "db"})
	ab := fleet.MetadataOf(map[string]string{"role": "db", "site": "a"})
	for name, c := range map[string]struct {
		s, o   policy.Selector
		within bool
	}{
		"the same":          {policy.Selector{Name: "db-*"}, policy.Selector{Name: "db-*"}, true},
		"one name of many":  {policy.Selector{Name: "db-1"}, policy.Selector{Name: "db-*"}, true},
		"many names of one": {policy.Selector{Name: "db-*"}, policy.Selector{Name: "db-1"}, false},
		"a name that itself leaves out": {policy.Selector{Name: "db-1", Except: []string{"db-?"}},
			policy.Selector{Name: "db-*"}, false},
		"more metadata": {policy.Selector{Name: "*", Metadata: ab},
			policy.Selector{Name: "*", Metadata: a}, true},
		"less metadata": {policy.Selector{Name: "*", Metadata: a},
			policy.Selector{Name: "*", Metadata: ab}, false},
		"one name with metadata of many": {policy.Selector{Name: "db-1", Metadata: a}, policy.Selector{Name: "db-*"},
			true},
		"one name that may bear nothing": {policy.Selector{Name: "db-1"}, policy.Selector{Name: "db-*", Metadata: a},
			false},
		"more tags": {policy.Selector{Name: "*", Tags: []string{"a", "b"}},
			policy.Selector{Name: "*", Tags: []string{"b"}}, true},
		"one id of several": {policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a"}},
			policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a", "b"}}, true},
		"an id of any": {policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a"}}, policy.Selector{Name: "*"}, true},
		"any id of one": {policy.Selector{Name: "*"}, policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a"}},
			false},
		"another id": {policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a", "c"}},
			policy.Selector{Name: "*", IDs: []fleet.InstanceID{"a", "b"}}, false},
		"another tag": {policy.Selector{Name: "*", Tags: []string{"a"}},
			policy.Selector{Name: "*", Tags: []string{"b"}}, false},
	} {
		if got := c.s.Within(&c.o); got != c.within {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Tags are words, each one line; what could not be told apart again is left out.
func TestTagsAreLines(t *testing.T) {
	t.Parallel()
	tags := fleet.TagsOf([]string{"b", "a", "b", "", "two\nlines", "with space", strings.Repeat("x", fleet.TagsLimit)})
	if tags != "a\nb\nwith space\n" {
		t.Errorf("%q", tags)
	}
	for word, has := range map[string]bool{"a": true, "with space": true, "with": false, "": false, "two": false} {
		if tags.Has(word) != has {
			t.Errorf("%q: %v", word, !has)
		}
	}
}

// L2: destroying an adopted instance that is not replaceable breaks a law, whatever the rest of the belief says; nor is
// a candidate ever repaired.
func TestL2TheLawKnowsWhatIsKept(t *testing.T) {
	t.Parallel()
	sound := func() belief.Machine {
		is := belief.Incarnation{ID: "x", Generation: 1, Certified: true, Adopted: true}
		return belief.Machine{Name: "db-1", Generation: 1, Current: is, Incident: &belief.Incident{},
			Repair: &belief.Repair{
				Kind:   belief.RepairHeal,
				Intent: &belief.Intent{ID: "c", Op: fleet.OpDelete, Instance: "x", Limit: 1},
				Climb: belief.Climb{
					Aim: belief.Aim{Target: is, Finding: belief.Finding{Confirmed: true,
						Proof: fleet.ProofConfirmedOff}},
				},
			}}
	}
	for name, c := range map[string]struct {
		change func(m *belief.Machine)
		breaks bool
	}{
		"replaceable": {change: func(*belief.Machine) {}},
		"kept":        {change: func(m *belief.Machine) { m.Repair.Target.Irreplaceable = true }, breaks: true},
		"kept, power off": {change: func(m *belief.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Op = true,
				fleet.OpPowerOff
		}, breaks: true},
		"kept, reboot": {change: func(m *belief.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Op = true,
				fleet.OpReboot
		}},
		"it was sent then": {change: func(m *belief.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Unknown = true,
				true
		}},
		"a candidate": {change: func(m *belief.Machine) { m.Current.Certified, m.Repair.Intent = false, nil },
			breaks: true},
	} {
		m := sound()
		c.change(&m)
		if err := m.Check(); (err != nil) != c.breaks {
			t.Errorf("%s: %v", name, err)
		}
	}
}
