package bulkprobe

import (
	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// checkNames gives the names of checks numbers, which take less room in a record: there are a few names, and very many
// targets. None is ever forgotten.
type checkNames struct {
	names  []fleet.CheckName
	number map[fleet.CheckName]int32
}

func (c *checkNames) numberOf(name fleet.CheckName) int32 {
	i, known := c.number[name]
	if !known {
		i = int32(len(c.names)) //nolint:gosec // a configuration has few checks
		if c.number == nil {
			c.number = make(map[fleet.CheckName]int32)
		}
		c.names, c.number[name] = append(c.names, name), i
	}
	return i
}

// idOf returns the ID of the record's target.
func (c *checkNames) idOf(rec *record) probe.ID {
	return probe.ID{Machine: rec.machine, Check: c.names[rec.check]}
}
