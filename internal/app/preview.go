package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/provider"
	"hale/internal/state/memory"
)

// PreviewOptions are what a preview of an adoption is made from.
type PreviewOptions struct {
	// Config has the provider, and the fleets that there are already.
	Config *config.Config
	// Fleet is the one that would select.
	Fleet policy.Spec
	// Waiting is told before the machines are looked at, and how long that may take.
	Waiting func(atMost time.Duration)
	Logger  *slog.Logger
}

// Preview says which machines a fleet would adopt, how they are, and what it would leave alone. It looks at the
// provider and probes once for as long as the checks need, and changes nothing.
func Preview(ctx context.Context, o PreviewOptions) (api.Preview, error) {
	alone := *o.Config
	alone.Fleets = []policy.Spec{o.Fleet}
	s, err := newSite(&alone, nil, o.Logger)
	if err != nil {
		return api.Preview{}, err
	}
	defer s.close()
	store := memory.New(memory.Options{}).Open(nil)
	if err := s.restore(ctx, store); err != nil {
		return api.Preview{}, err
	}
	listing, err := adapterOf(s.adapters, o.Fleet.Provider).Provider.List(ctx)
	if err != nil {
		return api.Preview{}, fmt.Errorf("provider %s does not answer: %s", o.Fleet.Provider, fault.Plain(err))
	}
	out := preview(listing, o)
	if !slices.ContainsFunc(out.Machines, func(m api.PreviewedMachine) bool { return m.Left == "" }) {
		return out, nil // no machine to look at
	}
	err = s.staff(staffing{
		store: store, server: "preview", specs: watchedOnly(alone.Fleets), wrap: provider.ReadOnly, log: o.Logger,
	})
	if err != nil {
		return api.Preview{}, err
	}
	o.Waiting(s.patience())
	status, settled, err := s.contemplate(ctx)
	if err != nil {
		return api.Preview{}, err
	}
	out.Settled = settled
	for _, f := range status {
		judged(&out, f)
	}
	return out, nil
}

// preview lists what is selected, and who has what is not to be had.
func preview(listing provider.Listing, o PreviewOptions) api.Preview {
	out := api.Preview{Provider: string(o.Fleet.Provider), Machines: []api.PreviewedMachine{}, Others: []string{}}
	var silent []error
	var transient []string
	for _, h := range listing.Hosts {
		silent = append(silent, h.Err)
	}
	if err := errors.Join(silent...); err != nil {
		out.Unseen = err.Error()
	}
	for i := range listing.Instances {
		seen := &listing.Instances[i]
		if !o.Fleet.Adopt.Select.Matches(seen) {
			out.Others = append(out.Others, seen.Name)
			continue
		}
		m := api.PreviewedMachine{
			Name:     seen.Name,
			Instance: string(seen.ID),
			Host:     string(seen.Host),
			Power:    string(seen.Power),
		}
		if seen.Address.IsValid() {
			m.Address = seen.Address.String()
		}
		m.Left, m.With = leftTo(seen, o.Fleet.Adopt)
		if seen.Transient && m.Left == "" {
			transient = append(transient, seen.Name)
		}
		m.Fleet, m.Installation = string(seen.Mark.Fleet), string(seen.Mark.Installation)
		out.Machines = append(out.Machines, m)
	}
	if slices.Sort(transient); len(transient) > 0 {
		out.Warnings = []string{prose.Transient(transient)}
	}
	slices.Sort(out.Others)
	slices.SortFunc(out.Machines, func(a, b api.PreviewedMachine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Instance, b.Instance))
	})
	return out
}

// leftTo says why the instance would not be adopted, and what it belongs to.
func leftTo(i *fleet.Instance, a policy.Adoption) (why, with string) {
	switch rival := a.Contested(i); {
	case i.Mark != (fleet.Mark{}):
		return api.LeftMarked, string(i.Mark.Machine)
	case rival != "":
		return api.LeftContested, string(rival)
	}
	return "", ""
}

// judged adds how the machines are.
func judged(out *api.Preview, f published.Fleet) {
	for _, v := range f.Machines {
		for i := range out.Machines {
			if m := &out.Machines[i]; m.Instance == string(v.Machine.Current.ID) && m.Instance != "" {
				m.Verdict, m.Text = string(v.Machine.Health.Verdict), view.Verdict(v)
			}
		}
	}
}
