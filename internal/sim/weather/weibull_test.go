package weather_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"hale/internal/sim/weather"
)

const seed = 20190322

// recovered estimates a Weibull distribution from draws: ln X has the standard deviation π/(k·√6) and the mean ln λ -
// γ/k.
func recovered(draws []time.Duration) (shape float64, scale time.Duration) {
	var sum, squares float64
	for _, d := range draws {
		l := math.Log(float64(d))
		sum += l
		squares += l * l
	}
	n := float64(len(draws))
	mean := sum / n
	shape = math.Pi / math.Sqrt(6*(squares/n-mean*mean))
	const euler = 0.5772156649015329
	return shape, time.Duration(math.Exp(mean + euler/shape))
}

func mean(draws []time.Duration) time.Duration {
	var sum float64
	for _, d := range draws {
		sum += float64(d)
	}
	return time.Duration(sum / float64(len(draws)))
}

// near reports whether two numbers differ by less than a part of the second.
func near[N float64 | time.Duration](got, want N, part float64) bool {
	return math.Abs(float64(got)-float64(want)) < part*float64(want)
}

func TestShapeAndMeanOfEveryPublishedFitAreRecoveredFromItsDraws(t *testing.T) {
	t.Parallel()
	for _, fit := range weather.Fits() {
		for what, w := range map[string]weather.Weibull{"gap": fit.Gap, "length": fit.Length,
			"scaled": fit.Scaled(10 * 24 * time.Hour).Gap} {
			r := weather.Rand(seed)
			draws := make([]time.Duration, 20_000)
			for i := range draws {
				draws[i] = w.Draw(r)
			}
			shape, scale := recovered(draws)
			if !near(shape, w.Shape, 0.03) || !near(scale, w.Scale, 0.06) || !near(mean(draws), w.Mean(), 0.12) {
				t.Errorf("%s, %s: drawn shape %.3f, scale %v, mean %v; want %.3f, %v, %v",
					fit.Name, what, shape, scale, mean(draws), w.Shape, w.Scale, w.Mean())
			}
		}
	}
}

func TestMeansAreThoseOfTheTextbook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    weather.Weibull
		want time.Duration
	}{
		"shape 1 is exponential: the mean is the scale": {weather.Weibull{Shape: 1, Scale: time.Hour}, time.Hour},
		"shape 1/2: twice the scale":                    {weather.Weibull{Shape: 0.5, Scale: time.Hour}, 2 * time.Hour},
		"shape 2: half the root of pi": {weather.Weibull{Shape: 2, Scale: time.Hour},
			3190 * time.Second},
		"beyond what a duration holds": {weather.Weibull{Shape: 0.1, Scale: weather.MaxTime},
			math.MaxInt64},
	} {
		if got := c.w.Mean(); !near(got, c.want, 0.001) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestScalingKeepsTheShapeAndMeetsTheMean(t *testing.T) {
	t.Parallel()
	for _, fit := range weather.Fits() {
		scaled := fit.Scaled(72 * time.Hour)
		if scaled.Gap.Shape != fit.Gap.Shape || !near(scaled.Gap.Mean(), 72*time.Hour, 1e-6) ||
			scaled.Length != fit.Length {
			t.Errorf("%s became %+v", fit.Name, scaled)
		}
	}
}

func TestAllPublishedShapesMakeClusters(t *testing.T) {
	t.Parallel()
	if len(weather.Fits()) != 5 {
		t.Fatalf("%d fits", len(weather.Fits()))
	}
	for _, fit := range weather.Fits() {
		if fit.Process(1).Check() != nil || fit.Gap.Shape >= 1 || fit.Length.Shape >= 1 {
			t.Errorf("%+v", fit)
		}
		if found, err := weather.FitNamed(fit.Name); err != nil || found != fit {
			t.Errorf("%s is not found: %v", fit.Name, err)
		}
	}
	if _, err := weather.FitNamed("atlantis-1"); err == nil {
		t.Error("a fit of no system was found")
	}
	lanl, err := weather.FitNamed("lanl-2005")
	if err != nil || lanl.Gap != (weather.Weibull{Shape: 0.48, Scale: 816*time.Hour + 36*time.Minute}) {
		t.Errorf("%+v, %v", lanl, err)
	}
}

func TestImpossibleParametersAreRefused(t *testing.T) {
	t.Parallel()
	good := weather.Weibull{Shape: 0.5, Scale: time.Hour}
	for _, w := range []weather.Weibull{
		{}, {Shape: 0.5}, {Scale: time.Hour}, {Shape: math.NaN(), Scale: time.Hour},
		{Shape: math.Inf(1), Scale: time.Hour},
		{Shape: -1, Scale: time.Hour}, {Shape: 0.5, Scale: -time.Hour}, {Shape: 0.5, Scale: weather.MaxTime + 1},
	} {
		if w.Check() == nil {
			t.Errorf("%+v was taken", w)
		}
		if (weather.Process{Gap: w, Length: good}).Check() == nil || (weather.Process{Gap: good,
			Length: w}).Check() == nil {
			t.Errorf("a process of %+v was taken", w)
		}
		if got := slices.Collect(weather.Process{Gap: w, Length: good}.Instants(0, time.Hour)); len(got) > 0 {
			t.Errorf("a process of %+v fails at %v", w, got)
		}
	}
}
