package correlation

import "math"

// Chance returns the probability that at least hits of the members fail when failures fall on a population at random.
// It is the upper tail of the hypergeometric distribution, which is the one-sided exact test of R. A. Fisher ("The
// logic of inductive inference", Journal of the Royal Statistical Society 98, 1935). It is exact up to rounding and
// cannot overflow: the first term is taken by logarithms, the others by the ratio of neighbours.
func Chance(population, failures, members, hits int) float64 {
	most, least := min(members, failures), max(0, members+failures-population)
	switch {
	case hits <= least:
		return 1
	case hits > most:
		return 0
	}
	term := math.Exp(first(population, failures, members, hits))
	return min(1, term*tail(population, failures, members, hits))
}

// logChance is the natural logarithm of Chance, which tells apart what is too improbable for a float64.
func logChance(population, failures, members, hits int) float64 {
	most, least := min(members, failures), max(0, members+failures-population)
	switch {
	case hits <= least:
		return 0
	case hits > most:
		return math.Inf(-1)
	}
	return first(population, failures, members, hits) + math.Log(tail(population, failures, members, hits))
}

// first is the logarithm of the first term of the sum, and tail what the whole sum is beside it.
func first(population, failures, members, hits int) float64 {
	return choose(failures, hits) + choose(population-failures, members-hits) - choose(population, members)
}

func tail(population, failures, members, hits int) float64 {
	sound, most := population-failures, min(members, failures)
	term, sum := 1.0, 1.0
	for i := hits; i < most; i++ {
		term *= float64(failures-i) * float64(members-i) / (float64(i+1) * float64(sound-members+i+1))
		sum += term
	}
	return sum
}

// choose returns the logarithm of the number of ways to take k of n.
func choose(n, k int) float64 { return factorial(n) - factorial(k) - factorial(n-k) }

// factorial returns the logarithm of n!.
func factorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}
