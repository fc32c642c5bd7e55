package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
)

// S74: a host that reboots is started from without a page, also with more machines than may boot at once, so that some
// of them notice each reboot late. One that reboots more often than a machine may fail is told of, once, and that it
// stands.
func TestS74OnlyAHostThatRebootsForEverIsToldOf(t *testing.T) {
	t.Parallel()
	const each = 11 * time.Minute
	for name, c := range map[string]struct {
		reboots int
		every   time.Duration
		told    bool
	}{
		"once a day":                     {reboots: 3, every: 24 * time.Hour},
		"as often as a machine may fail": {reboots: 3, every: each},
		"once more":                      {reboots: 4, every: each, told: true},
		"for ever":                       {reboots: 20, every: each, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trace bytes.Buffer
			o := Options{Spec: exemplar.Fleet(40), Hosts: exemplar.Town(2, 1, 1), Trace: &trace}
			o.Horizon = time.Duration(c.reboots+1)*c.every + 3*time.Hour
			for n := range c.reboots {
				o.Plan = append(o.Plan, script.Event{
					At: time.Minute + time.Duration(
						n,
					)*c.every,
					Subject: "host h001",
					Verb:    verbs.LosesPower,
					For:     90 * time.Second,
				})
			}
			r, err := Run(o)
			if err != nil {
				t.Fatal(err)
			}
			pages := strings.Count(
				trace.String(),
				"a person must look at host h001: it took its machines along 4 times",
			)
			ends := strings.Count(trace.String(), "host h001 has not taken its machines along for 1h")
			want := map[bool]int{true: 1}[c.told]
			if s := r.Score; pages != want || ends != want || s.Paged != want || s.LawsBroken > 0 {
				t.Errorf(
					"%d pages of the host and %d of its end, %d pages in all, broken: %v\n%s",
					pages,
					ends,
					s.Paged,
					r.Violations,
					trace.String(),
				)
			}
		})
	}
}
