package decide

import (
	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/situation"
)

// heeded returns the view with what its checks, and those of a look, say as far as it counts now (health.Heed). Nothing
// of the view is changed.
func (r *deciding) heeded(v *situation.View) *situation.View {
	checks := r.heed(v.Checks)
	look := v.Look
	if look != nil {
		if seen := r.heed(look.Checks); !same(seen, look.Checks) {
			l := *look
			l.Checks = seen
			look = &l
		}
	}
	if look == v.Look && same(checks, v.Checks) {
		return v
	}
	h := *v
	h.Checks, h.Look = checks, look
	return &h
}

func (r *deciding) heed(states []fleet.CheckState) []fleet.CheckState {
	return health.Heed(r.S.Spec.Checks, health.Doubted{Muted: r.muted, Unproven: r.Unproven}, states)
}

// same reports whether the two are one and the same list.
func same(a, b []fleet.CheckState) bool { return len(a) == 0 || &a[0] == &b[0] }
