package wanted

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// InVain reports whether the work is a wanted change that is given up after so many tries. One whose instance is gone
// goes on: nothing is left to be healed as before.
func InVain(c *chart.Chart, r *belief.Repair) bool { return r.MayBeGivenUp() && !gone(c, r) }

// GoesOn reports whether the work is a wanted change that is carried out, however often the rest cannot be removed.
func GoesOn(c *chart.Chart, r *belief.Repair) bool { return r.MayBeGivenUp() && gone(c, r) }

// Lingers reports whether the last call that takes the target away, or one before it, may be carried out yet, though
// it was not so far: until that is known, no further one is sent, and the change is not given up. Else the machine
// would be healed as before, and then go (L13).
func Lingers(c *chart.Chart, r *belief.Repair, op fleet.Op) bool {
	off := op.TurnsOff() && c.View.Sighting(r.Target.ID).Instance.Power != fleet.PowerOff
	return InVain(c, r) && (off && c.MayGoOff(r) || op.Parts() && r.MayGo && c.Belated(r))
}

func gone(c *chart.Chart, r *belief.Repair) bool {
	return c.View.Sighting(r.Target.ID).Instance.Power == fleet.PowerGone
}

// IsLeft reports whether what the target left at the provider, which is gone, is left there once this call came to
// nothing as well: then a successor is built without. A machine that is to go has none, and its rest is tried on.
func IsLeft(r *belief.Repair, came fleet.OutcomeKind) bool {
	again := came == fleet.OutcomeRetry || came == fleet.OutcomeConflict
	return again && !r.Removed && r.Proof == fleet.ProofDeleted && r.Kind != belief.RepairRemove &&
		r.Kind != belief.RepairRemnant
}

// AwaitRest tells a person of a wanted change that goes on for as long as a machine may stay unknown.
func AwaitRest(c *chart.Chart, r *belief.Repair) {
	o := c.View.Outcome
	if o != nil && GoesOn(c, r) && c.Situation.Now.Due(r.Since.Add(c.Situation.Spec.BlindAfter)) {
		TellOfRest(c, r, o.Detail)
	}
}

// TellOfRest tells a person, once, that the target is gone, that the rest of it cannot be removed, and what the
// provider said. Of what an unfinished build left no person had heard.
func TellOfRest(c *chart.Chart, r *belief.Repair, said string) {
	if r.Kind != belief.RepairRemnant && !r.RestTold {
		r.RestTold = true
		c.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonRestStays, Order: r.Order,
			Instance: r.Target.ID, Host: r.Target.Host, Detail: said})
	}
}
