package config

import (
	"fmt"
	"slices"

	"hale/internal/config/fleets"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// rivals tells each fleet that selects of the others on its provider. What two would always select is a problem; what
// they may both come to select is seen when it is there, and adopted by neither.
func rivals(c *Config, drafts []keys.Named[fleets.Draft], f *keys.Finder) {
	for i := range c.Fleets {
		a := &c.Fleets[i]
		if !a.Adopt.Selects() {
			continue
		}
		for k := range c.Fleets {
			b := &c.Fleets[k]
			if k == i || !b.Adopt.Selects() || a.Provider != b.Provider || a.Adopt.Select.Apart(&b.Adopt.Select) {
				continue
			}
			a.Adopt.Rivals = append(a.Adopt.Rivals, policy.Rival{Fleet: b.Name, Select: b.Adopt.Select})
			if k < i && collide(&a.Adopt.Select, &b.Adopt.Select) {
				at := slices.IndexFunc(drafts,
					func(n keys.Named[fleets.Draft]) bool { return n.Name == string(a.Name) })
				f.Add(drafts[at].Value.Selects(),
					fmt.Sprintf("selects what fleet %s selects, too: neither would adopt it", b.Name),
					fmt.Sprintf("leave it out of fleet %s or of fleet %s, by except", a.Name, b.Name))
			}
		}
	}
}

// collide reports whether what the one means the other surely means, too.
func collide(a, b *policy.Selector) bool { return a.Within(b) || b.Within(a) }
