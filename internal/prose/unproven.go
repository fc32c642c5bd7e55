package prose

import (
	"fmt"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/tested"
)

// Unproven says that a check did not succeed since it was made or edited.
func Unproven(t tested.Check, now time.Time) string {
	did := "made"
	if t.Edited {
		did = "edited"
	}
	at := t.Since.UTC().Format("15:04 MST")
	if now.Sub(t.Since) >= 24*time.Hour {
		at = t.Since.UTC().Format("2006-01-02 15:04 MST")
	}
	return fmt.Sprintf("%s was %s at %s and has not succeeded since", checkOf(t.Name), did, at)
}

// testedOf is what a page's record says of its check.
func testedOf(r record.Record) tested.Check {
	return tested.Check{Name: r.Check, Edited: r.Detail == "edited", Since: r.At.Add(-r.Took)}
}

// checkNews is about a check after a person was told that it does not succeed.
func checkNews(r record.Record) string {
	if r.Reason == fleet.ReasonRemoved {
		return fmt.Sprintf("%s: %s, which did not succeed, is not asked any more", about(r), checkOf(r.Check))
	}
	return fmt.Sprintf("%s: %s has succeeded as it is now, and what it says counts", about(r), checkOf(r.Check))
}

func checkOf(name fleet.CheckName) string {
	if name == "" {
		return "a check"
	}
	return "check " + string(name)
}
