package fleets

import (
	"fmt"

	"hale/internal/config/sizes"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// sparesDraft is what the file says of machines that stand by.
type sparesDraft struct {
	count keys.At[int]
	keep  keys.At[kept]
}

// kept is how spares are kept.
type kept string

const (
	keptRunning kept = "running"
	keptOff     kept = "off"
)

// sparesField is the key of a fleet's spares.
func sparesField() keys.Field[Draft] {
	count := keys.Integer(0, maxSize)
	count.Noun, count.Example = "a number", "1"
	return keys.May("spares",
		"Machines beyond the size that do not serve. They are built and checked like the others. When a machine "+
			"fails, is repaired or is changed, a healthy spare takes its place at once, and that machine is the "+
			"spare then. A number, or a mapping.",
		keys.Shorthand[sparesDraft, int]{
			Short: count,
			Long: keys.Object[sparesDraft]{Fields: []keys.Field[sparesDraft]{
				keys.Must("count", "1", "How many machines stand by.", count,
					func(s *sparesDraft) *keys.At[int] { return &s.count }),
				keys.May("keep",
					"`running`: spares run, and take a place at once. `off`: hale turns them off once all machines "+
						"have been healthy for five minutes, and starts one as soon as a machine cannot serve; it "+
						"takes the place when it is healthy.",
					keys.Choice(nil, keptRunning, keptOff),
					func(s *sparesDraft) *keys.At[kept] { return &s.keep }).Said("running"),
			}},
			Take: func(n keys.At[int]) sparesDraft { return sparesDraft{count: n} },
		}, func(f *Draft) *keys.At[sparesDraft] { return &f.spares }).Said("none")
}

// spares judges how many machines stand by.
func (c *compiler) spares(t policy.Template) policy.Spares {
	d, size := c.draft.spares, sizes.Largest(c.draft.size)
	count := d.Value.count
	if !count.Known() || count.Value == 0 {
		return policy.Spares{}
	}
	switch kept := keptDisk(t); {
	case c.selects():
		c.Add(d.Spot, "are machines that hale builds, and a fleet with select has only machines that exist",
			"take spares out, or build the fleet from a template")
	case kept != "":
		c.Add(d.Spot, fmt.Sprintf("cannot stand in for machines that keep disk %s: each has its own data on it", kept),
			"take spares out, or declare the disk ephemeral")
	case size.Known() && size.Value+count.Value > maxSize:
		c.Add(d.Spot, fmt.Sprintf("make %d machines, with those that serve", size.Value+count.Value),
			fmt.Sprintf("lower one of the two: a fleet has at most %d machines", maxSize))
	}
	return policy.Spares{Count: count.Value, Off: d.Value.keep.Value == keptOff}
}

// keptDisk names a disk with data that no other machine has; empty: there is none.
func keptDisk(t policy.Template) string {
	for _, d := range t.Disks {
		if !d.Ephemeral {
			return d.Name
		}
	}
	return ""
}
