package sizes

import (
	"fmt"
	"slices"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Warn lists what a size allows and should not be left so, in sentences.
func Warn(f *policy.Spec) []string {
	s := f.Sizing
	if s == nil {
		return nil
	}
	var out []string
	say := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("fleets.%s.size"+format, append([]any{f.Name}, args...)...))
	}
	if s.Min == s.Max {
		say(": min and max are both %d: nothing can move it; write size: %d, or other bounds", s.Min, s.Min)
	}
	if len(s.Opinions) > 0 && !slices.ContainsFunc(s.Opinions, lowers) {
		say(".opinions: none of them ever wants fewer machines, so that only people, and programs with --signal, make the " +
			"fleet smaller; add a target, or a step that removes")
	}
	hasty := func(o policy.Opinion) bool {
		return slices.ContainsFunc(o.Steps, func(step policy.SizeStep) bool { return step.Change.Goes() > 0 })
	}
	if s.Up.Cooldown < f.Grace && slices.ContainsFunc(s.Opinions, hasty) {
		say(".up.cooldown: %s is shorter than grace, %s: steps add machines again before those that were added can "+
			"help; write %s or more, or a target in place of steps", keys.FormatDuration(s.Up.Cooldown),
			keys.FormatDuration(f.Grace), keys.FormatDuration(f.Grace))
	}
	return out
}

// lowers reports whether the opinion can want fewer machines than there are.
func lowers(o policy.Opinion) bool {
	switch o.Kind {
	case policy.OpinionTarget, policy.OpinionSize:
		return true
	case policy.OpinionSteps:
		return slices.ContainsFunc(o.Steps, func(s policy.SizeStep) bool { return s.Change.Goes() <= 0 })
	case policy.OpinionSchedule: // outside its windows it has no say
	}
	return false
}
