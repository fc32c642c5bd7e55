package explain

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose"
)

// MarkedBeyond says which instance bears the machine's mark although the store knows it not, where the machine's own is
// not there: it may be well, and is not what the store believes in. Empty: there is none.
func MarkedBeyond(f published.Fleet, v situation.View) string {
	m := &v.Machine
	if !m.Current.None() && m.Health.Cause != belief.CauseGone {
		return ""
	}
	if s, _ := v.Beyond(f.Installation); f.Whole.Older != nil && s.Serves != nil {
		return fmt.Sprintf("the store is older than the world: %s (generation %d) bears its mark now",
			prose.Instance(s.Serves.ID), s.Serves.Mark.Generation)
	}
	for _, x := range f.Whole.Foreign {
		if s, _ := v.Beyond(x.Installation); m.Current.None() && s.Serves != nil {
			return fmt.Sprintf("%s (generation %d) bears its mark, by installation %s", prose.Instance(s.Serves.ID),
				s.Serves.Mark.Generation, x.Installation)
		}
	}
	return ""
}
