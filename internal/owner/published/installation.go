package published

import (
	"time"

	"hale/internal/core/fleet"
)

// Store is how the store does.
type Store struct {
	Trouble fleet.Reason // why it takes nothing; empty: it does
	Since   time.Time    // of Trouble
	Detail  string
	Low     string // why there is soon no room in it; empty: there is enough
	LowAt   time.Time
}

// Unowned is an instance that bears hale's mark and that no fleet looks after: its fleet left the configuration or was
// renamed, or it is left over. Nothing watches, repairs or removes it.
type Unowned struct {
	Provider fleet.ProviderName
	Instance fleet.Instance
	Since    time.Time // since when hale knows that
	Foreign  bool      // the mark is another installation's
}
