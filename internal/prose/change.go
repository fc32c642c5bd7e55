package prose

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// changes are the differences between two configurations, as in "fleet web: …". Some speak of a check, or of two
// values.
var changes = map[change.Kind]string{
	change.FleetAdded:          "it is new",
	change.FleetRemoved:        "it is not in the configuration any more: it is let go, and nothing is destroyed",
	change.CheckAdded:          "check %s is new",
	change.CheckRemoved:        "check %s is gone",
	change.CheckChanged:        "check %s changed, and begins anew",
	change.PolicyChanged:       "its policy changed",
	change.SizeUp:              "it grows from %s to %s machines",
	change.SizeDown:            "it shrinks from %s to %s machines",
	change.TemplateChanged:     "its template is another one, and its machines are to be changed",
	change.ProviderChanged:     "its provider is no longer %s, but %s",
	change.ProviderAdded:       "it is new",
	change.ProviderRemoved:     "it is not in the configuration any more",
	change.ProviderReconnected: "its options changed, and it is connected anew",
	change.AddressChanged:      "its address changed: another one may answer there",
	change.TargetsChanged:      "who is told, and how",
	change.FencesChanged:       "how the power of hosts is cut",
	change.AccessChanged:       "where the API listens, and who may use it",
	change.MetricsChanged:      "what monitoring is told",
	change.BalancersChanged:    "which pools the machines are in, and how these are reached",
	change.DiscoveryChanged:    "which files say which machines there are",
	change.HeartbeatsChanged:   "where machines report by themselves",
	change.SatellitesChanged:   "which probes in other networks report",
	change.StateChanged:        "where hale keeps its state",
	change.TelemetryChanged:    "where traces and the journal go",
	change.VantageChanged:      "who is asked whether hale's own network works",
}

// Difference says what differs between two configurations, without its subject.
func Difference(d change.Difference) string {
	said, known := changes[d.Kind]
	switch {
	case !known:
		return string(d.Kind)
	case d.Kind == change.PolicyChanged || d.Kind == change.CheckChanged: // and what of it
		if d.Check != "" {
			said = fmt.Sprintf(said, d.Check)
		}
		return Aside(said, d.Is)
	case d.Check != "":
		return fmt.Sprintf(said, d.Check)
	case d.Was != "" || d.Is != "":
		return fmt.Sprintf(said, d.Was, d.Is)
	}
	return said
}

// giver names who gave the order.
func giver(r record.Record) string {
	if r.By == "" {
		return "a person"
	}
	return r.By
}

// wantedChange says what a person changed, and what became of it.
func wantedChange(r record.Record) string {
	if said := rolled(r); said != "" {
		return said
	}
	switch r.Reason {
	case fleet.ReasonSizeUp, fleet.ReasonSparesUp, fleet.ReasonTakesPlace:
		return more(r)
	case fleet.ReasonConfirmedPlan:
		return strings.TrimSuffix(about(r)+": what waited is to be carried out, by order of "+giver(
			r)+": plan "+r.Detail, ": plan ")
	case fleet.ReasonWithdrawn:
		if r.Machine == "" {
			return about(r) + ": the configuration does not ask for the other template any more, so the update goes " +
				"no further"
		}
		return Because(about(r), words.Reason(r.Reason))
	case fleet.ReasonSizeDown:
		return left(r)
	case fleet.ReasonSizeOrdered:
		return fmt.Sprintf("%s is to have %s, by order of %s", about(r), machines(r.Size), giver(r)) + instead(r)
	case fleet.ReasonSizeFromFile:
		return fmt.Sprintf("%s is to have %s, as the edited configuration says: the order of %d by %s is over",
			about(r), machines(r.Size), r.Limit, giver(r))
	case fleet.ReasonLeaves, fleet.ReasonNamed:
		return leaves(r)
	case fleet.ReasonAlready:
		return already(r)
	case fleet.ReasonDisksStay:
		return strings.TrimSuffix(
			fmt.Sprintf("%s: its kept disks (%s) stay at the provider, with what is on them, on host %s", about(r),
				r.Detail, r.Host), ", on host ")
	case fleet.ReasonKeptStays:
		return fmt.Sprintf("%s: its old instance %s stays for the rest of the time for which it is kept, and is "+
			"removed then", about(r), Instance(fleet.InstanceID(r.Detail)))
	case fleet.ReasonAwaitsWord, fleet.ReasonTakenBack:
		if r.Order == "" {
			break
		}
		so := "would destroy something, so it waits for a person's word"
		if r.Reason == fleet.ReasonTakenBack {
			so = "waits no more, since " + giver(r) + " ordered another size"
		}
		return Aside(fmt.Sprintf("%s: to go from %d to %s %s", about(r), r.Limit, machines(r.Size), so), r.Detail)
	case fleet.ReasonReloaded:
		return Because(about(r)+" is edited", Difference(change.Recorded(r)))
	default:
	}
	return Because(about(r), Aside(words.Reason(r.Reason), r.Detail))
}

// instead says how many machines there were to be before; nothing, where that were as many.
func instead(r record.Record) string {
	if r.Size == r.Limit {
		return ""
	}
	return fmt.Sprintf(", and not %d", r.Limit)
}

// leaves says that a machine is to go, since a person named it or fewer are asked for, and why it is that one.
func leaves(r record.Record) string {
	by := ", by order of " + giver(r)
	if r.Opinion != "" {
		by = ", by opinion " + string(r.Opinion)
	}
	if r.Took > 0 {
		by += ", in " + Span(r.Took)
	}
	return Because(fmt.Sprintf("%s is to go%s: fleet %s will have %s, and not %d", about(r), by, r.Fleet,
		machines(r.Size), r.Limit), words.Reason(fleet.Reason(r.Detail)))
}

// already says that an order asks for what is.
func already(r record.Record) string {
	if r.Machine != "" {
		return about(r) + " has gone, or is to go, already"
	}
	return fmt.Sprintf("%s is to have %s already", about(r), machines(r.Size))
}

// OrderedSize says who ordered the fleet's size, and what the configuration says: "5 machines, ordered by alice 2 h
// ago (fewer visitors); the file says 3".
func OrderedSize(o *belief.OrderedSize, asked int, now time.Time) string {
	switch {
	case o.Opinion != "":
		return fmt.Sprintf("%s, by opinion %s %s ago", machines(asked), o.Opinion, Span(now.Sub(o.At)))
	case o.File == 0:
		return Aside(fmt.Sprintf("%s, ordered by %s %s ago", machines(asked), o.By, Span(now.Sub(o.At))), o.Reason)
	}
	return fmt.Sprintf("%s; the file says %d", Aside(fmt.Sprintf("%s, ordered by %s %s ago", machines(asked), o.By,
		Span(now.Sub(o.At))), o.Reason), o.File)
}
