package belief_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Decision 21: a repair lies in the store as one document, and each version reads what the others wrote.
func TestARepairIsStoredAsItWasBeforeItHadParts(t *testing.T) {
	t.Parallel()
	const stored = `{"ID":"web-1/r2","Kind":"heal","Started":"2026-01-01T00:00:00Z","Rung":1,"Step":"recreate","Phase":"act",
		"Since":7,"Deadline":8,"Look":"web-1/r2/look1","Gather":"g","GatherBy":9,"Confirmed":true,"LastOutcome":10,
		"Target":{"ID":"old","Generation":1,"Host":"h1","Certified":true,"Expired":false,"Adopted":true,"Kept":true},"Proof":"access-cut","ProvenAt":11,
		"OffOrders":2,"ClearedOrders":1,"Removed":true,"Next":{"ID":"new","Generation":2,"Host":"h2","Certified":false,
		"Expired":false},"Back":{"ID":"back","Generation":0,"Host":"","Certified":false,"Expired":false},"Drop":"r1","Intent":
		{"ID":"c","Op":"create","Instance":"new","Generation":2,"Host":"h2","Limit":1,"At":"2026-01-01T00:00:00Z",
		"Unknown":true},"RetryAt":12,"AskAt":13,"Retries":3,"Order":"o","FenceAt":14,"Struck":true,"Revives":true,
		"Stranded":true,"Dark":true,"Looks":1,"Calls":4}`
	var r belief.Repair
	if err := json.Unmarshal([]byte(stored), &r); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	was, is := map[string]any{}, map[string]any{}
	if json.Unmarshal([]byte(stored), &was) != nil || json.Unmarshal(again, &is) != nil || !reflect.DeepEqual(was, is) {
		t.Errorf("it lies there as\n%s", again)
	}
	empty, err := json.Marshal(belief.Repair{})
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]any{}
	if err := json.Unmarshal(empty, &least); err != nil {
		t.Fatal(err)
	}
	for name := range least {
		if _, known := was[name]; !known {
			t.Errorf("%s is new", name)
		}
	}
	if n := len(slices.Collect(maps.Keys(least))); n != 22 {
		t.Errorf("%d members are always there", n)
	}
}

// Whatever was confirmed or proven before counts for nothing once the rung looks again. Of a wanted change only the
// proof goes: what a person wants, no look refutes.
func TestWhatWasFoundGoesWithTheLook(t *testing.T) {
	t.Parallel()
	found := belief.Finding{Look: "l", Confirmed: true, Proof: fleet.ProofAccessCut, ProvenAt: 5}
	climb := belief.Climb{Aim: belief.Aim{OffCalls: 2, Finding: found}, Stage: belief.Stage{Phase: belief.PhaseAct,
		Retries: 3}}
	heals := belief.Repair{Climb: climb}
	heals.LookAgain()
	if heals.Phase != belief.PhaseLook || heals.Finding != (belief.Finding{}) || heals.OffCalls != 2 ||
		heals.Retries != 3 {
		t.Errorf("%+v", heals.Climb)
	}
	wanted := belief.Repair{Order: "o", Climb: climb}
	wanted.LookAgain()
	if wanted.Phase != belief.PhaseAct || wanted.Finding != (belief.Finding{Confirmed: true}) {
		t.Errorf("%+v", wanted.Climb)
	}
}

func TestAnAimAtNothingIsReached(t *testing.T) {
	t.Parallel()
	at := belief.AimAt(belief.Incarnation{ID: "old", Host: "h1"})
	if at.Target.ID != "old" || at.Removed || at.Proof.Off() {
		t.Errorf("%+v", at)
	}
	if none := belief.AimAt(belief.Incarnation{}); !none.Removed || none.Proof != fleet.ProofDeleted {
		t.Errorf("%+v", none)
	}
}

// A page that is verified lasts as long as the step says, a build as long as the fleet says.
func TestHowLongHealthIsWaitedFor(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{BuildWithin: time.Hour, Repair: policy.Repair{Steps: []policy.Step{
		{Kind: fleet.StepPage, VerifyWithin: time.Minute}, {Kind: fleet.StepRecreate, VerifyWithin: time.Second}}}}
	for rung, want := range []time.Duration{time.Minute, time.Hour} {
		if got := belief.VerifyTime(spec, belief.Repair{Climb: belief.Climb{Rung: rung}}); got != want {
			t.Errorf("rung %d: %v", rung, got)
		}
	}
}
