package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// stratum is what a sample is spread over.
type stratum struct{ pkg, operator string }

// sample chooses n of the mutants by the seed, from each package and operator its share, and returns them in their
// order. Equal arguments give equal samples; n of zero, or of more than there are, gives all.
func sample(mutants []mutant, n int, seed uint64) []mutant {
	if n <= 0 || n >= len(mutants) {
		return mutants
	}
	strata := map[stratum][]int{}
	var order []stratum
	for i, m := range mutants {
		k := stratum{m.Package, m.Operator}
		if strata[k] == nil {
			order = append(order, k)
		}
		strata[k] = append(strata[k], i)
	}
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a sample must be repeatable from its seed
	for _, k := range order {
		members := strata[k]
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	var chosen []int
	for i, share := range shares(order, strata, n, len(mutants)) {
		chosen = append(chosen, strata[order[i]][:share]...)
	}
	slices.Sort(chosen)
	var picked []mutant
	for _, i := range chosen {
		picked = append(picked, mutants[i])
	}
	return picked
}

// shares divides n by the strata's sizes: whole parts first, then one each where most is left over.
func shares(order []stratum, strata map[stratum][]int, n, total int) []int {
	parts := make([]int, len(order))
	byRest := make([]int, len(order))
	left := n
	for i, k := range order {
		parts[i] = len(strata[k]) * n / total
		left -= parts[i]
		byRest[i] = i
	}
	rest := func(i int) int { return len(strata[order[i]]) * n % total }
	slices.SortStableFunc(byRest, func(a, b int) int { return cmp.Compare(rest(b), rest(a)) })
	for _, i := range byRest[:left] {
		parts[i]++
	}
	return parts
}
