package prose

import (
	"fmt"

	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// SharedBudget says how much of a budget that fleets share is used.
func SharedBudget(k policy.ScopeKind, name string, taken, limit int) string {
	return fmt.Sprintf("%s: %d of %d", scope(k, name), taken, limit)
}

// scope names one of the scopes that fleets share.
func scope(k policy.ScopeKind, name string) string {
	where := words.Scope(k)
	if k != policy.ScopeInstallation && name != "" {
		where += " " + name
	}
	return where
}

// BrakeFigures is the arithmetic of the brake that a record is about.
func BrakeFigures(r record.Record) string { return Failing(r.Failing, r.Size, r.Scope, r.Detail) }

// Failing counts the machines that a brake goes by.
func Failing(n, size int, k policy.ScopeKind, name string) string {
	said := fmt.Sprintf("%d of %d machines", n, size)
	if k != "" {
		said += " of " + scope(k, name)
	}
	return said + " fail"
}
