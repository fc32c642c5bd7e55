package weather

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// MaxTime is the longest horizon, and the longest gap or length that is drawn: a hundred years.
const MaxTime = 100 * 365 * 24 * time.Hour

// tick is the grain of all times: what is finer is no fact.
const tick = time.Microsecond

// Weibull is a distribution of lengths of time. A shape below 1 makes clusters, 1 is the exponential distribution, and
// above 1 things wear out.
type Weibull struct {
	Shape float64       // k; from 0.1 to 10
	Scale time.Duration // λ, the length that 63.2 % of the draws stay below; from a second to MaxTime
}

// Check returns what is wrong with the parameters, or nil.
func (w Weibull) Check() error {
	if !(w.Shape >= 0.1 && w.Shape <= 10) { // also refuses what is not a number
		return fmt.Errorf("a Weibull shape is between 0.1 and 10, not %v", w.Shape)
	}
	if w.Scale < time.Second || w.Scale > MaxTime {
		return fmt.Errorf("a Weibull scale is between a second and a hundred years, not %v", w.Scale)
	}
	return nil
}

// Mean returns λ·Γ(1+1/k), at most about 292 years.
func (w Weibull) Mean() time.Duration {
	return clamp(float64(w.Scale)*math.Gamma(1+1/w.Shape), math.MaxInt64)
}

// Scaled returns the distribution of the same shape with the given mean: as clustered, but oftener or more seldom.
func (w Weibull) Scaled(mean time.Duration) Weibull {
	w.Scale = clamp(float64(mean)/math.Gamma(1+1/w.Shape), math.MaxInt64)
	return w
}

// Draw returns a random length of at least a microsecond and at most [MaxTime].
//
// Source: inversion of the distribution function F(x) = 1 - exp(-(x/λ)^k), as in L. Devroye, Non-Uniform Random Variate
// Generation (Springer, 1986), chapter II.2.
func (w Weibull) Draw(r *rand.Rand) time.Duration {
	return w.length(-math.Log1p(-r.Float64()))
}

// length returns the length with the given power (x/λ)^k.
func (w Weibull) length(power float64) time.Duration {
	x := float64(w.Scale) * math.Pow(power, 1/w.Shape)
	return max(clamp(x, MaxTime).Round(tick), tick)
}

// Wait returns how long it takes from a random instant to the next failure, when failures have been coming with gaps of
// this distribution for ever. It is not a gap: a random instant falls into a long gap more likely than into a short
// one.
//
// Source: the stationary renewal process, D. R. Cox, Renewal Theory (Methuen, 1962), chapter 5. The gap around a random
// instant has the density x·f(x)/mean; for the Weibull distribution its power (x/λ)^k is then gamma distributed with
// the shape 1+1/k, and the instant lies anywhere in it.
func (w Weibull) Wait(r *rand.Rand) time.Duration {
	around := float64(w.length(gamma(r, 1+1/w.Shape)))
	return max(clamp(around*r.Float64(), MaxTime).Round(tick), tick)
}

// gamma draws from the gamma distribution of a shape of 1 or more and the scale 1.
//
// Source: G. Marsaglia and Wai Wan Tsang, A Simple Method for Generating Gamma Variables, ACM Transactions on
// Mathematical Software 26 (2000).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// clamp is a length as a duration, held within what fits.
func clamp(x float64, most time.Duration) time.Duration {
	if x >= float64(most) {
		return most
	}
	return time.Duration(x)
}
