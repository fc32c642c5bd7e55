package prose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	"hale/internal/prose/words"
	"hale/internal/state/outbox"
)

// Words words messages, in the name of a server.
type Words struct{ Server string }

// Message is what a person is told by a letter. The story is what the journal says of its incident, oldest first.
func (w Words) Message(l outbox.Letter, story []record.Record) notify.Message {
	r := l.Record
	m := notify.Message{
		Key: l.Key, Event: messageEvents[l.Event], At: r.At, Server: w.Server, Fleet: string(r.Fleet),
		Machine: string(r.Machine),
		Reason:  string(r.Reason), Subject: subject(l.Event, r, story),
	}
	m.Incident = cmp.Or(r.Incident, r.Joint, r.Parent, warningOf(r))
	if len(l.Fleets) > 0 {
		m.Fleet = "" // it is about all of them
		r.Fleet = ""
	}
	var b strings.Builder
	b.WriteString(sentenceCase(opening(l.Event, r, story)) + ".\n")
	section(&b, "Fleets on it", []string{fleetsOn(l.Fleets)})
	section(&b, "What hale healed (UTC)", healedLines(r.Summary))
	section(&b, "What happened (UTC)", chronicle(story))
	if calls[l.Event] {
		section(&b, "What hale tried", tried(r, story))
		section(&b, "What hale does now", []string{attitude(r, story)})
		section(&b, "What you can do", choices(r, story))
	}
	fmt.Fprintf(&b, "\nMessage %s, from hale on %s.\n", l.Key, w.Server)
	m.Text = b.String()
	return m
}

// fewFleets is how many fleets are named before the others are only counted.
const fewFleets = 20

func fleetsOn(all []fleet.Name) string {
	names := make([]string, 0, len(all))
	for _, n := range all {
		names = append(names, string(n))
	}
	if n := len(names) - fewFleets; n > 1 {
		return strings.Join(names[:fewFleets], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

// Test is the message by which a person finds out whether messages arrive.
func (w Words) Test(target policy.TargetName, at time.Time) notify.Message {
	return notify.Message{
		Key: fmt.Sprintf("test-%s-%d", target, at.UnixNano()), Event: notify.EventTest, At: at, Server: w.Server,
		Subject: "hale: a test message",
		Text: fmt.Sprintf("A person on %s tests whether messages to %s arrive (hale notify test %s). This one did; "+
			"there is nothing to do.\n",
			w.Server, target, target),
	}
}

// Alive is the sign that hale lives and acts, until the next one is due.
func (w Words) Alive(target policy.TargetName, at time.Time, every time.Duration) notify.Message {
	return notify.Message{
		Key: fmt.Sprintf("alive-%s-%d", target, at.UnixNano()), Event: notify.EventAlive, At: at, Server: w.Server,
		Subject: "hale on " + w.Server + " lives and acts",
		Text: fmt.Sprintf("hale on %s looks after all its fleets. It says so every %s: when it does not, look at "+
			"that server.\n",
			w.Server, Span(every)),
	}
}

// MessageKind names a kind of message as those who receive them know it.
func MessageKind(e policy.NotifyEvent) string { return string(messageEvents[e]) }

// messageEvents are the kinds of message as those who receive them know them.
var messageEvents = map[policy.NotifyEvent]notify.Event{
	policy.NotifyPage:     notify.EventPage,
	policy.NotifyReminder: notify.EventReminder,
	policy.NotifyHealed:   notify.EventHealed,

	policy.NotifyRepair:      notify.EventRepair,
	policy.NotifyDaily:       notify.EventDaily,
	policy.NotifyWarning:     notify.EventWarning,
	policy.NotifyWarningOver: notify.EventWarningOver,
}

// calls are the kinds of message by which a person is asked to do something.
var calls = map[policy.NotifyEvent]bool{
	policy.NotifyPage: true, policy.NotifyReminder: true, policy.NotifyWarning: true,
}

// opening is the first line of the text: of a machine, how it is and since when, and then why a person is told now.
func opening(e policy.NotifyEvent, r record.Record, story []record.Record) string {
	if r.Machine == "" || e != policy.NotifyPage && e != policy.NotifyReminder {
		return Sentence(r)
	}
	said := symptom(r, story)
	if why := words.Reason(r.Reason); hides[r.Reason] && !strings.Contains(said, why) {
		said += "; " + Aside(why, r.Detail)
	}
	if e == policy.NotifyReminder {
		return "still: " + said
	}
	return said
}

func subject(e policy.NotifyEvent, r record.Record, story []record.Record) string {
	switch e {
	case policy.NotifyReminder:
		return "hale: still: " + symptom(r, story)
	case policy.NotifyRepair:
		return "hale: " + healedBy(r)
	case policy.NotifyDaily:
		return "hale: " + Sentence(r)
	case policy.NotifyHealed, policy.NotifyWarningOver:
		return "hale: " + wellAgain(r)
	case policy.NotifyWarning:
		return "hale: warning: " + Sentence(r)
	case policy.NotifyPage:
	}
	return "hale: " + symptom(r, story)
}

// wellAgain says that what a person was told of is over.
func wellAgain(r record.Record) string {
	switch r.Kind {
	case record.IncidentClosed:
		return string(r.Machine) + " is well again" + after(r)
	case record.ParentClosed:
		return words.Domain(r.Domain) + " is well again" + after(r)
	default:
		return Sentence(r)
	}
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 || lines[0] == "" {
		return
	}
	b.WriteString("\n" + title + ":\n")
	for _, l := range lines {
		b.WriteString("  " + l + "\n")
	}
}

// longestChronicle is in lines.
const longestChronicle = 15

// worthTelling are the records by which a person understands an incident; hale why has them all.
var worthTelling = []record.Kind{
	record.Verdict, record.IncidentOpen, record.ParentOpen, record.Held, record.RepairStarted,
	record.Outcome,
	record.StepFailed, record.Verified, record.Quarantined, record.Paged,
}

func chronicle(story []record.Record) []string {
	var lines []string
	for _, r := range story {
		if slices.Contains(worthTelling, r.Kind) {
			lines = append(lines, r.At.UTC().Format(time.DateTime)+"  "+Sentence(r))
		}
	}
	if n := len(lines) - longestChronicle; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d more before this)", n)}, lines[n:]...)
	}
	return lines
}

// attitude says what hale will do by itself about what a person is told of.
func attitude(r record.Record, story []record.Record) string {
	if r.Kind == record.Warning {
		return "hale repairs nothing for it, and says when it is over"
	}
	if quarantinedIn(story) {
		return "it is in quarantine: hale watches it, and touches it no more until it is healthy by itself"
	}
	switch r.Reason {
	case fleet.ReasonBrake:
		return "no repair begins in this fleet until fewer machines fail; what is under way is finished"
	case fleet.ReasonSharedFate:
		return "its machines are held, and judged afresh when it is over"
	case fleet.ReasonVantageIsolated, fleet.ReasonVantageDoubtful:
		return "no repair begins until hale trusts its own sight again"
	case fleet.ReasonDown, fleet.ReasonProviderDoubtful:
		return "its machines are only probed; no repair begins until it answers as before"
	case fleet.ReasonStoreFull, fleet.ReasonStoreDown:
		return "hale watches all machines, and repairs none until the store takes what it writes"
	case fleet.ReasonStoreLost:
		return "hale has ended: it watches and touches no machine until it is started again"
	case fleet.ReasonStoreLow:
		return "hale goes on as before, until the store is full"
	case fleet.ReasonBlind:
		return "hale goes on asking; of what it knows nothing it repairs nothing"
	case fleet.ReasonTwoHosts:
		return "hale asks, and does nothing else to it, until one host shows it"
	case fleet.ReasonElsewhere:
		return "hale watches it and leaves it alone until the other hale's claim ends"
	case fleet.ReasonStoreOlder:
		return "hale watches the fleet and does nothing in it until you say so"
	case fleet.ReasonInstallation:
		return "hale builds no first instance in the fleet until you say so; what it has, it heals"
	case fleet.ReasonHoldExpired, fleet.ReasonLawBroken, fleet.ReasonSecondRunning:
		return "hale watches it and leaves it alone"
	case fleet.ReasonUnproven:
		return "hale repairs no machine for what this check says until it has succeeded on one; all other checks count"
	case fleet.ReasonMetricSilent, fleet.ReasonMetricAbsurd, fleet.ReasonMetricMany:
		return "hale takes no machine away for lack of work until the metric says something again; machines are added, " +
			"and healed, as before"
	case fleet.ReasonCallFailed:
		return "hale goes on trying, with growing pauses"
	default:
		return "hale goes on watching"
	}
}

// foreignOf returns the other installation that the record is about; empty: none.
func foreignOf(r record.Record) fleet.Installation {
	if r.Reason != fleet.ReasonInstallation {
		return ""
	}
	return fleet.Installation(r.Detail)
}

// choices are what a person can do.
func choices(r record.Record, story []record.Record) []string {
	if r.Kind == record.Warning {
		return []string{"hale status  and  hale events --fleet " + string(r.Fleet) + "  say more"}
	}
	var lines []string
	a := words.AdviceFor(r.Reason, r.Fleet, foreignOf(r))
	if cause := sickening(r, story).Cause; (r.Machine != "" || r.Joint != "") && hides[r.Reason] {
		a = cmp.Or(adviceOn(r, cmp.Or(cause, r.Cause)), a)
	}
	if a != "" {
		lines = append(lines, a)
	}
	if r.Machine != "" && quarantinedIn(story) && !strings.Contains(a, "hale retry") {
		lines = append(lines, "when it is mended: hale retry "+string(r.Machine))
	}
	if r.Machine != "" {
		return append(lines, "hale why "+string(r.Machine)+"  says more")
	}
	if r.Fleet == "" {
		return append(lines, "hale status  says more")
	}
	return append(lines, "hale status  and  hale events --fleet "+string(r.Fleet)+"  say more")
}

// adviceOn is what helps a machine for how it is, where the reason for the page says only how hale comes to tell it;
// empty: nothing of its own.
func adviceOn(r record.Record, c belief.Cause) string {
	switch {
	case c == belief.CauseGone && r.Alias != "":
		return "make it anew at the provider, called " + r.Alias +
			" as before; hale takes it back into its place as soon as it is healthy"
	case r.Reason != fleet.ReasonHoldExpired:
		return ""
	case c == belief.CausePaused || c == belief.CauseSuspended:
		return "resume it at the provider, or take it out of the fleet"
	case c == belief.CauseRescued:
		return words.Advice(fleet.ReasonRescued)
	}
	return ""
}

func quarantinedIn(story []record.Record) bool {
	return slices.ContainsFunc(story, func(s record.Record) bool { return s.Kind == record.Quarantined })
}

func sentenceCase(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, "-0123456789") {
		return s // a name stays as it is
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
