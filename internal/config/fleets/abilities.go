package fleets

import (
	"fmt"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/keys"
)

// What steps and policies take that not every type of provider can do.

// unseen says what to do where hale does not see whether hosts are disabled, and cannot have machines moved; empty: it
// does, or the provider is not known.
func (c *compiler) unseen() string {
	switch {
	case !c.known:
		return ""
	case !c.kind.Moves:
		return "take it out"
	case c.Hosts.Written():
		return ""
	}
	return c.kind.MovesIf
}

// unmoved reports a step that moves machines where hale sees no hosts, or places them itself.
func (c *compiler) unmoved(s keys.At[stepDraft]) {
	if s.Value.kind != fleet.StepEvacuate && s.Value.kind != fleet.StepMigrate {
		return
	}
	if hint := c.unseen(); hint != "" {
		c.Add(s.Spot, fmt.Sprintf("%s is not available: hale does not see the hosts of this provider, or cannot have "+
			"it move machines", s.Value.kind), hint)
	}
}

// unrescued reports a step that puts another system in a machine's place, where the provider does not do that.
func (c *compiler) unrescued(s keys.At[stepDraft]) {
	if s.Value.kind == fleet.StepRescue && c.known && !c.kind.Rescues {
		c.Add(s.Spot, "rescue is not available: the provider has no rescue system",
			"take it out, or use quarantine, which leaves the machine to a person as it is")
	}
}

// uncopied reports a step that copies the disk of a server which has none but a volume.
func (c *compiler) uncopied(s keys.At[stepDraft]) {
	if s.Value.kind == fleet.StepSnapshot && c.bootsVolume {
		c.Add(s.Spot, "snapshot is not available for a server that boots from a volume: what Nova makes of that does "+
			"not outlive it", "take it out, or take boot_volume out of the template")
	}
}

// strands reports the wish to cut the power of hosts where nothing follows from that: a server keeps its name and its
// port while its host is off.
func (c *compiler) strands(hosts keys.At[hostsWord]) {
	steps := c.draft.repair.Value.steps
	evacuates := func(s keys.At[stepDraft]) bool { return s.Value.kind == fleet.StepEvacuate }
	if hosts.Value == hostsOff && c.kind.KeepsNames && (steps.How == keys.Absent ||
		!slices.ContainsFunc(steps.Value, evacuates)) {
		c.Add(hosts.Spot, "leads to nothing in a cloud without the step evacuate: a server keeps its name and its "+
			"port while its host is off", "add evacuate to repair.steps")
	}
}
