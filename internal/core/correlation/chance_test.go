package correlation_test

import (
	"math"
	"math/big"
	"testing"

	"hale/internal/core/correlation"

	"pgregory.net/rapid"
)

// exact is the dumb twin: whole numbers, as large as they get.
func exact(population, failures, members, hits int) float64 {
	ways := new(big.Int)
	for i := max(hits, 0, members+failures-population); i <= min(members, failures); i++ {
		one := new(big.Int).Binomial(int64(failures), int64(i))
		other := new(big.Int).Binomial(int64(population-failures), int64(members-i))
		ways.Add(ways, one.Mul(one, other))
	}
	all := new(big.Int).Binomial(int64(population), int64(members))
	p, _ := new(big.Rat).SetFrac(ways, all).Float64()
	return p
}

func TestChanceIsWhatCountingSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		population := rapid.IntRange(1, 300).Draw(t, "population")
		failures := rapid.IntRange(0, population).Draw(t, "failures")
		members := rapid.IntRange(0, population).Draw(t, "members")
		hits := rapid.IntRange(0, members).Draw(t, "hits")
		got, want := correlation.Chance(population, failures, members, hits), exact(population, failures, members, hits)
		if math.Abs(got-want) > 1e-9*math.Max(want, 1e-12) {
			t.Errorf("%d or more of %d, when %d of %d fail: %g, want %g",
				hits, members, failures, population, got, want)
		}
	})
}

func TestChanceOfLargeFleetsNeitherOverflowsNorVanishes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		population, failures, members, hits int
		low, high                           float64
	}{
		"a dead rack of twenty in two hundred":          {200, 20, 20, 20, 6e-28, 7e-28},
		"a dead room of a hundred thousand":             {100_000, 5_000, 5_000, 5_000, 0, 1e-300},
		"as many as are to be expected":                 {100_000, 10_000, 1_000, 100, 0.4, 0.6},
		"all fail":                                      {100_000, 100_000, 500, 500, 1, 1},
		"nothing fails":                                 {50, 0, 10, 0, 1, 1},
		"more than there are":                           {50, 2, 10, 3, 0, 0},
		"the textbook's lady and her eight cups of tea": {8, 4, 4, 4, 1.0 / 70, 1.0/70 + 1e-12},
	} {
		if got := correlation.Chance(c.population, c.failures, c.members,
			c.hits); !(got >= c.low-1e-12*c.low && got <= c.high) {
			t.Errorf("%s: %g, want %g to %g", name, got, c.low, c.high)
		}
	}
}
