package prose

import (
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// warning says that a check which only tells is down, on one machine or on several.
func warning(r record.Record) string {
	found := Because(checkOf(r.Check)+" is down", Aside(words.Result(r.Result), r.Detail))
	switch {
	case r.Joined():
		return about(r) + ": " + found + " (told with others, " + r.Joint + ")"
	case r.Machine == "":
		return Because(Aside(severalOf(r), named(r)), found)
	}
	return about(r) + ": " + found
}

// warningOver takes it back.
func warningOver(r record.Record) string {
	switch {
	case r.Reason == fleet.ReasonRemoved:
		return about(r) + ": " + checkOf(r.Check) + ", which a warning told of, is not asked any more"
	case r.Machine == "":
		return about(r) + ": " + Aside(checkOf(r.Check)+" is down on no machine any more that the warning named"+after(
			r),
			r.Joint)
	}
	return about(r) + ": " + checkOf(r.Check) + " is up again" + after(r)
}

// warningOf names a warning about one machine, the same when it is given and when it is taken back.
func warningOf(r record.Record) string {
	if r.Kind != record.Warning && r.Kind != record.WarningOver || r.Machine == "" {
		return ""
	}
	return string(r.Machine) + "/" + string(r.Check)
}
