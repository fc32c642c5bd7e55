package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hale/api"
	"hale/internal/api/server"
	"hale/internal/app/backups"
	"hale/internal/app/outlook"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/owner/published"
	"hale/internal/probe/satellite"
	"hale/internal/provider"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/format"
	"hale/internal/state/memory"
)

// PlanOptions are what a plan is made from.
type PlanOptions struct {
	Config  *config.Config
	DataDir string      // of a controller that may have run here; it is copied, never opened
	Client  *api.Client // of a controller that may run now
	Deep    bool        // also try what would be needed
	Logger  *slog.Logger
}

// Plan says what hale would do now, and why. It looks at everything (provider and checks) and changes nothing: the
// beliefs of the running controller, or of a copy of the data folder, or none, go into a store that is thrown away,
// each provider is opened for reading only, and each fleet is only watched until there is a verdict on every machine.
func Plan(ctx context.Context, o PlanOptions) (api.Plan, error) {
	believed, from, err := recall(ctx, o)
	if err != nil {
		return api.Plan{}, err
	}
	store := memory.New(memory.Options{}).Open(nil)
	if err := fill(ctx, store, believed); err != nil {
		return api.Plan{}, err
	}
	was, err := setAside(ctx, store, o.Config.Fleets)
	if err != nil {
		return api.Plan{}, err
	}
	were, err := recallConnections(ctx, store)
	if err != nil {
		return api.Plan{}, err
	}
	s, err := newSite(o.Config, were, o.Logger)
	if err != nil {
		return api.Plan{}, err
	}
	defer s.close()
	if err := s.restore(ctx, store); err != nil {
		return api.Plan{}, err
	}
	specs := watchedOnly(o.Config.Fleets)
	err = s.staff(staffing{store: store, server: "plan", specs: specs, wrap: provider.ReadOnly, log: o.Logger})
	if err != nil {
		return api.Plan{}, err
	}
	status, settled, err := s.contemplate(ctx)
	if err != nil {
		return api.Plan{}, err
	}
	p := api.Plan{At: time.Now(), State: from, Settled: settled, Fleets: []api.PlannedWork{}}
	if o.Deep {
		p.Trials = s.try(ctx)
	}
	for i, f := range status {
		size, left := f.Spec.Size, f.Spec.Adopt.Left
		f.Wanted = o.Config.Fleets[i]
		if f.Spec = f.Whole.Ledger.Force(f.Wanted); f.Spec.Adopt.Selects() {
			f.Spec.Size, f.Spec.Adopt.Left = size, left // what is there
		}
		w := outlook.Of(f, was)
		w.Warnings = slices.Concat(w.Warnings, outlook.Unwitnessed(f, status), s.askedElsewhere(f.Wanted.Provider))
		p.Fleets = append(p.Fleets, w)
	}
	return p, nil
}

// askedElsewhere warns where the plan comes from another place than the configuration names: the edit waits for a
// person's word.
func (s *site) askedElsewhere(p fleet.ProviderName) []string {
	wanted := slices.IndexFunc(s.config.Providers, func(c config.Provider) bool { return c.Name == p })
	if wanted < 0 || s.config.Providers[wanted].SameAddress(adapterOf(s.adapters, p).config) {
		return nil
	}
	return []string{fmt.Sprintf("provider %s has another address in this configuration: once hale has read it, "+
		"that waits for a person's word (hale apply); until then hale asks where it is connected now, as this plan did",
		p)}
}

// recall finds what is believed: by the running controller, else by the last one that ran on the data folder.
func recall(ctx context.Context, o PlanOptions) (api.State, string, error) {
	believed, err := o.Client.State(ctx)
	if err == nil {
		return believed, api.FromController, nil
	}
	if absent := (api.NotRunning{}); !errors.As(err, &absent) || errors.Is(err, fs.ErrPermission) {
		return api.State{}, "", err
	}
	believed, err = readCopy(ctx, o)
	if fault.Is(err, fault.NotFound) {
		return api.State{}, api.FromNothing, nil
	}
	return believed, api.FromDataFolder, err
}

// readCopy reads a copy of the data folder. fault.Conflict: a controller that was not heard uses it.
func readCopy(ctx context.Context, o PlanOptions) (believed api.State, err error) {
	err = backups.OnCopy(ctx, o.DataDir, o.Logger, func(store state.Store) error {
		if err := format.Open(ctx, store, ""); err != nil {
			return err
		}
		believed, err = server.Dump(ctx, store)
		return err
	})
	return believed, err
}

// fill puts the entries into an empty store.
func fill(ctx context.Context, store state.Store, believed api.State) error {
	return state.CommitAll(ctx, store, func(yield func(state.Write, error) bool) {
		for _, e := range believed.Entries {
			if !yield(state.Put(e.Key, e.Value), nil) {
				return
			}
		}
	})
}

// setAside notes which instances are adopted, and takes the repairs under way out of the beliefs: the controller goes
// on with them, and a plan must not.
func setAside(ctx context.Context, store state.Store, specs []policy.Spec) (outlook.Before, error) {
	was := outlook.Before{UnderWay: map[fleet.MachineName]belief.Repair{}, Adopted: map[fleet.InstanceID]bool{},
		Moved: map[fleet.Name]*resized.State{}}
	for _, spec := range specs {
		var err error
		if was.Moved[spec.Name], err = beliefs.Moved(ctx, store, spec.Name); err != nil {
			return was, err
		}
		beliefs, err := beliefs.All(ctx, store, spec.Name)
		if err != nil {
			return was, err
		}
		for _, b := range beliefs {
			was.Adopted[b.Machine.Current.ID] = b.Machine.Current.Adopted && !b.Machine.Current.Candidate()
			if b.Machine.Repair == nil {
				continue
			}
			was.UnderWay[b.Machine.Name] = *b.Machine.Repair
			b.Machine.Repair = nil
			data, err := json.Marshal(b.Machine)
			if err != nil {
				return was, fault.New(fault.Invalid, "app.plan", b.Key, err)
			}
			if _, err := store.Commit(ctx, state.Txn{Then: []state.Write{state.Put(b.Key, data)}}); err != nil {
				return was, err
			}
		}
	}
	return was, nil
}

// watchedOnly returns the specifications with nothing allowed, and metrics that are read at once.
func watchedOnly(specs []policy.Spec) []policy.Spec {
	out := slices.Clone(specs)
	for i := range out {
		out[i].Mode = policy.ModeObserve
		out[i].Notify = policy.Notify{} // a plan sends no messages
		if z := out[i].Sizing; z != nil {
			soon := *z
			soon.Metrics = slices.Clone(z.Metrics)
			for k := range soon.Metrics {
				soon.Metrics[k].Every = min(soon.Metrics[k].Every, time.Second)
			}
			out[i].Sizing = &soon
		}
	}
	return out
}

const (
	settleMargin = 5 * time.Second // beyond the time that the checks need
	settlePoll   = 50 * time.Millisecond
)

// patience is how long the site is looked at, at most.
func (s *site) patience() time.Duration {
	limit := settleMargin
	for _, spec := range s.config.Fleets {
		limit = max(limit, guard.SettleTime(spec)+settleMargin)
	}
	return limit
}

// contemplate runs the site until there is a verdict on every machine, or time is over.
func (s *site) contemplate(ctx context.Context) (status []published.Fleet, settled bool, err error) {
	s.satellites.Take(satellite.Settings{}) // they report to the hale that runs
	watching, stop := context.WithTimeout(ctx, s.patience())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		defer s.defects.Catch(defect.Place{Part: defect.Surface, Name: "plan"}, "its work",
			func(p *defect.Panic) { err = p })
		err = s.run(watching)
	})
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for !settled && watching.Err() == nil {
		select {
		case <-watching.Done():
		case <-poll.C:
		}
		status = s.engine.Status()
		settled = !slices.ContainsFunc(status, unsettled)
	}
	stop()
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return status, settled, err
}

// unsettled reports whether there is something that a little patience would tell.
func unsettled(f published.Fleet) bool {
	if f.Acting != "" || f.Provider.Standing == fleet.ProviderUnknown || len(f.Machines) < f.Spec.Size ||
		slices.ContainsFunc(f.Gauges, func(g fleet.Gauge) bool { return len(g.Points) == 0 && g.Trouble == "" }) {
		return true
	}
	return slices.ContainsFunc(f.Machines, func(v situation.View) bool {
		switch v.Machine.Health.Verdict {
		case belief.VerdictHealthy, belief.VerdictUnhealthy:
			return false
		case belief.VerdictUnknown:
			return !v.Machine.Current.None()
		case belief.VerdictStarting, belief.VerdictSuspect:
		}
		return true
	})
}
