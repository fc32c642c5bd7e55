package prose

import (
	"fmt"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// order says what a person wants, and that it was refused where it was.
func order(r record.Record) string {
	if r.Order == "" { // a letter that is no order
		return Because(about(r)+": a letter in the inbox is put aside", Aside(words.Reason(r.Reason), r.Detail))
	}
	wants := words.Order(r.Command)
	if r.Command == fleet.OrderScale {
		wants = sizeOrder(r.Size, r.Change)
	}
	if r.Command == fleet.OrderHook {
		return hookWord(r)
	}
	wants += alone(r.Only)
	if r.Took > 0 {
		wants += " for " + Span(r.Took)
	}
	if r.Reason == fleet.ReasonOverruled {
		return Aside(subjectOfOrder(r)+": another order takes the place of "+wants+", ordered by "+r.By, r.Detail)
	}
	if r.Reason == fleet.ReasonWithdrawn {
		return Aside(subjectOfOrder(r)+": "+wants+", which "+r.By+" ordered, is taken back", r.Detail)
	}
	if r.Reason != "" {
		return Because(subjectOfOrder(r)+": "+r.By+" ordered "+wants+", which is refused", refusedFor(r)) + until(r)
	}
	return Aside(subjectOfOrder(r)+": "+r.By+" orders "+wants, r.Detail)
}

// found says what an order to recover found: of the whole fleet, or of one machine and what follows for it.
func found(r record.Record) string {
	if r.Machine == "" {
		if r.Failing == 0 {
			return fmt.Sprintf("%s: %s, all of them healthy", about(r), machines(r.Size))
		}
		return fmt.Sprintf("%s: %s, %d of them not healthy", about(r), machines(r.Size), r.Failing)
	}
	is := verdict(r)
	if r.Verdict == "" {
		is = about(r) + " is missing"
	}
	return is + "; " + follows(r)
}

// follows says what becomes of a machine by an order to recover its fleet, or would if it were not only to check.
func follows(r record.Record) string {
	deed := map[bool]string{true: "repair", false: "build"}[r.Verdict != ""]
	when := map[bool]string{true: " it now", false: " it as soon as it may"}[r.Verdict != ""]
	check := r.Command != ""
	why := refusedFor(r)
	if r.Reason == fleet.ReasonStoreOlder || r.Reason == fleet.ReasonInstallation {
		why += "; " + words.AdviceFor(r.Reason, r.Fleet, foreignOf(r))
	}
	switch {
	case r.Reason != "" && check:
		return "hale would leave it as it is: " + why
	case r.Reason != "":
		return "hale leaves it as it is: " + why
	case check:
		return "hale would " + deed + when
	}
	return "hale " + deed + "s" + when
}

// refusedFor says why an order, or a part of it, is refused: of a brake that a person put on, who did.
func refusedFor(r record.Record) string {
	if r.Reason == fleet.ReasonBrake && r.Braker != "" {
		return ByHand(r.Braker, "")
	}
	if r.Occupied != nil {
		return Occupied(r.Occupied, r.At)
	}
	return words.Reason(r.Reason)
}

func holdBegun(r record.Record) string {
	return Aside(fmt.Sprintf("%s: it is disabled at the provider, so hale holds it, for %s at most", subjectOfOrder(r),
		Span(r.Took)), r.Detail)
}

func holdEnded(r record.Record) string {
	which := "a hold" + alone(r.Only)
	if r.By != "" {
		which = "the hold" + alone(r.Only) + " by " + r.By
	}
	if r.Reason == fleet.ReasonSuperseded {
		return Aside(subjectOfOrder(r)+": another one takes the place of "+which, r.Detail)
	}
	return Because(subjectOfOrder(r)+": "+which+" is over"+after(r), Aside(words.Reason(r.Reason), r.Detail))
}

// alone says what alone a hold forbids.
func alone(only fleet.HoldScope) string {
	if only == "" {
		return ""
	}
	return " " + words.Hold(only)
}

// Held is the word for what a person holds, and against what.
func Held(only fleet.HoldScope) string { return "held" + alone(only) }

// subjectOfOrder names the machine, the host, or the fleet.
func subjectOfOrder(r record.Record) string {
	if r.Machine == "" && r.Host != "" {
		return about(r) + ", host " + string(r.Host)
	}
	return about(r)
}

// ByHand says who put a fleet's brake on, and in which words.
func ByHand(who, said string) string { return Aside(who+" put the brake on", said) }

// LetGo is what ends a brake that a person put on: no number of healthy machines does.
func LetGo(name fleet.Name) string {
	return fmt.Sprintf("hale brake off %s lets repairs begin again; nothing else does", name)
}

// Occupied says what a machine is occupied with, who ordered that, and for how long by then.
func Occupied(o *belief.Occupied, then time.Time) string {
	said := "its " + words.RepairKind(o.Repair) + " is under way"
	switch o.Repair {
	case belief.RepairOperate:
		said = words.Order(o.Step.Order()) + " is under way"
	case "":
		said = words.Order(o.Command) + " is ordered already"
	default:
	}
	if o.By != "" {
		said += ", by order of " + o.By
	}
	if !o.Since.IsZero() {
		said += ", for " + Span(then.Sub(o.Since))
	}
	return said
}
