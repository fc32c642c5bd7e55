package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// disabling is a fleet that holds the hosts which its provider disables, for two hours at most.
func disabling(t *testing.T) *tale {
	t.Helper()
	tl := street(t, 1)
	tl.s.Spec.Repair.OnHostDisabled, tl.s.Spec.Repair.DisabledHold = policy.HostDisabledHold, 2*time.Hour
	tl.pass(time.Second)
	return tl
}

// says has the provider say whether the host is disabled, for a while.
func (tl *tale) says(disabled bool, d time.Duration) {
	tl.s.Hosts[0].Disabled = disabled
	tl.pass(d)
}

// wantHold compares whether the provider's hold of the host is in force, how often one began, and why they ended.
func (tl *tale) wantHold(what string, holds bool, begun int, ended ...fleet.Reason) {
	tl.Helper()
	got := len(tl.s.Whole.Holds) == 1 && tl.s.Whole.Holds[0].ByProvider("h00")
	if got != holds || tl.count(record.HoldBegun, "") != begun {
		tl.Errorf("%s: %+v, and %d began", what, tl.s.Whole.Holds, tl.count(record.HoldBegun, ""))
	}
	var why []fleet.Reason
	for _, r := range tl.records {
		if r.Kind == record.HoldEnded {
			why = append(why, r.Reason)
		}
	}
	if len(why) != len(ended) || len(ended) > 0 && why[len(why)-1] != ended[len(ended)-1] {
		tl.Errorf("%s: they ended as %v, want %v", what, why, ended)
	}
}

// A host is in use again once its provider has had it in use for a minute, without interruption: due at that moment,
// and not before.
func TestS72AHostIsInUseAgainAfterAMinute(t *testing.T) {
	t.Parallel()
	tl := disabling(t)
	for range 5 {
		tl.says(true, 30*time.Second)
		tl.says(false, time.Minute-time.Nanosecond)
		tl.wantHold("it says now this, now that", true, 1)
	}
	tl.says(true, time.Second)
	tl.says(false, time.Minute)
	tl.wantHold("for a minute", false, 1, fleet.ReasonInUse)
	tl.says(true, time.Second)
	tl.wantHold("disabled anew", true, 2, fleet.ReasonInUse)
}

// What is not known is not "in use": the minute begins anew after a silence of the provider, and with a new owner.
func TestS72TheMinuteBeginsAnew(t *testing.T) {
	t.Parallel()
	tl := disabling(t)
	tl.says(true, time.Second)
	tl.says(false, 50*time.Second)
	tl.s.Provider.Standing = fleet.ProviderDown
	tl.pass(5 * time.Minute)
	tl.wantHold("while the provider is silent", true, 1)
	tl.s.Provider.Standing = fleet.ProviderUp
	tl.pass(50 * time.Second)
	tl.wantHold("since it is heard again", true, 1)
	tl.s.Whole = tl.s.Whole.Restart(tl.s.Now)
	tl.pass(time.Minute - time.Nanosecond)
	tl.wantHold("since hale began anew", true, 1)
	tl.pass(time.Second)
	tl.wantHold("a minute later", false, 1, fleet.ReasonInUse)
}

// A hold that a person released, or that lasted as long as it may, is placed anew only after the host was in use again,
// however often its provider says so for a moment.
func TestS72AHoldThatIsOverStaysOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over func(*tale)
		why  fleet.Reason
	}{
		"released": {func(tl *tale) {
			tl.want("release", tl.give(fleet.Order{Kind: fleet.OrderRelease, Host: "h00", All: true}), "")
		}, fleet.ReasonReleased},
		"over": {func(tl *tale) { tl.pass(2 * time.Hour) }, fleet.ReasonExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := disabling(t)
			tl.says(true, time.Second)
			c.over(tl)
			tl.wantHold("when it is over", false, 1, c.why)
			for range 3 {
				tl.says(false, 30*time.Second)
				tl.says(true, 30*time.Second)
			}
			tl.wantHold("the provider says now this, now that", false, 1, c.why)
			tl.says(false, time.Minute)
			tl.says(true, time.Second)
			tl.wantHold("after it was in use", true, 2, c.why)
		})
	}
}

// Where the policy holds no host any more, the provider's hold ends at once, and a person's own stays.
func TestS72TheHoldEndsWithThePolicy(t *testing.T) {
	t.Parallel()
	tl := disabling(t)
	tl.says(true, time.Second)
	tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Host: "h00", By: "the provider", For: time.Hour}), "")
	if n := len(tl.s.Whole.Holds); n != 2 {
		t.Fatalf("%d holds: who is called so has another's place", n)
	}
	tl.s.Spec.Repair.OnHostDisabled = ""
	tl.pass(time.Second)
	if all := tl.s.Whole.Holds; len(all) != 1 || all[0].ByProvider("h00") || len(tl.s.Whole.Maintenance) != 0 {
		t.Errorf("%+v, %+v", all, tl.s.Whole.Maintenance)
	}
}
