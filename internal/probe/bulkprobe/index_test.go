package bulkprobe

import (
	"testing"

	"pgregory.net/rapid"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// TestIndexAgainstAMap enters, finds and removes beside a map.
func TestIndexAgainstAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var records slab[record]
		var checks checkNames
		x, twin := index{records: &records, checks: &checks}, map[probe.ID]int32{}
		var free places
		for range 400 {
			id := probe.ID{
				Machine: fleet.Name("web").Machine(rapid.IntRange(1, 90).Draw(t, "machine")),
				Check:   rapid.SampledFrom([]fleet.CheckName{"ping", "web"}).Draw(t, "check"),
			}
			want, known := twin[id]
			if !known {
				want = none
			}
			if got := x.find(id); got != want {
				t.Fatalf("%v is said to be %d, want %d", id, got, want)
			}
			if known {
				x.remove(want)
				delete(twin, id)
				free.put(want)
				continue
			}
			i := free.get()
			records.reach(i)
			*records.at(i) = record{machine: id.Machine, check: checks.numberOf(id.Check)}
			x.add(i)
			twin[id] = i
		}
	})
}
