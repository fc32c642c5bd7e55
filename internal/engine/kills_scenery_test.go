package engine_test

import (
	"maps"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/gauge"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// What happens in ordeals, and what comes of it.

func nothing(*story) {}

func crashes(s *story)  { s.inject(simulated.Crash{Instance: s.id(2)}) }
func isPaused(s *story) { s.inject(simulated.Paused{Instance: s.id(2), By: fleet.StopGuest}) }
func vanishes(s *story) { s.inject(simulated.Vanishes{Instance: s.id(2)}) }
func starts(s *story)   { s.start() }

// ails lets web-2's page fail until that cures it.
func ails(cure simulated.Cure) func(s *story) {
	return func(s *story) {
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: cure}})
	}
}

func threeAil(s *story) {
	for n := 1; n <= 3; n++ {
		s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
	}
}

// isReplaced lets web-2 be replaced, with its old instance put aside.
func isReplaced(s *story) {
	s.cure = s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByRecreate}})
	s.await(5*time.Minute, "web-2 is replaced", func() bool {
		return s.heals(2) == 1 && s.healthy(2) &&
			len(s.machine(2).Kept) == 1
	})
	s.before = s.machine(2).Kept[0].ID
}

func undoes(s *story) {
	s.named = append(s.named, s.id(2)) // which a person wants to have off
	s.cure()                           // what ailed it was outside it
	s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
}

func isBack(s *story) bool {
	return s.settled(1) && s.healthy(2) && s.machine(2).Current.ID == s.before
}

// has lets a person have hale do something with web-2.
func has(what fleet.OrderKind) func(s *story) {
	return func(s *story) {
		s.before = s.id(2)
		s.named = append(s.named, s.before)
		s.orders(fleet.Order{Kind: what, Machine: "web-2", Reason: "planned work"})
	}
}

// takesBack lets a person take back the last order that was taken up.
func takesBack(s *story) {
	var last fleet.OrderID
	for _, r := range s.records() {
		if r.Kind == record.Order {
			last = r.Order
		}
	}
	s.orders(fleet.Order{Kind: fleet.OrderCancel, After: last})
}

// isMarkedUnderTheBrake: web-2 fails by a person's word, and the brake keeps it from being healed.
func isMarkedUnderTheBrake(s *story) {
	isBraked(s)
	has(fleet.OrderMark)(s)
	s.await(time.Minute, "it fails", func() bool { return s.machine(2).Incident != nil })
}

// isUnmarked: web-2 was taken to fail by a person's word, and is well without it.
func isUnmarked(s *story) bool {
	m := s.machine(2)
	return s.allHealthy() && m.Repair == nil && m.Marked == nil && s.count(kind(record.IncidentClosed)) > 0
}

// isReplacedInError lets a person have web-2 replaced, and take that back at once.
func isReplacedInError(s *story) {
	s.before = s.id(2)
	s.named = append(s.named, s.before)
	o := s.orders(fleet.Order{Kind: fleet.OrderReplace, Machine: "web-2"})
	s.pass(75 * time.Millisecond) // its first call is under way
	s.orders(fleet.Order{Kind: fleet.OrderCancel, After: o.ID})
}

// isSettledEitherWay: both orders were heard, nothing of them waits, and web-2 is well.
func isSettledEitherWay(s *story) bool {
	m := s.machine(2)
	return s.allHealthy() && m.Repair == nil && m.Wanted == nil && s.inInbox() == 0 && s.count(kind(record.Order)) > 1
}

// isOther: another instance stands in web-2's place.
func isOther(s *story) bool {
	m := s.machine(2)
	return s.allHealthy() && m.Repair == nil && m.Wanted == nil && !m.Current.None() && m.Current.ID != s.before
}

// parks lets a person have hale turn web-2 off.
func parks(s *story) {
	has(fleet.OrderStop)(s)
	s.await(time.Minute, "web-2 is off", func() bool { return isParked(s) })
}

func isParked(s *story) bool {
	m := s.machine(2)
	return m.Repair == nil && m.Health.Cause == belief.CauseParked && m.Waiting == fleet.ReasonParked
}

func isCarriedOut(s *story) bool {
	done := func(r record.Record) bool {
		return r.Kind == record.RepairEnded && r.Reason == fleet.ReasonCarriedOut
	}
	return s.allHealthy() && s.machine(2).Repair == nil && s.count(done) == 1
}

func nothingKept(s *story) bool { return len(s.machine(2).Kept) == 0 && s.allHealthy() }

// disksAreKept: nobody but one instance at a time ever wrote to a machine's disk, and there is one disk of each.
func disksAreKept(s *story) {
	s.t.Helper()
	disks := s.world.Disks()
	if len(disks) != s.spec.Size {
		s.t.Errorf("%d disks, want %d", len(disks), s.spec.Size)
	}
	for _, d := range disks {
		if d.Most > 1 || d.Writers != 1 || d.Content > uint64(s.spec.Size) {
			s.t.Errorf("%+v", d)
		}
	}
}

// fencedBy lets the world's hosts be fenced.
func fencedBy(means fleet.Means) func(s *story) {
	return func(s *story) { s.fencer = newMains(s.world, means) }
}

// standsAlone puts web-2 on h2, and all others on h1.
func standsAlone(s *story) {
	for n := 1; n <= s.spec.Size; n++ {
		s.world.Migrate(s.id(n), map[bool]fleet.HostName{true: "h2", false: "h1"}[n == 2])
	}
	s.await(time.Minute, "they are seen where they are", func() bool {
		return s.allHealthy() && s.machine(1).Current.Host == "h1" && s.machine(2).Current.Host == "h2"
	})
}

// hostIsLost takes h2 out of everybody's reach. Somebody brings it back when what was there is healed elsewhere, and in
// ten minutes at the latest: as long as a host is silent, what was asked for and not answered may be on it, and nothing
// is ordered in its place.
func hostIsLost(s *story) {
	began := time.Now()
	dark, apart := s.inject(simulated.HostUnreachable{Host: "h2"}), s.inject(simulated.CutOff{Host: "h2"})
	var see func()
	see = func() {
		if i, _ := s.world.Instance("web-2"); time.Since(began) < 10*time.Minute &&
			(i.Host != "h1" || !i.Mark.Certified || !s.world.Healthy(i.ID)) {
			time.AfterFunc(10*time.Second, see)
			return
		}
		apart()
		dark()
	}
	see()
}

// nothingLeftBehind: it is healed elsewhere, and nothing of it is left on a host that is back.
func nothingLeftBehind(s *story) bool {
	old := slices.ContainsFunc(s.status().Hosts, func(h fleet.Host) bool { return !h.Up })
	return !old && s.allHealthy() && s.count(kind(record.IncidentClosed)) > 0 &&
		s.machine(2).Current.Host == "h1" && len(s.machine(2).Left) == 0 &&
		s.machine(2).Repair == nil
}

func hostIsDisabled(s *story) { s.inject(simulated.Happens{Verb: verbs.IsDisabled, Host: "h2"}) }

func hasLeft(s *story) bool { return s.allHealthy() && s.machine(2).Current.Host == "h1" }

// buildsFail lets web-2's first instance never boot.
func buildsFail(s *story) {
	s.inject(simulated.NextBuilds{Machine: "web-2", Times: 1, Illness: simulated.Illness{Symptom: simulated.NeverBoots,
		Cure: simulated.ByRecreate}})
}

func stands(s *story) bool { return s.allHealthy() }

func isLeft(s *story) bool { return s.machine(2).Quarantine != nil && s.status().Acting == "" }

// isRescued: web-2 is in a person's hands.
func isRescued(s *story) bool {
	m := s.machine(2)
	return m.Repair == nil && m.Health.Cause == belief.CauseRescued && m.Waiting == fleet.ReasonRescued &&
		s.status().Acting == ""
}

func healedOrLeft(s *story) bool {
	return isLeft(s) || s.allHealthy() && s.count(kind(record.IncidentClosed)) > 0
}

func overQuota(s *story) {
	s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Quota})
}

// given lets a person give the order.
func given(o fleet.Order) func(s *story) { return func(s *story) { s.orders(o) } }

// settled reports whether so many orders were taken up since hale was first started, none twice, and none waits.
func (s *story) settled(n int) bool {
	return s.inInbox() == 0 && s.count(kind(record.Order)) == n
}

func isHeld(s *story) { s.holds(fleet.Order{Machine: "web-2"}, time.Hour) }

func isHeldByName(s *story) { s.holds(fleet.Order{Name: "power", Machine: "web-1"}, time.Hour) }

func isBraked(s *story) {
	s.orders(fleet.Order{Kind: fleet.OrderBrakeOn})
	s.await(time.Minute, "the brake is on", func() bool { return s.braked() })
}

func (s *story) braked() bool { b := s.status().Brake; return b.On() }

func isStopped(s *story) {
	s.inject(simulated.PersonPowersOff{Instance: s.id(2)})
	s.await(time.Minute, "it is left alone", func() bool { return s.machine(2).Waiting == fleet.ReasonStoppedByPerson })
}

func isQuarantined(s *story) {
	lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Quota})
	s.inject(simulated.Crash{Instance: s.id(2)})
	s.await(time.Hour, "quarantine", func() bool { return s.machine(2).Quarantine != nil })
	lift()
}

// edits lets a person edit the file.
func edits(how func(spec *policy.Spec)) func(s *story) {
	return func(s *story) {
		how(&s.spec)
		if err := s.hale.engine.Reload(s.t.Context(), s.hale.setup(s.spec)); err != nil {
			s.t.Error(err)
		}
	}
}

// wants lets a person edit the file, and confirm what that destroys.
func wants(how func(spec *policy.Spec)) func(s *story) {
	return func(s *story) {
		edits(how)(s)
		s.pass(time.Second)
		if !s.fuse.spent() {
			s.confirm()
		}
	}
}

// confirmsStill lets the person who finds the plan waiting, and no order for it, confirm it.
func confirmsStill(s *story) {
	if status := s.status(); !status.Pending().Empty() && s.inInbox() == 0 && s.count(kind(record.Order)) == 0 {
		s.confirm()
	}
}

// triesNext lets the canary of another template be built, and none after it.
func triesNext(s *story) {
	wants(func(spec *policy.Spec) { spec.Template.Image = "v2" })(s)
	s.await(5*time.Minute, "the canary stands", func() bool { return s.built("v2") == 1 && s.allHealthy() })
}

// confirmsReturn lets the person who put the template back, and finds the plan waiting with no order for it but the
// first, confirm it.
func confirmsReturn(s *story) {
	if status := s.status(); !status.Pending().Empty() && s.inInbox() == 0 && s.count(kind(record.Order)) == 1 {
		s.confirm()
	}
}

// bareDB is a fleet that adopts.
func bareDB() policy.Spec {
	spec := bare(0, rung(fleet.StepStart), rung(fleet.StepReboot))
	spec.Name, spec.Adopt = "db", policy.Adoption{Select: policy.Selector{Name: "db-*"}}
	return spec
}

func exist(s *story) { s.existing("db-main", "db-one") }

func areAdopted(s *story) bool { return s.adopted("db-main", "db-one")() }

// diesInAReboot lets one hale die with a reboot under way.
func diesInAReboot(s *story) {
	s.grown()
	lift := s.inject(simulated.Calls{Op: fleet.OpReboot, Times: 1, Effect: simulated.HangsAfter})
	ails(simulated.ByReboot)(s)
	s.await(3*time.Minute, "the reboot is under way", func() bool {
		r := s.machine(2).Repair
		return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpReboot
	})
	s.pass(time.Second)
	s.kill()
	lift()
}

// messages returns the keys of what the people were told.
func (s *story) messages() (keys []string) {
	for _, m := range s.ops.Taken() {
		if !slices.Contains(keys, m.Key) {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// loadWindow is for how long a load has to be low before a machine goes. It is longer than any amnesty of these fleets.
const loadWindow = time.Minute

// isLoaded gives the fleet bounds far from where it goes, and an opinion that follows a load. The last machine is none
// that goes, so that the number of the one that does has to be kept in mind.
func isLoaded(load float64) func(s *story) {
	return func(s *story) {
		s.yard = s.sized("load")
		s.spec.Sizing.Down.Stabilise, s.spec.Sizing.Stay = loadWindow, []int{s.spec.Size}
		s.spec.Sizing.Opinions = []policy.Opinion{{Name: "busy", Kind: policy.OpinionTarget, Metric: "load",
			Target: 10}}
		loadIs(load)(s)
	}
}

func loadIs(load float64) func(s *story) {
	return func(s *story) { s.yard.by["load"].Say(gauge.Reading{Whole: []float64{load}}) }
}

// hasSize reports whether so many machines are wanted, and there, all well, and none is on its way.
func hasSize(n int) func(s *story) bool {
	return func(s *story) bool {
		status := s.status()
		well := 0
		for _, v := range status.Machines {
			number, _ := v.Machine.Name.Ordinal()
			switch {
			case s.healthy(number):
				well++
			case !v.Machine.Current.None(), v.Machine.Repair != nil:
				return false
			}
		}
		l := status.Whole.Ledger
		return well == n && status.Spec.Size == n && l.Asked(&status.Wanted) == n && len(l.Removals) == 0
	}
}

// stays checks, long after, that the fleet has so many machines, and that as many went as had to. Each that went was
// written down as leaving, by an owner who had seen a whole window of low load itself.
func stays(size, left int) func(s *story) {
	return func(s *story) {
		s.t.Helper()
		if !hasSize(size)(s) {
			s.t.Errorf("the size does not stay: %+v", s.status().Whole.Ledger)
		}
		leaves, since := map[fleet.MachineName]fleet.InstanceID{}, s.began
		for _, r := range s.records() {
			if r.Kind == record.Owner && r.Reason == fleet.ReasonTookOver && r.At.After(since) {
				since = r.At
			}
			lowers := r.Kind == record.Size && r.Size < r.Limit || r.Reason == fleet.ReasonLeaves
			if seen := r.At.Sub(since); lowers && seen < loadWindow {
				s.t.Errorf("%s after %v, and the window is %v", r.Reason, seen, loadWindow)
			}
			switch r.Reason {
			case fleet.ReasonLeaves:
				leaves[r.Machine] = r.Instance
			case fleet.ReasonWithdrawn:
				delete(leaves, r.Machine)
			}
		}
		if len(leaves) != left {
			s.t.Errorf("%v went, want %d", leaves, left)
		}
		s.named = slices.AppendSeq(s.named, maps.Values(leaves))
	}
}
