package members

import (
	"errors"
	"testing"

	"hale/internal/cluster/door"
	"hale/internal/state/etcd"
)

// A server is fit to lead in place of the active one if it answers, hears the leader, has a vote and no trouble, and
// does not lag.
func TestWhoIsFitToLead(t *testing.T) {
	t.Parallel()
	server := func(at string, applied uint64, change func(*seen)) seen {
		s := seen{name: at, Peer: etcd.Peer{Address: at}, says: door.Standing{Led: true, Applied: applied,
			Committed: applied}}
		if change != nil {
			change(&s)
		}
		return s
	}
	me := server("me", 1000, nil)
	for name, c := range map[string]struct {
		others []seen
		want   string
	}{
		"the one that is ahead":   {[]seen{server("b", 950, nil), server("c", 999, nil)}, "c"},
		"at the limit":            {[]seen{server("b", 1000-nearBehind, nil)}, "b"},
		"behind":                  {[]seen{server("b", 999-nearBehind, nil)}, ""},
		"away":                    {[]seen{server("b", 1000, func(s *seen) { s.why = errors.New("away") })}, ""},
		"a learner":               {[]seen{server("b", 1000, func(s *seen) { s.Learner = true })}, ""},
		"cut off":                 {[]seen{server("b", 1000, func(s *seen) { s.says.Led = false })}, ""},
		"its disk is full":        {[]seen{server("b", 1000, func(s *seen) { s.says.Trouble = "full" })}, ""},
		"none":                    {nil, ""},
		"another one is in order": {[]seen{server("b", 1, nil), server("c", 990, nil)}, "c"},
	} {
		got, ok := fitToLead(append([]seen{me}, c.others...), "me")
		if got.name != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q leads, want %q", name, got.name, c.want)
		}
	}
}
