package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"

	"github.com/google/go-cmp/cmp"
)

// crowd is a fleet of size machines; the last ones are ill.
func crowd(name string, size, sick int) api.Fleet {
	f := api.Fleet{Name: name, Mode: "act", Size: size, Healthy: size - sick, Failing: sick, Acting: true,
		Provider: api.Provider{Name: "lab", Standing: "up"}}
	for i := range size {
		m := api.Machine{Name: fmt.Sprintf("%s-%d", name, i+1), Verdict: "healthy", Since: noon.Add(-time.Hour)}
		if i >= size-sick {
			m.Verdict, m.Text = "unhealthy", "the provider says it crashed"
		}
		f.Machines = append(f.Machines, m)
	}
	return f
}

func TestOnAShortTerminalTheIllStayInSightAndAreCounted(t *testing.T) {
	t.Parallel()
	s := api.Status{Fleets: []api.Fleet{crowd("db", 20, 0), crowd("web", 120, 2)}}
	want := `web: 118 of 120 healthy, brake off, provider lab answers
  MACHINE  VERDICT    SINCE  WHY
  web-119  unhealthy  1h00m  the provider says it crashed
  web-120  unhealthy  1h00m  the provider says it crashed
  web-1    healthy    1h00m
  web-2    healthy    1h00m
  and 116 healthy machines more

db: 20 of 20 healthy, brake off, provider lab answers
  MACHINE  VERDICT  SINCE
  db-1     healthy  1h00m
  db-2     healthy  1h00m
  and 18 healthy machines more`
	if diff := cmp.Diff(want, strings.Join(sheet{}.fitting(s, noon, 13), "\n")); diff != "" {
		t.Error(diff)
	}
	if got := (sheet{}).fitting(s, noon, 0); len(got) != len((sheet{}).status(s, noon)) {
		t.Error("something is left out where there is no end of room")
	}
}

func TestWhatFitsOnATerminalFitsAtEveryHeight(t *testing.T) {
	t.Parallel()
	var s api.Status
	for i := range 30 {
		s.Fleets = append(s.Fleets, crowd(fmt.Sprintf("f%d", i), 9, i%3))
	}
	s.Fleets[29].Machines[8].NeedsPerson = true
	for height := 5; height < 400; height += 9 {
		lines := sheet{}.fitting(s, noon, height)
		if len(lines) > height {
			t.Errorf("%d lines where there is room for %d", len(lines), height)
		}
		if text := strings.Join(lines, "\n"); height < 30 && !strings.Contains(text, " more") {
			t.Errorf("at height %d nothing says that there are more fleets:\n%s", height, text)
		}
	}
}

func TestTheFrameOfAShortTerminalCountsEverything(t *testing.T) {
	t.Parallel()
	v := &statusView{Screen: paper.Screen{Size: func() (int, int) { return 80, 8 }}}
	s := api.Status{Version: "1", Server: "h", Fleets: []api.Fleet{crowd("web", 120, 40)}}
	lines := v.picture(s, nil)
	if len(lines) > 7 {
		t.Errorf("%d lines on a terminal of 8", len(lines))
	}
	if want := "1 fleet: 80 of 120 machines healthy, 40 fail"; lines[1] != want {
		t.Errorf("the second line is %q, want %q", lines[1], want)
	}
	if last := lines[len(lines)-1]; last != "  and 119 machines more, 39 of them not healthy" {
		t.Errorf("the last line is %q", last)
	}
}

func TestOnAScreenOfTenRowsTheIllFleetIsInSight(t *testing.T) {
	t.Parallel()
	for _, others := range []int{1, 4, 40} {
		var s api.Status
		for i := range others {
			s.Fleets = append(s.Fleets, crowd(fmt.Sprintf("f%d", i), 3, 0))
		}
		sick := crowd("sick", 3, 3)
		for i := range sick.Machines {
			sick.Machines[i].NeedsPerson = true
		}
		sick.Brake = api.Brake{Engaged: true, Since: noon}
		s.Fleets = append(s.Fleets, sick)
		for _, height := range []int{8, 9, 10, 12} {
			v := &statusView{Screen: paper.Screen{Size: func() (int, int) { return 80, height }}}
			lines := v.picture(s, nil)
			text := strings.Join(lines, "\n")
			if len(lines) > height-1 || !strings.Contains(text, "\n  sick ") && !strings.Contains(text, "\nsick: ") {
				t.Errorf("%d others, %d rows: sick is not in sight:\n%s", others, height, text)
			}
			if want := fmt.Sprintf("%d of %d machines healthy, 3 fail, 3 need you", 3*others,
				3*others+3); !strings.Contains(lines[1], want) {
				t.Errorf("%d others, %d rows: the counts are %q, want %q", others, height, lines[1], want)
			}
		}
	}
}

func TestManyFleetsAreALineEach(t *testing.T) {
	t.Parallel()
	var s api.Status
	for i := range manyFleets + 1 {
		s.Fleets = append(s.Fleets, crowd(fmt.Sprintf("f%d", i), 2, 0))
	}
	s.Fleets[5] = crowd("f5", 2, 1)
	s.Fleets[5].Brake = api.Brake{Engaged: true, By: "alice", Since: noon}
	got := strings.Join(sheet{}.overview(s, selection{}, noon), "\n")
	want := "13 fleets: 25 of 26 machines healthy, 1 fail, 1 fleet braked\n\n" +
		"  FLEET  HEALTHY  STANDS\n  f5     1 of 2   BRAKE ON for 0ms by alice\n  f0     2 of 2\n"
	if !strings.HasPrefix(got, want) || strings.Contains(got, "f5-1") {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	if all := strings.Join(
		sheet{}.overview(s, selection{all: true}, noon),
		"\n",
	); !strings.Contains(
		all,
		"f5-1",
	) ||
		!strings.Contains(all, "f12-2") {
		t.Errorf("not all is shown:\n%s", all)
	}
}

func TestStatusShowsTheFleetsAndTheMachinesThatArePicked(t *testing.T) {
	t.Parallel()
	s := api.Status{Fleets: []api.Fleet{crowd("web", 9, 2), crowd("db", 3, 0)}}
	shown := func(w selection) string {
		got, err := w.of(s)
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, f := range got.Fleets {
			names = append(names, fmt.Sprintf("%s %d/%d", f.Name, len(f.Machines), f.Size))
		}
		return strings.Join(names, ", ")
	}
	for want, w := range map[string]selection{
		"web 9/9, db 3/3": {},
		"db 3/3":          {fleets: []string{"db"}},
		"web 2/9":         {failing: true},
		"":                {failing: true, fleets: []string{"db"}},
		"there is no fleet wbe; did you mean web or db?": {fleets: []string{"db", "wbe"}},
	} {
		if got := shown(w); got != want {
			t.Errorf("%+v shows %q, want %q", w, got, want)
		}
	}
	if len(s.Fleets[0].Machines) != 9 {
		t.Error("what was asked is changed")
	}
}

// checked is how hale status --check ends, and what it prints.
func checked(s api.Status, trouble error) (int, string) {
	var out bytes.Buffer
	c := reader{command.New(command.Program{Out: &out}, nil)}
	err := c.check(context.Background(), func(context.Context) (api.Status, error) { return s, trouble })
	code := 0
	if ended := CheckEnded(0); errors.As(err, &ended) {
		code = int(ended)
	}
	return code, out.String()
}

func TestACheckEndsAsAPluginDoes(t *testing.T) {
	t.Parallel()
	with := func(edit func(f *api.Fleet)) api.Status {
		f := crowd("web", 3, 1)
		f.Machines[2].Verdict, f.Failing, f.Healthy = "healthy", 0, 3
		edit(&f)
		return api.Status{Fleets: []api.Fleet{f}}
	}
	sick := func(f *api.Fleet) { f.Machines[2].Verdict, f.Healthy, f.Failing = "unhealthy", 2, 1 }
	stopping := with(func(*api.Fleet) {})
	stopping.Stopping = true
	absent := func(why error) error { return api.NotRunning{Socket: "s", Err: why} }
	for name, c := range map[string]struct {
		status  api.Status
		trouble error
		code    int
		says    string
	}{
		"all well": {status: with(func(*api.Fleet) {}), code: 0,
			says: "HALE OK - 3 of 3 machines in 1 fleet healthy | machines=3 healthy=3 failing=0 "},
		"a suspect": {status: with(func(f *api.Fleet) { f.Machines[2].Verdict = "suspect" }), code: 0,
			says: "HALE OK"},
		"ill and healed": {status: with(sick), code: 1, says: "web-3 is unhealthy: the provider says it crashed | "},
		"braked by hand": {status: with(func(f *api.Fleet) { f.Brake = api.Brake{Engaged: true, By: "alice"} }),
			code: 1, says: "alice put the brake on"},
		"braked": {status: with(func(f *api.Fleet) { f.Brake.Engaged = true }), code: 2,
			says: "the brake is on"},
		"needs a person": {status: with(func(f *api.Fleet) { sick(f); f.Machines[2].NeedsPerson = true }), code: 2,
			says: "HALE CRITICAL - 2 of 3"},
		"does not act": {status: with(func(f *api.Fleet) { f.Acting = false }), code: 2, says: "does not act"},
		"provider down": {status: with(func(f *api.Fleet) { f.Provider.Standing = "down" }), code: 2,
			says: "provider lab does not answer"},
		"a plan waits": {status: with(func(f *api.Fleet) { f.Plans = []api.Waiting{{ID: "web-1f"}} }), code: 1,
			says: "web-1f waits"},
		"adopted": {status: with(func(f *api.Fleet) { sick(f); f.Machines[2].Alias = "main" }), code: 1,
			says: "web-3 (main) is unhealthy: "},
		"stopping":  {status: stopping, code: 2, says: "hale is stopping"},
		"no fleets": {code: 1, says: "there are no fleets"},
		"hale does not run": {trouble: absent(errors.New("connection refused")), code: 2,
			says: "HALE CRITICAL - no hale controller listens on s"},
		"hale never answers": {trouble: context.DeadlineExceeded, code: 2, says: "did not answer within 8s"},
		"no right to ask": {trouble: absent(&os.PathError{Op: "dial", Path: "s", Err: fs.ErrPermission}), code: 3,
			says: "HALE UNKNOWN"},
		"no such fleet": {trouble: api.UnknownFleet("x", nil), code: 3, says: "there is no fleet x"},
		"what breaks lines": {status: with(func(f *api.Fleet) { sick(f); f.Machines[2].Text = "a|b\nc" }), code: 1,
			says: "unhealthy: a/b c | machines="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out := checked(c.status, c.trouble)
			if code != c.code || !strings.Contains(out, c.says) || strings.Count(out, "\n") != 1 {
				t.Errorf("ended with %d, want %d, and says %q, want one line with %q", code, c.code, out, c.says)
			}
		})
	}
}

func TestEventsBeginWhereAPersonMeans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2h": "2026-11-23T08:00:00+01:00", "3d": "2026-11-20T10:00:00+01:00", "09:30": "2026-11-23T09:30:00+01:00",
		"22:15": "2026-11-22T22:15:00+01:00", "2026-11-01": "2026-11-01T00:00:00+01:00",
		"2026-11-01 12:00": "2026-11-01T12:00:00+01:00", "2026-11-01T12:00:00Z": "2026-11-01T12:00:00Z",
	} {
		if got, err := beginning(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("--since %s is %s (%v), want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "25:00"} {
		if got, err := beginning(text, now); err == nil {
			t.Errorf("--since %s is taken for %s", text, got)
		}
	}
}

func TestWhyOfAFleetNamesWhatHoldsItAndTheIll(t *testing.T) {
	t.Parallel()
	f := storm().Fleets[0]
	w := api.FleetWhy{
		Now:     noon,
		Fleet:   f,
		Holding: []string{"held: too many fail"},
		Person:  []string{"look for one cause"},
	}
	want := `fleet web: 1 of 4 healthy, 1 in repair, BRAKE ON for 1m30s (3 fail, limit 2), provider lab answers

Holding it:
  held: too many fail

Not healthy:
  web-2 is unhealthy for 12s: the provider says it crashed; at it
  web-3 is unhealthy for 12s: check page: no answer in time; held: too many fail
  web-4 is unhealthy for 5m00s: the provider says it is off; in quarantine: as many repairs as the policy allows did not heal it for good

You can:
  look for one cause`
	f.Machines[1].Repair = &api.Repair{Kind: "heal", Text: "at it"}
	if diff := cmp.Diff(want, strings.Join(sheet{}.whyFleet(w, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestStatusNamesWhatHaleLacksAndWhichProviderWaits(t *testing.T) {
	t.Parallel()
	s := api.Status{
		Fleets: []api.Fleet{crowd("web", 1, 0)},
		Troubles: []api.Trouble{
			{
				Part:   api.TroublePing,
				Since:  noon.Add(-time.Minute),
				Text:   "hale may not send pings",
				Advice: "give it the right",
			},
		},
		Plans: []api.Waiting{{ID: "lab-1f", Subject: "provider lab", Text: "another address"}},
	}
	want := "\n\nA person must look:\n  hale may not send pings (for 1m00s): give it the right\n" +
		"  provider lab: another address; until plan lab-1f is confirmed it is asked where it was (hale apply)"
	if got := strings.Join(sheet{}.status(s, noon), "\n"); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end with\n%s", got, want)
	}
	if code, out := checked(s, nil); code != checkCritical ||
		!strings.Contains(out, "hale may not send pings; provider lab: plan lab-1f waits") {
		t.Errorf("the check ended with %d and says %s", code, out)
	}
	s.Fleets = nil
	if got := strings.Join(sheet{}.overview(s, selection{failing: true}, noon), "\n"); !strings.Contains(
		got,
		"may not send pings",
	) {
		t.Errorf("--failing hides what hale lacks:\n%s", got)
	}
}
