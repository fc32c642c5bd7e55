package tenure_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/tenure"
)

// A call that can harm goes out only while more than its limit and the margin is left, to the nanosecond.
func TestWhatCanHarmNeedsCover(t *testing.T) {
	t.Parallel()
	const short = 3 * time.Second
	for name, c := range map[string]struct {
		reason    string
		op        fleet.Op
		limit     time.Duration
		remaining time.Duration
		want      time.Duration
		ok        bool
	}{
		"enough": {
			"one nanosecond more than limit and margin",
			fleet.OpReboot,
			short,
			short + tenure.Margin + 1,
			short,
			true,
		},
		"just short": {"the margin must be exceeded", fleet.OpReboot, short, short + tenure.Margin, short, false},
		"lost":       {"nothing is left", fleet.OpDelete, short, 0, short, false},
		"a long step": {
			"the step's own limit is longer than a lease may cover",
			fleet.OpPowerOff,
			time.Hour,
			tenure.Handover + 1,
			tenure.DisruptiveLimit,
			true,
		},
		"a long step's": {
			"the shortened limit needs its margin, too",
			fleet.OpPowerOff,
			time.Hour,
			tenure.Handover,
			tenure.DisruptiveLimit,
			false,
		},
		"a start": {
			"a late one could undo a successor's proof of off",
			fleet.OpStart,
			short,
			short,
			short,
			false,
		},
		"a create":       {"it may take minutes, and names guard it", fleet.OpCreate, time.Hour, 0, time.Hour, true},
		"a certificate":  {"a mark does no harm", fleet.OpCertify, short, -time.Second, short, true},
		"a lapsed lease": {"less than nothing is left", fleet.OpStart, short, -time.Second, short, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit, ok := tenure.Cover(belief.Intent{Op: c.op, Limit: c.limit}, c.remaining)
			if ok != c.ok || ok && limit != c.want {
				t.Errorf("%s with a limit of %v while %v remain: %v, %v; want %v, %v, since %s",
					c.op, c.limit, c.remaining, limit, ok, c.want, c.ok, c.reason)
			}
		})
	}
}

// Whatever the steps allow, half of a fresh lease covers the longest of their calls: an owner that renews in time is
// never short.
func TestALeaseCoversItsFleetsCalls(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{time.Second, 14 * time.Second, time.Minute} {
		spec := policy.Spec{Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepReboot, Timeout: timeout}}}}
		if _, ok := tenure.Cover(belief.Intent{Op: fleet.OpReboot, Limit: timeout}, tenure.Lease(spec)/2+1); !ok {
			t.Errorf("half of a lease of %v does not cover a reboot of %v", tenure.Lease(spec), timeout)
		}
	}
}

// A call that was covered when it was sent has ended before the lease runs out, and a successor waits for it besides.
func TestASuccessorWaitsForTheLastCall(t *testing.T) {
	t.Parallel()
	limit, ok := tenure.Cover(belief.Intent{Op: fleet.OpDelete, Limit: time.Hour}, time.Hour)
	if !ok || limit > tenure.Handover-tenure.Margin {
		t.Errorf("a delete may take %v, and a successor waits %v", limit, tenure.Handover)
	}
}
