package change_test

import (
	"testing"

	"hale/internal/change"
	"hale/internal/fleet"
)

func TestAFleetThatIsGoneAndOneLikeItThatIsNewIsARenaming(t *testing.T) {
	t.Parallel()
	spec := func(name fleet.Name, size int, provider fleet.ProviderName) fleet.Spec {
		return fleet.Spec{Name: name, Size: size, Provider: provider}
	}
	was := []fleet.Spec{spec("db", 2, "lab"), spec("web", 3, "lab")}
	for name, c := range map[string]struct {
		is   []fleet.Spec
		want int
	}{
		"another name":                 {[]fleet.Spec{spec("db", 2, "lab"), spec("www", 3, "lab")}, 1},
		"another size":                 {[]fleet.Spec{spec("db", 2, "lab"), spec("www", 4, "lab")}, 0},
		"another provider":             {[]fleet.Spec{spec("db", 2, "lab"), spec("www", 3, "rack")}, 0},
		"one more":                     {[]fleet.Spec{spec("db", 2, "lab"), spec("web", 3, "lab"), spec("www", 3, "lab")}, 0},
		"one less":                     {[]fleet.Spec{spec("db", 2, "lab")}, 0},
		"both have another name":       {[]fleet.Spec{spec("dc", 2, "lab"), spec("www", 3, "lab")}, 2},
		"two new ones, one is the old": {[]fleet.Spec{spec("db", 2, "lab"), spec("w1", 3, "lab"), spec("w2", 3, "lab")}, 1},
	} {
		if got := change.Renamings(was, c.is); len(got) != c.want {
			t.Errorf("%s: %d renamings, want %d", name, len(got), c.want)
		}
	}
}
