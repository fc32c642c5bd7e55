package picture

import (
	"net/netip"
	"strings"

	"hale/internal/core/fleet"
)

// Canaries are addresses beside the machines that answer as long as hale's own network works. They turn what each of
// them says into how the vantage stands: one that answers is enough for it to be well, and only all of them being
// down isolates it.
type Canaries struct {
	each    []canary
	vantage fleet.Vantage
}

type canary struct {
	address  netip.Addr
	standing fleet.Standing
	result   fleet.ResultReason
}

// NewCanaries begins with nothing known. Without addresses there is no watch, and the vantage has no standing at all.
func NewCanaries(addresses []netip.Addr, now fleet.Now) *Canaries {
	c := &Canaries{}
	for _, a := range addresses {
		c.each = append(c.each, canary{address: a, standing: fleet.StandingUnknown})
	}
	if len(c.each) > 0 {
		c.vantage = fleet.Vantage{Standing: fleet.VantageUnknown, Since: now.Mono}
	}
	return c
}

// Hear takes in how one canary stands.
func (c *Canaries) Hear(a netip.Addr, s fleet.Standing, result fleet.ResultReason, now fleet.Now) {
	for i := range c.each {
		if c.each[i].address == a {
			c.each[i].standing, c.each[i].result = s, result
		}
	}
	c.judge(now)
}

// Forget says that nothing is known of any canary, as when the probes are not to be believed.
func (c *Canaries) Forget(why fleet.ResultReason, now fleet.Now) {
	for i := range c.each {
		c.each[i].standing, c.each[i].result = fleet.StandingUnknown, why
	}
	c.judge(now)
}

// Vantage returns how hale's own sight stands.
func (c *Canaries) Vantage() fleet.Vantage { return c.vantage }

func (c *Canaries) judge(now fleet.Now) {
	if len(c.each) == 0 {
		return
	}
	standing, said := fleet.VantageIsolated, make([]string, len(c.each))
	for i, one := range c.each {
		said[i] = one.address.String() + ": " + string(one.result)
		switch {
		case one.standing == fleet.StandingUp:
			standing = fleet.VantageOK
		case one.standing != fleet.StandingDown && standing != fleet.VantageOK:
			standing = fleet.VantageUnknown
		}
	}
	if standing != c.vantage.Standing {
		c.vantage.Standing, c.vantage.Since = standing, now.Mono
	}
	c.vantage.Detail = ""
	if standing != fleet.VantageOK {
		c.vantage.Detail = strings.Join(said, ", ")
	}
}
