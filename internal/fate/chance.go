package fate

import "math"

// Chance returns the probability that at least hits of the members fail when failures fall on a population at random: the
// upper tail of the hypergeometric distribution, which is the one-sided exact test of R. A. Fisher ("The logic of inductive
// inference", Journal of the Royal Statistical Society 98, 1935). It is exact up to rounding and cannot overflow: the first
// term is taken by logarithms, the others by the ratio of neighbours.
func Chance(population, failures, members, hits int) float64 {
	most, least := min(members, failures), max(0, members+failures-population)
	switch {
	case hits <= least:
		return 1
	case hits > most:
		return 0
	}
	sound := population - failures
	term := math.Exp(choose(failures, hits) + choose(sound, members-hits) - choose(population, members))
	sum := term
	for i := hits; i < most; i++ {
		term *= float64(failures-i) * float64(members-i) / (float64(i+1) * float64(sound-members+i+1))
		sum += term
	}
	return min(1, sum)
}

// choose returns the logarithm of the number of ways to take k of n.
func choose(n, k int) float64 { return factorial(n) - factorial(k) - factorial(n-k) }

// factorial returns the logarithm of n!.
func factorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}
