package config

import (
	"fmt"
	"slices"

	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/kinds"
)

// Warnings lists what the configuration allows and should not be left so, in sentences.
func (c *Config) Warnings(all kinds.All) []string {
	var out []string
	for _, name := range c.Passed {
		out = append(out, name+" is not read: only files that end in .yaml are; rename it if it is a part of the "+
			"configuration")
	}
	for _, t := range c.Targets {
		out = append(out, targetWarnings(&t)...)
	}
	out = append(out, c.balancerWarnings()...)
	on := map[fleet.ProviderName][]policy.Spec{}
	for i := range c.Fleets {
		on[c.Fleets[i].Provider] = append(on[c.Fleets[i].Provider], c.Fleets[i])
	}
	for _, p := range c.Providers {
		if kind := all.Provider(p.Type); kind != nil && kind.Warn != nil {
			out = append(out, kind.Warn(string(p.Name), p.Settings, p.Hosts, on[p.Name])...)
		}
		if kind := all.Provider(p.Type); kind != nil && kind.Simulated && (c.Etcd.Used() || c.Cluster.Used()) {
			out = append(out, fmt.Sprintf("providers.%s: its machines exist inside one hale: a server that follows it "+
				"finds none of them, and builds them all", p.Name))
		}
	}
	for i := range c.Fleets {
		f := &c.Fleets[i]
		out = append(out, fleetWarnings(f)...)
		for k := range c.Providers {
			p := &c.Providers[k]
			if p.Name != f.Provider || f.Mode != policy.ModeAct || f.Repair.Silence != "" {
				continue
			}
			if kind := all.Provider(p.Type); kind != nil {
				out = append(out, silenceWarnings(f, p, kind)...)
			}
		}
	}
	return out
}

// silenceWarnings are about what the fleet is told to do, and does not do on silence alone.
func silenceWarnings(f *policy.Spec, p *Provider, kind *kinds.Provider) []string {
	var out []string
	if f.SharedFate.Then == policy.FateEvacuate {
		out = append(out, fmt.Sprintf("fleets.%s.shared_fate.then: evacuate: machines that are merely silent are not "+
			"evacuated; write silence: act if silence is enough", f.Name))
	}
	if f.Repair.Fence.Hosts && !kind.Central {
		out = append(out, fmt.Sprintf("fleets.%s.repair.fence.hosts: off: a host that is merely silent is not "+
			"turned off, but one that is off by its power controller's word counts as such; write silence: act if "+
			"silence is enough", f.Name))
	}
	told := func(h kinds.Host) bool { return h.Address.IsValid() }
	knows := kind.Witnesses || slices.ContainsFunc(p.Hosts, told) || f.Asks(policy.CheckAgent)
	if (f.Size == 1 || f.Placement.Apart) && !knows {
		which, add := "its only machine", "give the hosts their address, check"
		if f.Size > 1 {
			which = "a machine"
		}
		if !kind.HostAddresses {
			add = "check" // its hosts are in no file of ours
		}
		out = append(out, fmt.Sprintf("fleets.%s: where %s is alone on its host, nothing bears witness when it is "+
			"silent, and a person is told instead; %s the guest's agent, or write silence: act", f.Name, which, add))
	}
	return out
}

// targetWarnings are about who is told of nothing, whatever happens.
func targetWarnings(t *Target) []string {
	bounded, ok := t.Settings.(kinds.Bounded)
	if !ok {
		return nil
	}
	if err := bounded.Refused(); err != nil {
		return []string{fmt.Sprintf("notify.%s: no message reaches it: %s", t.Name, err)}
	}
	return nil
}

// fleetWarnings are those about one fleet.
func fleetWarnings(f *policy.Spec) []string {
	out := sizes.Warn(f)
	most := f.Size
	if f.Sizing != nil {
		most = f.Sizing.Max
	}
	for _, n := range f.Protected {
		if !f.Adopt.Selects() && n > most {
			out = append(
				out,
				fmt.Sprintf("fleets.%s.protect: %s is beyond the size of %d: nothing is protected by it",
					f.Name, f.Name.Machine(n), most),
			)
		}
	}
	for i := range f.Checks {
		if k := &f.Checks[i]; f.Mode == policy.ModeAct && k.Hasty() {
			out = append(out, fmt.Sprintf("fleets.%s.checks.%s.down_after: 1: a single lost packet makes a machine "+
				"unhealthy, and it is repaired for it; write 2 or more", f.Name, k.Name))
		}
	}
	b := f.Limits.Brake
	if f.Mode != policy.ModeAct || f.Adopt.Selects() || f.Size == 0 || guard.BrakeLimit(b, f.Size) > 0 {
		return out
	}
	out = append(out, fmt.Sprintf("fleets.%s.limits.brake: %d%% of %d machines is none, and at_least is %d: the "+
		"brake engages at the first failure, so nothing is ever repaired; write at_least: 1 or more", f.Name, b.Percent,
		f.Size, b.AtLeast))
	return out
}
