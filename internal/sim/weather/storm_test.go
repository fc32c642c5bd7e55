package weather_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hale/internal/sim/weather"
)

// building has two machines on a host, five hosts in a rack, four racks in a room.
func building(machines int) []weather.Site {
	sites := make([]weather.Site, machines)
	for i := range sites {
		sites[i] = weather.Site{Host: i / 2, Rack: i / 10, Room: i / 40}
	}
	return sites
}

func storms(t *testing.T, s weather.Season, sites []weather.Site, horizon time.Duration) []weather.Storm {
	t.Helper()
	made, err := s.Over(sites, horizon)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// struck counts the hits of a storm in each domain.
func struck(s weather.Storm, number func(machine int) int) map[int]int {
	n := map[int]int{}
	for _, h := range s.Hits {
		n[number(h.Machine)]++
	}
	return n
}

func TestAStormOverRacksTakesWholeNeighbours(t *testing.T) {
	t.Parallel()
	season := weather.Season{Storms: 20, Least: 0.25, Most: 0.25, Spread: time.Minute,
		Domains: []weather.Domain{weather.Rack}, Seed: seed}
	for _, s := range storms(t, season, building(100), 30*day) {
		racks := struck(s, func(m int) int { return m / 10 })
		whole, part := 0, 0
		for _, n := range racks {
			if n == 10 {
				whole++
			} else {
				part += n
			}
		}
		if len(s.Hits) != 25 || whole != 2 || part != 5 || len(racks) != 3 {
			t.Errorf("a quarter of ten racks of ten is two and a half, not %v", racks)
		}
		neighbours := false
		for rack := range 10 {
			neighbours = neighbours || racks[rack] > 0 && racks[(rack+1)%10] > 0 && racks[(rack+2)%10] > 0
		}
		if !neighbours {
			t.Errorf("the racks are no neighbours: %v", racks)
		}
	}
}

func TestAStormKeptWithinOneDomainHitsNoOther(t *testing.T) {
	t.Parallel()
	for domain, size := range map[weather.Domain]int{weather.Host: 2, weather.Rack: 10, weather.Room: 40} {
		season := weather.Season{Storms: 10, Least: 0.6, Most: 0.6, Domains: []weather.Domain{domain}, Within: 1,
			Seed: seed}
		chosen := map[int]bool{}
		for _, s := range storms(t, season, building(120), 30*day) {
			hit := struck(s, func(m int) int { return m / size })
			if len(hit) != 1 || len(s.Hits) != size || s.Share != float64(size)/120 {
				t.Errorf("one %s has %d machines; struck: %v, share %v", domain, size, hit, s.Share)
			}
			for n := range hit {
				chosen[n] = true
			}
		}
		if len(chosen) < 2 {
			t.Errorf("ten storms all chose the same %s", domain)
		}
	}
}

func TestAScatteredStormFollowsNoPlace(t *testing.T) {
	t.Parallel()
	season := weather.Season{Storms: 10, Least: 0.2, Most: 0.6, Domains: []weather.Domain{weather.Scattered}, Within: 1,
		Seed: seed}
	for _, s := range storms(t, season, building(1000), 30*day) {
		if rooms := struck(s, func(m int) int { return m / 40 }); len(rooms) != 25 {
			t.Errorf("of 25 rooms only %d were touched by a scattered storm over %v", len(rooms), s.Share)
		}
	}
}

func TestAnyDomainIsTakenWhereNoneIsNamed(t *testing.T) {
	t.Parallel()
	seen := map[weather.Domain]bool{}
	for _, s := range storms(t, weather.Season{Storms: 60, Least: 0.2, Most: 0.6, Seed: seed}, building(100), 60*day) {
		seen[s.Domain] = true
	}
	if len(seen) != 4 {
		t.Errorf("seen: %v", seen)
	}
}

func TestStormsKeepToTheirSharesTimesAndParts(t *testing.T) {
	t.Parallel()
	domains := []weather.Domain{weather.Scattered, weather.Host, weather.Rack, weather.Room}
	rapid.Check(t, func(t *rapid.T) {
		sites := building(rapid.IntRange(1, 200).Draw(t, "machines"))
		season := weather.Season{
			Storms: rapid.IntRange(0, 5).Draw(t, "storms"), Least: rapid.Float64Range(0.01, 0.5).Draw(t, "least"),
			Spread:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "spread")),
			Domains: rapid.SliceOfDistinct(rapid.SampledFrom(domains), rapid.ID[weather.Domain]).Draw(t, "domains"),
			Within:  rapid.IntRange(0, 3).Draw(t, "within"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		season.Most = rapid.Float64Range(season.Least, 1).Draw(t, "most")
		horizon := time.Duration(rapid.Int64Range(int64(6*time.Hour), int64(30*day)).Draw(t, "horizon"))
		made, err := season.Over(sites, horizon)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := season.Over(sites, horizon)
		if diff := cmp.Diff(made, again); diff != "" {
			t.Errorf("the same season differs:\n%s", diff)
		}
		if len(made) != season.Storms {
			t.Errorf("%d storms, want %d", len(made), season.Storms)
		}
		for i, s := range made {
			part := horizon / time.Duration(season.Storms)
			// Parts are cut to whole microseconds, so a storm may begin that much before its own.
			if s.At < time.Duration(i)*(part-time.Microsecond) || s.At+s.Spread > time.Duration(i+1)*part {
				t.Errorf("storm %d of %d in %v lasts from %v for %v", i, len(made), horizon, s.At, s.Spread)
			}
			checkStorm(t, s, season, len(sites))
		}
	})
}

func checkStorm(t *rapid.T, s weather.Storm, season weather.Season, machines int) {
	seen := map[int]bool{}
	last := s.At
	for _, h := range s.Hits {
		if h.At < last || h.At >= s.At+max(s.Spread, 1) || seen[h.Machine] || h.Machine < 0 || h.Machine >= machines {
			t.Errorf("hit %+v after %v in %+v", h, last, s)
		}
		seen[h.Machine], last = true, h.At
	}
	most := int(math.Ceil(season.Most * float64(machines)))
	least := int(math.Ceil(season.Least*float64(machines) - 1e-9))
	if season.Within > 0 && s.Domain != weather.Scattered {
		least = min(least, 1)
	}
	if len(s.Hits) < least || len(s.Hits) > most || s.Share != float64(len(s.Hits))/float64(machines) {
		t.Errorf("%d hits of %d machines, share %v, want %v to %v", len(s.Hits), machines, s.Share, season.Least,
			season.Most)
	}
}

func TestASeasonThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	good := weather.Season{Storms: 2, Least: 0.2, Most: 0.6, Spread: time.Hour}
	for name, spoil := range map[string]func(*weather.Season){
		"no share":              func(s *weather.Season) { s.Least = 0 },
		"a share turned over":   func(s *weather.Season) { s.Most = 0.1 },
		"more than all":         func(s *weather.Season) { s.Most = 1.1 },
		"no number":             func(s *weather.Season) { s.Most = math.NaN() },
		"negative storms":       func(s *weather.Season) { s.Storms = -1 },
		"negative domains":      func(s *weather.Season) { s.Within = -1 },
		"negative spread":       func(s *weather.Season) { s.Spread = -1 },
		"an unknown domain":     func(s *weather.Season) { s.Domains = []weather.Domain{"continent"} },
		"no time for its storm": func(s *weather.Season) { s.Spread = 12 * time.Hour },
	} {
		season := good
		spoil(&season)
		if _, err := season.Over(building(10), day); err == nil {
			t.Errorf("%s: %+v was taken", name, season)
		}
	}
	if made := storms(t, good, nil, day); len(made) != 0 {
		t.Errorf("a fleet of none has storms: %+v", made)
	}
}
