package prose

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state/outbox"
)

func TestSentencesAboutSizes(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	busy := record.Record{Fleet: "web", Kind: record.Size, Opinion: "busy", Metric: "load", Value: 83.26, Goal: 50,
		Size: 5, Limit: 3}
	as := func(why fleet.Reason, edit func(*record.Record)) record.Record {
		r := busy
		if r.Reason = why; edit != nil {
			edit(&r)
		}
		return r
	}
	for want, r := range map[string]record.Record{
		"fleet web is to have 5 machines, and not 3, by opinion busy (load is 83.3 for a target of 50)": as(
			fleet.ReasonOpinion, nil),
		"fleet web would have 5 machines, and not 3, by opinion busy (load is 83.3 for a target of 50), if its size were " +
			"not only watched": as(fleet.ReasonObserve, nil),
		"fleet web stays at 3 machines, and 5 are wanted, by opinion busy (load is 83.3 for a target of 50): the size " +
			"moved a while ago, and rests before it moves again, until 2026-03-02 12:00:00 UTC": as(fleet.ReasonCooldown,
			func(r *record.Record) { r.Until = until }),
		"fleet web stays at 6 machines, and 9 are wanted: it is beyond the fleet's bounds": as(fleet.ReasonBounds,
			func(r *record.Record) { r.Opinion, r.Size, r.Limit = "", 9, 6 }),
		"fleet web: metric load says nothing: its source does not answer, or has no number that is new enough (HTTP 503)": as(
			fleet.ReasonMetricSilent, func(r *record.Record) { r.Kind, r.Detail = record.Metric, "HTTP 503" }),
		"fleet web: metric load says something again after 5m00s": as(fleet.ReasonUp,
			func(r *record.Record) { r.Kind, r.Took = record.Metric, 5*time.Minute }),
		"web-3 is to go, by opinion busy, in 1m00s: fleet web will have 2 machines, and not 3: of those that could go, it has the highest number": as(
			fleet.ReasonLeaves, func(r *record.Record) {
				r.Kind, r.Machine, r.Size, r.Took, r.Detail = record.Change, "web-3", 2, time.Minute, "highest-number"
			}),
		"fleet web: alice ordered 50 % more, but 2 at least, which is refused: the size moved a while ago, and rests " +
			"before it moves again, until 2026-03-02 12:00:00 UTC": {Fleet: "web", Kind: record.Order, Order: "o1",
			Reason: fleet.ReasonCooldown, Command: fleet.OrderScale, By: "alice", Until: until,
			Change: fleet.SizeChange{Percent: 50, AtLeast: 2}},
		"fleet web: alice orders 1 machine fewer": {Fleet: "web", Kind: record.Order, Order: "o1",
			Command: fleet.OrderScale, By: "alice", Change: fleet.SizeChange{By: -1}},
	} {
		if got := Sentence(r); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

func TestThePageOfASilentMetricSaysWhatFollows(t *testing.T) {
	t.Parallel()
	m := Words{Server: "h"}.Message(outbox.Letter{Event: policy.NotifyPage, Record: record.Record{Fleet: "web",
		Kind: record.Paged, Reason: fleet.ReasonMetricSilent, Metric: "load", Detail: "HTTP 503"}}, nil)
	for _, want := range []string{"metric load of fleet web", "HTTP 503", "takes no machine away"} {
		if !strings.Contains(m.Subject+m.Text, want) {
			t.Errorf("it does not say %q:\n%s\n%s", want, m.Subject, m.Text)
		}
	}
}

func TestFiguresHaveThreeDigitsThatMatter(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{"0": 0, "83.3": 83.26, "0.0123": 0.012345, "-7.5": -7.5, "12345": 12345.4,
		"123456789": 123456789.2} {
		if got := Figure(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
