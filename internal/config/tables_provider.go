package config

import (
	"net/netip"
	"slices"
	"time"

	"hale/internal/keys"
)

// The tables: every key with its shape, its default and its meaning. The reader, the schema and the reference page are
// made from them. They are functions because a condition contains conditions.

func providerShape() keys.Object[providerDraft] {
	return keys.Object[providerDraft]{
		Fields: slices.Concat([]keys.Field[providerDraft]{
			keys.Must("type", "libvirt", "The adapter: `libvirt` for QEMU under libvirt, `openstack` for a project "+
				"of an OpenStack cloud, `vsphere` for a datacenter of VMware vCenter, `exec` for anything else, by a "+
				"program of your own, `simulated` for machines that exist only inside hale, to try a configuration.",
				keys.Choice(map[string]string{
					"proxmox": "use exec", "incus": "use exec",
				}, ProviderLibvirt, ProviderOpenStack, ProviderVSphere, ProviderExec, ProviderSimulated),
				func(p *providerDraft) *keys.At[ProviderType] { return &p.kind }),
			keys.May("uri", "libvirt only: the one daemon, as `qemu:///system`, `qemu:///session`, "+
				"`qemu+unix:///system?socket=/path` `qemu+tls://host/system`, `qemu+ssh://user@host/system` (with "+
				"`?socket=/path` where it is not the usual one) or `qemu+tcp://host/system`. It needs exactly one of "+
				"uri and hosts.",
				keys.Text("a libvirt address", "qemu:///system"),
				func(p *providerDraft) *keys.At[string] { return &p.uri }),
			keys.May("cloud", "openstack only, and needed there: which cloud, as clouds.yaml describes it; the "+
				"credentials are for one project, which is the provider.",
				cloudShape(), func(p *providerDraft) *keys.At[cloudDraft] { return &p.cloud }),
			keys.May("vcenter", "vsphere only, and needed there: which vCenter, and where in it.", vcenterShape(),
				func(p *providerDraft) *keys.At[vcenterDraft] { return &p.vcenter }),
			keys.May("events", "openstack only: the cloud's message bus, on which Nova says at once what happens to "+
				"servers. Without it, hale sees it with the next poll.",
				eventsShape(), func(p *providerDraft) *keys.At[eventsDraft] { return &p.events }).Said("none"),
			keys.May("hosts", "Several hosts; a machine that is recreated may land on another one. Under libvirt "+
				"each has a daemon. Under openstack these are the cloud's hypervisors, as `openstack compute service "+
				"list` names them: with one of them named, hale watches all, which takes credentials that may see "+
				"them; see on_host_disabled and the steps evacuate and migrate.",
				keys.List[hostDraft]{Noun: "one host", Each: hostShape()},
				func(p *providerDraft) *keys.At[[]keys.At[hostDraft]] { return &p.hosts }),
			fencePriority(),
			keys.Or("state_dir", defaultStateDir,
				"libvirt only: the folder, on each host, for the disks and seeds of instances.",
				keys.Text("an absolute path", defaultStateDir),
				func(p *providerDraft) *keys.At[string] { return &p.stateDir }),
			keys.Or("poll", defaultPoll, "The time from one listing of all instances to the next. Changes that the "+
				"provider announces are seen at once.", keys.Duration(500*time.Millisecond, time.Hour),
				func(p *providerDraft) *keys.At[time.Duration] { return &p.poll }),
			keys.May("list_within", "How long one listing may take. A provider that takes longer counts as down "+
				"until one succeeds: nothing is repaired there meanwhile. A large cloud, or one behind a slow "+
				"network, needs more.", keys.Duration(time.Second, 10*time.Minute),
				func(p *providerDraft) *keys.At[time.Duration] { return &p.within }).Said(
				"30s of openstack and vsphere, 10s of others"),
			keys.Part("limits", "How many machines of all fleets may be in repair at once on this "+
				"provider, and in each domain of it.", providerLimitsShape(),
				func(p *providerDraft) *keys.At[sharedDraft] { return &p.limits }),
		}, simulatedFields(), remoteFields(), execFields()),
		Later: map[string]string{ //nolint:gosec // hints, and no passwords
			"user": "write it into sasl, or into uri with qemu+ssh", "username": "write it into sasl, or into uri " +
				"with qemu+ssh",
			"password": "write sasl: {user: …, password: {file: PATH}}",
		},
	}
}

// simulatedFields are the keys of a provider of type simulated.
func simulatedFields() []keys.Field[providerDraft] {
	return []keys.Field[providerDraft]{
		keys.Or("boot", defaultBoot, "Simulated only: the time from power on until the checks are answered.",
			keys.Duration(0, time.Hour), func(p *providerDraft) *keys.At[time.Duration] { return &p.boot }),
		keys.Or("latency", defaultLatency, "Simulated only: how long each call takes.",
			keys.Duration(0, time.Minute),
			func(p *providerDraft) *keys.At[time.Duration] { return &p.latency }),
		keys.May("machines", "Simulated only: machines that somebody else made, by their names, to try "+
			"fleets.FLEET.select.",
			keys.List[string]{Noun: "one name", Each: keys.Name()},
			func(p *providerDraft) *keys.At[[]keys.At[string]] { return &p.machines }),
	}
}

func hostShape() keys.Object[hostDraft] {
	return keys.Object[hostDraft]{Fields: []keys.Field[hostDraft]{
		keys.Must("name", "h1", "The host's name within the provider; under openstack, the hypervisor's.",
			keys.HostName(),
			func(h *hostDraft) *keys.At[string] { return &h.name }),
		keys.May("uri", "libvirt only, and needed there: its libvirt daemon, as in uri of the provider.",
			keys.Text("a libvirt address", "qemu+tls://h1/system"),
			func(h *hostDraft) *keys.At[string] { return &h.uri }),
		keys.May("rack", "The rack that it stands in, whose machines share a fate. See fleets.FLEET.shared_fate.",
			keys.Text("a rack",
				"r1"),
			func(h *hostDraft) *keys.At[string] { return &h.rack }),
		keys.May("room", "The room that it stands in.", keys.Text("a room", "m1"),
			func(h *hostDraft) *keys.At[string] { return &h.room }),
		keys.May("zone", "The zone that it stands in.", keys.Text("a zone", "z1"),
			func(h *hostDraft) *keys.At[string] { return &h.zone }),
		keys.May("storage", "What its machines' disks lie on, where several hosts share it.", keys.Text("a storage",
			"nas1"),
			func(h *hostDraft) *keys.At[string] { return &h.storage }),
		keys.May("address", "Its own address, which answers pings as long as hale reaches what is on it: a machine "+
			"that is silent and alone there has no other witness. It need not be said under libvirt, under vSphere "+
			"(the management card's), and where Nova tells it (os-hypervisors). See fleets.FLEET.silence.",
			keys.Address(),
			func(h *hostDraft) *keys.At[netip.Addr] { return &h.address }).Said("what the provider says"),
		hostFences(),
		hostFenceDelay(),
	}}
}
