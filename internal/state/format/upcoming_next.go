//go:build hale_next

package format

import (
	"context"

	"hale/internal/state"
)

// upcoming is a format that lies in the store as the last one of this source does, and has another number.
var upcoming = line{{since: "next", step: func(context.Context, state.Store) error { return nil }}}
