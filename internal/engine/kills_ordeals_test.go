package engine_test

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// bare is a fleet that costs a test little: one check of a port.
func bare(size int, steps ...policy.Step) policy.Spec {
	page := policy.Check{Name: "page", Kind: policy.CheckTCP, Every: 2 * time.Second, Timeout: time.Second,
		DownAfter: 2,
		UpAfter:   2, Port: 80}
	return rungs(only(web(size), page), steps...)
}

// near is a world where calls take a moment, so that there is one to be killed in.
func near() simulated.Options {
	return simulated.Options{Latency: 50 * time.Millisecond, Boot: 5 * time.Second, Ports: []uint16{80}}
}

// ordeals are the kinds of steps in which hale is killed.
func ordeals() []ordeal {
	all := slices.Concat(gentleOrdeals(), replacements(), hostOrdeals(), personOrdeals(), orderOrdeals(),
		wantedOrdeals(), rolloutOrdeals(), choreOrdeals(), aroundOrdeals(), opinionOrdeals(), otherOrdeals())
	for i := range all {
		hosts := all[i].world.Hosts
		all[i].world = near()
		all[i].world.Hosts = hosts
	}
	return all
}

// gentleOrdeals leave the instance in its place.
func gentleOrdeals() []ordeal {
	shared := bare(3, rung(fleet.StepReboot), rung(fleet.StepRecreate))
	shared.Limits.Shared = []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	return []ordeal{
		{step: "start", spec: bare(2, rung(fleet.StepStart)), begin: crashes, incidents: 1},
		{step: "resume", spec: bare(2, rung(fleet.StepResume)), begin: isPaused, incidents: 1},
		{step: "reboot, soft", spec: bare(2, softly(), rung(fleet.StepRecreate)), begin: ails(simulated.ByReboot),
			incidents: 1},
		{step: "reboot, hard", spec: bare(3, rung(fleet.StepReboot), rung(fleet.StepRecreate)),
			begin: ails(simulated.ByReboot), incidents: 1},
		{step: "reboot, in a shared budget", spec: shared, begin: ails(simulated.ByReboot), incidents: 1},
		{step: "run, idempotent", spec: bare(2, playbook(true), rung(fleet.StepRecreate)),
			begin: ails(simulated.ByCommand), incidents: 1,
			twice: []fleet.Op{fleet.OpRun}},
		{step: "run, not idempotent", spec: bare(2, playbook(false), rung(fleet.StepRecreate)),
			begin: ails(simulated.ByCommand), incidents: 1,
			ends: healedOrLeft, mayPage: true},
	}
}

// replacements take the instance, or its disk, away.
func replacements() []ordeal {
	data := bare(3, rung(fleet.StepRecreate))
	data.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	keeping := rung(fleet.StepRecreate)
	keeping.KeepOld = 24 * time.Hour
	brief := keeping
	brief.KeepOld = 20 * time.Minute
	copied := copying(3, policy.OnFailureStop)
	copied = bare(3, copied.Repair.Steps...)
	return []ordeal{
		{step: "snapshot, then recreate", spec: copied, begin: ails(simulated.ByRecreate), incidents: 1,
			after: oneCopyIsKnown},
		{step: "end of a snapshot's time", spec: copied, before: isCopied, begin: nothing, ends: nothingCopied,
			incidents: 1},
		{step: "rebuild", spec: bare(3, rung(fleet.StepRebuild), rung(fleet.StepRecreate)),
			begin: ails(simulated.ByRecreate), incidents: 1},
		{step: "recreate", spec: bare(3, rung(fleet.StepRecreate)), begin: ails(simulated.ByRecreate), incidents: 1},
		{step: "recreate of what is gone", spec: bare(3, rung(fleet.StepRecreate)), begin: vanishes, incidents: 1},
		{step: "recreate, kept disks", spec: data, begin: ails(simulated.ByRecreate), incidents: 1,
			after: disksAreKept},
		{step: "recreate, keep_old", spec: bare(2, keeping), begin: ails(simulated.ByRecreate), incidents: 1, kept: 1},
		{step: "end of keep_old", spec: bare(2, brief), before: isReplaced, begin: nothing, ends: nothingKept,
			incidents: 1},
		{step: "undo", spec: bare(2, keeping), before: isReplaced, begin: undoes, ends: isBack, incidents: 1, kept: 1},
		{step: "removal of an unfinished build", spec: bare(2, rung(fleet.StepRecreate)), fresh: true,
			before: buildsFail, begin: starts,
			ends: stands, incidents: anyNumber},
	}
}

// hostOrdeals are about a host that is to be left, and all but the last about one that is lost.
func hostOrdeals() []ordeal {
	two := simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}
	lost := func(step fleet.StepKind, proof fleet.Proof) policy.Spec {
		spec := bare(5, rung(step))
		spec.Repair.Fence, spec.Repair.Silence = fleet.Fence{Proof: proof, Hosts: true}, policy.SilenceActs
		return spec
	}
	leaves := bare(5, rung(fleet.StepMigrate))
	leaves.Repair.OnHostDisabled = policy.HostDisabledHeal
	power, access := fleet.Means{Tries: 3, Limit: 10 * time.Second}, fleet.Means{Cuts: 3, Limit: 10 * time.Second}
	return []ordeal{
		{step: "recreate, its host turned off", spec: lost(fleet.StepRecreate, fleet.ProofConfirmedOff), world: two,
			early: fencedBy(power), before: standsAlone,
			begin: hostIsLost, ends: nothingLeftBehind, incidents: 1, pages: 1},
		{step: "recreate, its host cut off", spec: lost(fleet.StepRecreate, fleet.ProofAccessCut), world: two,
			early: fencedBy(access), before: standsAlone,
			begin: hostIsLost, ends: nothingLeftBehind, incidents: 1, pages: 1},
		{step: "evacuate, its host turned off", spec: lost(fleet.StepEvacuate, fleet.ProofConfirmedOff), world: two,
			early: fencedBy(power), before: standsAlone,
			begin: hostIsLost, ends: nothingLeftBehind, incidents: 1, pages: 1},
		{step: "migrate", spec: leaves, world: two, before: standsAlone, begin: hostIsDisabled, ends: hasLeft,
			incidents: 1},
	}
}

// choreOrdeals are what a person has hale do with a machine that is well.
func choreOrdeals() []ordeal {
	two := simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}
	data := bare(3, rung(fleet.StepRecreate))
	data.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	keeping := rung(fleet.StepRecreate)
	keeping.KeepOld = 24 * time.Hour
	copied := copying(3, policy.OnFailureStop)
	copied = bare(3, copied.Repair.Steps...)
	return []ordeal{
		{step: "replace by order, kept disks", spec: data, begin: has(fleet.OrderReplace), ends: isOther,
			after: disksAreKept},
		{step: "replace by order, keep_old", spec: bare(3, keeping), begin: has(fleet.OrderReplace), ends: isOther,
			kept: 1},
		{step: "stop by order", spec: bare(3, rung(fleet.StepStart)), begin: has(fleet.OrderStop), ends: isParked},
		{step: "start by order", spec: bare(3, rung(fleet.StepStart)), before: parks, begin: has(fleet.OrderStart),
			ends: stands},
		// a reset that comes after the machine was seen well makes it fail once more
		{step: "reboot by order", spec: bare(3, rung(fleet.StepReboot)), begin: has(fleet.OrderReboot),
			ends: isCarriedOut, incidents: anyNumber},
		{step: "migrate by order", spec: bare(5, rung(fleet.StepReboot)), world: two, before: standsAlone,
			begin: has(fleet.OrderMigrate), ends: hasLeft},
		// a call that comes late starts the machine, as anyone may have: the copy is put back once more
		{step: "revert by order", spec: copied, before: isCopied, begin: has(fleet.OrderRevert), ends: isReverted,
			incidents: 1, twice: []fleet.Op{fleet.OpPowerOff, fleet.OpRevert}},
		// as with the reboot
		{step: "reboot of what is marked", spec: bare(3, rung(fleet.StepReboot)), begin: has(fleet.OrderMark),
			ends: isUnmarked, incidents: anyNumber},
		{step: "order: a mark is taken back", spec: bare(3, rung(fleet.StepReboot)), before: isMarkedUnderTheBrake,
			begin: takesBack, incidents: 1,
			ends: func(s *story) bool { return isUnmarked(s) && s.settled(3) }},
		// one that only turned the old instance off ends, and the machine is started; one that went further ends well
		{step: "replace by order, taken back", spec: bare(3, rung(fleet.StepStart), rung(fleet.StepRecreate)),
			begin: isReplacedInError, ends: isSettledEitherWay, incidents: anyNumber, mayRefuse: true},
	}
}

// personOrdeals end with a person who is told.
func personOrdeals() []ordeal {
	paging := policy.Step{Kind: fleet.StepPage, VerifyWithin: 5 * time.Second}
	return []ordeal{
		{step: "page", spec: bare(2, paging, rung(fleet.StepReboot)), begin: ails(simulated.ByReboot), incidents: 1,
			pages: 1},
		{step: "rescue", spec: bare(3, rung(fleet.StepRescue)), begin: ails(simulated.ByRecreate), ends: isRescued,
			incidents: 1, pages: 1},
		{step: "quarantine", spec: bare(2, policy.Step{Kind: fleet.StepQuarantine}), begin: ails(simulated.ByRecreate),
			ends: isLeft, incidents: 1, pages: 1},
		{step: "refused by the provider", spec: bare(3, rung(fleet.StepRecreate)), before: overQuota,
			begin: ails(simulated.ByRecreate), ends: isLeft,
			incidents: 1, pages: 1, after: nil},
		messageOrdeal(),
		reminderOrdeal(),
	}
}

// reminderOrdeal leaves an incident open until it was told of twice more.
func reminderOrdeal() ordeal {
	spec := bare(2, policy.Step{Kind: fleet.StepQuarantine})
	spec.Notify = policy.Notify{RemindEvery: time.Minute, To: []policy.Recipient{{Target: "ops", Attempts: 5,
		AttemptsIn: time.Hour,
		Events:     []policy.NotifyEvent{policy.NotifyPage, policy.NotifyReminder, policy.NotifyHealed}}}}
	reminders := func(s *story) int { return s.count(kind(record.Reminded)) }
	return ordeal{
		step: "reminder, to a target", spec: spec, incidents: 1, pages: 1,
		early: func(s *story) {
			s.ops = &memory.Target{Latency: 100 * time.Millisecond}
			s.people(map[policy.TargetName]*memory.Target{"ops": s.ops})
		},
		begin: func(s *story) {
			ails(simulated.ByRecreate)(s)
			time.AfterFunc(150*time.Second, func() { _, _ = s.world.Inject(simulated.PersonMends{Instance: s.id(2)}) })
		},
		ends: func(s *story) bool {
			return s.allHealthy() && s.count(kind(record.IncidentClosed)) == 1 && s.status().Post.Waiting == 0 &&
				len(s.messages()) == reminders(s)+2
		},
		after: func(s *story) {
			if n := reminders(s); n < 1 || n > 2 {
				s.t.Errorf("%d reminders, want one a minute", n)
			}
			if told, taken := len(s.messages()), s.count(kind(record.Notified)); told != taken {
				s.t.Errorf("%d messages, and %d are written down as taken", told, taken)
			}
		},
	}
}

// messageOrdeal follows a page to whom it is for, who does not take it at once.
func messageOrdeal() ordeal {
	spec := bare(2, policy.Step{Kind: fleet.StepQuarantine})
	spec.Notify.To = []policy.Recipient{{Target: "ops", Events: []policy.NotifyEvent{policy.NotifyPage,
		policy.NotifyHealed}, Attempts: 5, AttemptsIn: time.Hour}}
	return ordeal{
		step: "page and healed, to a target", spec: spec, incidents: 1, pages: 1,
		early: func(s *story) {
			s.ops = &memory.Target{Latency: 100 * time.Millisecond}
			s.ops.Fail(unavailable())
			s.people(map[policy.TargetName]*memory.Target{"ops": s.ops})
		},
		begin: func(s *story) {
			ails(simulated.ByRecreate)(s)
			time.AfterFunc(2*time.Minute, func() { _, _ = s.world.Inject(simulated.PersonMends{Instance: s.id(2)}) })
		},
		ends: func(s *story) bool { return len(s.messages()) == 2 && s.allHealthy() && s.status().Post.Waiting == 0 },
		after: func(s *story) {
			if n := len(s.messages()); n != 2 {
				s.t.Errorf("%d messages, want 2", n)
			}
			if n := s.count(kind(record.Notified)); n != 2 {
				s.t.Errorf("%d messages are written down as taken", n)
			}
		},
	}
}

// orderOrdeals are orders that lie in the inbox.
func orderOrdeals() []ordeal {
	return []ordeal{
		{step: "order: hold", spec: bare(2, rung(fleet.StepStart)), begin: given(fleet.Order{Kind: fleet.OrderHold,
			Machine: "web-2", For: time.Hour, Reason: "r"}),
			ends: func(s *story) bool { return len(s.status().Whole.Holds) == 1 && s.settled(1) }},
		{step: "order: release", spec: bare(2, rung(fleet.StepStart)), before: isHeld,
			begin: given(fleet.Order{Kind: fleet.OrderRelease, Machine: "web-2"}),
			ends:  func(s *story) bool { return len(s.status().Whole.Holds) == 0 && s.settled(2) }},
		{step: "order: a hold of a name moves", spec: bare(2, rung(fleet.StepStart)), before: isHeldByName,
			begin: given(fleet.Order{Kind: fleet.OrderHold, Name: "power", Machine: "web-2", For: time.Hour,
				Reason: "r"}),
			ends: func(s *story) bool {
				held := s.status().Whole.Holds
				return len(held) == 1 && held[0].Name == "power" && held[0].Machine == "web-2" && s.settled(2)
			}},
		{step: "order: release by name", spec: bare(2, rung(fleet.StepStart)), before: isHeldByName,
			begin: given(fleet.Order{Kind: fleet.OrderRelease, Name: "power"}),
			ends:  func(s *story) bool { return len(s.status().Whole.Holds) == 0 && s.settled(2) }},
		{step: "order: heal", spec: bare(2, rung(fleet.StepStart)), before: isStopped,
			begin: given(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-2"}),
			ends:  func(s *story) bool { return s.allHealthy() && s.settled(1) }, incidents: 1},
		{step: "order: retry", spec: bare(3, rung(fleet.StepRecreate)), before: isQuarantined,
			begin: given(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-2"}),
			ends:  func(s *story) bool { return s.allHealthy() && s.settled(1) }, incidents: 1, pages: 1},
		{step: "order: recover", spec: bare(3, rung(fleet.StepStart)), begin: func(s *story) {
			crashes(s)
			s.orders(fleet.Order{Kind: fleet.OrderRecover})
		}, ends: func(s *story) bool {
			return s.allHealthy() && s.count(kind(record.IncidentClosed)) == 1 && s.settled(1)
		}, incidents: 1},
		{step: "order: brake on", spec: bare(2, rung(fleet.StepStart)),
			begin: given(fleet.Order{Kind: fleet.OrderBrakeOn}),
			ends:  func(s *story) bool { return s.braked() && s.settled(1) }},
		{step: "order: brake off", spec: bare(2, rung(fleet.StepStart)), before: isBraked,
			begin: given(fleet.Order{Kind: fleet.OrderBrakeOff}),
			ends:  func(s *story) bool { return !s.braked() && s.settled(2) }},
	}
}

// wantedOrdeals are changes that a person wants.
func wantedOrdeals() []ordeal {
	versioned := bare(2, rung(fleet.StepRecreate))
	keeping := rung(fleet.StepRecreate)
	keeping.KeepOld = 24 * time.Hour
	keepsOld := bare(2, keeping)
	keepsOld.Template.Image, keepsOld.Update = "v1", policy.Update{Pilots: 1, Soak: 30 * time.Second}
	versioned.Template.Image, versioned.Update = "v1", policy.Update{Pilots: 1, Soak: 30 * time.Second}
	return []ordeal{
		{step: "scale-out by the file", spec: bare(2, rung(fleet.StepRecreate)),
			begin: edits(func(spec *policy.Spec) { spec.Size = 3 }),
			ends:  func(s *story) bool { return s.status().Spec.Size == 3 && s.allHealthy() }},
		{step: "removal: scale-in by the file, confirmed", spec: bare(3, rung(fleet.StepRecreate)),
			begin: wants(func(spec *policy.Spec) { spec.Size = 2 }), again: confirmsStill,
			ends: func(s *story) bool {
				return s.status().Spec.Size == 2 && s.gone(3) && s.allHealthy() &&
					s.settled(1)
			}},
		{step: "scale-out by order", spec: bare(2, rung(fleet.StepRecreate)), begin: func(s *story) { s.scale(3) },
			ends: func(s *story) bool {
				return s.status().Spec.Size == 3 && s.healthy(3) && s.allHealthy() && s.settled(1)
			}},
		{step: "removal: hale delete", spec: bare(3, rung(fleet.StepRecreate)), begin: func(s *story) { s.remove(2) },
			ends: func(s *story) bool {
				return s.status().Spec.Size == 2 && s.gone(2) && s.healthy(1) && s.healthy(3) && s.settled(1)
			}},
		{step: "template update, with a canary", spec: versioned,
			begin: wants(func(spec *policy.Spec) { spec.Template.Image = "v2" }), again: confirmsStill,
			ends: func(s *story) bool { return s.built("v2") == 2 && s.allHealthy() && s.settled(1) }},
		{step: "template update, put back after its canary", spec: versioned, before: triesNext,
			begin: wants(func(spec *policy.Spec) { spec.Template.Image = "v1" }),
			again: confirmsReturn, ends: func(s *story) bool {
				return s.built("v1") == 2 && s.allHealthy() &&
					s.settled(2)
			}},
		{step: "template update, keep_old", spec: keepsOld,
			begin: wants(func(spec *policy.Spec) { spec.Template.Image = "v2" }), again: confirmsStill,
			ends: func(s *story) bool { return s.built("v2") == 2 && s.allHealthy() && s.settled(1) }, kept: 2},
	}
}

// opinionOrdeals are moves of the size within bounds, by a metric of which each machine takes ten.
func opinionOrdeals() []ordeal {
	spec := bare(3, rung(fleet.StepRecreate))
	return []ordeal{
		{step: "scale-out by opinion", spec: spec, early: isLoaded(30), begin: loadIs(40), ends: hasSize(4),
			after: stays(4, 0)},
		{step: "removal: scale-in by opinion", spec: spec, early: isLoaded(30), begin: loadIs(20), ends: hasSize(2),
			after: stays(2, 1)},
	}
}

// otherOrdeals are about fleets as a whole, and about hale itself.
func otherOrdeals() []ordeal {
	return []ordeal{
		{step: "build of a fleet", spec: bare(2, rung(fleet.StepRecreate)), fresh: true, begin: starts, ends: stands},
		{step: "adoption", spec: bareDB(), fresh: true, before: exist, begin: starts, ends: areAdopted},
		{step: "the brake engages", spec: bare(4, rung(fleet.StepStart)), begin: threeAil,
			ends:      func(s *story) bool { return s.braked() && s.count(kind(record.Paged)) == 1 },
			incidents: 3, pages: 1, after: nil},
		fateOrdeal(),
		{step: "take-over in the middle of a reboot", spec: bare(3, rung(fleet.StepReboot), rung(fleet.StepRecreate)),
			fresh:  true,
			before: diesInAReboot, begin: starts, incidents: 1},
		{step: "take-over by another server", spec: bare(3, rung(fleet.StepReboot), rung(fleet.StepRecreate)),
			rival: true,
			begin: ails(simulated.ByReboot), incidents: 1},
	}
}

// fateOrdeal takes the power of one of three hosts away for a while: its machines' incidents get a parent.
func fateOrdeal() ordeal {
	spec := bare(12, rung(fleet.StepStart), rung(fleet.StepRecreate))
	spec.Limits.InRepair, spec.Limits.Brake.AtLeast = 4, 8
	spec.SharedFate = policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute}
	return ordeal{
		step: "a parent of many incidents", spec: spec, world: simulated.Options{Hosts: []fleet.HostName{"h1", "h2",
			"h3"}}, incidents: 4, pages: 1,
		begin: func(s *story) {
			lift := s.inject(simulated.Happens{Verb: verbs.LosesPower, Host: "h2"})
			time.AfterFunc(7*time.Minute, lift) // longer than a host takes to boot
		},
		ends: func(s *story) bool {
			return s.allHealthy() && s.count(kind(record.ParentClosed)) == 1 &&
				s.count(kind(record.IncidentClosed)) == 4
		},
	}
}
