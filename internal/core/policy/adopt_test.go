package policy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hale/internal/core/policy"
)

func TestAPatternMeansNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		means         bool
	}{
		{"web-*", "web-1", true},
		{"web-*", "web-", true},
		{"web-*", "web", false},
		{"web-?", "web-12", false},
		{"*-main", "db-main-main", true},
		{"*-main", "db-main-2", false},
		{"w*b*1", "web-21", true},
		{"*??", "€", false}, // any one character, however many bytes it takes
		{"?", "€", true},
		{"*€?", "a€€b", true},
		{"web", "web", true},
		{"web", "web2", false},
	} {
		s := policy.Selector{Name: tt.pattern}
		if s.Means(tt.name) != tt.means {
			t.Errorf("%s means %s: %t, want %t", tt.pattern, tt.name, !tt.means, tt.means)
		}
	}
}

// Fleets whose patterns are apart are never compared instance by instance: no name may be meant by both, and each name
// that is meant begins as it is said to.
func TestWhatIsApartMeansNothingTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := func(letters, what string) string {
			return rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 1, 4, -1).Draw(t, what)
		}
		a, b := policy.Selector{Name: of("ab*?", "one")}, policy.Selector{Name: of("ab*?", "other")}
		name := of("ab", "name")
		if a.Apart(&b) && a.Means(name) && b.Means(name) {
			t.Fatalf("%s and %s are apart, and both mean %s", a.Name, b.Name, name)
		}
		if a.Means(name) && !strings.HasPrefix(name, a.Begins()) {
			t.Fatalf("%s means %s, which does not begin with %s", a.Name, name, a.Begins())
		}
		if a.Apart(&b) != b.Apart(&a) || a.Apart(&a) {
			t.Fatalf("%s and %s are apart one way only, or from themselves", a.Name, b.Name)
		}
	})
}
