package fleets

import (
	"fmt"
	"slices"

	"hale/internal/core/policy"
)

// sight judges from where the check is asked. Simulated machines are seen from hale's server alone.
func (c *compiler) sight(d checkDraft, check *policy.Check) policy.Sight {
	n, agree := d.vantages, d.agree
	out := policy.Sight{Vantages: n.Value, Agree: n.Value/2 + 1, StaleAfter: c.SatellitesStale}
	switch {
	case !out.Shared():
		if agree.Written() {
			c.Add(agree.Spot, "comes without vantages", "add vantages: 3, or take it out")
		}
		return policy.Sight{}
	case agree.Known() && agree.Given():
		out.Agree = agree.Value
	}
	secret := slices.ContainsFunc(check.HTTP.Headers, func(h policy.Header) bool { return !h.Secret.None() })
	switch {
	case !n.Known():
	case check.Kind != "" && !check.Kind.Anywhere():
		c.Add(n.Spot, fmt.Sprintf("a check of kind %s is made by hale's server alone", check.Kind), "take it out")
	case secret:
		c.Add(n.Spot, "its headers have a secret, which does not leave hale's server",
			"take vantages out, or make it a check without the secret")
	case c.StandbysLook: // how many servers there are, no file says
	case c.Satellites+1 < n.Value && c.Shared:
		c.Add(n.Spot, "servers that stand by do not look, since no key says where they report what they see",
			"add listen: to state.etcd, with an address of this server and a port that the others reach, as "+
				"10.0.0.1:7120, or add satellites, or lower vantages")
	case c.Satellites == 0:
		c.Add(n.Spot, "there are no satellites", "add satellites: {listen: \":7118\", tokens: {ams: {file: PATH}, "+
			"fra: {file: PATH}}} at the top of the file")
	case n.Value > c.Satellites+1:
		c.Add(n.Spot, fmt.Sprintf("hale's server and its satellites are %d vantages", c.Satellites+1),
			"add names to satellites.tokens, or lower vantages")
	}
	if agree.Known() && agree.Given() && agree.Value > n.Value {
		c.Add(agree.Spot, fmt.Sprintf("%d of %d can never agree", agree.Value, n.Value),
			fmt.Sprintf("write %d or less", n.Value))
	}
	if c.kind.Simulated {
		return policy.Sight{}
	}
	return out
}
