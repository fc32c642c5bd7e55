package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	notified "hale/internal/notify/memory"
	"hale/internal/provider/simulated"
)

// S74: the only machine of a fleet lies behind a switch that dies, and so do those of ten other fleets. None is
// touched, each fleet knows why, and people are told once, with the fleets that it is about.
func TestS74TheFleetsBehindADeadSwitchAreTold(t *testing.T) {
	t.Parallel()
	shared := func(spec *policy.Spec) {
		spec.SharedFate = policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute}
	}
	thirtyOn(t, halls(), func(s *story, targets map[policy.TargetName]*notified.Target) {
		for i, f := range s.hale.engine.Status() { // the first eleven are in rack r0, on its four hosts
			host := fleet.HostName(fmt.Sprintf("h%02d", i%4))
			if i >= 11 {
				host = fleet.HostName(fmt.Sprintf("h%02d", 4+i%8))
			}
			if m := &f.Machines[0].Machine; m.Current.Host != host && !s.world.Migrate(m.Current.ID, host) {
				t.Fatalf("%s does not move to %s", m.Name, host)
			}
		}
		s.pass(time.Minute)
		at := time.Now()
		var lifts []func()
		for h := range 4 {
			lifts = append(lifts, s.inject(simulated.CutOff{Host: fleet.HostName(fmt.Sprintf("h%02d", h))}))
		}
		s.pass(20 * time.Minute)
		s.wantUntouched(at, "the switch is dead")
		for i, f := range s.hale.engine.Status() {
			if held := f.Machines[0].Machine.Waiting == fleet.ReasonSharedFate; held != (i < 11) {
				t.Errorf("%s waits for %q", f.Machines[0].Machine.Name, f.Machines[0].Machine.Waiting)
			}
		}
		if got := reasons(targets["ops"]); !slices.Equal(got, []string{"pages shared-fate"}) {
			t.Errorf("people were told %q", got)
		} else if said := targets["ops"].Taken()[0].Text; said != "11" {
			t.Errorf("the page is about %s fleets", said)
		}
		for _, lift := range lifts {
			lift()
		}
		s.pass(10 * time.Minute)
		s.wantUntouched(at, "they came back by themselves")
		if got := reasons(targets["ops"]); !slices.Equal(got, []string{"pages shared-fate", "healed released"}) {
			t.Errorf("people were told %q", got)
		}
	}, shared)
}

// S74: two hosts that no rack shares lose their network at once. That is one page for both hosts and both fleets that
// lie there, and one message when the last of them is back.
func TestS74HostsThatGoTogetherAreOnePageForAllFleets(t *testing.T) {
	t.Parallel()
	spec := crowd(policy.FatePage)
	spec.Size, spec.Notify = 36, told(0, "ops").Notify
	ops := &notified.Target{}
	tell(t, halls(), spec, func(s *story) {
		s.people(map[policy.TargetName]*notified.Target{"ops": ops})
		s.post.Words = countFleets
		other := spec
		other.Name = "db"
		s.beside = append(s.beside, other)
		s.grown()
		s.pass(time.Minute)
		at := time.Now()
		lifts := []func(){s.inject(simulated.CutOff{Host: "h01"}), s.inject(simulated.CutOff{Host: "h06"})}
		s.pass(20 * time.Minute)
		s.wantUntouched(at, "its host is cut off")
		if got := reasons(ops); !slices.Equal(got, []string{"pages shared-fate"}) {
			t.Errorf("people were told %q", got)
		}
		lifts[0]()
		s.pass(10 * time.Minute)
		if got := reasons(ops); !slices.Equal(got, []string{"pages shared-fate"}) {
			t.Errorf("people were told %q, and one of the hosts is cut off", got)
		}
		lifts[1]()
		s.pass(10 * time.Minute)
		if got := reasons(ops); !slices.Equal(got, []string{"pages shared-fate", "healed released"}) {
			t.Errorf("people were told %q", got)
		}
	})
}
