package weather

import "math/rand/v2"

// purpose separates streams of random numbers, so that what one draws does not shift another.
type purpose uint64

const (
	forGaps purpose = iota + 1
	forLengths
	forStorms
	forVictims
	forCallers
)

// Rand returns a random stream of the caller's own, by the seed, apart from all that this package draws.
func Rand(seed uint64) *rand.Rand { return stream(seed, forCallers, 0) }

// stream returns the random numbers of one purpose and one member. PCG takes its seeds as its state, and neighbouring
// states begin alike; they are mixed first.
func stream(seed uint64, p purpose, member int) *rand.Rand {
	a := mix(seed ^ mix(uint64(p)))
	own := uint64(member) * 0x9e3779b97f4a7c15 //nolint:gosec // any number does, as long as it is this member's
	return rand.New(rand.NewPCG(a, mix(a^own)))
}

// mix is the output function of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, Fast Splittable Pseudorandom Number
// Generators, OOPSLA 2014): neighbouring inputs have distant outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
