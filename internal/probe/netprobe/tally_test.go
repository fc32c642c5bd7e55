package netprobe

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/fleet"
)

// standingByHistory is the dumb twin of tally: it reads the whole history anew, for results that are never too far apart.
func standingByHistory(history []fleet.ResultReason, c *fleet.Check) fleet.Standing {
	standing, up := fleet.StandingUnknown, false
	for i, r := range history {
		switch meaningOf(r) {
		case meansSuccess:
			if standing == fleet.StandingUp || standing == fleet.StandingFailing && up ||
				rowEndingAt(history, i) >= c.UpAfter {
				standing, up = fleet.StandingUp, true
			}
		case meansFailure:
			switch {
			case standing == fleet.StandingDown || rowEndingAt(history, i) >= c.DownAfter:
				standing, up = fleet.StandingDown, false
			default:
				standing = fleet.StandingFailing
			}
		case meansNothing:
		}
	}
	return standing
}

// rowEndingAt counts the results of one meaning up to i, leaving out those that say nothing.
func rowEndingAt(history []fleet.ResultReason, i int) int {
	n, want := 0, meaningOf(history[i])
	for ; i >= 0; i-- {
		switch meaningOf(history[i]) {
		case want:
			n++
		case meansNothing:
		default:
			return n
		}
	}
	return n
}

func TestTallyAgreesWithHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &fleet.Check{
			Every: time.Hour, Timeout: time.Minute,
			DownAfter: rapid.IntRange(1, 4).Draw(t, "down_after"),
			UpAfter:   rapid.IntRange(1, 4).Draw(t, "up_after"),
		}
		reasons := []fleet.ResultReason{
			fleet.ResultOK, fleet.ResultOK, fleet.ResultTimeout, fleet.ResultRefused, fleet.ResultLocal, fleet.ResultLate,
		}
		history := rapid.SliceOfN(rapid.SampledFrom(reasons), 0, 40).Draw(t, "history")
		got, at := newTally(), time.Now()
		for i, r := range history {
			at = at.Add(time.Second) // far below what lets a standing fade
			got = got.add(result{reason: r, at: at, due: at}, c)
			if want := standingByHistory(history[:i+1], c); got.standing != want {
				t.Fatalf("after %v: %s, want %s", history[:i+1], got.standing, want)
			}
		}
	})
}

func TestStandingFadesAtItsInstant(t *testing.T) {
	t.Parallel()
	c := &fleet.Check{Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 2}
	start := time.Now()
	up := newTally()
	for range 2 {
		up = up.add(result{reason: fleet.ResultOK, at: start}, c)
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
		r := result{reason: tc.reason, at: start.Add(21*time.Second + tc.late)} // (3+1) x 5 s + 1 s
		if got := up.add(r, c); got.standing != tc.want {
			t.Errorf("%s: %s, want %s", name, got.standing, tc.want)
		}
	}
}

func TestOldFailuresDoNotCountAfterBlindness(t *testing.T) {
	t.Parallel()
	c := &fleet.Check{Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 1}
	at := time.Now()
	got := newTally()
	for range 2 {
		got = got.add(result{reason: fleet.ResultTimeout, at: at}, c)
	}
	at = at.Add(time.Minute)
	for i, want := range []fleet.Standing{fleet.StandingFailing, fleet.StandingFailing, fleet.StandingDown} {
		got = got.add(result{reason: fleet.ResultTimeout, at: at}, c)
		if got.standing != want {
			t.Errorf("failure %d after a minute of nothing: %s, want %s", i+1, got.standing, want)
		}
	}
}
