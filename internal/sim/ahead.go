package sim

import (
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/situation"
	"hale/internal/sim/script"
)

// precedes plays that a fleet which comes first does not serve. Where it is not known, hale does not hear of it.
func precedes(known bool) act {
	return func(s *stage, e script.Event) (func(), error) {
		a := &situation.Ahead{Fleet: ahead(e), Known: known, Size: s.spec.Size}
		s.setAhead(append(slices.Clone(s.ahead), a))
		return func() {
			s.setAhead(slices.DeleteFunc(slices.Clone(s.ahead), func(o *situation.Ahead) bool { return o == a }))
		}, nil
	}
}

// ahead is the fleet that the event is about.
func ahead(e script.Event) fleet.Name {
	return fleet.Name(strings.TrimPrefix(e.Subject, script.OtherFleet))
}

// setAhead notes which fleets do not serve, and has all servers hear of it.
func (s *stage) setAhead(all []*situation.Ahead) {
	s.ahead = all
	waits := len(s.unready())
	s.judge.Waits(waits)
	if s.double != nil {
		s.double.judge.Waits(waits)
	}
	for _, c := range s.everybody() {
		c.heat()
	}
}

// unready returns how the fleets stand that come first and do not serve, or may not.
func (s *stage) unready() (out []situation.Ahead) {
	for _, name := range s.spec.After {
		i := slices.IndexFunc(s.ahead, func(a *situation.Ahead) bool { return a.Fleet == name })
		if i >= 0 && !guard.Ready(*s.ahead[i]) {
			out = append(out, *s.ahead[i])
		}
	}
	return out
}
