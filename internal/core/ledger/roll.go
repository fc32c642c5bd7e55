package ledger

import (
	"hale/internal/core/fleet"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
)

// Roll takes an order about an update: to pause it, to go on, to take it back, or to mend what differs.
func Roll(r *round.Round, o *fleet.Order) {
	if r.S.Wanted == nil {
		r.Rule(o, fleet.ReasonUnsupported)
		return
	}
	l := r.Sit.Whole.Ledger
	refused := rollout.Refuses(r, l, o)
	r.Rule(o, refused)
	if refused == "" {
		enforce(r, rollout.Heed(r, l, o))
		r.Again = true
	}
}
