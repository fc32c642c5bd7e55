package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hale/api"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// withheld is the configuration in which fleets that look renamed are as they were: the new ones are not built, and the
// old ones are looked after, until a person confirms that.
func withheld(next *config.Config, all []change.Renaming) *config.Config {
	if len(all) == 0 {
		return next
	}
	out := *next
	out.Fleets = slices.DeleteFunc(slices.Clone(next.Fleets), func(s policy.Spec) bool {
		return slices.ContainsFunc(all, func(r change.Renaming) bool { return r.To.Name == s.Name })
	})
	for _, r := range all {
		out.Fleets = append(out.Fleets, r.From)
	}
	slices.SortFunc(out.Fleets, func(a, b policy.Spec) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return &out
}

// renamings are the plan for the fleets that look renamed in the next configuration; false: there are none.
func renamings(all []change.Renaming, status []published.Fleet) (api.Waiting, bool) {
	if len(all) == 0 {
		return api.Waiting{}, false
	}
	w := api.Waiting{
		Subject: api.SubjectConfiguration,
		Remove:  []api.Touched{},
		Replace: []api.Touched{},
		Doubted: []api.Touched{},
	}
	var said []string
	var facts []any
	for _, r := range all {
		facts = append(facts, r.From.Name, r.To.Name)
		n := 0
		for _, f := range status {
			if f.Spec.Name != r.From.Name {
				continue
			}
			for _, v := range f.Machines {
				if !v.Machine.Current.None() {
					n++
					facts = append(facts, v.Machine.Name, v.Machine.Current.ID)
				}
			}
		}
		said = append(
			said,
			fmt.Sprintf(
				"fleet %s is gone and fleet %s is new, with the same provider, size and template: %d machines of %s "+
					"would be let go (they run on, and nothing watches them), and %d new ones built",
				r.From.Name,
				r.To.Name,
				n,
				r.From.Name,
				r.To.Size,
			),
		)
	}
	w.Text, w.ID = strings.Join(said, "; "), change.ID("renamed", facts...)
	return w, true
}

// sinceLast returns the fleets that look as if they were given another name since hale ran last on the store.
func sinceLast(ctx context.Context, store state.Store, next *config.Config) ([]change.Renaming, error) {
	names, err := beliefs.LookedAfter(ctx, store)
	if err != nil {
		return nil, err
	}
	before := map[fleet.Name]*belief.Ledger{}
	for _, name := range names {
		if before[name], err = beliefs.InForce(ctx, store, name); err != nil {
			return nil, err
		}
	}
	return change.RenamedSince(before, next.Fleets), nil
}
