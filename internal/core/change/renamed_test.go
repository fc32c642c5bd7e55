package change_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func TestAFleetThatIsGoneAndOneLikeItThatIsNewIsARenaming(t *testing.T) {
	t.Parallel()
	spec := func(name fleet.Name, size int, provider fleet.ProviderName) policy.Spec {
		return policy.Spec{Name: name, Size: size, Provider: provider}
	}
	was := []policy.Spec{spec("db", 2, "lab"), spec("web", 3, "lab")}
	for name, c := range map[string]struct {
		is   []policy.Spec
		want int
	}{
		"another name":     {[]policy.Spec{spec("db", 2, "lab"), spec("www", 3, "lab")}, 1},
		"another size":     {[]policy.Spec{spec("db", 2, "lab"), spec("www", 4, "lab")}, 0},
		"another provider": {[]policy.Spec{spec("db", 2, "lab"), spec("www", 3, "rack")}, 0},
		"one more": {
			[]policy.Spec{spec("db", 2, "lab"), spec("web", 3, "lab"), spec("www", 3, "lab")},
			0,
		},
		"one less":               {[]policy.Spec{spec("db", 2, "lab")}, 0},
		"both have another name": {[]policy.Spec{spec("dc", 2, "lab"), spec("www", 3, "lab")}, 2},
		"two new ones, one is the old": {
			[]policy.Spec{spec("db", 2, "lab"), spec("w1", 3, "lab"), spec("w2", 3, "lab")},
			1,
		},
	} {
		if got := change.Renamings(was, c.is); len(got) != c.want {
			t.Errorf("%s: %d renamings, want %d", name, len(got), c.want)
		}
	}
}

func TestAFleetThatWasRenamedBetweenTwoRunsIsARenaming(t *testing.T) {
	t.Parallel()
	ledger := func(size int) *belief.Ledger { return &belief.Ledger{Size: size, Provider: "lab"} }
	ordered := ledger(5)
	ordered.Ordered = &belief.OrderedSize{File: 3}
	spec := func(name fleet.Name, size int) policy.Spec {
		return policy.Spec{Name: name, Size: size, Provider: "lab"}
	}
	for name, c := range map[string]struct {
		before map[fleet.Name]*belief.Ledger
		is     []policy.Spec
		want   int
	}{
		"another name":          {map[fleet.Name]*belief.Ledger{"web": ledger(3)}, []policy.Spec{spec("www", 3)}, 1},
		"people ordered a size": {map[fleet.Name]*belief.Ledger{"web": ordered}, []policy.Spec{spec("www", 3)}, 1},
		"another size":          {map[fleet.Name]*belief.Ledger{"web": ledger(3)}, []policy.Spec{spec("www", 4)}, 0},
		"it was let go before":  {nil, []policy.Spec{spec("www", 3)}, 0},
		"there were both": {map[fleet.Name]*belief.Ledger{"web": ledger(3), "www": ledger(3)},
			[]policy.Spec{spec("www", 3)}, 0},
		"nothing of it is in force": {map[fleet.Name]*belief.Ledger{"web": nil}, []policy.Spec{spec("www", 3)}, 0},
		"two, and one new": {map[fleet.Name]*belief.Ledger{"a": ledger(3), "b": ledger(3)},
			[]policy.Spec{spec("www", 3)}, 1},
	} {
		got := change.RenamedSince(c.before, c.is)
		if len(got) != c.want {
			t.Errorf("%s: %d renamings, want %d", name, len(got), c.want)
		}
		for _, r := range got {
			if r.To.Name != "www" || r.From.Name == "www" || r.From.Size != r.To.Size {
				t.Errorf("%s: from %+v to %+v", name, r.From, r.To)
			}
		}
	}
}
