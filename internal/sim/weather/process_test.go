package weather_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/sim/weather"
)

const day = 24 * time.Hour

func processes() *rapid.Generator[weather.Process] {
	weibulls := rapid.Custom(func(t *rapid.T) weather.Weibull {
		return weather.Weibull{
			Shape: rapid.Float64Range(0.2, 3).Draw(t, "shape"),
			Scale: time.Duration(rapid.Int64Range(int64(10*time.Minute), int64(100*time.Hour)).Draw(t, "scale")),
		}
	})
	return rapid.Custom(func(t *rapid.T) weather.Process {
		return weather.Process{Gap: weibulls.Draw(t, "gap"), Length: weibulls.Draw(t, "length"),
			Seed: rapid.Uint64().Draw(t, "seed")}
	})
}

func TestFailuresComeInOrderAndTheSameEveryTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := processes().Draw(t, "process")
		machine := rapid.IntRange(0, 100_000).Draw(t, "machine")
		horizon := time.Duration(rapid.Int64Range(0, int64(20*day)).Draw(t, "horizon"))
		instants := slices.Collect(p.Instants(machine, horizon))
		last := time.Duration(0)
		for _, at := range instants {
			if at <= last || at >= horizon || at%time.Microsecond != 0 {
				t.Errorf("%v comes after %v, before %v", at, last, horizon)
			}
			last = at
		}
		if again := slices.Collect(p.Instants(machine, horizon)); !slices.Equal(instants, again) {
			t.Error("the same machine failed otherwise")
		}
		if longer := slices.Collect(p.Instants(machine, 2*horizon)); !slices.Equal(instants, longer[:len(instants)]) {
			t.Error("a longer horizon changed what was before")
		}
		n := 0
		for f := range p.Failures(machine, horizon) {
			if f.At != instants[n] || f.Length <= 0 {
				t.Errorf("failure %d is %+v, at %v", n, f, instants[n])
			}
			n++
		}
		if n != len(instants) {
			t.Errorf("%d failures at %d instants", n, len(instants))
		}
	})
}

func TestMachinesAndSeedsFailEachInItsOwnWay(t *testing.T) {
	t.Parallel()
	p := weather.Process{Gap: weather.Weibull{Shape: 0.5, Scale: time.Hour},
		Length: weather.Weibull{Shape: 0.5, Scale: time.Hour}}
	first := map[time.Duration]bool{}
	for p.Seed = range 30 {
		for machine := range 30 {
			for at := range p.Instants(machine, weather.MaxTime) {
				first[at] = true
				break // a reader may stop early
			}
		}
	}
	if len(first) < 898 { // of 900; two may meet in one microsecond
		t.Errorf("900 machines have only %d different first failures", len(first))
	}
}

func TestLengthsDoNotMoveTheInstants(t *testing.T) {
	t.Parallel()
	p := weather.Process{Gap: weather.Weibull{Shape: 0.5, Scale: time.Hour},
		Length: weather.Weibull{Shape: 0.5, Scale: time.Minute}, Seed: seed}
	var short, long []time.Duration
	for f := range p.Failures(3, day) {
		short = append(short, f.At)
	}
	p.Length.Scale = time.Hour
	for f := range p.Failures(3, day) {
		long = append(long, f.At)
	}
	if len(short) == 0 || !slices.Equal(short, long) {
		t.Errorf("%v became %v", short, long)
	}
}

// counts returns how many failures fall in each of equal parts of the horizon, over all machines.
func counts(p weather.Process, machines, parts int, horizon time.Duration) []int {
	n := make([]int, parts)
	for machine := range machines {
		for at := range p.Instants(machine, horizon) {
			n[int(at*time.Duration(parts)/horizon)]++
		}
	}
	return n
}

func TestTheFirstDaysAreAsBadAsAnyOther(t *testing.T) {
	t.Parallel()
	for _, fit := range weather.Fits() {
		p := fit.Scaled(2 * day).Process(seed)
		const machines = 5000
		for part, n := range counts(p, machines, 5, 10*day) { // two days each: one failure of each machine on average
			if !near(float64(n), machines, 0.12) {
				t.Errorf("%s: %d failures in part %d, want about %d", fit.Name, n, part, machines)
			}
		}
	}
}

// dispersion is the variance over the mean of how many failures one machine has in a day: 1 where they come at a
// constant rate, more where they come in clusters.
func dispersion(p weather.Process, machines int) float64 {
	var sum, squares float64
	n := 0
	for machine := range machines {
		perDay := make([]float64, 10)
		for at := range p.Instants(machine, 10*day) {
			perDay[at/day]++
		}
		for _, k := range perDay {
			sum += k
			squares += k * k
			n++
		}
	}
	mean := sum / float64(n)
	return (squares/float64(n) - mean*mean) / mean
}

func TestShapesBelowOneMakeClustersAndTheExponentialDoesNot(t *testing.T) {
	t.Parallel()
	length := weather.Weibull{Shape: 1, Scale: time.Hour}
	exponential := weather.Process{Gap: weather.Weibull{Shape: 1, Scale: day}, Length: length, Seed: seed}
	if d := dispersion(exponential, 1000); !near(d, 1, 0.08) {
		t.Errorf("exponential gaps: index of dispersion %.2f, want 1", d)
	}
	wear := weather.Process{Gap: weather.Weibull{Shape: 2, Scale: day}.Scaled(day), Length: length, Seed: seed}
	if d := dispersion(wear, 1000); d > 0.8 {
		t.Errorf("shape 2: index of dispersion %.2f, want well below 1", d)
	}
	for _, fit := range weather.Fits() {
		if d := dispersion(fit.Scaled(day).Process(seed), 1000); d < 1.8 {
			t.Errorf("%s: index of dispersion %.2f, want well above 1", fit.Name, d)
		}
	}
}

func TestTheFirstWaitIsThatOfARandomInstant(t *testing.T) {
	t.Parallel()
	// Of exponential gaps the wait is a gap; of shape 1/2 its mean is E[X²]/2E[X] = 24λ²/4λ, three mean gaps.
	for shape, want := range map[float64]time.Duration{1: time.Hour, 0.5: 6 * time.Hour} {
		w := weather.Weibull{Shape: shape, Scale: time.Hour}
		r := weather.Rand(seed)
		waits := make([]time.Duration, 40_000)
		for i := range waits {
			waits[i] = w.Wait(r)
		}
		if got := mean(waits); !near(got, want, 0.05) {
			t.Errorf("shape %v: mean wait %v, want %v", shape, got, want)
		}
	}
}
