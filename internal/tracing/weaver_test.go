package tracing_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/tracing"
)

var dawn = time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)

// at returns the time so many seconds after dawn.
func at(seconds float64) time.Time { return dawn.Add(time.Duration(seconds * float64(time.Second))) }

const second = time.Second

// healed is the journal of an incident: a reboot that is lost, then one that helps.
func healed() []record.Record {
	all := []record.Record{
		{At: at(0), Kind: record.Verdict, Verdict: belief.VerdictSuspect},
		{At: at(3), Kind: record.Verdict, Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks},
		{At: at(3), Kind: record.IncidentOpen, Cause: belief.CauseChecks, Check: "page", Began: at(0.5)},
		{At: at(3), Kind: record.Held, Reason: fleet.ReasonUnclear},
		{At: at(5), Kind: record.RepairStarted, Reason: fleet.Reason(belief.RepairHeal), Repair: "web-2/r1"},
		{At: at(5), Kind: record.StepSkipped, Step: fleet.StepStart, Reason: fleet.ReasonNotOff},
		{At: at(5), Kind: record.StepChosen, Step: fleet.StepReboot},
		{At: at(6), Kind: record.Evidence, Reason: fleet.ReasonGathered, Took: second},
		{At: at(7), Kind: record.Look, Reason: fleet.ReasonConfirmed, Took: second},
		{At: at(7), Kind: record.Intent, Op: fleet.OpReboot, Call: "web-2/r1/call1"},
		{At: at(9), Kind: record.Outcome, Op: fleet.OpReboot, Call: "web-2/r1/call1",
			Outcome: fleet.OutcomeUnknown, Took: 2 * second},
		{At: at(10), Kind: record.Outcome, Op: fleet.OpReboot, Call: "web-2/r1/call1",
			Outcome: fleet.OutcomeUnknown, Detail: "it can be sent again"},
		{At: at(11), Kind: record.Intent, Op: fleet.OpReboot, Call: "web-2/r1/call2"},
		{At: at(12), Kind: record.Outcome, Op: fleet.OpReboot, Call: "web-2/r1/call2",
			Outcome: fleet.OutcomeDone, Took: second},
		{At: at(20), Kind: record.Verified, Took: 8 * second, Step: fleet.StepReboot},
		{At: at(20), Kind: record.RepairEnded, Reason: fleet.ReasonHealed, Took: 15 * second},
		{At: at(20), Kind: record.IncidentClosed, Reason: fleet.ReasonHealed, Took: 17 * second, Began: at(0.5)},
		{At: at(21), Kind: record.Notified, Target: "ops"},
	}
	return numbered(all, "web-2/1", "web-2/r1")
}

// numbered puts the records into the journal of the fleet: those from the opening of the incident on are of it.
func numbered(all []record.Record, incident, repair string) []record.Record {
	open, works := false, false
	for k := range all {
		r := &all[k]
		r.Seq, r.Fleet, r.Machine = uint64(k)+1, "web", "web-2"
		open = open || r.Kind == record.IncidentOpen
		works = works || r.Kind == record.RepairStarted
		if open {
			r.Incident = incident
		}
		if works && r.Repair == "" && r.At.Before(at(20.5)) {
			r.Repair = repair
		}
	}
	return all
}

func weave(records []record.Record) []tracing.Span {
	w := tracing.New("ours")
	var out []tracing.Span
	for k := range records {
		out = append(out, w.Weave(&records[k])...)
	}
	return out
}

// drawn is the tree of the spans: each with what it lies beneath, when it began and ended in seconds after dawn, and
// how.
func drawn(spans []tracing.Span) []string {
	names := map[tracing.SpanID]string{}
	for _, s := range spans {
		names[s.ID] = s.Name
	}
	var out []string
	for _, s := range spans {
		line := fmt.Sprintf("%s < %s %v-%v", s.Name, names[s.Parent], s.Start.Sub(dawn).Seconds(),
			s.End.Sub(dawn).Seconds())
		switch s.State {
		case tracing.StateOK:
			line += " ok"
		case tracing.StateFailed:
			line += " failed: " + s.Why
		case tracing.StateUnset:
		}
		out = append(out, line)
	}
	return out
}

func wantSpans(t *testing.T, got []tracing.Span, want ...string) {
	t.Helper()
	if lines := drawn(got); !slices.Equal(lines, want) {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnIncidentIsOneTrace(t *testing.T) {
	t.Parallel()
	spans := weave(healed())
	wantSpans(t, spans,
		"detect < incident 0.5-3",
		"evidence < step reboot 5-6",
		"look < step reboot 6-7",
		"call reboot < step reboot 7-9",
		"call reboot < step reboot 11-12 ok",
		"verify < step reboot 12-20 ok",
		"step reboot < repair 5-20 ok",
		"repair < incident 5-20 ok",
		"incident <  0.5-20 ok",
	)
	for _, s := range spans {
		if s.Trace != spans[0].Trace || s.Trace.None() || s.Calls != strings.HasPrefix(s.Name, "call ") {
			t.Errorf("%s is of trace %s, and a call: %t", s.Name, s.Trace, s.Calls)
		}
	}
	var events []string
	for _, e := range spans[len(spans)-1].Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != "held step-skipped outcome" {
		t.Errorf("the root tells of %s", got)
	}
}

// Whichever process weaves the rest, from what it recalls of the journal, it makes the same spans: none is lost, and
// none is another one.
func TestARestartWeavesTheSameTrace(t *testing.T) {
	t.Parallel()
	all := healed()
	want := weave(all)
	for cut := range all {
		one, two := tracing.New("ours"), tracing.New("ours")
		var got []tracing.Span
		for k := range all {
			if k < cut {
				got = append(got, one.Weave(&all[k])...)
				two.Weave(&all[k]) // recalled
				continue
			}
			got = append(got, two.Weave(&all[k])...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("cut after %d records it is\n%s", cut, strings.Join(drawn(got), "\n"))
		}
	}
}

// A record that is woven twice makes no second span.
func TestARecordIsWovenOnce(t *testing.T) {
	t.Parallel()
	w := tracing.New("ours")
	all := healed()
	for k := range all {
		w.Weave(&all[k])
		if again := w.Weave(&all[k]); again != nil {
			t.Errorf("%s makes %v again", all[k].Kind, drawn(again))
		}
	}
}

// Where the journal let go of the beginning, the rest is a trace all the same, with what its records say themselves.
func TestWhatIsLeftOfAnOldIncidentIsWoven(t *testing.T) {
	t.Parallel()
	all := healed()
	wantSpans(t, weave(all[10:]),
		"call reboot < incident 7-9",
		"call reboot < incident 11-12 ok",
		"verify < incident 12-20 ok",
		"repair < incident 5-20 ok",
		"incident <  0.5-20 ok",
	)
	last := all[len(all)-2:]
	last[0].Began = time.Time{}
	wantSpans(t, weave(last), "incident <  3-20 ok")
}

// A step that fails, and a repair that ends in quarantine, say why; a call that hale never hears of again ends with its
// step.
func TestWhatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	wantSpans(t, weave(numbered([]record.Record{
		{At: at(1), Kind: record.IncidentOpen, Cause: belief.CauseCrashed},
		{At: at(2), Kind: record.RepairStarted},
		{At: at(2), Kind: record.StepChosen, Step: fleet.StepRun},
		{At: at(3), Kind: record.Intent, Op: fleet.OpRun, Call: "web-2/r1/call1"},
		{At: at(5), Kind: record.StepFailed, Reason: fleet.ReasonRunUnclear},
		{At: at(5), Kind: record.StepChosen, Step: fleet.StepReboot},
		{At: at(6), Kind: record.Intent, Op: fleet.OpReboot, Call: "web-2/r1/call2"},
		{At: at(7), Kind: record.Outcome, Op: fleet.OpReboot, Call: "web-2/r1/call2",
			Outcome: fleet.OutcomeRefused, Detail: "quota", Took: second},
		{At: at(7), Kind: record.Quarantined, Reason: fleet.ReasonRefusedBy},
		{At: at(7), Kind: record.RepairEnded, Reason: fleet.ReasonRefusedBy},
	}, "web-2/1", "web-2/r1")),
		"call run < step run 3-5",
		"step run < repair 2-5 failed: run-unclear",
		"call reboot < step reboot 6-7 failed: quota",
		"step reboot < repair 5-7 failed: refused",
		"repair <  2-7 failed: refused",
	)
}

// The machines that fail with a domain have traces of their own, which lead to that of the parent incident.
func TestTheTracesOfChildrenLeadToTheirParent(t *testing.T) {
	t.Parallel()
	spans := weave([]record.Record{
		{Seq: 1, At: at(1), Fleet: "web", Machine: "web-2", Kind: record.IncidentOpen, Incident: "web-2/1"},
		{Seq: 2, At: at(2), Fleet: "web", Kind: record.ParentOpen, Parent: "web/p1",
			Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}},
		{Seq: 3, At: at(2), Fleet: "web", Machine: "web-2", Kind: record.ChildJoined, Incident: "web-2/1",
			Parent: "web/p1"},
		{Seq: 4, At: at(8), Fleet: "web", Kind: record.ParentClosed, Parent: "web/p1", Took: 6 * second,
			Reason: fleet.ReasonReleased},
		{Seq: 5, At: at(9), Fleet: "web", Machine: "web-2", Kind: record.IncidentClosed, Incident: "web-2/1",
			Reason: fleet.ReasonRecovered},
	})
	wantSpans(t, spans, "parent incident <  2-8 ok", "incident <  1-9 ok")
	want := []tracing.Link{{Trace: spans[0].Trace, Span: spans[0].ID}}
	if got := spans[1].Links; !slices.Equal(got, want) || spans[0].Trace == spans[1].Trace {
		t.Errorf("the child's trace leads to %v, want %v", got, want)
	}
}

// The root of an incident that stays open is waited for no longer than a day, and comes once. What happens later is of
// the same trace.
func TestAnIncidentThatStaysOpenHasItsRoot(t *testing.T) {
	t.Parallel()
	records := numbered([]record.Record{
		{At: at(0), Kind: record.IncidentOpen, Cause: belief.CauseCrashed},
		{At: at(1), Kind: record.Quarantined, Reason: fleet.ReasonAttempts},
		{At: at(48 * 3600), Kind: record.Reminded, Reason: fleet.ReasonAttempts},
		{At: at(72 * 3600), Kind: record.IncidentClosed, Reason: fleet.ReasonRecovered},
	}, "web-2/1", "")
	w := tracing.New("ours")
	w.Weave(&records[0])
	w.Weave(&records[1])
	if early := w.Overdue(at(24 * 3600)); early != nil {
		t.Errorf("after a day there is %v", drawn(early))
	}
	root := w.Overdue(at(24*3600 + 1))
	wantSpans(t, root, "incident <  0-86400")
	if again := w.Overdue(at(25 * 3600)); again != nil || !slices.Contains(root[0].Attributes,
		tracing.Attribute{Key: "hale.open", Value: true}) {
		t.Errorf("it comes again, %v, or does not say that it is open: %v", drawn(again), root[0].Attributes)
	}
	rest := slices.Concat(w.Weave(&records[2]), w.Weave(&records[3]))
	wantSpans(t, rest, "close <  259200-259200 ok")
	if all := weave(records); len(all) != 2 || !reflect.DeepEqual(all, append(root, rest...)) {
		t.Errorf("one that weaves it late makes\n%s", strings.Join(drawn(all), "\n"))
	}
}

// An incident of another installation, or of another number, is another trace; its name is that of W3C's Trace Context.
func TestTheNameOfATrace(t *testing.T) {
	t.Parallel()
	r := record.Record{Machine: "web-2", Incident: "web-2/1"}
	here, there := tracing.TraceOf("ours", &r), tracing.TraceOf("theirs", &r)
	next := r
	next.Incident = "web-2/2"
	if here == there || here == tracing.TraceOf("ours", &next) || len(here.String()) != 32 {
		t.Errorf("it is %s here, %s there, and %s of the next", here, there, tracing.TraceOf("ours", &next))
	}
	if got := here.String(); got != "93f4365e52e913b199b718a159cc82ad" {
		t.Errorf("it is %s: traces that were begun by an earlier hale would not be gone on with", got)
	}
	if got := tracing.TraceOf("ours", &record.Record{Machine: "web-2", Parent: "web/p1"}); !got.None() {
		t.Errorf("a record of a machine without an incident is of trace %s", got)
	}
}
