package fleet_test

import (
	"strings"
	"testing"

	"hale/internal/fleet"
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
			if c.s.Matches(n) {
				means = append(means, n)
			}
		}
		if got := strings.Join(means, " "); got != c.means {
			t.Errorf("%s: %q means %s, want %s", name, c.s.Name, got, c.means)
		}
	}
}

// L2: whoever wants to destroy an adopted instance that is not replaceable breaks a law, whatever the rest of the belief says; nor is a
// candidate ever repaired.
func TestL2TheLawKnowsWhatIsKept(t *testing.T) {
	t.Parallel()
	sound := func() fleet.Machine {
		is := fleet.Incarnation{ID: "x", Generation: 1, Certified: true, Adopted: true}
		return fleet.Machine{Name: "db-1", Generation: 1, Current: is, Incident: &fleet.Incident{}, Repair: &fleet.Repair{
			Kind: fleet.RepairHeal, Confirmed: true, Proof: fleet.ProofConfirmedOff, Target: is,
			Intent: &fleet.Intent{ID: "c", Op: fleet.OpDelete, Instance: "x", Limit: 1},
		}}
	}
	for name, c := range map[string]struct {
		change func(m *fleet.Machine)
		breaks bool
	}{
		"replaceable":      {change: func(*fleet.Machine) {}},
		"kept":             {change: func(m *fleet.Machine) { m.Repair.Target.Kept = true }, breaks: true},
		"kept, power off":  {change: func(m *fleet.Machine) { m.Repair.Target.Kept, m.Repair.Intent.Op = true, fleet.OpPowerOff }, breaks: true},
		"kept, reboot":     {change: func(m *fleet.Machine) { m.Repair.Target.Kept, m.Repair.Intent.Op = true, fleet.OpReboot }},
		"it was sent then": {change: func(m *fleet.Machine) { m.Repair.Target.Kept, m.Repair.Intent.Unknown = true, true }},
		"a candidate":      {change: func(m *fleet.Machine) { m.Current.Certified, m.Repair.Intent = false, nil }, breaks: true},
	} {
		m := sound()
		c.change(&m)
		if err := m.Check(); (err != nil) != c.breaks {
			t.Errorf("%s: %v", name, err)
		}
	}
}
