package fleet_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
)

const db = fleet.InstanceID("0b6f0c2e-1f6b-4b44-9c5e-7a8f8a9b1c2d")

func TestOfTwoClaimsTheFirstWinsWhileItIsRenewed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a, b := fleet.Claimant("aaaaaaaa-0000-4000-8000-000000000000"),
		fleet.Claimant("bbbbbbbb-0000-4000-8000-000000000000")
	claim := func(by string, ago time.Duration) fleet.StartName {
		return fleet.ClaimName(fleet.Claim{By: by, Since: now.Add(-ago).Unix()}, db)
	}
	renewed := func(by string, ago time.Duration) fleet.StartName { return fleet.RenewalName(by, now.Add(-ago)) }
	for what, c := range map[string]struct {
		notes []fleet.StartName
		of    string
		want  string // by which claim it is held
	}{
		"nothing is noted":  {nil, a, ""},
		"its own alone":     {[]fleet.StartName{claim(a, time.Hour), renewed(a, 0)}, a, ""},
		"the other's alone": {[]fleet.StartName{claim(b, time.Hour), renewed(b, 0)}, a, b},
		"the other's is earlier": {[]fleet.StartName{claim(a, time.Hour), renewed(a, 0),
			claim(b, 2*time.Hour), renewed(b, 0)}, a, b},
		"the other's is later": {[]fleet.StartName{claim(a, time.Hour), renewed(a, 0),
			claim(b, time.Minute), renewed(b, 0)}, a, ""},
		"the same second, the smaller id": {[]fleet.StartName{claim(a, 9), renewed(a, 0), claim(b, 9),
			renewed(b, 0)}, a, ""},
		"the same second, the greater id": {[]fleet.StartName{claim(a, 9), renewed(a, 0), claim(b, 9),
			renewed(b, 0)}, b, a},
		"the other's was not renewed for a day": {[]fleet.StartName{claim(b, 48*time.Hour),
			renewed(b, fleet.ClaimOver)}, a, ""},
		"the other's was renewed within the day": {[]fleet.StartName{claim(b, 48*time.Hour),
			renewed(b, fleet.ClaimOver-time.Second)}, a, b},
		"its own is over, the other's is later": {
			[]fleet.StartName{claim(a, 48*time.Hour), renewed(a, 25*time.Hour), claim(b, time.Minute), renewed(b, 0)},
			a, b,
		},
		"the other's was never renewed": {[]fleet.StartName{claim(b, time.Hour)}, a, ""},
		"a claim on another instance": {
			[]fleet.StartName{fleet.ClaimName(fleet.Claim{By: b, Since: 9}, "another"), renewed(b, 0)}, a, "",
		},
		"a note that is no claim": {[]fleet.StartName{"7-abc", claim(b, time.Hour), renewed(b, 0)}, a, b},
	} {
		book := fleet.ReadClaims(c.notes)
		if got, _ := book.Elsewhere(c.of, db, now); got.By != c.want {
			t.Errorf("%s: held by %q, want %q", what, got.By, c.want)
		}
	}
}

// A clock that is behind does not let a later claim win, and what is noted fits where notes are kept: a tag of
// OpenStack has 32 letters left.
func TestAClaimIsMadeLaterThanThoseThatStandAndFitsIntoANote(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a, b := fleet.Claimant("aaaaaaaa-0000-4000-8000-000000000000"), fleet.Claimant("x")
	other := fleet.Claim{By: b, Since: now.Add(time.Hour).Unix()}
	book := fleet.ReadClaims([]fleet.StartName{fleet.ClaimName(other, db), fleet.RenewalName(b, now)})
	is := book.Stake(a, db, now)
	if is.Since != other.Since+1 {
		t.Errorf("it is made at %v, and the other's at %v", is.At(), other.At())
	}
	name := fleet.ClaimName(is, db)
	if _, err := fleet.ParseStart(string(name)); err != nil || len(name) > 32 {
		t.Errorf("%q has %d letters: %v", name, len(name), err)
	}
}

func TestAnInstallationRemovesWhatItsClaimsLeaveBehind(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a, b, c := fleet.Claimant("aaaaaaaaaa"), fleet.Claimant("bbbbbbbbbb"), fleet.Claimant("cccccccccc")
	since := now.Add(-time.Hour).Unix()
	kept, let := fleet.ClaimName(fleet.Claim{By: a, Since: since}, db), fleet.ClaimName(fleet.Claim{By: a,
		Since: since}, "let-go")
	was, is := fleet.RenewalName(a, now.Add(-time.Hour)), fleet.RenewalName(a, now)
	others, left := fleet.RenewalName(b, now.Add(-48*time.Hour)), fleet.RenewalName(c, now.Add(-1000*time.Hour))
	book := fleet.ReadClaims([]fleet.StartName{kept, let, was, is, others, left})
	for what, x := range map[string]struct {
		whole bool
		later time.Duration
		want  []fleet.StartName
	}{
		"all its fleets are known": {true, 0, []fleet.StartName{let, was, left}},
		"not all are known":        {false, 0, []fleet.StartName{was, left}},
		"its claims are over":      {false, 25 * time.Hour, []fleet.StartName{kept, let, was, left}},
	} {
		if got := book.Stale(a, fleet.Cared{IDs: []fleet.InstanceID{db}, Whole: x.whole},
			now.Add(x.later)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v are removed, want %v", what, got, x.want)
		}
	}
}
