package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/config"
	"hale/internal/config/configtest"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/script"
	"hale/internal/trial/replay"
	"hale/internal/trial/scenario"

	"github.com/google/go-cmp/cmp"
)

const patience = 15 * time.Minute

const (
	size  = "size: 10"
	usual = "checks: {page: {http: {}, every: 10s, timeout: 2s, down_after: 3}}"
	hasty = "checks: {page: {http: {}, every: 2s, timeout: 1s, down_after: 1}}"
)

// recorded plays events under a policy and returns the journal as hale events --json writes it.
func recorded(t *testing.T, c *config.Config, events ...string) string {
	t.Helper()
	o := sim.Options{
		Servers: 1, Seed: 1, Horizon: 24 * time.Hour, Calm: time.Hour, Operator: 30 * time.Minute,
		History: &chronicle.History{},
	}
	scenario.Adopt(&o, c, 0)
	for _, line := range events {
		e, err := script.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		o.Plan = append(o.Plan, e)
	}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	lines, seq := json.NewEncoder(&b), uint64(0)
	for _, m := range o.History.Moments {
		if m.Record != nil {
			seq++
			r := *m.Record
			r.Seq = seq
			if err := lines.Encode(view.Event(r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.String()
}

func read(t *testing.T, text string) replay.Journal {
	t.Helper()
	j, err := replay.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func compare(t *testing.T, journal string, c *config.Config) replay.Comparison {
	t.Helper()
	out, err := replay.Compare(replay.Options{Journal: read(t, journal), Policy: c, Patience: patience, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// month is a journal of what can go wrong with ten machines.
func month(t *testing.T) string {
	t.Helper()
	return recorded(t, configtest.Parse(t, size, usual),
		"1h web-1 crashes", "2h web-2 hangs", "3h web-3 loses its disk", "4h web-4 is too slow for 25s",
		"5h web-5 is too slow for 22s",
		"6h web-6 answers 503", "7h web-7 is stopped by a person for 40m",
		"8h web-8 panics", "9h web-9 vanishes", "10h web-10 stops serving for 24s")
}

func TestTheSamePolicyDoesTheSameAgain(t *testing.T) {
	t.Parallel()
	out := compare(t, month(t), configtest.Parse(t, size, usual))
	want := replay.Tally{Incidents: 10, Healed: 6, LeftAlone: 4, Paged: 1} // the stop by a person is told in the end
	if diff := cmp.Diff(want, out.Recorded); diff != "" {
		t.Errorf("recorded: %s", diff)
	}
	if diff := cmp.Diff(want, out.Replayed); diff != "" {
		t.Errorf("replayed: %s", diff)
	}
	if len(out.NotReplayed) > 0 || len(out.Journal.Gaps) > 0 || out.Days < 0.3 {
		t.Errorf("%v days, gaps %v, not replayed: %v", out.Days, out.Journal.Gaps, out.NotReplayed)
	}
}

func TestAnotherPolicyIsJudgedByWhatTheMachinesDidByThemselves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy []string
		want   replay.Tally
	}{
		"one that acts at the first failure acts on machines that were not dead": {[]string{size, hasty},
			replay.Tally{Incidents: 10, Healed: 9, Wrongly: 3, LeftAlone: 1, Paged: 1}},
		"one that only watches misses what it did not page for": {[]string{size, usual, "mode: observe"},
			// the third failure engages the brake
			replay.Tally{Incidents: 10, Missed: 3, LeftAlone: 4, Paged: 4, FleetPages: 1}},
		"one without a rebuild leaves the lost disk to a person": {[]string{
			size, usual, "repair: {steps: [start, reboot]}",
		},
			replay.Tally{Incidents: 10, Healed: 4, LeftAlone: 4, Paged: 3}},
		"one that only pings does not see a status": {[]string{
			size,
			"checks: {alive: {ping: {}, every: 10s, timeout: 2s}}",
		},
			replay.Tally{Incidents: 10, Healed: 5, Missed: 1, LeftAlone: 4, Paged: 1}},
		"one that heals a stop acts against the person": {[]string{size, usual, "on_external_stop: heal"},
			replay.Tally{Incidents: 10, Healed: 7, Wrongly: 1, LeftAlone: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compare(t, month(t), configtest.Parse(t, c.policy...))
			if diff := cmp.Diff(c.want, out.Replayed); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
				for _, i := range out.Incidents {
					t.Logf("%s %s %s %s: %+v", i.From.Format(time.TimeOnly), i.Machine, i.Nature, i.Cause, i.Replayed)
				}
			}
		})
	}
}

func TestIncidentsAreMadeOutOfRecords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event  string
		lines  []string // of the policy that was recorded
		nature replay.Nature
		cause  belief.Cause
		acts   string
	}{
		"the provider's word is a failure": {"1h web-1 crashes", nil, replay.Failure, belief.CauseCrashed,
			"start"},
		"so it is when hale did nothing": {"1h web-1 crashes for 5m", []string{"mode: observe"},
			replay.Failure, belief.CauseCrashed, ""},
		"silence that ended after an act": {"1h web-1 hangs", nil, replay.Failure, belief.CauseChecks,
			"reboot"},
		"silence that passed": {"1h web-1 hangs for 5m", []string{"mode: observe"},
			replay.Transient, belief.CauseChecks, ""},
		"silence that passed much later": {"1h web-1 hangs for 2h", []string{"mode: observe"},
			replay.Failure, belief.CauseChecks, ""},
		"a suspicion that passed": {"1h web-1 is too slow for 12s", nil, replay.Transient, "", ""},
		"a stop by a person": {"1h web-1 is stopped by a person for 1h", nil, replay.Stopped, belief.CauseStopped,
			""},
		"a pause": {"1h web-1 is paused for 1h", nil, replay.Stopped, belief.CausePaused, ""},
		"a machine that a step after another healed": {"1h web-1 loses its disk", nil, replay.Failure,
			belief.CauseChecks, "reboot power-off delete create"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compare(t, recorded(t, configtest.Parse(t, append([]string{size, usual}, c.lines...)...), c.event),
				configtest.Parse(t, size, usual))
			if len(out.Incidents) != 1 {
				t.Fatalf("%d incidents were made of %q", len(out.Incidents), c.event)
			}
			i := out.Incidents[0]
			if i.Machine != "web-1" || i.Nature != c.nature || i.Cause != c.cause ||
				strings.Join(i.Recorded.Acts, " ") != c.acts {
				t.Errorf("it is %+v", *i)
			}
			if began := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC); i.From.Before(began) ||
				i.From.After(began.Add(15*time.Second)) {
				t.Errorf("it began at %v", i.From)
			}
		})
	}
}

func TestWhenTheProviderOrHaleItselfWasBlindItIsAgain(t *testing.T) {
	t.Parallel()
	journal := recorded(t, configtest.Parse(t, size, usual), "1h provider does not answer for 30m",
		"1h10m web-1 crashes")
	out := compare(t, journal, configtest.Parse(t, size, usual))
	if len(out.Incidents) != 1 || out.Replayed.Healed != 1 ||
		!slices.Contains(out.Incidents[0].Replayed.Held, string(fleet.ReasonProviderDown)) {
		t.Fatalf("incident %+v, replayed %+v", *out.Incidents[0], out.Replayed)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lines := []string{
		line(t, api.Event{Seq: 1, At: at, Fleet: "web", Kind: "owner", Reason: "took-over"}),
		line(t, api.Event{Seq: 2, At: at.Add(time.Hour), Fleet: "web", Kind: "vantage", Reason: "vantage-isolated"}),
		line(t, api.Event{Seq: 3, At: at.Add(2 * time.Hour), Fleet: "web", Kind: "vantage", Reason: "up"}),
		line(t, api.Event{
			Seq: 4, At: at.Add(3 * time.Hour), Fleet: "web", Machine: "web-1", Kind: "verdict", Verdict: "unhealthy",
			Was: "healthy", Cause: "crashed",
		}),
	}
	out = compare(t, strings.Join(lines, "\n"), configtest.Parse(t, size, usual))
	if out.Replayed.Healed != 1 || out.Replayed.Elsewhere != 0 || out.Replayed.FleetPages == 0 {
		t.Errorf("cut off from all of them it came to %+v", out.Replayed)
	}
}

func line(t *testing.T, e api.Event) string {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWhatAPersonDidIsNoGapInTheJournal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var lines []string
	for i, kind := range []record.Kind{
		record.Owner, record.Order, record.HoldEnded, record.Change, record.Verdict,
	} {
		lines = append(lines,
			line(t, api.Event{
				Seq:   uint64(i + 1),
				At:    at.Add(time.Duration(i) * time.Minute),
				Fleet: "web",
				Kind:  string(kind),
			}))
	}
	if j := read(t, strings.Join(lines, "\n")); j.Records != len(lines) || len(j.Gaps) != 0 || len(j.Unknown) != 0 {
		t.Errorf("%d records, gaps %+v, unknown %+v", j.Records, j.Gaps, j.Unknown)
	}
}

// What hale let go of a machine that flapped is no loss; more than that is.
func TestWhatHaleLetGoIsNoGapInTheJournal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	flapping := func(thinned uint64) replay.Journal {
		var lines []string
		for _, seq := range []uint64{1, 5, 9} {
			lines = append(lines,
				line(t, api.Event{Seq: seq, At: at, Fleet: "web", Machine: "web-1", Kind: string(record.Verdict),
					Thinned: thinned}))
		}
		return read(t, strings.Join(lines, "\n"))
	}
	if j := flapping(3); len(j.Gaps) != 0 || j.Thinned != 6 {
		t.Errorf("gaps %+v, thinned %d", j.Gaps, j.Thinned)
	}
	if j := flapping(2); len(j.Gaps) != 2 {
		t.Errorf("gaps %+v", j.Gaps)
	}
}

func TestWhatAJournalLacksIsSaid(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(month(t)), "\n")
	broken := slices.Concat(lines[:10], lines[13:40], []string{
		`{"seq":9999,"at":"2026-01-01T00:00:00Z","fleet":"web","kind":"dream"}`,
		"2026-01-01 web-1 is healthy",
		`{"kind":"verdict"}`,
		lines[39],
	})
	j := read(t, strings.Join(broken, "\n"))
	if j.Records != 37+1 || len(j.Gaps) != 1 || j.Gaps[0].Lost != 3 || len(j.Broken) != 2 || j.Broken[0].Line != 39 ||
		len(j.Unknown) != 1 || j.Unknown[0].Kind != "dream" {
		t.Errorf("%d records, gaps %+v, bad lines %+v, unknown %+v", j.Records, j.Gaps, j.Broken, j.Unknown)
	}
	for name, text := range map[string]string{
		"nothing":                            "",
		"what hale events prints for people": "2026-01-01 00:00:00.000  web-1 is healthy\n",
	} {
		if _, err := replay.Read(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), "hale events --json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMachinesAndFleetsThatThePolicyDoesNotHave(t *testing.T) {
	t.Parallel()
	journal := month(t)
	out := compare(t, journal, configtest.Parse(t, "size: 4", usual))
	if len(out.NotReplayed) != 1 ||
		out.NotReplayed[0] != "fleet web: 6 machines of the journal are beyond the fleet's size, 4" ||
		out.Replayed.Incidents != 10 {
		t.Errorf("not replayed: %v, %+v", out.NotReplayed, out.Replayed)
	}
	renamed := configtest.Parse(t, size, usual)
	renamed.Fleets[0].Name = "shop"
	if out := compare(t, journal, renamed); out.Replayed.Healed != 6 || out.Incidents[0].Machine != "web-1" {
		t.Errorf("the only fleet for the only one: %+v", out.Replayed)
	}
	two := configtest.Parse(t, size, usual)
	two.Fleets[0].Name = "shop"
	two.Fleets = append(two.Fleets, two.Fleets[0])
	two.Fleets[1].Name = "db"
	for name, c := range map[string]struct {
		policy *config.Config
		fleet  fleet.Name
		says   string
	}{
		"none of its fleets": {two, "",
			"the policy has fleets shop, db, and the journal tells of web: none is the same"},
		"no fleet of the journal": {renamed, "shop", `the journal tells of no fleet "shop"; it tells of web`},
	} {
		_, err := replay.Compare(replay.Options{
			Journal:  read(t, journal),
			Policy:   c.policy,
			Fleet:    c.fleet,
			Patience: patience,
		})
		if err == nil || err.Error() != c.says {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := strings.ReplaceAll(journal, `"fleet":"web"`, `"fleet":"shop"`)
	out = compare(t, journal+strings.ReplaceAll(other, `"web-`, `"shop-`), configtest.Parse(t, size, usual))
	if fmt.Sprint(out.Fleets) != "[web]" ||
		!slices.Contains(out.NotReplayed, "fleet shop: the policy has no fleet of that name") {
		t.Errorf("fleets %v, not replayed %v", out.Fleets, out.NotReplayed)
	}
}

func TestEqualOrdersHaveEqualOutcomes(t *testing.T) {
	t.Parallel()
	journal := month(t)
	var said [2][]byte
	for i := range said {
		data, err := json.Marshal(compare(t, journal, configtest.Parse(t, size, hasty)))
		if err != nil {
			t.Fatal(err)
		}
		said[i] = data
	}
	if !bytes.Equal(said[0], said[1]) {
		t.Error("the same order had two outcomes")
	}
}
