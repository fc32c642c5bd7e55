package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/core/fleet"
)

func TestASelectorMeansNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s     fleet.Selector
		means string // those of all that are meant
	}{
		"nothing":          {fleet.Selector{}, ""},
		"a name":           {fleet.Selector{Name: "db"}, "db"},
		"a beginning":      {fleet.Selector{Name: "db*"}, "db db-1 db-main db-main-old"},
		"an end":           {fleet.Selector{Name: "*-main"}, "db-main"},
		"a middle":         {fleet.Selector{Name: "*-main*"}, "db-main db-main-old"},
		"one letter":       {fleet.Selector{Name: "db-?"}, "db-1"},
		"a letter of any":  {fleet.Selector{Name: "?l"}, "öl"},
		"everything":       {fleet.Selector{Name: "*"}, "db db-1 db-main db-main-old mail öl a*b"},
		"two stars":        {fleet.Selector{Name: "d**-*n"}, "db-main"},
		"but not some":     {fleet.Selector{Name: "db-*", Except: []string{"*-old", "db-?"}}, "db-main"},
		"capitals differ":  {fleet.Selector{Name: "DB"}, ""},
		"brackets are not": {fleet.Selector{Name: "[a-z]*"}, ""},
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
		s     fleet.Selector
		means string
	}{
		"metadata":               {fleet.Selector{Name: "*", Metadata: db}, "both db"},
		"a tag":                  {fleet.Selector{Name: "*", Tags: []string{"db"}}, "both tagged"},
		"all of several tags":    {fleet.Selector{Name: "*", Tags: []string{"db", "prod"}}, "tagged"},
		"metadata and a tag":     {fleet.Selector{Name: "*", Metadata: db, Tags: []string{"db"}}, "both"},
		"a name and metadata":    {fleet.Selector{Name: "d*", Metadata: db}, "db"},
		"no part of a tag":       {fleet.Selector{Name: "*", Tags: []string{"pro"}}, ""},
		"no name, so not at all": {fleet.Selector{Metadata: db}, ""},
	} {
		var means []string
		for n, i := range all {
			if i.Name = n; c.s.Matches(&i) {
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
		s, o   fleet.Selector
		within bool
	}{
		"the same":          {fleet.Selector{Name: "db-*"}, fleet.Selector{Name: "db-*"}, true},
		"one name of many":  {fleet.Selector{Name: "db-1"}, fleet.Selector{Name: "db-*"}, true},
		"many names of one": {fleet.Selector{Name: "db-*"}, fleet.Selector{Name: "db-1"}, false},
		"a name that itself leaves out": {fleet.Selector{Name: "db-1", Except: []string{"db-?"}},
			fleet.Selector{Name: "db-*"}, false},
		"more metadata": {fleet.Selector{Name: "*", Metadata: ab},
			fleet.Selector{Name: "*", Metadata: a}, true},
		"less metadata": {fleet.Selector{Name: "*", Metadata: a},
			fleet.Selector{Name: "*", Metadata: ab}, false},
		"one name with metadata of many": {fleet.Selector{Name: "db-1", Metadata: a}, fleet.Selector{Name: "db-*"},
			true},
		"one name that may bear nothing": {fleet.Selector{Name: "db-1"}, fleet.Selector{Name: "db-*", Metadata: a},
			false},
		"more tags": {fleet.Selector{Name: "*", Tags: []string{"a", "b"}},
			fleet.Selector{Name: "*", Tags: []string{"b"}}, true},
		"another tag": {fleet.Selector{Name: "*", Tags: []string{"a"}},
			fleet.Selector{Name: "*", Tags: []string{"b"}}, false},
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
	sound := func() fleet.Machine {
		is := fleet.Incarnation{ID: "x", Generation: 1, Certified: true, Adopted: true}
		return fleet.Machine{Name: "db-1", Generation: 1, Current: is, Incident: &fleet.Incident{},
			Repair: &fleet.Repair{
				Kind:   fleet.RepairHeal,
				Intent: &fleet.Intent{ID: "c", Op: fleet.OpDelete, Instance: "x", Limit: 1},
				Climb: fleet.Climb{
					Aim: fleet.Aim{Target: is, Finding: fleet.Finding{Confirmed: true, Proof: fleet.ProofConfirmedOff}},
				},
			}}
	}
	for name, c := range map[string]struct {
		change func(m *fleet.Machine)
		breaks bool
	}{
		"replaceable": {change: func(*fleet.Machine) {}},
		"kept":        {change: func(m *fleet.Machine) { m.Repair.Target.Irreplaceable = true }, breaks: true},
		"kept, power off": {change: func(m *fleet.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Op = true,
				fleet.OpPowerOff
		}, breaks: true},
		"kept, reboot": {change: func(m *fleet.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Op = true,
				fleet.OpReboot
		}},
		"it was sent then": {change: func(m *fleet.Machine) {
			m.Repair.Target.Irreplaceable, m.Repair.Intent.Unknown = true,
				true
		}},
		"a candidate": {change: func(m *fleet.Machine) { m.Current.Certified, m.Repair.Intent = false, nil },
			breaks: true},
	} {
		m := sound()
		c.change(&m)
		if err := m.Check(); (err != nil) != c.breaks {
			t.Errorf("%s: %v", name, err)
		}
	}
}
