package steer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
)

// A change to fewer machines looks like a flag, and is none.
func TestAChangeToFewerMachinesIsNoFlag(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"scale web -1":                             "scale web -- -1",
		"scale web -1 --for 2h --data-dir d":       "scale web --for 2h --data-dir d -- -1",
		"--data-dir d scale web -20% --at-least 2": "--data-dir d scale web --at-least 2 -- -20%",
		"scale web +2 -r why":                      "scale web +2 -r why",
		"scale web -- -1":                          "scale web -- -1",
		"status -1":                                "status -1",
		"scale --help":                             "scale --help",
	} {
		if got := strings.Join(ChangeLast(strings.Fields(given)), " "); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}

// What is written becomes a request, or it is said what is wrong with it.
func TestWhatAnOrderOfASizeAsksFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    scaleFlags
		size string
		want api.OrderRequest
		bad  string
	}{
		"a size": {size: "5", want: api.OrderRequest{Size: 5}},
		"more":   {size: "+2", want: api.OrderRequest{Change: 2}},
		"fewer":  {size: "-1", want: api.OrderRequest{Change: -1}},
		"a share": {size: "+50%", f: scaleFlags{atLeast: 2},
			want: api.OrderRequest{Percent: 50, AtLeast: 2}},
		"pinned": {size: "5", f: scaleFlags{lasts: time.Hour},
			want: api.OrderRequest{Size: 5, For: api.Duration(time.Hour)}},
		"a signal": {size: "+1", f: scaleFlags{signal: true},
			want: api.OrderRequest{Change: 1, Signal: true}},
		"tried":                {size: "5", f: scaleFlags{dry: true}, want: api.OrderRequest{Size: 5, DryRun: true}},
		"no number":            {size: "many", bad: "is no size"},
		"none":                 {size: "0", bad: "at least 1 machine"},
		"a share without sign": {size: "50%", bad: "has no sign"},
		"at least of a number": {size: "+1", f: scaleFlags{atLeast: 2}, bad: "for a percentage"},
		"a signal that pins": {size: "+1", f: scaleFlags{signal: true, lasts: time.Hour},
			bad: "a signal pins nothing"},
		"a pin for ever":       {size: "5", f: scaleFlags{lasts: 365 * 24 * time.Hour}, bad: "at most 90d"},
		"another fleet's plan": {size: "5", f: scaleFlags{plan: "db-1"}, bad: "no plan of fleet web"},
		"a plan that is tried": {size: "5", f: scaleFlags{plan: "web-1", dry: true},
			bad: "--confirm carries a plan out"},
		"a plan with its order": {size: "5", f: scaleFlags{plan: "web-1"}, want: api.OrderRequest{Size: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.f.request([]string{"web", c.size})
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("it is said: %v", err)
				}
				return
			}
			c.want.Kind, c.want.Wait = "scale", api.Duration(patience)
			if !slices.Equal(got.Subjects, []string{"web"}) {
				t.Errorf("it is about %s", got.Subjects)
			}
			got.Subjects = nil
			if err != nil || got.Kind != c.want.Kind || got.Size != c.want.Size || got.Change != c.want.Change ||
				got.Percent != c.want.Percent || got.AtLeast != c.want.AtLeast || got.Signal != c.want.Signal ||
				got.For != c.want.For || got.DryRun != c.want.DryRun {
				t.Errorf("%+v is asked for: %v", got, err)
			}
		})
	}
}
