package situation

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Adjustable returns the parts in which the machine's instance, as it was seen, has to be adjusted to be as one of the
// template; none: that does not make it one, and another has to be built.
func Adjustable(m *belief.Machine, seen fleet.Sighting, l *belief.Ledger, spec *policy.Spec,
	is *policy.Template,
) []policy.Part {
	if m.Current.None() || m.Current.Adopted || !l.Knows(m.Current.Edition) {
		return nil
	}
	var parts []policy.Part
	if seen.Known() {
		parts = is.Drift(&seen.Instance)
	}
	if older := l.TemplateOf(m.Current.Edition, spec); !is.Builds(older) {
		more, whole := is.Parts(&older)
		if !whole {
			return nil
		}
		parts = append(parts, more...)
	}
	return parts
}
