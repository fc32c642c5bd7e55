package config

import (
	"fmt"
	"slices"
	"strings"

	"hale/internal/fleet"
)

func compileCloud(n named[providerDraft], f *finder) Cloud {
	d := n.value
	if !d.cloud.written() {
		f.add(n.under("cloud"), "is missing", "add cloud: with the name of an entry of clouds.yaml")
		return Cloud{}
	}
	c := d.cloud.value
	return Cloud{Name: c.name.value, File: resolve(c.file), Region: c.region.value}
}

// server returns what the cloud is told; nil: the provider is no cloud.
func (c *fleetCompiler) server() *fleet.Server {
	t := c.draft.template.value
	if !c.providerIs(ProviderOpenStack) {
		if t.server.written() && c.providerKnown() {
			c.add(t.server.spot, "does not belong to the fleet's provider, which is no cloud",
				"take it out, or choose another provider")
		}
		return nil
	}
	const instead = "take it out: the flavor and the image say it"
	unlike(c.finder, instead, t.kernel, t.initrd, t.cmdline)
	unlike(c.finder, instead, t.xml)
	unlike(c.finder, instead, t.memory)
	unlike(c.finder, instead, t.cpus)
	unlike(c.finder, instead, t.seed)
	unlike(c.finder, instead, t.accel)
	for _, n := range t.disks.value {
		c.wholeGiB(n.value.size)
	}
	c.wholeGiB(t.server.value.bootVolume.value.size)
	switch {
	case !c.builds():
		return nil
	case !t.image.written():
		c.add(c.draft.template.spot, "does not say what to build from", "add image, and server: {flavor: …}")
	case !t.server.written():
		c.add(c.draft.template.spot, "does not say what server to build", "add server: {flavor: m1.small}")
	case !t.network.given():
		c.add(c.draft.template.spot, "does not say on which network", "add network")
	}
	for _, n := range t.metadata.value {
		if strings.HasPrefix(n.name, "hale_") {
			c.add(n.spot, "is a key of hale's own", "choose another one")
		}
	}
	return serverOf(t.server.value)
}

// wholeGiB reports a size that no volume has.
func (c *fleetCompiler) wholeGiB(size at[uint64]) {
	if size.known() && size.value%(1<<30) != 0 {
		c.add(size.spot, "is no whole number of GiB, in which Cinder counts",
			fmt.Sprintf("write %dGiB", size.value>>30+1))
	}
}

// unseen says what to do where hale does not see whether hosts are disabled, and cannot have machines moved; empty: it
// does, or nobody knows the provider.
func (c *fleetCompiler) unseen() string {
	i := slices.IndexFunc(c.drafts, func(n named[providerDraft]) bool { return n.name == c.draft.provider.value })
	switch {
	case i < 0 || !c.providerKnown() || c.providerIs(ProviderSimulated):
		return ""
	case !c.providerIs(ProviderOpenStack):
		return "take it out"
	case c.drafts[i].value.hosts.written():
		return ""
	}
	return "name the hypervisors in hosts of the provider, with credentials that may see them"
}

// unmoved reports a step that moves machines where hale sees no hosts, or places them itself.
func (c *fleetCompiler) unmoved(s at[stepDraft]) {
	if s.value.kind != fleet.StepEvacuate && s.value.kind != fleet.StepMigrate {
		return
	}
	if hint := c.unseen(); hint != "" {
		c.add(s.spot, fmt.Sprintf("%s is not available: hale does not see the hosts of this provider, or cannot have "+
			"it move machines", s.value.kind), hint)
	}
}

// unrescued reports a step that puts another system in a machine's place, where the provider does not do that.
func (c *fleetCompiler) unrescued(s at[stepDraft]) {
	if s.value.kind == fleet.StepRescue && c.providerKnown() && !c.providerIs(ProviderOpenStack) &&
		!c.providerIs(ProviderSimulated) {
		c.add(s.spot, "rescue is not available: the provider has no rescue system",
			"take it out, or use quarantine, which leaves the machine to a person as it is")
	}
}

// uncopied reports a step that copies the disk of a server which has none but a volume.
func (c *fleetCompiler) uncopied(s at[stepDraft]) {
	if s.value.kind == fleet.StepSnapshot && c.draft.template.value.server.value.bootVolume.written() {
		c.add(s.spot, "snapshot is not available for a server that boots from a volume: what Nova makes of that does "+
			"not outlive it", "take it out, or take boot_volume out of the template")
	}
}

// strands reports the wish to cut the power of hosts where nothing follows from that: a server keeps its name and its
// port while its host is off.
func (c *fleetCompiler) strands(hosts at[hostsWord]) {
	steps := c.draft.repair.value.steps
	evacuates := func(s at[stepDraft]) bool { return s.value.kind == fleet.StepEvacuate }
	if hosts.value == hostsOff && c.providerIs(ProviderOpenStack) && (steps.how == absent ||
		!slices.ContainsFunc(steps.value, evacuates)) {
		c.add(hosts.spot, "leads to nothing in a cloud without the step evacuate: a server keeps its name and its "+
			"port while its host is off", "add evacuate to repair.steps")
	}
}

func serverOf(d serverDraft) *fleet.Server {
	return &fleet.Server{
		Flavor: d.flavor.value, Networks: values(d.networks), SecurityGroups: values(d.securityGroups),
		KeepPort:    d.keepPort.value,
		FloatingIP:  d.floatingIP.value,
		ServerGroup: d.serverGroup.value, KeyPair: d.keyPair.value, Zone: d.zone.value,
		ConfigDrive: d.configDrive.value,
		BootVolume:  fleet.BootVolume{Size: d.bootVolume.value.size.value, Type: d.bootVolume.value.made.value},
		VolumeZone:  d.volumeZone.value,
	}
}

// values returns what is written, or nil.
func values[V any](drafts at[[]at[V]]) []V {
	var out []V
	for _, d := range drafts.value {
		out = append(out, d.value)
	}
	return out
}

// unlike reports keys that say nothing to a cloud.
func unlike[V any](f *finder, instead string, keys ...at[V]) {
	for _, k := range keys {
		if k.written() {
			f.add(k.spot, "does not belong to a server of a cloud", instead)
		}
	}
}
