package sim

import (
	"slices"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider"
)

// besideEvery is how often hosts are asked on which a machine is silent (package engine).
const besideEvery = time.Second

// lookBeside asks the hosts themselves on which machines are silent, for as long as they are, and what other fleets
// show.
func (c *server) lookBeside() {
	silenced := c.own.Silenced()
	var answers []fleet.HostName
	for _, n := range silenced {
		if !slices.Contains(answers, n.Host) && c.s.w.HearHost(c.name, string(n.Host)) {
			answers = append(answers, n.Host)
		}
	}
	slices.Sort(answers)
	c.own.SetAnswers(answers)
	c.neighbours.show(c, silenced)
	c.readMeters()
	if len(silenced) == 0 || c.beside > c.s.w.Now() {
		return
	}
	c.beside = c.s.w.Now() + besideEvery
	c.soon(besideEvery, c.heat)
}

// readMeters has the counters of silent machines read, as package engine does: twice, with a pause.
func (c *server) readMeters() {
	was, now := c.still, c.s.w.Now()
	c.still = nil
	var still []fleet.InstanceID
	for _, i := range c.own.Mute() {
		if !c.s.w.StandsStill(c.name, string(i.ID)) {
			continue
		}
		since, known := was[i.ID]
		if !known {
			since = now
		}
		if c.still == nil {
			c.still = map[fleet.InstanceID]time.Duration{}
		}
		if c.still[i.ID] = since; now-since >= provider.StillAfter {
			still = append(still, i.ID)
		}
	}
	slices.Sort(still)
	c.own.SetStill(still)
}
