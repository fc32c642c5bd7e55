package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Target is one place where people are told. Which events it wants, and how often a message is tried, stands with each
// fleet (policy.Recipient).
type Target struct {
	Name    policy.TargetName
	Kind    string        // a word of kinds.All
	Timeout time.Duration // of one try
	// AliveEvery is how often it is sent a sign that hale lives and acts; 0: never.
	AliveEvery time.Duration
	// Settings are what the kind's own keys come to.
	Settings kinds.Telling
}

// targetDraft is one entry of notify: how to tell people.
type targetDraft struct {
	own      keys.Own // what the kinds bring
	events   keys.At[[]keys.At[policy.NotifyEvent]]
	attempts keys.At[keys.Rate]
	timeout  keys.At[time.Duration]
	alive    keys.At[time.Duration]
	daily    keys.At[dailyDraft]
}

const defaultNotifyTimeout = 10 * time.Second

// defaultNotifyAttempts is more than a night, and the longest pause is a quarter of an hour.
var defaultNotifyAttempts = keys.Rate{Times: 100, Within: 24 * time.Hour}

func targetShape(all kinds.All) keys.Object[targetDraft] {
	ways := keys.Within(kinds.WayFields(all.Targets, "A target has one of"),
		func(t *targetDraft) *keys.Own { return &t.own })
	return keys.Object[targetDraft]{Fields: append(ways,
		keys.May("events", "What it is told of. `pages`: a person must look. `reminders`: they were told, and it is "+
			"not over (see fleets.FLEET.notify.remind_every). `healed`: what they were told of is over. `warnings`: a "+
			"check with `then: tell` is down, and later, that it is not any more. `repairs`: hale healed a machine. "+
			"`none`, with alive_every or daily: nothing.",
			keys.ListOrNone[policy.NotifyEvent]{List: keys.List[policy.NotifyEvent]{Noun: "one event",
				Each: keys.Choice(nil, policy.NotifyPage,
					policy.NotifyReminder, policy.NotifyHealed, policy.NotifyWarning, policy.NotifyRepair)},
			},
			func(t *targetDraft) *keys.At[[]keys.At[policy.NotifyEvent]] { return &t.events }).Said(
			"all of them but repairs"),
		keys.Or("attempts", defaultNotifyAttempts, "How often, and for how long, a message is tried, with growing "+
			"pauses; then it is a dead letter: `hale notify dead`.",
			keys.Attempts(), func(t *targetDraft) *keys.At[keys.Rate] { return &t.attempts }),
		keys.Or("timeout", defaultNotifyTimeout, "When no answer is a failure.",
			keys.Duration(100*time.Millisecond, 5*time.Minute),
			func(t *targetDraft) *keys.At[time.Duration] { return &t.timeout }),
		keys.May("alive_every", "Send a sign of life this often while hale acts in every fleet, for a service that "+
			"raises the alarm when signs stay away (a dead man's switch). With `events: none` the target gets "+
			"nothing else.",
			keys.Duration(10*time.Second, 24*time.Hour),
			func(t *targetDraft) *keys.At[time.Duration] { return &t.alive }).Said("none is sent"),
		keys.May("daily", "Send once a day, at this time, one message of each fleet with what was healed in it since "+
			"the last one: which machines, by which step, and for how long they were down. As \"07:00\", by the clock "+
			"of UTC.", dailyShape(), func(t *targetDraft) *keys.At[dailyDraft] { return &t.daily }).
			Said("none is sent"),
	)}
}

// compileTargets judges the entries of notify.
func compileTargets(drafts []keys.Named[targetDraft], all kinds.All, f *keys.Finder) []Target {
	var out []Target
	for _, n := range drafts {
		d := n.Value
		t := Target{Name: policy.TargetName(n.Name), Timeout: d.timeout.Value, AliveEvery: d.alive.Value}
		words, settings := kinds.TakeWays(all.Targets, &d.own, f)
		t.Kind, t.Settings = cmp.Or(words...), settings
		switch {
		case len(words) == 0 && n.OK:
			f.Add(n.Spot, "does not say how to tell", "add one of "+kinds.WayExamples(all.Targets))
		case len(words) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", words[0], words[1]), "make it two targets")
		case d.deaf() && !d.alive.Written():
			f.Add(d.events.Spot, "is none: the target is told nothing",
				"name events, take the line out, or add alive_every: 1m or daily: \"07:00\"")
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// deaf reports whether the target is told of nothing.
func (d targetDraft) deaf() bool {
	return d.events.Written() && len(d.events.Value) == 0 && !d.daily.Written()
}

func recipient(name string, t targetDraft) policy.Recipient {
	r := policy.Recipient{Target: policy.TargetName(name), Attempts: t.attempts.Value.Times,
		AttemptsIn: t.attempts.Value.Within}
	for _, e := range t.events.Value {
		if !slices.Contains(r.Events, e.Value) {
			r.Events = append(r.Events, e.Value)
		}
	}
	if !t.events.Written() {
		r.Events = []policy.NotifyEvent{policy.NotifyPage, policy.NotifyReminder, policy.NotifyHealed,
			policy.NotifyWarning}
	}
	if d := t.daily.Value; t.daily.Written() {
		r.Daily = policy.Daily{At: d.at.Value, Zone: d.zone.Value, Empty: d.empty.Value}
		r.Events = append(r.Events, policy.NotifyDaily)
	}
	slices.Sort(r.Events)
	return r
}
