package fleets

import (
	"slices"
	"time"

	"hale/internal/config/sizes"
	"hale/internal/config/updates"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

func sharedFateShape() keys.Object[sharedFateDraft] {
	return keys.Object[sharedFateDraft]{Fields: []keys.Field[sharedFateDraft]{
		keys.Or("then", defaultFateThen, "What follows. Machines that are only silent are held in any case, and what "+
			"the cause left off is started. `page`: tell a person at once, once for all of them. `wait`: tell one "+
			"when it lasts longer than wait. `evacuate`: when it lasts longer than wait, tell one and recreate the "+
			"machines on hosts outside the domain; needs the step recreate, and the usual proof that the old "+
			"instance is off.",
			keys.Choice(nil, policy.FateWait, policy.FatePage, policy.FateEvacuate),
			func(s *sharedFateDraft) *keys.At[policy.FateAnswer] { return &s.then }),
		keys.Or("at_least", defaultFateAtLeast,
			"In machines; fewer are never taken for a shared fate. 0: nobody's fate is.",
			keys.Integer(0, maxSize),
			func(s *sharedFateDraft) *keys.At[int] { return &s.atLeast }),
		keys.Or("wait", defaultFateWait, "How long it may last.", keys.Duration(0, 24*time.Hour),
			func(s *sharedFateDraft) *keys.At[time.Duration] { return &s.wait }),
	}}
}

// Shape is all that is written of a fleet.
func Shape(all kinds.All) keys.Object[Draft] {
	return keys.Object[Draft]{
		Fields: slices.Concat(fleetMachines(all), fleetPolicies(), fleetMeanings(), fleetTimes(),
			fleetSurroundings()),
	}
}

// fleetMachines are the keys of what a fleet is: its machines, and how they are asked.
func fleetMachines(all kinds.All) []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.Must("provider", "lab", "The provider that the machines live on, by its name.", keys.Name(),
			func(f *Draft) *keys.At[string] { return &f.provider }),
		keys.May("size", sizes.Said, sizes.Shape(), func(f *Draft) *keys.At[sizes.Draft] { return &f.size }).
			Said("with select: as many as there are"),
		sparesField(),
		keys.May("after", "The fleets that come first. While less than half of the machines of one of them are "+
			"healthy, or that is not known, hale repairs and builds nothing here, and no update goes on. What people "+
			"order is done.", keys.List[string]{Noun: "one fleet", Each: keys.Name()},
			func(f *Draft) *keys.At[[]keys.At[string]] { return &f.after }),
		keys.May("select", "Take machines that exist already instead of building some. What is selected is "+
			"watched, and adopted as soon as it was seen healthy; nothing is written on it, and nothing done to "+
			"it. A machine that bears the mark of another fleet or of another hale is never taken, and what two "+
			"fleets select neither adopts.", selectShape(),
			func(f *Draft) *keys.At[selectDraft] { return &f.selects }),
		keys.Part("adopt", "What may be done with machines that select takes.", adoptShape(),
			func(f *Draft) *keys.At[adoptDraft] { return &f.adopt }),
		keys.Part("template", "What each machine is built from. With select: what replaces one that is "+
			"replaceable.",
			templateShape(all),
			func(f *Draft) *keys.At[kinds.TemplateDraft] { return &f.template }),
		keys.May("checks", "The probes that are sent to each machine, by name.",
			keys.Mapping[checkDraft]{Key: "CHECK", Each: checkShape(all)},
			func(f *Draft) *keys.At[[]keys.Named[checkDraft]] { return &f.checks }),
		keys.May("unhealthy_when", "Which checks must be down for a machine to be unhealthy. The word `provider` "+
			"stands for the provider's own word (off, gone, crashed); as long as the condition does not name it, "+
			"that word counts by itself.",
			Condition(), func(f *Draft) *keys.At[conditionDraft] { return &f.unhealthyWhen }).Said(
			"any check is down"),
	}
}

// fleetPolicies are the keys of what is done about a machine that fails, and how much at once.
func fleetPolicies() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.Part("repair", "How a machine is repaired.", repairShape(),
			func(f *Draft) *keys.At[repairDraft] { return &f.repair }),
		keys.May("protect", "Machines that are never disrupted, by their names: what is off is started, and for "+
			"all else a person is paged.",
			keys.List[string]{Noun: "one machine", Each: keys.Text("a machine of the fleet", "web-1")},
			func(f *Draft) *keys.At[[]keys.At[string]] { return &f.protect }).Said("none"),
		keys.Part("limits", "How much may be done to the fleet at once.", limitsShape(),
			func(f *Draft) *keys.At[limitsDraft] { return &f.limits }),
		keys.Part("update", "How another template goes through the fleet, once a person confirmed it.", updates.Shape(),
			func(f *Draft) *keys.At[updates.Draft] { return &f.update }),
		keys.Part("shared_fate", "When at least half of a domain's machines fail, and so many would hardly do so "+
			"by chance, they share a fate: one incident, and its machines are held. Domains are hosts, what their "+
			"labels name (rack, room, zone, storage), and networks.", sharedFateShape(),
			func(f *Draft) *keys.At[sharedFateDraft] { return &f.sharedFate }),
		keys.Part("placement", "On which hosts new instances are built. What stands is never moved for it.",
			placementShape(),
			func(f *Draft) *keys.At[placementDraft] { return &f.placement }),
		keys.Part("evidence", "What is kept of a machine before the first reboot, rebuild or recreate of an "+
			"instance in an incident: the last results, the end of its console, a screenshot. `hale evidence` "+
			"shows it.",
			evidenceShape(), func(f *Draft) *keys.At[evidenceDraft] { return &f.evidence }),
	}
}

// fleetMeanings are the keys of what a sign means that is no plain failure.
func fleetMeanings() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.May("on_external_stop", "What a stop by somebody else means, and a shutdown in order when the "+
			"provider does not know by whom. `hold`: leave the machine alone for a while, then page; `{hold: "+
			"30m}` says for how long. `heal`: treat it like a failure.", stopShape(),
			func(f *Draft) *keys.At[stopDraft] { return &f.onExternalStop }).Said(
			"hold for " + keys.FormatDuration(defaultStopHold)),
		keys.May("on_host_disabled", "What it means for a machine that its host is disabled at the provider, or in "+
			"maintenance (openstack with hosts, vsphere). `ignore`: nothing, it runs on. `heal`: treat it like a "+
			"failure, which only the steps migrate and recreate mend. `hold`: leave its machines alone until the host "+
			"has been in use again for a minute, as under `hale hold host:NAME`, and then look at them at once; "+
			"`{hold: 8h}` says for how long at most.", disabledShape(),
			func(f *Draft) *keys.At[disabledDraft] { return &f.onHostDisabled }).
			Said(string(policy.HostDisabledIgnore)),
		keys.Or("silence", policy.SilenceHolds, "What it means that a machine does not answer, while its provider "+
			"says that it runs, and nothing bears witness that hale would hear it: no other machine on its "+
			"host, not the host's own address, not its guest's agent. `hold`: only the way there may be broken, "+
			"so a person is told. `act`: it has failed.",
			keys.Choice(nil, policy.SilenceHolds, policy.SilenceActs),
			func(f *Draft) *keys.At[policy.Silence] { return &f.silence }),
	}
}

// fleetTimes are the keys of how long things may take, and of who is told.
func fleetTimes() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.Or("mode", defaultMode, "`observe`: watch and record what would be done, but do nothing.",
			keys.Choice(nil, policy.ModeAct, policy.ModeObserve),
			func(f *Draft) *keys.At[policy.Mode] { return &f.mode }),
		keys.Or("grace", defaultGrace, "How long a machine that was just started may fail its checks.",
			keys.Duration(time.Second, 24*time.Hour),
			func(f *Draft) *keys.At[time.Duration] { return &f.grace }),
		keys.Or("build_within", defaultBuildWithin, "How long a new instance may take to become healthy; "+
			"afterwards it is removed and built again. As with verify_within, not less than what the checks need "+
			"to say so.",
			keys.Duration(time.Second, 24*time.Hour),
			func(f *Draft) *keys.At[time.Duration] { return &f.buildWithin }),
		keys.Or("blind_after", defaultBlindAfter, "How long nothing may be known of a machine before a person is "+
			"paged. Blindness never repairs.", keys.Duration(time.Second, 24*time.Hour),
			func(f *Draft) *keys.At[time.Duration] { return &f.blindAfter }),
		keys.Or("history", defaultHistory, "How long the journal keeps the fleet's events (repairs, orders, "+
			"pages and so on), as `hale events` prints them. All fleets share 1 GiB of the store, and one takes "+
			"32 MiB at most: where that does not suffice, the oldest events go earlier.",
			keys.Duration(24*time.Hour, 3650*24*time.Hour),
			func(f *Draft) *keys.At[time.Duration] { return &f.history }),
		keys.May("notify", "Who is told when a person must look at the fleet: names of targets, a mapping with "+
			"more, or `none`.", fleetNotifyShape(),
			func(f *Draft) *keys.At[notifyDraft] { return &f.notify }).Said("all targets under notify"),
	}
}

func selectShape() keys.Object[selectDraft] {
	pattern := keys.Text("a name, or a pattern", "db-*")
	return keys.Object[selectDraft]{Fields: []keys.Field[selectDraft]{
		keys.May("name", "The machine's name at its provider: `*` stands for any characters, also none, and `?` for "+
			"any one. Where several of name, ids, metadata and tags are given, all must hold; one must be given.",
			pattern,
			func(s *selectDraft) *keys.At[string] { return &s.name }),
		keys.May("ids",
			"The machines' ids at their provider, such as a domain's UUID or a server's id. A machine that is "+
				"made anew under the same name has another id, and is not meant.",
			keys.List[string]{Noun: "one id", Each: keys.Text("an id", "5d6f0b0c-8a0e-4ad2-9c3e-3b1f4b7d2a11")},
			func(s *selectDraft) *keys.At[[]keys.At[string]] { return &s.ids }),
		keys.May("metadata", "Texts that the machine bears at its provider, by their keys: all of them, as they are. "+
			"Of what a machine bears, 4 KiB are read, in the order of the keys.",
			keys.Mapping[string]{Key: "KEY", Names: metadataKeys, Each: keys.Text("a text", "database")},
			func(s *selectDraft) *keys.At[[]keys.Named[string]] { return &s.metadata }),
		keys.May("tags", "Words that the machine is tagged with, all of them. OpenStack only, and simulated.",
			keys.List[string]{Noun: "one tag", Each: keys.Text("a tag",
				"database")},
			func(s *selectDraft) *keys.At[[]keys.At[string]] { return &s.tags }),
		keys.May("except", "Names, or patterns of such, that are not meant all the same.",
			keys.List[string]{Noun: "one name", Each: pattern},
			func(s *selectDraft) *keys.At[[]keys.At[string]] { return &s.except }),
	}}
}

func adoptShape() keys.Object[adoptDraft] {
	return keys.Object[adoptDraft]{Fields: []keys.Field[adoptDraft]{
		keys.Or("replaceable", false, "`true`: the step recreate may destroy a machine and build another one from the "+
			"template. `false`: it is started, resumed and rebooted, and never destroyed.", keys.Boolean(),
			func(a *adoptDraft) *keys.At[bool] { return &a.replaceable }),
	}}
}

// Condition is a term, or a list of conditions under one of three words.
func Condition() keys.Shorthand[conditionDraft, string] {
	conditions := func() keys.List[conditionDraft] {
		return keys.List[conditionDraft]{Noun: "one check", Each: keys.Recursive[conditionDraft]{Ref: "condition",
			Shape: conditionOf}}
	}
	return keys.Shorthand[conditionDraft, string]{
		Short: keys.Name(),
		Long: keys.Object[conditionDraft]{Fields: []keys.Field[conditionDraft]{
			keys.May("any", "At least one of these.", conditions(),
				func(c *conditionDraft) *keys.At[[]keys.At[conditionDraft]] { return &c.any }),
			keys.May("all", "All of these.", conditions(),
				func(c *conditionDraft) *keys.At[[]keys.At[conditionDraft]] { return &c.all }),
			keys.May("at_least", "So many of those under of.", keys.Integer(1, maxSize),
				func(c *conditionDraft) *keys.At[int] { return &c.atLeast }),
			keys.May("of", "What at_least counts.", conditions(),
				func(c *conditionDraft) *keys.At[[]keys.At[conditionDraft]] { return &c.of }),
		}},
		Take: func(term keys.At[string]) conditionDraft { return conditionDraft{term: term} },
	}
}

func conditionOf() keys.Shape[conditionDraft] { return Condition() }

func evidenceShape() keys.Object[evidenceDraft] {
	return keys.Object[evidenceDraft]{Fields: []keys.Field[evidenceDraft]{
		keys.Or("gather", true, "Whether anything is kept at all.", keys.Boolean(),
			func(e *evidenceDraft) *keys.At[bool] { return &e.gather }),
		keys.Or("console", uint64(fleet.ConsoleLimit), "So much of the console's end. A guest may write secrets "+
			"there: whoever may use hale's socket can read them.",
			keys.Size(1<<10, 64<<10), func(e *evidenceDraft) *keys.At[uint64] { return &e.console }),
		keys.Or("screenshot", true, "Whether what is on its screen is kept, up to 256KiB.", keys.Boolean(),
			func(e *evidenceDraft) *keys.At[bool] { return &e.screenshot }),
		keys.Or("wait", fleet.GatherLimit, "A repair waits for it at most so long, whatever happens.",
			keys.Duration(time.Second, 30*time.Second),
			func(e *evidenceDraft) *keys.At[time.Duration] { return &e.wait }),
	}}
}

func disabledShape() keys.Shorthand[disabledDraft, policy.HostDisabled] {
	return keys.Shorthand[disabledDraft, policy.HostDisabled]{
		Short: keys.Choice(nil, policy.HostDisabledIgnore, policy.HostDisabledHeal, policy.HostDisabledHold),
		Long: keys.Object[disabledDraft]{Fields: []keys.Field[disabledDraft]{
			keys.Must("hold", keys.FormatDuration(defaultDisabledHold),
				"For how long a disabled host is held at most. After that its machines are healed as any others.",
				keys.Duration(time.Minute, 30*24*time.Hour),
				func(d *disabledDraft) *keys.At[time.Duration] { return &d.hold }),
		}},
		Take: func(word keys.At[policy.HostDisabled]) disabledDraft { return disabledDraft{word: word} },
	}
}

func stopShape() keys.Shorthand[stopDraft, policy.ExternalStop] {
	return keys.Shorthand[stopDraft, policy.ExternalStop]{
		Short: keys.Choice(nil, policy.ExternalStopHoldThenPage, policy.ExternalStopHeal),
		Long: keys.Object[stopDraft]{Fields: []keys.Field[stopDraft]{
			keys.Must("hold", keys.FormatDuration(defaultStopHold),
				"For how long the machine is left alone before a person is paged.",
				keys.Duration(0, 30*24*time.Hour), func(s *stopDraft) *keys.At[time.Duration] { return &s.hold }),
		}},
		Take: func(word keys.At[policy.ExternalStop]) stopDraft { return stopDraft{word: word} },
	}
}
