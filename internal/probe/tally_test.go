package probe_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// standingByHistory is the dumb twin of Tally: it reads the whole history anew, for results that are never too far
// apart.
func standingByHistory(history []fleet.ResultReason, c *policy.Check) fleet.Standing {
	standing, up := fleet.StandingUnknown, false
	armed, fell := 0, 0 // since when failures count, and successes
	for i, r := range history {
		switch probe.MeaningOf(r) {
		case probe.MeansSuccess:
			switch {
			case standing == fleet.StandingUp || standing == fleet.StandingFailing && up:
				standing = fleet.StandingUp
			case reached(history[:i+1], probe.MeansSuccess, c.UpAfter, c.UpIn, fell):
				standing, up, armed = fleet.StandingUp, true, i+1
			}
		case probe.MeansFailure:
			switch {
			case standing == fleet.StandingDown:
			case reached(history[:i+1], probe.MeansFailure, c.DownAfter, c.DownIn, armed):
				standing, up, fell = fleet.StandingDown, false, i+1
			default:
				standing = fleet.StandingFailing
			}
		case probe.MeansNothing:
		}
	}
	return standing
}

// reached reports whether the history ends in enough results of the meaning: in a row, or among the last in that say
// anything. Those before since do not count.
func reached(history []fleet.ResultReason, want probe.Meaning, after, in, since int) bool {
	row := in <= after
	n, seen := 0, 0
	for i := len(history) - 1; i >= 0; i-- {
		m := probe.MeaningOf(history[i])
		switch {
		case m == probe.MeansNothing:
			continue
		case row && m != want, !row && (i < since || seen == in):
			return n >= after
		case m == want:
			n++
		}
		seen++
	}
	return n >= after
}

func check(down, downIn, up, upIn int) *policy.Check {
	return &policy.Check{
		Every: time.Hour, Timeout: time.Minute, DownAfter: down, DownIn: downIn, UpAfter: up, UpIn: upIn,
	}
}

func TestTallyAgreesWithHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := check(rapid.IntRange(1, 4).Draw(t, "down_after"), rapid.SampledFrom([]int{0, 3, 5, 6}).Draw(t, "down_in"),
			rapid.IntRange(1, 4).Draw(t, "up_after"), rapid.SampledFrom([]int{0, 3, 5}).Draw(t, "up_in"))
		reasons := []fleet.ResultReason{
			fleet.ResultOK, fleet.ResultOK, fleet.ResultTimeout, fleet.ResultRefused, fleet.ResultLocal,
			fleet.ResultNotConnected,
		}
		history := rapid.SliceOfN(rapid.SampledFrom(reasons), 0, 40).Draw(t, "history")
		got, at := probe.NewTally(), time.Duration(0)
		for i, r := range history {
			at += time.Second // far below what lets a standing fade
			got = got.Add(probe.Result{Reason: r, At: at}, c)
			if want := standingByHistory(history[:i+1], c); got.Standing != want {
				t.Fatalf("after %v: %s, want %s", history[:i+1], got.Standing, want)
			}
		}
	})
}

// Whatever is counted at once stands as if it had been counted one by one.
func TestRepeatedResultsAreCountedAsOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := check(rapid.IntRange(1, 100).Draw(t, "down_after"), rapid.IntRange(0, 64).Draw(t, "down_in"),
			rapid.IntRange(1, 100).Draw(t, "up_after"), rapid.IntRange(0, 64).Draw(t, "up_in"))
		reason := rapid.SampledFrom([]fleet.ResultReason{fleet.ResultOK, fleet.ResultTimeout, fleet.ResultLate})
		single := probe.NewTally()
		for i := range rapid.IntRange(0, 20).Draw(t, "before") {
			single = single.Add(probe.Result{Reason: reason.Draw(t, "reason"), At: time.Duration(i)}, c)
		}
		at := time.Minute
		r := probe.Result{Reason: reason.Draw(t, "repeated"), At: at}
		atOnce, before := single, single
		n := 0
		for range rapid.IntRange(0, 200).Draw(t, "times") {
			next := single.Add(r, c)
			if next.Differs(before) {
				break // from here on it is not for Repeat
			}
			single = next
			n++
		}
		if n > 0 {
			atOnce = atOnce.Repeat(n, r, c)
		}
		for i := range 200 { // they may differ in what no longer matters, and never in what follows
			if atOnce.Differs(single) {
				t.Fatalf("after %d %s at once and %d more: %s, one by one %s",
					n, r.Reason, i, atOnce.Standing, single.Standing)
			}
			further := probe.Result{Reason: reason.Draw(t, "further"), At: at}
			atOnce, single = atOnce.Add(further, c), single.Add(further, c)
		}
	})
}

// S07: three failures within five make the check down, though none follows another; for two in a row they do not.
func TestS07ThreeWithinFive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		check   *policy.Check
		pattern string // f fails, o succeeds, n says nothing; after some that succeeded
		want    fleet.Standing
	}{
		"three within five":               {check(3, 5, 1, 0), "fofof", fleet.StandingDown},
		"for two in a row":                {check(2, 0, 1, 0), "fofof", fleet.StandingFailing},
		"too far apart":                   {check(3, 5, 1, 0), "foofof", fleet.StandingFailing},
		"what says nothing takes no room": {check(3, 5, 1, 0), "fnonfnnof", fleet.StandingDown},
		"in a row is within, too":         {check(3, 5, 1, 0), "fff", fleet.StandingDown},
		"up again, armed afresh":          {check(3, 5, 2, 0), "ffffooff", fleet.StandingFailing},
		"down stays down":                 {check(3, 5, 2, 0), "fofofofofo", fleet.StandingDown},
		"two within three bring it up":    {check(2, 0, 2, 3), "ffofo", fleet.StandingUp},
		"those before the fall do not":    {check(3, 5, 2, 3), "fofofo", fleet.StandingDown},
		"the widest window":               {check(64, 64, 1, 0), "ffff", fleet.StandingFailing},
	} {
		got, at := probe.NewTally(), time.Duration(0)
		for _, r := range "oooo" + tc.pattern {
			at += time.Second
			reason := map[rune]fleet.ResultReason{
				'o': fleet.ResultOK,
				'f': fleet.ResultStatus,
				'n': fleet.ResultLocal,
			}[r]
			got = got.Add(probe.Result{Reason: reason, At: at}, tc.check)
		}
		if got.Standing != tc.want {
			t.Errorf("%s: %s is %s, want %s", name, tc.pattern, got.Standing, tc.want)
		}
	}
}

func TestStandingFadesAtItsInstant(t *testing.T) {
	t.Parallel()
	c := &policy.Check{Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 2}
	up := probe.NewTally()
	for range 2 {
		up = up.Add(probe.Result{Reason: fleet.ResultOK}, c)
	}
	for name, tc := range map[string]struct {
		late   time.Duration
		reason fleet.ResultReason
		want   fleet.Standing
	}{
		"nothing said, before":    {-1, fleet.ResultLocal, fleet.StandingUp},
		"nothing said, at":        {0, fleet.ResultLocal, fleet.StandingUnknown},
		"nothing said, after":     {1, fleet.ResultLocal, fleet.StandingUnknown},
		"a success just in time":  {-1, fleet.ResultOK, fleet.StandingUp},
		"a success begins anew":   {0, fleet.ResultOK, fleet.StandingUnknown},
		"a failure just in time":  {-1, fleet.ResultTimeout, fleet.StandingFailing},
		"a failure begins a row":  {0, fleet.ResultTimeout, fleet.StandingFailing},
		"a failure comes at last": {time.Hour, fleet.ResultTimeout, fleet.StandingFailing},
	} {
		r := probe.Result{Reason: tc.reason, At: 21*time.Second + tc.late} // (3+1) x 5 s + 1 s
		if got := up.Add(r, c); got.Standing != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Standing, tc.want)
		}
	}
}

func TestOldFailuresDoNotCountAfterBlindness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*policy.Check{
		"in a row": {Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 1},
		"of a few": {Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, DownIn: 5, UpAfter: 1},
	} {
		got := probe.NewTally()
		for range 2 {
			got = got.Add(probe.Result{Reason: fleet.ResultTimeout}, c)
		}
		for i, want := range []fleet.Standing{fleet.StandingFailing, fleet.StandingFailing, fleet.StandingDown} {
			got = got.Add(probe.Result{Reason: fleet.ResultTimeout, At: time.Minute}, c)
			if got.Standing != want {
				t.Errorf("%s, failure %d after a minute of nothing: %s, want %s", name, i+1, got.Standing, want)
			}
		}
	}
}
