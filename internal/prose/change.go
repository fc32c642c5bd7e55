package prose

import (
	"fmt"

	"hale/internal/fleet"
)

// wantedChange says what a person changed, and what became of it.
func wantedChange(r fleet.Record) string {
	switch r.Reason {
	case fleet.ReasonSizeUp:
		return fmt.Sprintf("%s is to have %d machines from now on, and had %d", about(r), r.Size, r.Limit)
	default:
		return because(about(r), aside(Reason(r.Reason), r.Detail))
	}
}
