package prose

import (
	"fmt"

	"hale/internal/fleet"
)

// SharedBudget says how much of a budget that fleets share is used.
func SharedBudget(k fleet.ScopeKind, name string, taken, limit int) string {
	where := word(scopes, k)
	if k != fleet.ScopeInstallation && name != "" {
		where += " " + name
	}
	return fmt.Sprintf("%s: %d of %d", where, taken, limit)
}
