package config

import (
	"net/netip"
	"slices"
	"time"

	"hale/internal/fleet"
)

// The tables: every key with its shape, its default and its meaning. The reader, the schema and the reference page are
// made from them. They are functions because a condition contains conditions.

func documentShape() object[document] {
	return object[document]{
		fields: []field[document]{
			may("providers", "The hypervisors, by name.", mapping[providerDraft]{key: "PROVIDER",
				each: providerShape()},
				func(d *document) *at[[]named[providerDraft]] { return &d.providers }),
			may("fleets", "The fleets, by name. A fleet's machines are called after it: `web-1`, `web-2` and so on.",
				mapping[fleetDraft]{key: "FLEET", each: fleetShape()},
				func(d *document) *at[[]named[fleetDraft]] { return &d.fleets }),
			part("limits", "How much may be done at once in all fleets together. "+
				"What a fleet may do by itself is in fleets.FLEET.limits.",
				object[sharedDraft]{fields: []field[sharedDraft]{
					or("in_repair", defaultSharedInRepair, "Machines in repair at once, of all fleets.",
						integer(1, maxSize),
						func(l *sharedDraft) *at[int] { return &l.inRepair }),
					sharedBrake("all fleets together"),
				}}, func(d *document) *at[sharedDraft] { return &d.limits }),
			may("vantage", "How hale finds out whether the fault is on its own side. Without it, only the provider's "+
				"word helps: when more than half of a fleet, and at least three machines, fall silent at once "+
				"although they run, hale holds and pages.", vantageShape(),
				func(d *document) *at[vantageDraft] { return &d.vantage }),
			may("notify", "Whom hale tells, by name, when a person must look. Without it, pages are in the log, in "+
				"`hale status` and in `hale events`.",
				mapping[targetDraft]{key: "TARGET", each: targetShape()},
				func(d *document) *at[[]named[targetDraft]] { return &d.notify }),
			may("fences", "How the power of hosts is cut from outside, by name. Which host has which is in "+
				"providers.PROVIDER.hosts[].fence.",
				mapping[methodDraft]{key: "METHOD", each: methodShape()},
				func(d *document) *at[[]named[methodDraft]] { return &d.fences }),
			may("heartbeats", "Where machines report by themselves, for heartbeat checks: by `POST "+
				"/heartbeat/FLEET/MACHINE/CHECK`.", heartbeatsShape(),
				func(d *document) *at[heartbeatsDraft] { return &d.heartbeats }),
		},
		later: map[string]string{
			"alarms":    "take it out",
			"workflows": "take it out",
			"vantages":  "checks run where hale runs; for its own network see vantage",
		},
	}
}

func providerShape() object[providerDraft] {
	return object[providerDraft]{
		fields: slices.Concat([]field[providerDraft]{
			must("type", "libvirt", "The adapter: `libvirt` for QEMU under libvirt, `openstack` for a project of an "+
				"OpenStack cloud, `vsphere` for a datacenter of VMware vCenter, `exec` for anything else, by a "+
				"program of your own, `simulated` for machines that exist only inside hale, to try a configuration.",
				choice(map[string]string{
					"proxmox": "use exec", "incus": "use exec",
				}, ProviderLibvirt, ProviderOpenStack, ProviderVSphere, ProviderExec, ProviderSimulated),
				func(p *providerDraft) *at[ProviderType] { return &p.kind }),
			may("uri", "libvirt only: the one daemon, as `qemu:///system`, `qemu:///session`, "+
				"`qemu+unix:///system?socket=/path` `qemu+tls://host/system`, `qemu+ssh://user@host/system` (with "+
				"`?socket=/path` where it is not the usual one) or `qemu+tcp://host/system`. It needs exactly one of "+
				"uri and hosts.",
				text("a libvirt address", "qemu:///system"),
				func(p *providerDraft) *at[string] { return &p.uri }),
			may("cloud", "openstack only, and needed there: which cloud, as clouds.yaml describes it; the "+
				"credentials are for one project, which is the provider.",
				cloudShape(), func(p *providerDraft) *at[cloudDraft] { return &p.cloud }),
			may("vcenter", "vsphere only, and needed there: which vCenter, and where in it.", vcenterShape(),
				func(p *providerDraft) *at[vcenterDraft] { return &p.vcenter }),
			may("events", "openstack only: the cloud's message bus, on which Nova says at once what happens to "+
				"servers. Without it, hale sees it with the next poll.",
				eventsShape(), func(p *providerDraft) *at[eventsDraft] { return &p.events }).said("none"),
			may("hosts", "Several hosts; a machine that is recreated may land on another one. Under libvirt each has "+
				"a daemon. Under openstack these are the cloud's hypervisors, as `openstack compute service list` "+
				"names them: with one of them named, hale watches all, which takes credentials that may see them; "+
				"see on_host_disabled and the steps evacuate and migrate.",
				list[hostDraft]{noun: "one host", each: hostShape()},
				func(p *providerDraft) *at[[]at[hostDraft]] { return &p.hosts }),
			fencePriority(),
			or("state_dir", defaultStateDir,
				"libvirt only: the folder, on each host, for the disks and seeds of instances.",
				text("an absolute path", defaultStateDir), func(p *providerDraft) *at[string] { return &p.stateDir }),
			or("poll", defaultPoll, "The time from one listing of all instances to the next. Changes that the "+
				"provider announces are seen at once.", duration(500*time.Millisecond, time.Hour),
				func(p *providerDraft) *at[time.Duration] { return &p.poll }),
			may("list_within", "How long one listing may take. A provider that takes longer counts as down until one "+
				"succeeds: nothing is repaired there meanwhile. A large cloud, or one behind a slow network, needs more.", duration(time.Second, 10*time.Minute),
				func(p *providerDraft) *at[time.Duration] { return &p.within }).said(
				"30s of openstack and vsphere, 10s of others"),
			or("boot", defaultBoot, "Simulated only: the time from power on until the checks are answered.",
				duration(0, time.Hour), func(p *providerDraft) *at[time.Duration] { return &p.boot }),
			part("limits", "How many machines of all fleets may be in repair at once on this "+
				"provider, and in each domain of it.", providerLimitsShape(),
				func(p *providerDraft) *at[sharedDraft] { return &p.limits }),
			or("latency", defaultLatency, "Simulated only: how long each call takes.", duration(0, time.Minute),
				func(p *providerDraft) *at[time.Duration] { return &p.latency }),
			may("machines", "Simulated only: machines that somebody else made, by their names, to try "+
				"fleets.FLEET.select.",
				list[string]{noun: "one name", each: name()},
				func(p *providerDraft) *at[[]at[string]] { return &p.machines }),
		}, remoteFields(), execFields()),
		later: map[string]string{ //nolint:gosec // hints, and no passwords
			"user": "write it into sasl, or into uri with qemu+ssh", "username": "write it into sasl, or into uri " +
				"with qemu+ssh",
			"password": "write sasl: {user: …, password: {file: PATH}}",
		},
	}
}

func hostShape() object[hostDraft] {
	return object[hostDraft]{fields: []field[hostDraft]{
		must("name", "h1", "The host's name within the provider; under openstack, the hypervisor's.", hostName(),
			func(h *hostDraft) *at[string] { return &h.name }),
		may("uri", "libvirt only, and needed there: its libvirt daemon, as in uri of the provider.",
			text("a libvirt address", "qemu+tls://h1/system"), func(h *hostDraft) *at[string] { return &h.uri }),
		may("rack", "The rack that it stands in, whose machines share a fate. See fleets.FLEET.shared_fate.",
			text("a rack",
				"r1"),
			func(h *hostDraft) *at[string] { return &h.rack }),
		may("room", "The room that it stands in.", text("a room", "m1"),
			func(h *hostDraft) *at[string] { return &h.room }),
		may("zone", "The zone that it stands in.", text("a zone", "z1"),
			func(h *hostDraft) *at[string] { return &h.zone }),
		may("storage", "What its machines' disks lie on, where several hosts share it.", text("a storage", "nas1"),
			func(h *hostDraft) *at[string] { return &h.storage }),
		may("address", "Its own address, which answers pings as long as hale reaches what is on it: a machine that "+
			"is silent and alone there has no other witness. It need not be said under libvirt, under vSphere (the "+
			"management card's), and where Nova tells it (os-hypervisors). See fleets.FLEET.silence.", address(),
			func(h *hostDraft) *at[netip.Addr] { return &h.address }).said("what the provider says"),
		hostFences(),
		hostFenceDelay(),
	}}
}

func vantageShape() object[vantageDraft] {
	return object[vantageDraft]{fields: []field[vantageDraft]{
		may("canaries", "Addresses that answer pings as long as hale's own network works. When none does, hale takes "+
			"itself to be cut off: checks count for nothing, nothing begins, and a person is paged once.",
			list[netip.Addr]{noun: "one address", each: address()},
			func(v *vantageDraft) *at[[]at[netip.Addr]] { return &v.canaries }),
		or("gateway", false, "Take the default gateway of hale's server for a canary, too, as the system names it "+
			"when hale starts.", boolean(),
			func(v *vantageDraft) *at[bool] { return &v.gateway }),
		or("every", defaultCanaryEvery, "The time from one ping to the next. No longer than that of the fastest "+
			"check, or a machine is down before the canaries are.", duration(100*time.Millisecond, time.Hour),
			func(v *vantageDraft) *at[time.Duration] { return &v.every }),
		or("timeout", defaultCanaryTimeout, "When no answer is a failure; shorter than every.",
			duration(10*time.Millisecond, time.Minute),
			func(v *vantageDraft) *at[time.Duration] { return &v.timeout }),
	}}
}

func sharedFateShape() object[sharedFateDraft] {
	return object[sharedFateDraft]{fields: []field[sharedFateDraft]{
		or("then", defaultFateThen, "What follows. Machines that are only silent are held in any case, and what the "+
			"cause left off is started. `page`: tell a person at once, once for all of them. `wait`: tell one when "+
			"it lasts longer than wait. `evacuate`: when it lasts longer than wait, tell one and recreate the "+
			"machines on hosts outside the domain; needs the step recreate, and the usual proof that the old "+
			"instance is off.",
			choice(nil, fleet.FateWait, fleet.FatePage, fleet.FateEvacuate),
			func(s *sharedFateDraft) *at[fleet.FateAnswer] { return &s.then }),
		or("at_least", defaultFateAtLeast, "In machines; fewer are never taken for a shared fate. 0: nobody's fate is.",
			integer(0, maxSize),
			func(s *sharedFateDraft) *at[int] { return &s.atLeast }),
		or("wait", defaultFateWait, "How long it may last.", duration(0, 24*time.Hour),
			func(s *sharedFateDraft) *at[time.Duration] { return &s.wait }),
	}}
}

func fleetShape() object[fleetDraft] {
	size := integer(1, maxSize)
	size.mapping = flawf("give a number", "scaling is not available yet")
	return object[fleetDraft]{
		fields: []field[fleetDraft]{
			must("provider", "lab", "The provider that the machines live on, by its name.", name(),
				func(f *fleetDraft) *at[string] { return &f.provider }),
			may("size", "How many machines there shall be. Needed, unless select takes machines that exist already: "+
				"then a person is paged when another number of them was adopted for longer than blind_after.", size,
				func(f *fleetDraft) *at[int] { return &f.size }).said("with select: as many as there are"),
			may("select", "Take machines that exist already instead of building some. What is selected is watched, "+
				"and adopted as soon as it was seen healthy; nothing is written on it, and nothing done to it. A "+
				"machine that bears the mark of another fleet or of another hale is never taken, and what two fleets "+
				"select neither adopts.", selectShape(), func(f *fleetDraft) *at[selectDraft] { return &f.selects }),
			part("adopt", "What may be done with machines that select takes.", adoptShape(),
				func(f *fleetDraft) *at[adoptDraft] { return &f.adopt }),
			part("template", "What each machine is built from. With select: what replaces one that is replaceable.",
				templateShape(),
				func(f *fleetDraft) *at[templateDraft] { return &f.template }),
			may("checks", "The probes that are sent to each machine, by name.",
				mapping[checkDraft]{key: "CHECK", each: checkShape()},
				func(f *fleetDraft) *at[[]named[checkDraft]] { return &f.checks }),
			may("unhealthy_when", "Which checks must be down for a machine to be unhealthy. The word `provider` "+
				"stands for the provider's own word (off, gone, crashed); as long as the condition does not name it, "+
				"that word counts by itself.",
				conditionShape(), func(f *fleetDraft) *at[conditionDraft] { return &f.unhealthyWhen }).said(
				"any check is down"),
			part("repair", "How a machine is repaired.", repairShape(),
				func(f *fleetDraft) *at[repairDraft] { return &f.repair }),
			may("protect", "Machines that are never disrupted, by their names: what is off is started, and for all "+
				"else a person is paged.",
				list[string]{noun: "one machine", each: text("a machine of the fleet", "web-1")},
				func(f *fleetDraft) *at[[]at[string]] { return &f.protect }).said("none"),
			part("limits", "How much may be done to the fleet at once.", limitsShape(),
				func(f *fleetDraft) *at[limitsDraft] { return &f.limits }),
			part("update", "How another template goes through the fleet, once a person confirmed it.", updateShape(),
				func(f *fleetDraft) *at[updateDraft] { return &f.update }),
			part("shared_fate", "When at least half of a domain's machines fail, and so many would hardly do so by "+
				"chance, they share a fate: one incident, whose machines are held. Domains are hosts, what their "+
				"labels name (rack, room, zone, storage), and networks.", sharedFateShape(),
				func(f *fleetDraft) *at[sharedFateDraft] { return &f.sharedFate }),
			part("placement", "On which hosts new instances are built. What stands is never moved for it.",
				placementShape(),
				func(f *fleetDraft) *at[placementDraft] { return &f.placement }),
			part("evidence", "What is kept of a machine before the first reboot, rebuild or recreate of an instance "+
				"in an incident: the last results, the end of its console, a screenshot. `hale evidence` shows it.",
				evidenceShape(), func(f *fleetDraft) *at[evidenceDraft] { return &f.evidence }),
			may("on_external_stop", "What a stop by somebody else means, and a shutdown in order of which the "+
				"provider does not know by whom. `hold`: leave the machine alone for a while, then page; `{hold: "+
				"30m}` says for how long. `heal`: treat it like a failure.", stopShape(),
				func(f *fleetDraft) *at[stopDraft] { return &f.onExternalStop }).said(
				"hold for " + formatDuration(defaultStopHold)),
			or("on_host_disabled", fleet.HostDisabledIgnore, "What it means for a machine that somebody disabled its "+
				"host, or has it in maintenance (openstack with hosts). `ignore`: nothing, it runs on. `heal`: treat "+
				"it like a failure, which only the steps migrate and recreate mend.",
				choice(nil, fleet.HostDisabledIgnore, fleet.HostDisabledHeal),
				func(f *fleetDraft) *at[fleet.HostDisabled] { return &f.onHostDisabled }),
			or("silence", fleet.SilenceHolds, "What it means that a machine does not answer, while its provider "+
				"says that it runs, and nothing bears witness that hale would hear it: no other machine on its "+
				"host, not the host's own address, not its guest's agent. `hold`: only the way there may be broken, "+
				"so a person is told. `act`: it has failed.",
				choice(nil, fleet.SilenceHolds, fleet.SilenceActs),
				func(f *fleetDraft) *at[fleet.SilencePolicy] { return &f.silence }),
			or("mode", defaultMode, "`observe`: watch and record what would be done, but do nothing.",
				choice(nil, fleet.ModeAct, fleet.ModeObserve), func(f *fleetDraft) *at[fleet.Mode] { return &f.mode }),
			or("grace", defaultGrace, "How long a machine that was just started may fail its checks.",
				duration(time.Second, 24*time.Hour), func(f *fleetDraft) *at[time.Duration] { return &f.grace }),
			or("build_within", defaultBuildWithin, "How long a new instance may take to become healthy; afterwards "+
				"it is removed and built again. As with verify_within, not less than what the checks need to say so.",
				duration(time.Second, 24*time.Hour),
				func(f *fleetDraft) *at[time.Duration] { return &f.buildWithin }),
			or("blind_after", defaultBlindAfter, "How long nothing may be known of a machine before a person is "+
				"paged. Blindness never repairs.", duration(time.Second, 24*time.Hour),
				func(f *fleetDraft) *at[time.Duration] { return &f.blindAfter }),
			or("history", defaultHistory, "How long the journal keeps the fleet's events (repairs, orders, pages and "+
				"so on), as `hale events` prints them. All fleets share 1 GiB of the store, and one takes 32 MiB at "+
				"most: where that does not suffice, the oldest events go earlier.",
				duration(24*time.Hour, 3650*24*time.Hour),
				func(f *fleetDraft) *at[time.Duration] { return &f.history }),
			may("notify", "Who is told when a person must look at the fleet: names of targets, a mapping with more, "+
				"or `none`.", fleetNotifyShape(),
				func(f *fleetDraft) *at[notifyDraft] { return &f.notify }).said("all targets under notify"),
		},
		later: map[string]string{
			"scaling": "give size a number",
		},
	}
}

func selectShape() object[selectDraft] {
	pattern := text("a name, or a pattern", "db-*")
	return object[selectDraft]{fields: []field[selectDraft]{
		may("name", "The machine's name at its provider: `*` stands for any characters, also none, and `?` for any "+
			"one. Where several of name, metadata and tags are given, all must hold; one must be given.", pattern,
			func(s *selectDraft) *at[string] { return &s.name }),
		may("metadata", "Texts that the machine bears at its provider, by their keys: all of them, as they are. Of "+
			"what a machine bears, 4 KiB are read, in the order of the keys.",
			mapping[string]{key: "KEY", names: metadataKeys, each: text("a text", "database")},
			func(s *selectDraft) *at[[]named[string]] { return &s.metadata }),
		may("tags", "Words that the machine is tagged with, all of them. OpenStack only, and simulated.",
			list[string]{noun: "one tag", each: text("a tag",
				"database")},
			func(s *selectDraft) *at[[]at[string]] { return &s.tags }),
		may("except", "Names, or patterns of such, that are not meant all the same.",
			list[string]{noun: "one name", each: pattern},
			func(s *selectDraft) *at[[]at[string]] { return &s.except }),
	}}
}

func adoptShape() object[adoptDraft] {
	return object[adoptDraft]{fields: []field[adoptDraft]{
		or("replaceable", false, "`true`: the step recreate may destroy a machine and build another one from the "+
			"template. `false`: it is started, resumed and rebooted, and never destroyed.", boolean(),
			func(a *adoptDraft) *at[bool] { return &a.replaceable }),
	}}
}

func templateShape() object[templateDraft] {
	return object[templateDraft]{fields: []field[templateDraft]{
		may("image", "A qcow2 base image; each instance gets an overlay of its own. A template has one of image, "+
			"kernel and xml. Relative paths begin at the folder of this file. In a cloud: the image's name or id. On "+
			"vSphere: the path of a template below the datacenter's folder of machines.", text("a path", "web.qcow2"),
			func(t *templateDraft) *at[string] { return &t.image }),
		may("kernel", "Direct boot of this kernel, together with initrd; the machine has no disk.", text("a path",
			"vmlinuz"),
			func(t *templateDraft) *at[string] { return &t.kernel }),
		may("initrd", "The initial RAM disk for kernel.", text("a path", "initrd.img"),
			func(t *templateDraft) *at[string] { return &t.initrd }),
		may("cmdline", "The command line for kernel.", text("a kernel command line", "console=ttyS0"),
			func(t *templateDraft) *at[string] { return &t.cmdline }),
		or("memory", defaultMemory, "Main memory. On vSphere, without it: the template's.", size(16<<20, 16<<40),
			func(t *templateDraft) *at[uint64] { return &t.memory }),
		or("cpus", defaultCPUs, "Virtual processors. On vSphere, without it: the template's.", integer(1, 1024),
			func(t *templateDraft) *at[int] { return &t.cpus }),
		or("network", defaultNetwork, "The provider's network that the machine is attached to. On vSphere, without "+
			"it: the template's.", text("a network's name", "default"),
			func(t *templateDraft) *at[string] { return &t.network }),
		may("disks", "The disks, by name. `root` is the one made from image; with xml, name those that it has, or {} "+
			"when there is none. `ephemeral`: it is lost in a recreate. `keep`: it may not be lost, which forbids "+
			"the recreate. With a size, the disk is made for the machine, and attached to each of its instances in turn.", mapping[diskDraft]{
			key: "DISK", each: diskShape(),
		}, func(t *templateDraft) *at[[]named[diskDraft]] { return &t.disks }).said("root: keep, with an image"),
		may("user_data", "cloud-init user data, given to the machine as a NoCloud seed: the text, or `{file: PATH}`. "+
			"Put no secrets here; `{heartbeat.CHECK}` becomes the machine's own token of a heartbeat check with a "+
			"`secret`.", textShape("user data", "seed.yaml"),
			func(t *templateDraft) *at[textDraft] { return &t.userData }),
		or("seed", false, "Add a NoCloud seed, which sets the host name, also without user_data.", boolean(),
			func(t *templateDraft) *at[bool] { return &t.seed }),
		may("xml", "Your own libvirt domain, a Go text/template: the text, or `{file: PATH}`.", textShape("domain XML",
			"web.xml"),
			func(t *templateDraft) *at[textDraft] { return &t.xml }),
		may("server", "openstack only, and needed there: what the cloud is told of a machine, beside image, network "+
			"and user_data. Names may be ids.", serverShape(),
			func(t *templateDraft) *at[serverDraft] { return &t.server }),
		or("accel", defaultAccel, "`auto`: KVM where the processor really has it, emulation elsewhere.",
			choice(nil, fleet.AccelAuto, fleet.AccelKVM, fleet.AccelTCG),
			func(t *templateDraft) *at[fleet.Accel] { return &t.accel }),
		may("metadata", "Texts that each instance bears at its provider, by keys, for `{meta.KEY}` in programs and "+
			"for people. Put no secrets here.",
			mapping[string]{key: "KEY", names: metadataKeys, each: text("a text", "database")},
			func(t *templateDraft) *at[[]named[string]] { return &t.metadata }),
		templateOptions(),
	}}
}

func diskShape() shorthand[diskDraft, diskKind] {
	return shorthand[diskDraft, diskKind]{
		short: choice(nil, diskEphemeral, diskKeep),
		long: object[diskDraft]{fields: []field[diskDraft]{
			must("size", "1GiB", "Make an empty disk of this size. The guest finds it by its serial number, which is "+
				"the disk's name; with xml, `{{.Disks.DISK}}` is its path.", size(1<<20, 1<<50),
				func(d *diskDraft) *at[uint64] { return &d.size }),
			or("keep", true, "Whether it outlives the instances: the next one gets the very same disk. It is made "+
				"once, and never removed by hale.",
				boolean(), func(d *diskDraft) *at[bool] { return &d.keep }),
			may("type", "openstack only: the type of volume that it is made as.", text("a type of volume",
				"ssd"), func(d *diskDraft) *at[string] { return &d.made }).
				said("Cinder's default"),
		}},
		take: func(kind at[diskKind]) diskDraft { return diskDraft{kind: kind} },
	}
}

func textShape(noun, file string) shorthand[textDraft, string] {
	return shorthand[textDraft, string]{
		short: text(noun, "{file: "+file+"}"),
		long: object[textDraft]{fields: []field[textDraft]{
			must("file", file, "The file that holds the text.", text("a path", file),
				func(t *textDraft) *at[string] { return &t.file }),
		}},
		take: func(inline at[string]) textDraft { return textDraft{inline: inline} },
	}
}

func conditionShape() shorthand[conditionDraft, string] {
	conditions := func() list[conditionDraft] {
		return list[conditionDraft]{noun: "one check", each: recursive[conditionDraft]{ref: "condition",
			shape: conditionOf}}
	}
	return shorthand[conditionDraft, string]{
		short: name(),
		long: object[conditionDraft]{fields: []field[conditionDraft]{
			may("any", "At least one of these.", conditions(),
				func(c *conditionDraft) *at[[]at[conditionDraft]] { return &c.any }),
			may("all", "All of these.", conditions(),
				func(c *conditionDraft) *at[[]at[conditionDraft]] { return &c.all }),
			may("at_least", "So many of those under of.", integer(1, maxSize),
				func(c *conditionDraft) *at[int] { return &c.atLeast }),
			may("of", "What at_least counts.", conditions(),
				func(c *conditionDraft) *at[[]at[conditionDraft]] { return &c.of }),
		}},
		take: func(term at[string]) conditionDraft { return conditionDraft{term: term} },
	}
}

func conditionOf() shape[conditionDraft] { return conditionShape() }

func repairShape() object[repairDraft] {
	return object[repairDraft]{
		fields: []field[repairDraft]{
			may("steps", "The ladder: steps in the order in which they are tried, the gentlest first.",
				list[stepDraft]{noun: "one step, or set mode: observe", each: stepShape()},
				func(r *repairDraft) *at[[]at[stepDraft]] { return &r.steps }).
				said("start, reboot, recreate; without recreate where it would lose a disk; with select: start, " +
					"resume, reboot, page"),
			part("fence", "What must be known of the old instance before a new one may start.", object[fenceDraft]{
				fields: []field[fenceDraft]{
					or("proof", defaultProof, "`confirmed-off`: the provider reports it off, after the order. "+
						"`confirmed-deleted`: it is gone as well. `access-cut`: where its host does not answer, it "+
						"is enough that nothing on it can write: a `cut` says so, and it may run on.",
						choice(map[string]string{
							string(fleet.ProofWatchdog): "nothing proves from outside that a host honours its " +
								"watchdog: choose confirmed-off",
						}, fleet.ProofConfirmedOff, fleet.ProofDeleted, fleet.ProofAccessCut),
						func(f *fenceDraft) *at[fleet.Proof] { return &f.proof }),
					fenceHosts(), fenceWord(),
				},
				later: map[string]string{"via": "take it out; the provider itself is asked",
					"devices": "take it out; the provider itself is asked"},
			}, func(r *repairDraft) *at[fenceDraft] { return &r.fence }),
			or("attempts", defaultAttempts, "So many repairs of one machine within the time; then it goes into "+
				"quarantine and a person is paged.", attempts(), func(r *repairDraft) *at[rate] { return &r.attempts }),
			or("backoff", defaultBackoff, "The wait before the second repair within that time; it doubles with each "+
				"further one.",
				duration(0, time.Hour), func(r *repairDraft) *at[time.Duration] { return &r.backoff }),
			may("windows", "When repairs and their further steps may begin; at other times a machine that fails is "+
				"held. Building what is missing from the start is no repair.",
				list[windowDraft]{noun: "one window", each: windowShape()},
				func(r *repairDraft) *at[[]at[windowDraft]] { return &r.windows }).said("always"),
			may("not_every", "When they may not, whatever windows says.",
				list[windowDraft]{noun: "one window", each: windowShape()},
				func(r *repairDraft) *at[[]at[windowDraft]] { return &r.notEvery }).said("never"),
		},
	}
}

func windowShape() object[windowDraft] {
	return object[windowDraft]{fields: []field[windowDraft]{
		must("at", "0 2 * * *", "When it opens, as cron has it: minute, hour, day of the month, name or number of "+
			"the month, day of the week.", text("a cron expression", "0 2 * * 1-5"),
			func(w *windowDraft) *at[string] { return &w.at }),
		must("for", "4h", "How long it stays open.", duration(time.Minute, 7*24*time.Hour),
			func(w *windowDraft) *at[time.Duration] { return &w.lasts }),
		or("zone", "UTC", "The time zone of at, as `Europe/Berlin`; `Local` is that of hale's server.",
			text("a time zone",
				"Europe/Berlin"),
			func(w *windowDraft) *at[string] { return &w.zone }),
	}}
}

func stepShape() oneOf[stepDraft] {
	return oneOf[stepDraft]{
		noun: "a step",
		kinds: map[string]shape[stepDraft]{
			string(fleet.StepStart):    startShape(),
			string(fleet.StepResume):   resumeShape(),
			string(fleet.StepReboot):   rebootShape(),
			string(fleet.StepRebuild):  rebuildShape(),
			string(fleet.StepRecreate): recreateShape(),
			string(fleet.StepEvacuate): evacuateShape(),
			string(fleet.StepMigrate):  migrateShape(),
			string(fleet.StepRescue):   rescueShape(),
			string(fleet.StepRun):      runShape(),
			string(fleet.StepSnapshot): snapshotShape(),
			string(fleet.StepPage):     pageShape(),
			string(fleet.StepQuarantine): kindOf{kind: fleet.StepQuarantine, doc: "Leave it to a person, who is " +
				"paged: nothing touches it any more. Only as the last step.",
				object: object[stepDraft]{fields: []field[stepDraft]{onlyFor()}}},
		},
		later: map[string]string{
			"revert": "take the step out", "workflow": "take the step out",
		},
	}
}

// kindOf makes a step's options into a step of the kind.
type kindOf struct {
	object[stepDraft]
	kind fleet.StepKind
	doc  string
}

func (k kindOf) read(r *reader, n node) (stepDraft, bool) {
	s, ok := k.object.read(r, n)
	s.kind = k.kind
	return s, ok
}

func (k kindOf) schema() *schema {
	s := k.object.schema()
	s.Description = k.doc
	return s
}

func callTimeout(otherwise time.Duration) field[stepDraft] {
	return or("timeout", otherwise, "The limit of each call to the provider; after it the outcome is unknown and is "+
		"looked at first.",
		duration(time.Second, time.Hour), func(s *stepDraft) *at[time.Duration] { return &s.timeout })
}

func verifyWithin() field[stepDraft] {
	return or("verify_within", defaultVerifyWithin, "How long the machine may take to be healthy again before the "+
		"next step is tried. Not less than what the checks need to say so: `every` as often as `up_after`, and "+
		"`timeout`. Where nothing is written it is at least twice that.",
		duration(time.Second, time.Hour), func(s *stepDraft) *at[time.Duration] { return &s.verifyWithin })
}

func onlyFor() field[stepDraft] {
	return may("for", "The checks that the step is for: it is tried only while one of them is down. The word "+
		"`provider` stands for the provider's own word (off, gone, crashed).",
		list[string]{noun: "one check", each: name()},
		func(s *stepDraft) *at[[]at[string]] { return &s.only }).said("whatever the fault is")
}

func runShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepRun, doc: "Run a command on hale's side, for instance a playbook that applies the " +
		"machine's configuration again. Tried when the machine runs. " +
		"Exit code 0, and then a healthy machine, is a success. What it says is kept with the repair, the beginning " +
		"and the end.", object: object[stepDraft]{fields: []field[stepDraft]{
		must("command", "[/usr/bin/ansible-playbook, -i, \"{ip},\", site.yaml]",
			"The program and its arguments, without a shell. "+
				placeholdersSaid+"When its time is over, or hale loses the fleet to another server, it is killed with "+
				"everything that it started. Put no secrets here: everybody on the server can read them.",
			list[string]{noun: "the program", each: text("a word of the command", "/usr/bin/ansible-playbook")},
			func(s *stepDraft) *at[[]at[string]] { return &s.command }),
		may("env", envSaid, mapping[valueDraft]{
			key: "VARIABLE", names: variableNames, each: valueShape("the variable's value", "production"),
		}, func(s *stepDraft) *at[[]named[valueDraft]] { return &s.env }),
		or("idempotent", false, "It may be run again at any time. Else, when hale dies while it runs, it is unknown "+
			"how far it came, and the machine is left to a person.",
			boolean(), func(s *stepDraft) *at[bool] { return &s.idempotent }),
		or("timeout", defaultRunTimeout, "When it is killed, and the step has failed.",
			duration(time.Second, time.Hour),
			func(s *stepDraft) *at[time.Duration] { return &s.timeout }),
		verifyWithin(), onlyFor(),
	}}}
}

func snapshotShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepSnapshot, doc: "Copy the disks that a later rebuild or recreate would lose, " +
		"whether the machine runs or not. It heals nothing: the next step follows. The " +
		"copy is made once per incident and instance, outlives both, and can be read without any other file. It " +
		"takes room and time at the host: of a disk of 20 GiB " +
		"that holds 4, about 4 GiB.", object: object[stepDraft]{fields: []field[stepDraft]{
		or("keep", defaultSnapshotKeep, "So many copies of a machine's disks are kept; the oldest goes when another "+
			"one is whole.", integer(1, 20),
			func(s *stepDraft) *at[int] { return &s.keep }),
		or("keep_for", defaultSnapshotKeepFor, "For so long each of them.", duration(time.Minute, 365*24*time.Hour),
			func(s *stepDraft) *at[time.Duration] { return &s.keepFor }),
		or("on_failure", defaultSnapshotOnFailure, "What to do when there is no room for the copy, or it fails: "+
			"`stop`, leave the machine to a person, or `continue` with the next step, which may lose the disks.",
			choice(nil, fleet.OnFailureStop, fleet.OnFailureContinue),
			func(s *stepDraft) *at[fleet.OnFailure] { return &s.onFailure }),
		or("timeout", defaultSnapshotTimeout, "The limit of each try; there are three at most, and a copy under way "+
			"is gone on with.", duration(time.Second, 12*time.Hour),
			func(s *stepDraft) *at[time.Duration] { return &s.timeout }),
		onlyFor(),
	}}}
}

func pageShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepPage, doc: "Tell a person, once per incident, and go on with the next step.",
		object: object[stepDraft]{fields: []field[stepDraft]{
			or("wait", time.Duration(0), "How long that person has before the next step is tried.",
				duration(0, 24*time.Hour),
				func(s *stepDraft) *at[time.Duration] { return &s.verifyWithin }),
			onlyFor(),
		}}}
}

func startShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepStart, doc: "Power it on. Tried when the provider says that it is off.",
		object: object[stepDraft]{fields: []field[stepDraft]{verifyWithin(), callTimeout(defaultCallTimeout),
			onlyFor()}}}
}

func resumeShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepResume, doc: "Let it go on where it was. Tried when it suspended itself, and, with " +
		"on_external_stop: heal, when " +
		"it was paused from outside. One that was paused because its disk cannot be written is left to a person in " +
		"any case.",
		object: object[stepDraft]{fields: []field[stepDraft]{verifyWithin(), callTimeout(defaultCallTimeout),
			onlyFor()}}}
}

func rebootShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepReboot, doc: "Reboot it. Tried when it runs. A ladder can have both modes.",
		object: object[stepDraft]{fields: []field[stepDraft]{
			or("mode", defaultRebootMode, "`hard`: a reset, without asking the guest. `soft`: ask the guest (its "+
				"agent, else its power button); one that does not listen is not healthy within verify_within, and "+
				"the next step is tried.", choice(nil, fleet.RebootHard, fleet.RebootSoft),
				func(s *stepDraft) *at[fleet.RebootMode] { return &s.mode }),
			verifyWithin(), callTimeout(defaultCallTimeout), onlyFor(),
		}}}
}

func rebuildShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepRebuild, doc: "Make sure that it is off, give it a new disk from the template's " +
		"image, and start it: the same instance, at the same address. What is on its " +
		"disk is lost. It has the fleet's build_within to become healthy.",
		object: object[stepDraft]{fields: []field[stepDraft]{callTimeout(defaultRecreateTimeout), onlyFor()}}}
}

func evacuateShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepEvacuate, doc: "Have the provider start it on another host: the same instance, at " +
		"the same address, with a new disk unless hosts share it. Tried when its host " +
		"does not answer, after that was proven off (repair.fence). It has the fleet's build_within to become " +
		"healthy. openstack with hosts only.",
		object: object[stepDraft]{fields: []field[stepDraft]{callTimeout(defaultRecreateTimeout), onlyFor()}}}
}

func migrateShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepMigrate, doc: "Move it to another host while it runs. Tried when its host is " +
		"disabled, with on_host_disabled: heal. openstack with hosts only.",
		object: object[stepDraft]{fields: []field[stepDraft]{verifyWithin(), callTimeout(defaultRecreateTimeout),
			onlyFor()}}}
}

func rescueShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepRescue, doc: "Stop it, and have the provider start a rescue system in its place, " +
		"with its disk beside: nothing on that is changed. A person is paged, and the machine is left to them " +
		"until they end that at the provider; then it is judged as any other that a person started. After it there " +
		"can only be page and quarantine, for when it fails. openstack only.",
		object: object[stepDraft]{fields: []field[stepDraft]{verifyWithin(), callTimeout(defaultRecreateTimeout),
			onlyFor()}}}
}

func recreateShape() shape[stepDraft] {
	return kindOf{kind: fleet.StepRecreate, doc: "Make sure that the old instance is off, delete it and build a new " +
		"one from the template. " +
		"It has the fleet's build_within to become healthy. After it there can only be page and quarantine.",
		object: object[stepDraft]{
			fields: []field[stepDraft]{
				or("on_delete_failure", defaultOnDeleteFailure, "What to do when the old instance is off but cannot "+
					"be deleted: `stop` and page, or `continue` with the new one.",
					choice(nil, fleet.DeleteFailureStop, fleet.DeleteFailureContinue),
					func(s *stepDraft) *at[fleet.OnDeleteFailure] { return &s.onDeleteFailure }),
				may("keep_old", "Keep the old instance for so long, powered off and under another name, instead of "+
					"deleting it: `hale undo` brings it back. An update to another template keeps it, too. A disk "+
					"that would be lost is then kept with it, so that the recreate is allowed.",
					duration(time.Minute, 90*24*time.Hour),
					func(s *stepDraft) *at[time.Duration] { return &s.keepOld }),
				callTimeout(defaultRecreateTimeout), onlyFor(),
			},
			later: map[string]string{
				"verify_within": "use the fleet's build_within",
				"elsewhere":     "take it out",
			},
		}}
}

func evidenceShape() object[evidenceDraft] {
	return object[evidenceDraft]{fields: []field[evidenceDraft]{
		or("gather", true, "Whether anything is kept at all.", boolean(),
			func(e *evidenceDraft) *at[bool] { return &e.gather }),
		or("console", uint64(fleet.ConsoleLimit), "So much of the console's end. A guest may write secrets there: "+
			"whoever may use hale's socket can read them.",
			size(1<<10, 64<<10), func(e *evidenceDraft) *at[uint64] { return &e.console }),
		or("screenshot", true, "Whether what is on its screen is kept, up to 256KiB.", boolean(),
			func(e *evidenceDraft) *at[bool] { return &e.screenshot }),
		or("wait", fleet.GatherLimit, "A repair waits for it at most so long, whatever happens.",
			duration(time.Second, 30*time.Second),
			func(e *evidenceDraft) *at[time.Duration] { return &e.wait }),
	}}
}

func updateShape() object[updateDraft] {
	return object[updateDraft]{fields: []field[updateDraft]{
		or("canary", defaultCanary, "So many machines are built from it first. When one of them does not become "+
			"healthy, the others keep theirs.",
			integer(1, maxSize), func(u *updateDraft) *at[int] { return &u.canary }),
		or("soak", defaultSoak, "For so long all of these must be healthy before the others follow, as many at once "+
			"as `in_repair` allows.",
			duration(0, 7*24*time.Hour), func(u *updateDraft) *at[time.Duration] { return &u.soak }),
	}}
}

func stopShape() shorthand[stopDraft, fleet.ExternalStop] {
	return shorthand[stopDraft, fleet.ExternalStop]{
		short: choice(nil, fleet.ExternalStopHoldThenPage, fleet.ExternalStopHeal),
		long: object[stopDraft]{fields: []field[stopDraft]{
			must("hold", formatDuration(defaultStopHold),
				"For how long the machine is left alone before a person is paged.",
				duration(0, 30*24*time.Hour), func(s *stopDraft) *at[time.Duration] { return &s.hold }),
		}},
		take: func(word at[fleet.ExternalStop]) stopDraft { return stopDraft{word: word} },
	}
}
