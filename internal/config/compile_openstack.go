package config

import (
	"fmt"
	"slices"
	"strings"

	"hale/internal/fleet"
	"hale/internal/keys"
)

func compileCloud(n keys.Named[providerDraft], f *keys.Finder) Cloud {
	d := n.Value
	if !d.cloud.Written() {
		f.Add(n.Under("cloud"), "is missing", "add cloud: with the name of an entry of clouds.yaml")
		return Cloud{}
	}
	c := d.cloud.Value
	return Cloud{Name: c.name.Value, File: resolve(c.file), Region: c.region.Value}
}

// server returns what the cloud is told; nil: the provider is no cloud.
func (c *fleetCompiler) server() *fleet.Server {
	t := c.draft.template.Value
	if !c.providerIs(ProviderOpenStack) {
		if t.server.Written() && c.providerKnown() {
			c.Add(t.server.Spot, "does not belong to the fleet's provider, which is no cloud",
				"take it out, or choose another provider")
		}
		return nil
	}
	const instead = "take it out: the flavor and the image say it"
	unlike(c.Finder, instead, t.kernel, t.initrd, t.cmdline)
	unlike(c.Finder, instead, t.xml)
	unlike(c.Finder, instead, t.memory)
	unlike(c.Finder, instead, t.cpus)
	unlike(c.Finder, instead, t.seed)
	unlike(c.Finder, instead, t.accel)
	for _, n := range t.disks.Value {
		c.wholeGiB(n.Value.size)
	}
	c.wholeGiB(t.server.Value.bootVolume.Value.size)
	switch {
	case !c.builds():
		return nil
	case !t.image.Written():
		c.Add(c.draft.template.Spot, "does not say what to build from", "add image, and server: {flavor: …}")
	case !t.server.Written():
		c.Add(c.draft.template.Spot, "does not say what server to build", "add server: {flavor: m1.small}")
	case !t.network.Given():
		c.Add(c.draft.template.Spot, "does not say on which network", "add network")
	}
	for _, n := range t.metadata.Value {
		if strings.HasPrefix(n.Name, "hale_") {
			c.Add(n.Spot, "is a key of hale's own", "choose another one")
		}
	}
	return serverOf(t.server.Value)
}

// wholeGiB reports a size that no volume has.
func (c *fleetCompiler) wholeGiB(size keys.At[uint64]) {
	if size.Known() && size.Value%(1<<30) != 0 {
		c.Add(size.Spot, "is no whole number of GiB, in which Cinder counts",
			fmt.Sprintf("write %dGiB", size.Value>>30+1))
	}
}

// unseen says what to do where hale does not see whether hosts are disabled, and cannot have machines moved; empty: it
// does, or the provider is not known.
func (c *fleetCompiler) unseen() string {
	i := slices.IndexFunc(c.drafts, func(n keys.Named[providerDraft]) bool { return n.Name == c.draft.provider.Value })
	switch {
	case i < 0 || !c.providerKnown() || c.providerIs(ProviderSimulated):
		return ""
	case !c.providerIs(ProviderOpenStack):
		return "take it out"
	case c.drafts[i].Value.hosts.Written():
		return ""
	}
	return "name the hypervisors in hosts of the provider, with credentials that may see them"
}

// unmoved reports a step that moves machines where hale sees no hosts, or places them itself.
func (c *fleetCompiler) unmoved(s keys.At[stepDraft]) {
	if s.Value.kind != fleet.StepEvacuate && s.Value.kind != fleet.StepMigrate {
		return
	}
	if hint := c.unseen(); hint != "" {
		c.Add(s.Spot, fmt.Sprintf("%s is not available: hale does not see the hosts of this provider, or cannot have "+
			"it move machines", s.Value.kind), hint)
	}
}

// unrescued reports a step that puts another system in a machine's place, where the provider does not do that.
func (c *fleetCompiler) unrescued(s keys.At[stepDraft]) {
	if s.Value.kind == fleet.StepRescue && c.providerKnown() && !c.providerIs(ProviderOpenStack) &&
		!c.providerIs(ProviderSimulated) {
		c.Add(s.Spot, "rescue is not available: the provider has no rescue system",
			"take it out, or use quarantine, which leaves the machine to a person as it is")
	}
}

// uncopied reports a step that copies the disk of a server which has none but a volume.
func (c *fleetCompiler) uncopied(s keys.At[stepDraft]) {
	if s.Value.kind == fleet.StepSnapshot && c.draft.template.Value.server.Value.bootVolume.Written() {
		c.Add(s.Spot, "snapshot is not available for a server that boots from a volume: what Nova makes of that does "+
			"not outlive it", "take it out, or take boot_volume out of the template")
	}
}

// strands reports the wish to cut the power of hosts where nothing follows from that: a server keeps its name and its
// port while its host is off.
func (c *fleetCompiler) strands(hosts keys.At[hostsWord]) {
	steps := c.draft.repair.Value.steps
	evacuates := func(s keys.At[stepDraft]) bool { return s.Value.kind == fleet.StepEvacuate }
	if hosts.Value == hostsOff && c.providerIs(ProviderOpenStack) && (steps.How == keys.Absent ||
		!slices.ContainsFunc(steps.Value, evacuates)) {
		c.Add(hosts.Spot, "leads to nothing in a cloud without the step evacuate: a server keeps its name and its "+
			"port while its host is off", "add evacuate to repair.steps")
	}
}

func serverOf(d serverDraft) *fleet.Server {
	return &fleet.Server{
		Flavor: d.flavor.Value, Networks: values(d.networks), SecurityGroups: values(d.securityGroups),
		KeepPort:    d.keepPort.Value,
		FloatingIP:  d.floatingIP.Value,
		ServerGroup: d.serverGroup.Value, KeyPair: d.keyPair.Value, Zone: d.zone.Value,
		ConfigDrive: d.configDrive.Value,
		BootVolume:  fleet.BootVolume{Size: d.bootVolume.Value.size.Value, Type: d.bootVolume.Value.made.Value},
		VolumeZone:  d.volumeZone.Value,
	}
}

// values returns what is written, or nil.
func values[V any](drafts keys.At[[]keys.At[V]]) []V {
	var out []V
	for _, d := range drafts.Value {
		out = append(out, d.Value)
	}
	return out
}

// unlike reports keys that say nothing to a cloud.
func unlike[V any](f *keys.Finder, instead string, keys ...keys.At[V]) {
	for _, k := range keys {
		if k.Written() {
			f.Add(k.Spot, "does not belong to a server of a cloud", instead)
		}
	}
}
