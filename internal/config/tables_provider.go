package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"hale/internal/keys"
	"hale/internal/kinds"
)

// The tables: every key with its shape, its default and its meaning. The reader, the schema and the reference page are
// made from them. They are functions because a condition contains conditions.

func providerShape(all kinds.All) keys.Object[providerDraft] {
	var own []keys.Field[keys.Own]
	var words, docs []string
	for _, k := range all.Providers {
		words, docs = append(words, k.Word), append(docs, "`"+k.Word+"` "+k.Doc)
		own = append(own, k.Keys.Fields...)
	}
	return keys.Object[providerDraft]{
		Fields: slices.Concat([]keys.Field[providerDraft]{
			keys.Must("type", "libvirt", "The adapter: "+strings.Join(docs, ", ")+".",
				keys.Choice(map[string]string{"proxmox": "use exec", "incus": "use exec"}, words...),
				func(p *providerDraft) *keys.At[string] { return &p.kind }),
			keys.May("hosts", "Several hosts; a machine that is recreated may land on another one. Under libvirt "+
				"each has a daemon. Under openstack these are the cloud's hypervisors, as `openstack compute service "+
				"list` names them: with one of them named, hale watches all, which takes credentials that may see "+
				"them; see on_host_disabled and the steps evacuate and migrate.",
				keys.List[kinds.HostDraft]{Noun: "one host", Each: hostShape()},
				func(p *providerDraft) *keys.At[[]keys.At[kinds.HostDraft]] { return &p.hosts }),
			fencePriority(),
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
		}, keys.Within(own, func(p *providerDraft) *keys.Own { return &p.own })),
		Later: map[string]string{ //nolint:gosec // hints, and no passwords
			"user": "write it into sasl, or into uri with qemu+ssh", "username": "write it into sasl, or into uri " +
				"with qemu+ssh",
			"password": "write sasl: {user: …, password: {file: PATH}}",
		},
	}
}

func hostShape() keys.Object[kinds.HostDraft] {
	return keys.Object[kinds.HostDraft]{Fields: []keys.Field[kinds.HostDraft]{
		keys.Must("name", "h1", "The host's name within the provider; under openstack, the hypervisor's.",
			keys.HostName(),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.Name }),
		keys.May("uri", "libvirt only, and needed there: its libvirt daemon, as in uri of the provider.",
			keys.Text("a libvirt address", "qemu+tls://h1/system"),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.URI }),
		keys.May("rack", "The rack that it stands in: machines there share a fate. See fleets.FLEET.shared_fate.",
			keys.Text("a rack", "r1"),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.Rack }),
		keys.May("room", "The room that it stands in.", keys.Text("a room", "m1"),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.Room }),
		keys.May("zone", "The zone that it stands in.", keys.Text("a zone", "z1"),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.Zone }),
		keys.May("storage", "What its machines' disks lie on, where several hosts share it.", keys.Text("a storage",
			"nas1"),
			func(h *kinds.HostDraft) *keys.At[string] { return &h.Storage }),
		keys.May("address", "Its own address, which answers pings as long as hale reaches what is on it: a machine "+
			"that is silent and alone there has no other witness. It need not be said under libvirt, under vSphere "+
			"(the management card's), and where Nova tells it (os-hypervisors). See fleets.FLEET.silence.",
			keys.Address(),
			func(h *kinds.HostDraft) *keys.At[netip.Addr] { return &h.Address }).Said("what the provider says"),
		hostFences(),
		hostFenceDelay(),
	}}
}
