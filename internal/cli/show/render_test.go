package show

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hale/api"
	"hale/internal/cli/paper"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// storm is a fleet in which much goes on at once.
func storm() api.Status {
	return api.Status{Version: "1", Server: "h", Now: noon, Fleets: []api.Fleet{{
		Name: "web", Mode: "act", Size: 4, Healthy: 1, Failing: 3, InRepair: 1, Acting: true,
		Brake:    api.Brake{Engaged: true, Since: noon.Add(-90 * time.Second), Limit: 2},
		Provider: api.Provider{Name: "lab", Standing: "up"},
		Machines: []api.Machine{
			{Name: "web-1", Verdict: "healthy", Since: noon.Add(-2 * time.Hour), Address: "10.0.0.1",
				Instance: "af96bd2c-9e5e", Generation: 1, Host: "h1"},
			{
				Name: "web-2", Verdict: "unhealthy", Since: noon.Add(-12 * time.Second),
				Text: "the provider says it crashed", Address: "10.0.0.2", Instance: "9bf69910-9e5e", Generation: 2,
				Host: "h2", Repair: &api.Repair{Kind: "heal", Step: "recreate", Phase: "act"},
			},
			{
				Name: "web-3", Verdict: "unhealthy", Since: noon.Add(-12 * time.Second),
				Text: "check page: no answer in time", Address: "10.0.0.3", Instance: "19943812-9e5e", Generation: 1,
				Host: "h1", Waiting: api.Reason{Code: "brake", Text: "too many fail"},
			},
			{
				Name: "web-4", Verdict: "unhealthy", Since: noon.Add(-5 * time.Minute),
				Text: "the provider says it is off", NeedsPerson: true,
				Instance: "aa943812-9e5e", Generation: 3, Host: "h1",
				Quarantine: &api.Quarantine{Since: noon.Add(-4 * time.Minute), Reason: api.Reason{
					Code: "attempts", Text: "as many repairs as the policy allows did not heal it for good",
				}},
			},
		},
	}}}
}

func TestStatusInFull(t *testing.T) {
	t.Parallel()
	want := `web: 1 of 4 healthy, 1 in repair, BRAKE ON for 1m30s (3 fail, limit 2), provider lab answers
  MACHINE  VERDICT    SINCE  DOING          WHY                            ADDRESS   INSTANCE   GEN  HOST
  web-2    unhealthy  12s    recreate, act  the provider says it crashed   10.0.0.2  9bf69910…  2    h2
  web-3    unhealthy  12s    held: brake    check page: no answer in time  10.0.0.3  19943812…  1    h1
  web-4    unhealthy  5m00s  quarantine     the provider says it is off              aa943812…  3    h1
  web-1    healthy    2h00m                                                10.0.0.1  af96bd2c…  1    h1

A person must look:
  web: the brake is on: look for one cause behind all of them (network, storage, host, a bad image); the brake releases by itself when enough are healthy again, or with hale brake off
  web-4 for 4m00s: as many repairs as the policy allows did not heal it for good (hale why web-4)`
	if diff := cmp.Diff(want, strings.Join(sheet{}.status(storm(), noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

// S74: one root cause is one incident, and its children are seen under it.
func TestS74StatusShowsOneIncidentWithItsChildren(t *testing.T) {
	t.Parallel()
	f := api.Fleet{
		Name: "web", Mode: "act", Size: 200, Healthy: 180, Failing: 20, Acting: true,
		Provider: api.Provider{Name: "lab", Standing: "up"},
		Parents: []api.Parent{{
			ID: "web/p1", Opened: noon.Add(-90 * time.Second), Paged: true,
			Text:     "20 of 20 machines on rack r4 fail (1 in 10^27 by chance)",
			Children: []string{"web-81", "web-82", "web-83", "web-84", "web-85", "web-86", "web-87"},
		}},
		Machines: []api.Machine{
			{
				Name: "web-81", Verdict: "unhealthy", Since: noon.Add(-2 * time.Minute),
				Incident: &api.Incident{ID: "web-81/1", Parent: "web/p1"}, Waiting: api.Reason{Code: "shared-fate"},
			},
			{
				Name: "web-82", Verdict: "unhealthy", Since: noon.Add(-2 * time.Minute),
				Incident: &api.Incident{ID: "web-82/1", Parent: "web/p1"},
				Repair:   &api.Repair{Kind: "heal", Step: "start", Phase: "verify"},
			},
		},
	}
	want := `web: 180 of 200 healthy, brake off, provider lab answers
  incident web/p1 for 1m30s: 20 of 20 machines on rack r4 fail (1 in 10^27 by chance); 7 held together: web-81, web-82, web-83, web-84, web-85 and 2 more
  MACHINE  VERDICT    SINCE  DOING
  web-81   unhealthy  2m00s  held: web/p1
  web-82   unhealthy  2m00s  start, verify

A person must look:
  web: 20 of 20 machines on rack r4 fail (1 in 10^27 by chance) (incident web/p1): look at what they share (the host, the rack's switch, the network, the storage); hale judges each machine afresh when it is mended`
	if diff := cmp.Diff(want,
		strings.Join(sheet{}.status(api.Status{Fleets: []api.Fleet{f}}, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAFleetThatHaleDoesNotSee(t *testing.T) {
	t.Parallel()
	f := api.Fleet{
		Name: "web", Mode: "act", Size: 3, Acting: true, Provider: api.Provider{Name: "lab", Standing: "up"},
		Vantage: api.Vantage{
			Standing:   "isolated",
			Doubt:      api.Reason{Code: "vantage-isolated", Text: "hale itself is cut off", Advice: "see the network"},
			DoubtSince: noon.Add(-time.Minute),
		},
	}
	want := `web: 0 of 3 healthy, brake off, provider lab answers, SIGHT IN DOUBT for 1m00s: hale itself is cut off

A person must look:
  web: hale itself is cut off: see the network`
	if diff := cmp.Diff(want,
		strings.Join(sheet{}.status(api.Status{Fleets: []api.Fleet{f}}, noon), "\n")); diff != "" {
		t.Error(diff)
	}
	f.Vantage = api.Vantage{Standing: "unknown"}
	if got := (sheet{}).fleet(f, noon, whole)[0]; !strings.Contains(got, "no canary answers") {
		t.Error(got)
	}
}

func TestStatusOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	want := `web: 1 of 4 healthy, 1 in repair, BRAKE ON for 1m30s (3 fai…
  MACHINE  VERDICT    SINCE  DOING         WHY
  web-2    unhealthy  12s    recreate, a…  the provider say…
  web-3    unhealthy  12s    held: brake   check page: no a…
  web-4    unhealthy  5m00s  quarantine    the provider say…
  web-1    healthy    2h00m`
	got := strings.Join(sheet{paper.Sheet{Width: 60}}.fleet(storm().Fleets[0], noon, whole), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAllThatTheProviderSaidIsShownOnANarrowTerminal: a refusal ends with what is to be done.
func TestAllThatTheProviderSaidIsShownOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	f := api.Fleet{Name: "web", Mode: "act", Size: 3, Acting: true, Provider: api.Provider{Name: "lab", Standing: "up",
		Detail: "host h1 does not answer: the host key of h1 is not in " +
			"/etc/hale/known_hosts_of_all_racks_of_this_room: add it with ssh-keyscan"}}
	want := `web: 0 of 3 healthy, brake off, provide…
  host h1 does not answer: the host key
  of h1 is not in
  /etc/hale/known_hosts_of_all_racks_of…
  add it with ssh-keyscan`
	wide := "web: 0 of 3 healthy, brake off, provider lab answers\n  " + f.Provider.Detail
	for width, want := range map[int]string{40: want, 0: wide} {
		if diff := cmp.Diff(
			want,
			strings.Join(sheet{paper.Sheet{Width: width}}.fleet(f, noon, whole), "\n"),
		); diff != "" {
			t.Errorf("at width %d: %s", width, diff)
		}
	}
}

func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	for width := 30; width < 140; width++ {
		for _, line := range (sheet{paper.Sheet{Width: width}}).fleet(storm().Fleets[0], noon, whole) {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("at width %d a line has %d: %q", width, n, line)
			}
		}
	}
}

func TestColourChangesNoText(t *testing.T) {
	t.Parallel()
	painted := strings.Join(sheet{paper.Sheet{Colour: true}}.status(storm(), noon), "\n")
	if !strings.Contains(painted, "\x1b[31munhealthy\x1b[0m") || !strings.Contains(painted, "\x1b[32mhealthy\x1b[0m") {
		t.Errorf("no colour in %q", painted)
	}
	bare := painted
	for _, s := range []paper.Style{paper.Strong, paper.Faint, paper.Red, paper.Green, paper.Yellow} {
		bare = strings.ReplaceAll(bare, "\x1b["+string(s)+"m", "")
	}
	bare = strings.ReplaceAll(bare, "\x1b[0m", "")
	if diff := cmp.Diff(strings.Join(sheet{}.status(storm(), noon), "\n"), bare); diff != "" {
		t.Error(diff)
	}
}

func TestAFleetThatIsNotLookedAfterSaysSo(t *testing.T) {
	t.Parallel()
	f := api.Fleet{
		Name: "web", Mode: "observe", Size: 1,
		NotActing: api.Reason{Code: "store-full", Text: "the disk is full", Advice: "free space"},
		Provider:  api.Provider{Name: "lab", Standing: "down", Detail: "connection refused"},
	}
	want := `web: 0 of 1 healthy, brake off, provider lab does not answer, only watched, NOT ACTING: the disk is full
  connection refused

A person must look:
  web: the disk is full: free space`
	if diff := cmp.Diff(want,
		strings.Join(sheet{}.status(api.Status{Fleets: []api.Fleet{f}}, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration, text string) api.Event { return api.Event{At: noon.Add(d), Text: text} }
	for name, c := range map[string]struct {
		why  api.Why
		want string
	}{
		"healthy, after an incident of yesterday": {
			why: api.Why{
				Machine: api.Machine{Name: "web-2", Verdict: "healthy", Since: noon.Add(-20 * time.Hour)},
				Because: []string{
					"check page is up for 20h00m",
					"the provider says the instance is running at 10.0.0.2",
				},
				Doing: []string{"nothing to do"}, Incident: "web-2/1",
				Timeline: []api.Event{at(-20*time.Hour, "web-2 is unhealthy: the provider says it crashed")},
			},
			want: `web-2 is healthy since 2026-11-20 16:00:00.000 (20h00m)

Because:
  check page is up for 20h00m
  the provider says the instance is running at 10.0.0.2

Now:
  nothing to do

What happened last (incident web-2/1):
  2026-11-20 16:00:00.000  web-2 is unhealthy: the provider says it crashed`,
		},
		"held": {
			why: api.Why{
				Machine: api.Machine{
					Name:     "web-3",
					Verdict:  "unhealthy",
					Since:    noon.Add(-12 * time.Second),
					Incident: &api.Incident{ID: "web-3/1"},
				},
				Because: []string{"its checks are down", "check page is down for 12s: no answer in time"},
				Doing:   []string{"held: too many machines fail at once, so the brake is on (4 of 10 machines fail)"},
				Person:  []string{"look for one cause behind all of them"}, Incident: "web-3/1",
				Timeline: []api.Event{
					at(-12*time.Second, "web-3 is unhealthy: its checks are down: check page: no answer in time"),
					at(-11500*time.Millisecond,
						"web-3 is held: 4 of 10 machines fail, the brake engages above 2; else hale would reboot it"),
				},
			},
			want: `web-3 is unhealthy since 11:59:48.000 (12s)

Because:
  its checks are down
  check page is down for 12s: no answer in time

Now:
  held: too many machines fail at once, so the brake is on (4 of 10 machines fail)

You can:
  look for one cause behind all of them

What happened (incident web-3/1, open):
  11:59:48.000  web-3 is unhealthy: its checks are down: check page: no answer in time
  11:59:48.500  web-3 is held: 4 of 10 machines fail, the brake engages above 2; else hale would reboot it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, strings.Join(sheet{}.why(c.why, noon), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	p := api.Plan{State: api.FromController, Fleets: []api.PlannedWork{{
		Fleet: "web", Mode: "act", Size: 6, Failing: 3, Provider: api.Provider{Name: "lab", Standing: "up"},
		Machines: []api.PlannedStep{
			{Machine: "web-1", Verdict: "healthy", Action: api.ActionNone},
			{Machine: "web-2", Verdict: "unhealthy", Text: "the provider says it is off", Action: "start"},
			{Machine: "web-3", Verdict: "unhealthy", Text: "its checks are down", Action: "reboot",
				Held: api.Reason{Code: "budget", Text: "as many are in repair", Detail: "1 of 1"}},
			{Machine: "web-4", Verdict: "unknown", Text: "no instance of it was built yet", Action: api.ActionBuild},
			{Machine: "web-5", Verdict: "unhealthy", Action: api.ActionGoOn,
				Repair: "web-5/r2, step recreate, phase verify"},
			{Machine: "web-6", Verdict: "starting", Action: api.ActionGoOn, Kind: "build",
				Repair: "web-6/r1, phase verify"},
			{Machine: "web-6", Verdict: "unhealthy", Text: "it is paused", Action: api.ActionNone,
				Held: api.Reason{Code: "paused", Text: "it was paused from outside"}},
		},
	}}}
	want := `Planned with what the running controller believes.
Not everything was settled in time: what is unknown, starting or suspect may yet turn out otherwise.

web: 3 of 6 fail, provider lab answers, hale acts
  MACHINE  VERDICT    PLAN
  web-1    healthy    nothing: it is healthy
  web-2    unhealthy  would start it (step start), because the provider says it is off
  web-3    unhealthy  held: as many are in repair (1 of 1); else it would reboot it (step reboot), because its checks are down
  web-4    unknown    would build it, because no instance of it was built yet
  web-5    unhealthy  the repair under way goes on: web-5/r2, step recreate, phase verify
  web-6    starting   it is being built: web-6/r1, phase verify
  web-6    unhealthy  held: it was paused from outside, because it is paused`
	if diff := cmp.Diff(want, strings.Join(sheet{}.plan(p), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestStatusNamesWhatPanicked(t *testing.T) {
	t.Parallel()
	s := storm()
	s.Defects = []api.Defect{
		{Part: "provider", Of: "lab", Count: 12, First: noon.Add(-time.Hour), Last: noon.Add(-3 * time.Second),
			Said: "boom"},
		{Part: "target", Name: "ops", Count: 1, First: noon.Add(-3 * time.Hour), Last: noon.Add(-3 * time.Hour),
			Said: "long ago"},
	}
	got := strings.Join(sheet{}.status(s, noon), "\n")
	if !strings.HasSuffix(got,
		"\n\na defect: provider lab panicked 12 times, last 3s ago: boom; hale's log has the place") {
		t.Errorf("got\n%s", got)
	}
}

func TestL08StatusNamesACheckThatNeverSucceeded(t *testing.T) {
	t.Parallel()
	s := api.Status{Fleets: []api.Fleet{{
		Name: "web", Mode: "act", Size: 2, Acting: true, Provider: api.Provider{Name: "lab", Standing: "up"},
		Unproven: []api.Unproven{
			{Check: "page", Edited: true, Failing: true,
				Text: "check page was edited at 12:56 UTC and has not succeeded since"},
			// it had no time to
			{Check: "alive", Text: "check alive was made at 12:58 UTC and has not succeeded since"},
		},
	}}}
	want := `web: 0 of 2 healthy, brake off, provider lab answers
  check page was edited at 12:56 UTC and has not succeeded since, so it repairs nothing

A person must look:
  web: check page was edited at 12:56 UTC and has not succeeded since: see whether the check asks the right thing, and edit it and reload; as soon as it succeeds on one machine it counts`
	if diff := cmp.Diff(want, strings.Join(sheet{}.status(s, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

// What ends by itself says so in the table, and not only which code holds the machine.
func TestStatusNamesWhatChecksOnlyTell(t *testing.T) {
	t.Parallel()
	s := storm()
	for i := range 2 {
		s.Fleets[0].Machines[i].Checks = []api.Check{
			{Name: "disk", Standing: "down", Tells: true}, {Name: "page", Standing: "down"},
			{Name: "load", Standing: "up", Tells: true},
		}
	}
	lines := sheet{}.status(s, noon)
	if want := "warning: fleet web, check disk is down on web-1, web-2"; !slices.Contains(lines, want) {
		t.Errorf("%q is missing in\n%s", want, strings.Join(lines, "\n"))
	}
	if n := strings.Count(strings.Join(lines, "\n"), "warning:"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

func TestDoingSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]api.Reason{
		"held: amnesty for another 20s": {Code: "amnesty", Detail: "for another 20s"},
		"held: check page needs 2 good answers in a row": {Code: "recovering",
			Detail: "check page needs 2 good answers in a row"},
		"held: budget": {Code: "budget", Detail: "1 of 1"},
	} {
		if got := doing(api.Machine{Waiting: r}).Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
