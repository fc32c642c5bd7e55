package scaler_test

import (
	"testing"
	"time"

	"hale/internal/sim/scaler"
)

// play lets a rule see a use for a while, where the load stays as it is and machines are there at once; it returns the
// sizes after each minute.
func play(s scaler.Scaler, size int, from, lasts time.Duration, load func(at time.Duration) float64) []int {
	var sizes []int
	for at := from; at < from+lasts; at += s.Every() {
		size = s.Next(scaler.Reading{At: at, Busy: min(load(at)/float64(size), 100), OK: true, Serving: size,
			Size: size})
		if (at+s.Every())%time.Minute == 0 {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// Each rule does with a load that rises and falls what its documentation says.
func TestEachRuleAsItIsDocumented(t *testing.T) {
	t.Parallel()
	rises := func(to float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at < 10*time.Minute || at >= 40*time.Minute {
				return 120
			}
			return to
		}
	}
	at := func(sizes []int, minute int) int { return sizes[minute] }
	for _, c := range []struct {
		kind scaler.Kind
		// the size before it rises, a minute, five and twenty later, and six minutes and twenty after it fell
		before, one, five, twenty, fell6, fell20 int
	}{
		{scaler.HPA, 2, 6, 6, 6, 2, 2},
		{scaler.AWSTarget, 2, 2, 3, 6, 6, 2},
		{scaler.AWSStep, 2, 2, 3, 6, 6, 4},
		{scaler.Senlin, 2, 3, 6, 6, 4, 4},
		{scaler.Heat, 2, 3, 6, 6, 4, 4},
	} {
		sizes := play(scaler.New(c.kind, 70), 2, 0, 70*time.Minute, rises(400))
		got := []int{at(sizes, 9), at(sizes, 10), at(sizes, 14), at(sizes, 29), at(sizes, 46), at(sizes, 60)}
		want := []int{c.before, c.one, c.five, c.twenty, c.fell6, c.fell20}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v (%v)", c.kind, got, want, sizes)
				break
			}
		}
	}
}

// Without a value none of them moves.
func TestWithoutAValueNoneMoves(t *testing.T) {
	t.Parallel()
	for _, k := range scaler.Kinds() {
		s := scaler.New(k, 70)
		for at := time.Duration(0); at < time.Hour; at += s.Every() {
			if n := s.Next(scaler.Reading{At: at, Serving: 3, Size: 3}); n != 3 {
				t.Errorf("%s wants %d after %s", k, n, at)
			}
		}
	}
	if scaler.New("guess", 70) != nil {
		t.Error("there is a rule that there is not")
	}
}
