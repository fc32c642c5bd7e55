package sim

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
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
	now := c.now()
	c.own.SetUnready(c.s.eldest().unready(), now)
	for _, i := range c.own.Meters(now) {
		c.own.TellMeter(i.ID, now.Mono, c.meter(i.ID), nil, now)
	}
	if len(silenced) == 0 || c.beside > c.s.w.Now() {
		return
	}
	c.beside = c.s.w.Now() + besideEvery
	c.soon(besideEvery, c.heat)
}

// meter reads what the instance's processors did: always something else, unless they stand still.
func (c *server) meter(id fleet.InstanceID) provider.Meter {
	if c.s.w.StandsStill(c.name, string(id)) {
		return "halted"
	}
	return provider.Meter(c.s.w.Now().String())
}
