package prose

import (
	"fmt"

	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// rebooted says how often a host took its machines along.
func rebooted(r record.Record) string {
	return fmt.Sprintf("it took its machines along %s within %s, and hale started them each time", times(r.Size),
		Span(r.Took))
}

func hostStands(r record.Record) string {
	return fmt.Sprintf("%s: %s has not taken its machines along for %s", about(r), words.Domain(r.Domain), Span(r.Took))
}
