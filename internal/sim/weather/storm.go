package weather

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Domain is what the machines that a storm hits have in common.
type Domain string

// The domains.
const (
	Scattered Domain = "scattered" // nothing
	Host      Domain = "host"
	Rack      Domain = "rack"
	Room      Domain = "room"
)

// Site is where a machine stands. The numbers are any that are equal where the thing is the same in the whole fleet;
// neighbours have neighbouring numbers.
type Site struct{ Host, Rack, Room int }

// in returns the number of the machine's domain.
func (s Site) in(d Domain) int {
	switch d {
	case Host:
		return s.Host
	case Rack:
		return s.Rack
	case Room:
		return s.Room
	default:
		return 0
	}
}

// Hit is one machine that fails in a storm.
type Hit struct {
	At      time.Duration // since the beginning
	Machine int           // from 0
}

// Storm is a failure of many machines within a short time.
type Storm struct {
	At     time.Duration // no hit is earlier
	Spread time.Duration // every hit is less than this after At, or at it
	Share  float64       // of the fleet's machines that are hit
	Domain Domain
	Hits   []Hit // by time, then machine; no machine twice
}

// Season is how often, how wide and where storms come.
type Season struct {
	// in the horizon: one in each of as many equal parts of it, so that each can be judged on its own
	Storms  int
	Least   float64       // smallest share of the fleet that a storm hits, above 0
	Most    float64       // largest share, at most 1
	Spread  time.Duration // from the first to the last possible hit
	Domains []Domain      // each storm takes one of these; none given: any
	// at most so many domains fall in one storm, also if its share is then smaller; 0: as many as it takes
	Within int
	Seed   uint64
}

// Check returns everything that is wrong with the parameters, or nil.
func (s Season) Check() error {
	var wrong []error
	if s.Storms < 0 || s.Within < 0 {
		wrong = append(wrong, errors.New("the numbers of storms and of their domains are not negative"))
	}
	if !(s.Least > 0 && s.Least <= s.Most && s.Most <= 1) { // also refuses what is not a number
		wrong = append(wrong, fmt.Errorf("a storm's share goes from above 0 up to 1, not from %v to %v", s.Least,
			s.Most))
	}
	if s.Spread < 0 || s.Spread > MaxTime {
		wrong = append(wrong, fmt.Errorf("a storm's spread is not negative and at most a hundred years, not %v",
			s.Spread))
	}
	for _, d := range s.Domains {
		if !slices.Contains(everywhere, d) {
			wrong = append(wrong, fmt.Errorf("no domain is named %q; there are %q", d, everywhere))
		}
	}
	return errors.Join(wrong...)
}

// everywhere are all domains.
var everywhere = []Domain{Scattered, Host, Rack, Room}

// Over returns the storms over machines at the given sites, by time. A storm in hosts, racks or rooms takes one of
// them, and where the share is larger its neighbours, one whole domain after the other; only the last is hit in part,
// at random. A scattered one takes its machines at random. The same season, sites and horizon give the same storms.
//
// The error is that of [Season.Check], or says that the horizon is too short for so many storms of that spread.
func (s Season) Over(sites []Site, horizon time.Duration) ([]Storm, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Storms == 0 || len(sites) == 0 {
		return nil, nil
	}
	part := (min(horizon, MaxTime) / time.Duration(s.Storms)).Truncate(tick)
	if part <= s.Spread {
		return nil, fmt.Errorf("%d storms spread over %v each do not fit in %v", s.Storms, s.Spread, horizon)
	}
	domains := s.Domains
	if len(domains) == 0 {
		domains = everywhere
	}
	storms := make([]Storm, s.Storms)
	for i := range storms {
		r := stream(s.Seed, forStorms, i)
		storm := Storm{
			At:     time.Duration(i)*part + within(r, part-s.Spread),
			Spread: s.Spread,
			Domain: domains[r.IntN(len(domains))],
		}
		share := s.Least + (s.Most-s.Least)*r.Float64()
		// 7 % of 100 is 7, whatever floats say
		wanted := min(int(math.Ceil(share*float64(len(sites))-1e-9)), len(sites))
		s.strike(&storm, sites, wanted, stream(s.Seed, forVictims, i))
		storms[i] = storm
	}
	return storms, nil
}

// strike chooses the machines and when each is hit.
func (s Season) strike(storm *Storm, sites []Site, wanted int, r *rand.Rand) {
	for _, machine := range s.victims(storm.Domain, sites, wanted, r) {
		storm.Hits = append(storm.Hits, Hit{At: storm.At + within(r, s.Spread), Machine: machine})
	}
	slices.SortFunc(storm.Hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Machine, b.Machine))
	})
	storm.Share = float64(len(storm.Hits)) / float64(len(sites))
}

// victims returns the wanted number of machines, or fewer where Within forbids a further domain.
func (s Season) victims(d Domain, sites []Site, wanted int, r *rand.Rand) []int {
	members := map[int][]int{}
	var numbers []int // of the domains, in order
	for machine, site := range sites {
		n := site.in(d)
		if members[n] == nil {
			numbers = append(numbers, n)
		}
		members[n] = append(members[n], machine)
	}
	slices.Sort(numbers)
	most := len(numbers)
	if s.Within > 0 && d != Scattered {
		most = min(most, s.Within)
	}
	var hit []int
	first := r.IntN(len(numbers))
	for k := 0; k < most && len(hit) < wanted; k++ {
		here := members[numbers[(first+k)%len(numbers)]]
		r.Shuffle(len(here), func(i, j int) { here[i], here[j] = here[j], here[i] })
		hit = append(hit, here[:min(len(here), wanted-len(hit))]...)
	}
	return hit
}

// within returns a time from 0 to below the length, in whole microseconds; 0 where the length is shorter than one.
func within(r *rand.Rand, length time.Duration) time.Duration {
	if ticks := int64(length / tick); ticks > 0 {
		return time.Duration(r.Int64N(ticks)) * tick
	}
	return 0
}
