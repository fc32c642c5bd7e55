package prose

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// Called is a machine's name, with the one that it has at its provider where hale did not build it: "db-1 (db-main)".
func Called(name fleet.MachineName, alias string) string {
	if alias == "" || alias == string(name) {
		return string(name)
	}
	return string(name) + " (" + alias + ")"
}

func adoption(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonCandidate:
		return fmt.Sprintf("%s: the fleet selects %s; it is watched, and not touched until it was seen healthy",
			about(r), instance(r))
	case fleet.ReasonAdopted:
		return fmt.Sprintf("%s: %s is adopted: it was seen healthy, and hale looks after it from now on", about(r),
			instance(r))
	case fleet.ReasonRenamed:
		return Aside(about(r)+": its provider calls it otherwise now", "before: "+r.Detail)
	case fleet.ReasonContested:
		if r.Machine == "" {
			return fmt.Sprintf("fleet %s: %s is selected by fleet %s, too, so neither adopts it", r.Fleet, r.Alias,
				r.Detail)
		}
		return fmt.Sprintf("%s: fleet %s selects it, too, so neither adopts it", about(r), r.Detail)
	case fleet.ReasonElsewhere:
		return Aside(fmt.Sprintf("%s: %s is looked after by another hale, so this one leaves it alone", about(r),
			instance(r)), r.Detail)
	case fleet.ReasonClaimOver:
		return Aside(about(r)+": no other hale claims it any more, so this one looks after it", "before: "+r.Detail)
	case fleet.ReasonNotSelected:
		return letGo(r, Aside(words.Reason(r.Reason), renamed(r)))
	case fleet.ReasonShort:
		return about(r) + ": " + shortfall(r)
	default:
		return letGo(r, words.Reason(r.Reason))
	}
}

func letGo(r record.Record, why string) string {
	return Because(fmt.Sprintf("%s: %s is let go as it is", about(r), instance(r)), why)
}

// renamed is the name that the fleet does not select, where it is not the one that it was known by.
func renamed(r record.Record) string {
	if r.Detail == r.Alias || r.Detail == "" {
		return ""
	}
	return "its name is " + r.Detail + " now"
}

// shortfall compares what the fleet has with what is expected of it.
func shortfall(r record.Record) string { return Shortfall(r.Size, r.Limit) }

// Shortfall says that a fleet that selects has another number of machines than is expected of it.
func Shortfall(have, expected int) string {
	if have < expected {
		return fmt.Sprintf("only %d of the %d machines that its size speaks of are adopted", have, expected)
	}
	return fmt.Sprintf("%d machines are adopted, and its size speaks of %d", have, expected)
}
