package explain

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/owner/published"
	"hale/internal/prose"
)

// AmnestyLeft says how long the amnesty still lasts, or what ends it.
func AmnestyLeft(f published.Fleet) string {
	left := f.SteadyAt.Sub(f.Now.Mono)
	if d := f.Whole.Doubt; d.Reason != "" && d.CalmSince != 0 {
		left = max(left, guard.DoubtUntil(&d, &f.Spec).Sub(f.Now.Mono))
	}
	switch {
	case f.Provider.Standing == fleet.ProviderUnknown:
		return fmt.Sprintf("until provider %s answers for the first time", f.Spec.Provider)
	case left > 0:
		return "for another " + prose.Span(left)
	}
	return ""
}

// BrakeEnds says when the brake releases by itself; empty: it is off, or a person put it on.
func BrakeEnds(f published.Fleet) string {
	b, p, t := f.Braked()
	if b.By != "" || !b.Engaged {
		return ""
	}
	limit, settle := guard.BrakeLimit(p, t.Size), guard.SettleTime(f.Spec)
	most := limit / 2
	calm := fmt.Sprintf("no more than %d of %d machines fail", most, t.Size)
	if most == 0 {
		calm = "no machine fails"
	}
	if b.CalmSince != 0 && t.Failing <= most {
		return fmt.Sprintf(
			"it releases in %s if %s until then",
			prose.Span(max(0, guard.CalmUntil(&b, p).Sub(f.Now.Mono))),
			calm,
		)
	}
	switch {
	case limit == most:
		return fmt.Sprintf("it releases when %s for %s", calm, prose.Span(p.ReleaseAfter))
	case b.SteadySince != 0 && t.Failing <= limit:
		return fmt.Sprintf("it releases when %s for %s, or in %s if no further one fails until then", calm,
			prose.Span(p.ReleaseAfter), prose.Span(max(0, guard.SteadyUntil(&b, p, settle).Sub(f.Now.Mono))))
	}
	return fmt.Sprintf("it releases when %s for %s, or no more than %d and no further one for %s", calm,
		prose.Span(p.ReleaseAfter), limit, prose.Span(guard.SteadyFor(p, settle)))
}

// GraceLeft says how long a machine that was just started still has; empty: it was not, or that is not known.
func GraceLeft(m *belief.Machine, now fleet.Now) string {
	h := m.Health
	if left := h.Grace.Sub(now.Mono); h.Verdict == belief.VerdictStarting && h.Grace != 0 && left > 0 {
		return "it was just started and has " + prose.Span(left) + " more to become healthy"
	}
	return ""
}
