package config

import (
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
			c.add(t.server.spot, "does not belong to the fleet's provider, which is no cloud", "take it out, or choose another provider")
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
		if n.value.size.written() {
			c.add(n.spot, "is a volume, which is not available yet", "take it out: the flavor says how large the disk is")
		}
	}
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

func serverOf(d serverDraft) *fleet.Server {
	return &fleet.Server{
		Flavor: d.flavor.value, Networks: values(d.networks), SecurityGroups: values(d.securityGroups), KeepPort: d.keepPort.value,
		ServerGroup: d.serverGroup.value, KeyPair: d.keyPair.value, Zone: d.zone.value, ConfigDrive: d.configDrive.value,
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
