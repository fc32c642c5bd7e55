package poller

import (
	"time"

	"hale/internal/core/fleet"
)

// marked returns the instances of a listing that bear a mark of hale's.
func marked(all []fleet.Instance) []fleet.Instance {
	var out []fleet.Instance
	for i := range all {
		if m := all[i].Mark.Of(all[i].ID); m.Fleet != "" {
			out = append(out, all[i])
		}
	}
	return out
}

// Listing is what a provider listed last that bears a mark of hale's.
type Listing struct {
	Instances []fleet.Instance
	At        time.Time
}
