package rehearsal_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/config/configtest"
	"hale/internal/trial/rehearsal"
	"hale/internal/trial/scenario"
)

const own = "-- hale.yaml --\nproviders: {lab: {type: simulated}}\n" +
	"fleets: {web: {provider: lab, size: 9, checks: {alive: {ping: {}}}}}\n"

func story(t *testing.T, text string) rehearsal.Story {
	t.Helper()
	s, err := scenario.ParseScript("f.txt", []byte("A story.\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal.Story{Script: s}
}

func chosen(settings ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(settings, s) }
}

func TestAStoryHappensToTheUsersFleet(t *testing.T) {
	t.Parallel()
	s := story(t,
		own+"-- world --\nhost h1 rack r1\nhost h2 rack r2\nservers 2\nseed 5\noperator 2h\n"+
			"-- events --\n1m web-2 crashes\n2m rack r2 loses power for 1m\n3m web-9 hangs\n"+
			"-- expect --\nrepairs 77\n")
	c := configtest.Parse(t, "size: 4", page)
	c.Fleets[0].Name = "shop"
	order, err := s.Adapt(rehearsal.Options{Config: c, Seed: 1, Servers: 1, Operator: time.Hour}, chosen("seed"))
	if err != nil {
		t.Fatal(err)
	}
	if order.Seed != 1 || order.Servers != 2 || order.Operator != 2*time.Hour ||
		order.Horizon != time.Hour+3*time.Minute {
		t.Errorf("the order is %+v", order)
	}
	out := rehearse(t, order)
	f := out.Fleets[0]
	if f.Name != "shop" || f.Hosts != 2 || out.Faults != 2 || len(f.Options.Plan) != 2 ||
		f.Options.Plan[0].Subject != "shop-2" {
		t.Errorf("%d faults: %v", out.Faults, f.Options.Plan)
	}
	if len(out.DidNotFit) != 1 || !strings.Contains(out.DidNotFit[0], "web-9 hangs: ") ||
		!strings.Contains(out.DidNotFit[0], "machines shop-1 to shop-4") {
		t.Errorf("did not fit: %v", out.DidNotFit)
	}
	if !out.OK() || len(f.Unexpected) > 0 {
		t.Errorf("what the file expects of its own fleet is expected of this one: %v", f.Unexpected)
	}
}

func TestAStoryWithoutAFleetExpectsOfWhoeverPlaysIt(t *testing.T) {
	t.Parallel()
	s := story(t, "-- events --\n1m web-2 crashes\n-- expect --\nrepairs 1\nactions 9\n")
	order, err := s.Adapt(rehearsal.Options{Config: configtest.Parse(t, "size: 4", page)}, chosen())
	if err != nil {
		t.Fatal(err)
	}
	out := rehearse(t, order)
	if got := out.Fleets[0].Unexpected; out.OK() || len(got) != 1 ||
		!strings.Contains(got[0], "f.txt:6: actions is 1, expected = 9") {
		t.Errorf("not as expected: %v", got)
	}
	short, err := s.Adapt(rehearsal.Options{Config: configtest.Parse(t, "size: 4", page), Horizon: 30 * time.Second},
		chosen("run"))
	if err != nil {
		t.Fatal(err)
	}
	if out := rehearse(t, short); len(out.DidNotFit) != 1 ||
		!strings.Contains(out.DidNotFit[0], "it happens after 1m0s, when the run is over") {
		t.Errorf("did not fit: %v", out.DidNotFit)
	}
}

func TestWhichFleetAStoryIsAbout(t *testing.T) {
	t.Parallel()
	two := configtest.Parse(t, "size: 4", page)
	two.Fleets = append(two.Fleets, two.Fleets[0])
	two.Fleets[1].Name = "shop"
	for name, c := range map[string]struct {
		text  string
		fleet string // that was asked for
		want  string
		err   string
	}{
		"the one of its name":        {"-- events --\n1m shop-1 crashes\n", "", "shop", ""},
		"the one of its own file":    {own + "-- events --\n1m web-1 crashes\n", "", "web", ""},
		"the one that was asked for": {"-- events --\n1m web-1 crashes\n", "shop", "shop", ""},
		"another fleet's": {"-- events --\n1m db-1 crashes\n", "", "",
			"f.txt is about fleet db: say with --fleet which one of web, shop"},
		"two of them": {"-- events --\n1m web-1 crashes\n1m shop-1 crashes\n", "", "", "is about fleet web and shop"},
		"everybody's": {"-- events --\n1m provider does not answer for 1m\n", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			order, err := story(t, c.text).Adapt(rehearsal.Options{Config: two, Fleet: fleetName(c.fleet)}, chosen())
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			case err != nil || string(order.Fleet) != c.want:
				t.Errorf("it is about %q (%v), want %q", order.Fleet, err, c.want)
			}
		})
	}
}
