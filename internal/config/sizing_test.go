package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"

	"github.com/google/go-cmp/cmp"
)

// sizes parses a configuration whose fleet web says that of its size.
func sized(t *testing.T, size string) (policy.Spec, *Config) {
	t.Helper()
	c := sound(t, `
providers: {lab: {type: simulated}}
fleets:
  web:
    provider: lab
    checks: {page: {http: {path: /}}, load: {ssh: {}, then: tell}}
    size: `+size+"\n")
	return c.Fleets[0], c
}

// everySize says all that can be said of a size.
const everySize = `{min: 2, max: 40, desired: 3, strict: true, mode: observe, forecast: true, tell_after: 5m,
      metrics: {requests: {prometheus: {url: "https://prometheus.example.org/", query: "sum(x{a=\"b\"})", label: instance,
        headers: {Authorization: {env: TOKEN}, X-Team: a}, timeout: 3s}, every: 10s, late: 1m, between: [-1.5, 1000000],
        smooth: 2m, of: sum}, busy: {provider: cpu}, users: {check: {name: page, body: "users: ([0-9]+)"}, of: max},
        slow: {check: load}, queue: {command: [/bin/queue, web], env: {KIND: long, KEY: {env: KEY}}}},
      opinions: {day: {schedule: [{at: "0 8 * * 1-5", for: 10h, zone: Europe/Berlin}], size: 4},
        load: {metric: busy, target: 70, tolerance: 0.05, not_at: [{at: "0 2 * * *", for: 1h}]},
        crowd: {metric: users, target: 250.5, per: fleet, only_at: [{at: "0 6 * * *", for: 12h}]},
        slow: {metric: slow, steps: [{above: 0.5, for: 2m, change: +2}, {above: 2, change: +50%, at_least: 3},
          {below: 0.1, for: 10m, readings: 5, change: -1}, {below: -1, change: 6}]},
        asked: {metric: requests, target: 100}, queue: {metric: queue}},
      up: {cooldown: 1m, stabilise: 30s, most: 4}, down: {cooldown: 10m, stabilise: 1h, most: any, grace: 45s},
      leave: [unhealthy, least-busy, newest], busy: busy, even: zone, stay: [3, 1]}`

// What is written of a size is what the core reads.
func TestASizeWithAllThatCanBeSaidOfIt(t *testing.T) {
	t.Parallel()
	spec, _ := sized(t, everySize)
	s := spec.Sizing
	if spec.Size != 3 || s.Min != 2 || s.Max != 40 || s.Desired != 3 || !s.Strict || s.Mode != policy.ModeObserve {
		t.Errorf("the size is %d, within %+v", spec.Size, s)
	}
	want := []policy.Pace{{Cooldown: time.Minute, Stabilise: 30 * time.Second, Most: 4},
		{Cooldown: 10 * time.Minute, Stabilise: time.Hour}}
	if diff := cmp.Diff(want, []policy.Pace{s.Up, s.Down}); diff != "" || s.Grace != 45*time.Second {
		t.Errorf("how fast (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 3}, s.Stay); diff != "" || s.Busy != "busy" || s.Even != fleet.DomainZone {
		t.Errorf("who stays (-want +got):\n%s", diff)
	}
	asked := s.Metric("requests")
	if q := asked.Prometheus; q.URL != "https://prometheus.example.org" || q.Query != `sum(x{a="b"})` ||
		q.Headers[0].Secret != (fleet.Secret{Env: "TOKEN"}) || asked.Least != -1.5 || asked.Most != 1000000 {
		t.Errorf("the query is %+v", asked)
	}
}

// What opinions say of the numbers.
func TestOpinionsOnASize(t *testing.T) {
	t.Parallel()
	spec, _ := sized(t, everySize)
	s := spec.Sizing
	above, below, less := 0.5, 0.1, -1.0
	hasty := 2.0
	for i := range s.Opinions {
		switch o := &s.Opinions[i]; o.Name {
		case "load":
			if !o.PerMachine || o.Target != 70 || o.Tolerance != 0.05 || len(o.Not) != 1 {
				t.Errorf("load is %+v", o)
			}
		case "crowd", "asked":
			if o.PerMachine {
				t.Errorf("%s is a mean: %+v", o.Name, o)
			}
		case "slow":
			steps := []policy.SizeStep{
				{Above: &above, For: 2 * time.Minute, Readings: 4, Change: fleet.SizeChange{By: 2}},
				{Above: &hasty, Readings: 1, Change: fleet.SizeChange{Percent: 50, AtLeast: 3}},
				{Below: &below, For: 10 * time.Minute, Readings: 5, Change: fleet.SizeChange{By: -1}},
				{Below: &less, Readings: 1, Change: fleet.SizeChange{Exact: 6}},
			}
			if diff := cmp.Diff(steps, o.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		}
	}
}

// Two bounds are enough; everything else has a default, and a plain number stays what it is.
func TestASizeBetweenTwoBounds(t *testing.T) {
	t.Parallel()
	spec, _ := sized(t, "{min: 2, max: 6}")
	want := &policy.Sizing{Min: 2, Max: 6, Mode: policy.ModeAct, Up: policy.Pace{Most: 4, MostPercent: 100},
		Down:      policy.Pace{Stabilise: 20 * time.Minute, MostPercent: 100},
		Leave:     []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest},
		TellAfter: 10 * time.Minute}
	if diff := cmp.Diff(want, spec.Sizing); diff != "" || spec.Size != 2 {
		t.Errorf("size %d, (-want +got):\n%s", spec.Size, diff)
	}
	if plain, _ := sized(t, "5"); plain.Size != 5 || plain.Sizing != nil {
		t.Errorf("a plain size is %d, %+v", plain.Size, plain.Sizing)
	}
}

// A size is written back so that it means the same; of a secret not even the place is told.
func TestASizeIsWrittenBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"5", "{min: 2, max: 6}", "{min: 1, max: 1, desired: 1, up: {most: 50%}}", everySize} {
		spec, _ := sized(t, text)
		written := sizes.Write(&spec)
		again, _ := sized(t, strings.ReplaceAll(strings.ReplaceAll(written, "Authorization: {env: SECRET}",
			"Authorization: {env: TOKEN}"), "KEY: {env: SECRET}", "KEY: {env: KEY}"))
		if diff := cmp.Diff(spec.Sizing, again.Sizing, cmp.Comparer(sameZone)); diff != "" || again.Size != spec.Size {
			t.Errorf("%s\nwas written as\n%s\n(-was +is):\n%s", text, written, diff)
		}
	}
}

// What is allowed, and should not be left so, is said.
func TestWarningsAboutSizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ size, warning string }{
		"a step up, and none down": {
			`{min: 2, max: 6, metrics: {m: {provider: cpu}}, opinions: {busy: {metric: m, steps: [{above: 80, for: 2m,
        change: +1}]}}, up: {cooldown: 5m}}`, "fleets.web.size.opinions: none of them ever wants fewer machines"},
		"steps faster than machines boot": {
			`{min: 2, max: 6, metrics: {m: {provider: cpu}}, opinions: {busy: {metric: m, steps: [{above: 80, change: +1},
        {below: 20, for: 5m, change: -1}]}}}`, "fleets.web.size.up.cooldown: 0s is shorter than grace, 1m"},
		"a target": {`{min: 2, max: 6, metrics: {m: {provider: cpu}}, opinions: {busy: {metric: m, target: 70}}}`, ""},
		"a schedule": {`{min: 2, max: 6, opinions: {day: {schedule: [{at: 0 8 * * *, for: 9h}], size: 4}}}`,
			"fleets.web.size.opinions: none of them ever wants fewer machines"},
		"no opinion":   {"{min: 2, max: 6}", ""},
		"equal bounds": {"{min: 2, max: 2}", "fleets.web.size: min and max are both 2: nothing can move it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, made := sized(t, c.size)
			said := strings.Join(made.Warnings(adapters.All()), "\n")
			if c.warning == "" && strings.Contains(said, ".size") || !strings.Contains(said, c.warning) {
				t.Errorf("is said: %s", fmt.Sprintf("%q", said))
			}
		})
	}
}

func sameZone(a, b *time.Location) bool { return a.String() == b.String() }
