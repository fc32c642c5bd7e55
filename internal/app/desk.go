package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/api/view"
	"hale/internal/config"
	"hale/internal/core/change"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// desk is where people hand in changes of what is wanted: one after the other.
type desk struct {
	load     func() (*config.Config, error)
	site     *site
	log      *slog.Logger
	onReload func(context.Context, *config.Config) // as in Options
	mu       sync.Mutex
	// next is the configuration that waits for a person's word, since fleets in it look renamed; nil: none does.
	next *config.Config
	// plans are those of providers, as they were when they were last asked for.
	plans atomic.Pointer[[]api.Waiting]
	taken atomic.Pointer[takenOver]
}

// takenOver is when the configuration that runs was taken over, and why a later one was not.
type takenOver struct {
	at      time.Time
	refused error
}

func newDesk(o Options, s *site) *desk {
	d := &desk{load: o.Load, site: s, log: o.Logger, onReload: o.onReload}
	d.taken.Store(&takenOver{at: time.Now()})
	return d
}

// Reloaded says when the configuration that runs was taken over, and why a later one was not.
func (d *desk) Reloaded() (time.Time, error) {
	is := d.taken.Load()
	return is.at, is.refused
}

// listen reloads at each hangup, until ctx ends. What was wrong is logged.
func (d *desk) listen(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if _, err := d.Reload(ctx); err != nil && ctx.Err() == nil {
				// why was logged
				d.log.Error("the configuration was not reloaded, and the one that runs is left as it is")
			}
		}
	}
}

// Reload implements server.Desk: the configuration is read again, and is in force when it returns without an error, as
// far as it destroys nothing. After an error everything is as it was.
func (d *desk) Reload(ctx context.Context) (api.Changes, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out, err := d.reload(ctx)
	switch {
	case err == nil:
		d.taken.Store(&takenOver{at: time.Now()})
	case ctx.Err() == nil && !fault.Is(err, fault.Unsupported):
		d.taken.Store(&takenOver{d.taken.Load().at, err})
	}
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			d.log.Error("reload", "problem", line)
		}
	}
	return out, err
}

func (d *desk) reload(ctx context.Context) (api.Changes, error) {
	next, err := d.read(d.load)
	if err != nil {
		return api.Changes{}, err
	}
	renamed := change.Renamings(d.site.config.Fleets, next.Fleets)
	inForce := withheld(next, renamed)
	differences, left := config.Compare(d.site.config, inForce), d.unwatched(inForce)
	waited := d.changes(nil, d.site.config).Plans
	if err := d.site.reload(ctx, inForce, ""); err != nil {
		return api.Changes{}, err
	}
	d.await(next, renamed)
	if d.onReload != nil {
		d.onReload(ctx, next)
	}
	d.log.Info("the configuration is reloaded", "differences", len(differences))
	for _, u := range left {
		d.log.Warn("the machines of a fleet that left the configuration run on, and nothing watches them",
			"fleet", u.Fleet,
			"machines", strings.Join(u.Machines, ", "))
	}
	out := d.changes(differences, inForce)
	out.Unwatched, out.Withdrawn = left, withdrawn(waited, out.Plans)
	for _, w := range out.Withdrawn {
		d.log.Info("a plan that waited is taken back: it is not in the configuration any more", "plan", w.ID, "of",
			w.Subject)
	}
	return out, nil
}

// withdrawn returns the plans that waited, but wait no longer under any name for their subject.
func withdrawn(waited, waits []api.Waiting) []api.Waiting {
	return slices.DeleteFunc(waited, func(was api.Waiting) bool {
		return slices.ContainsFunc(waits, func(w api.Waiting) bool { return w.Subject == was.Subject })
	})
}

// begin notes that the configuration of this start waits for a person's word, if fleets in it look renamed since the
// last one.
func (d *desk) begin(o Options, renamed []change.Renaming) {
	for _, r := range renamed {
		d.next = o.Config
		d.log.Warn("a fleet looks renamed since hale ran last; both stay as they were until that is confirmed: see "+
			"hale apply",
			"fleet", r.From.Name, "is", r.To.Name)
	}
}

// await notes that the configuration waits for a person's word, if fleets in it look renamed.
func (d *desk) await(next *config.Config, renamed []change.Renaming) {
	d.next = nil
	if w, waits := renamings(renamed, d.site.engine.Status()); waits {
		d.next = next
		d.log.Warn("fleets look renamed, and stay as they are until that is confirmed", "plan", w.ID, "why", w.Text)
	}
}

// renaming is the plan of the configuration that waits, if one does.
func (d *desk) renaming() (api.Waiting, bool) {
	if d.next == nil {
		return api.Waiting{}, false
	}
	return renamings(change.Renamings(d.site.config.Fleets, d.next.Fleets), d.site.engine.Status())
}

// unwatched returns the machines that would run on without being watched under the next configuration.
func (d *desk) unwatched(next *config.Config) []api.Unwatched {
	var out []api.Unwatched
	for _, f := range d.site.engine.Status() {
		if slices.ContainsFunc(next.Fleets, func(s policy.Spec) bool { return s.Name == f.Spec.Name }) {
			continue
		}
		u := api.Unwatched{Fleet: string(f.Spec.Name), Machines: []string{}}
		for i := range f.Machines {
			if m := &f.Machines[i].Machine; !m.Current.None() {
				u.Machines = append(u.Machines, cmp.Or(m.Alias, string(m.Name)))
			}
		}
		out = append(out, u)
	}
	return out
}

// read reads a configuration that could follow the running one. An error is of type keys.Problems or fault.Invalid.
func (d *desk) read(load func() (*config.Config, error)) (*config.Config, error) {
	if load == nil {
		return nil, fault.New(fault.Unsupported, "app.reload", "",
			errors.New("this controller was not started from a file"))
	}
	next, err := load()
	var problems keys.Problems
	switch {
	case errors.As(err, &problems):
		return nil, err
	case err != nil:
		return nil, fault.New(fault.Invalid, "app.reload", "", err)
	}
	return next, movable(d.site.config, next)
}

// Compare implements server.Desk: it says what a configuration would change, and changes nothing.
func (d *desk) Compare(_ context.Context, path string) (api.Changes, error) {
	load := d.load
	if path != "" {
		load = func() (*config.Config, error) { return config.Load(path, adapters.All()) }
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next, err := d.read(load)
	if err != nil {
		return api.Changes{}, err
	}
	renamed := change.Renamings(d.site.config.Fleets, next.Fleets)
	inForce := withheld(next, renamed)
	out := d.changes(config.Compare(d.site.config, inForce), inForce)
	out.Plans = slices.DeleteFunc(out.Plans, func(p api.Waiting) bool { return p.Subject == api.SubjectConfiguration })
	if w, waits := renamings(renamed, d.site.engine.Status()); waits {
		out.Plans = append(out.Plans, w)
	}
	out.Unwatched, out.Withdrawn = d.unwatched(inForce), withdrawn(d.changes(nil, d.site.config).Plans, out.Plans)
	return out, nil
}

// Readdress implements server.Desk: it connects the provider to its new address, and trusts what answers there. The
// guard decides, as ever, about machines that are not found there.
func (d *desk) Readdress(ctx context.Context, plan, by string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w, waits := d.renaming(); waits && w.ID == plan {
		d.log.Warn("the renamed fleets are confirmed", "plan", plan, "by", by, "what", w.Text)
		err := d.site.reload(ctx, d.next, "")
		if err == nil {
			d.next = nil
		}
		return err
	}
	status := d.site.engine.Status()
	for _, p := range d.site.config.Providers {
		if w, waits := d.site.waiting(p, status); waits && w.ID == plan {
			d.log.Warn("the provider's new address is confirmed", "provider", p.Name, "plan", plan, "by", by)
			return d.site.reload(ctx, d.site.config, p.Name)
		}
	}
	return fault.New(fault.Conflict, "app.readdress", plan,
		errors.New(words.Reason(fleet.ReasonStalePlan)+"; "+words.Advice(fleet.ReasonStalePlan)))
}

// Pending implements server.Desk: it says what waits for a person's word.
func (d *desk) Pending(context.Context) (api.Changes, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes(nil, d.site.config), nil
}

// providerPlans says which providers wait for a person's word. While a reload is under way it says what it said before.
func (d *desk) providerPlans() []api.Waiting {
	if !d.mu.TryLock() {
		if last := d.plans.Load(); last != nil {
			return *last
		}
		return nil
	}
	defer d.mu.Unlock()
	var out []api.Waiting
	status := d.site.engine.Status()
	for _, p := range d.site.config.Providers {
		if w, waits := d.site.waiting(p, status); waits {
			out = append(out, w)
		}
	}
	if w, waits := d.renaming(); waits {
		out = append(out, w)
	}
	d.plans.Store(&out)
	return out
}

// changes puts the differences into words, and the plans for what waits under the configuration.
func (d *desk) changes(differences []change.Difference, c *config.Config) api.Changes {
	out := api.Changes{Changes: []api.Change{}, Plans: []api.Waiting{}, Passed: c.Passed}
	for _, diff := range differences {
		out.Changes = append(out.Changes, api.Change{
			Subject: subject(diff), Kind: string(diff.Kind), Text: prose.Difference(diff),
			Destructive: diff.Kind.Destructive(),
		})
	}
	status := d.site.engine.Status()
	for _, spec := range c.Fleets {
		for _, f := range status {
			if f.Spec.Name != spec.Name {
				continue
			}
			for _, said := range view.Warnings(f) {
				out.Warnings = append(out.Warnings, "fleet "+string(spec.Name)+": "+said)
			}
			if p := change.Pending(&spec, f.Whole.Ledger, f.Machines, f.Hosts); !p.Empty() {
				out.Plans = append(out.Plans, view.Waiting(p))
			}
		}
	}
	for _, p := range c.Providers {
		if w, waits := d.site.waiting(p, status); waits {
			out.Plans = append(out.Plans, w)
		}
	}
	if w, waits := d.renaming(); waits {
		out.Plans = append(out.Plans, w)
	}
	return out
}

// subject names what a difference is about.
func subject(d change.Difference) string {
	switch d.Kind {
	case change.ProviderAdded, change.ProviderRemoved, change.ProviderReconnected, change.AddressChanged:
		return "provider " + d.Subject
	case change.VantageChanged:
		return "vantage"
	case change.TargetsChanged:
		return "notify"
	case change.FencesChanged:
		return "fences"
	case change.AccessChanged:
		return "api"
	case change.MetricsChanged:
		return "metrics"
	case change.BalancersChanged:
		return "balancers"
	case change.DiscoveryChanged:
		return "discovery"
	case change.HeartbeatsChanged:
		return "heartbeats"
	case change.SatellitesChanged:
		return "satellites"
	case change.StateChanged:
		return "state"
	case change.TelemetryChanged:
		return "telemetry"
	default:
		return "fleet " + d.Subject
	}
}

// waiting returns the plan for a provider with a changed address, if there is one.
func (s *site) waiting(p config.Provider, status []published.Fleet) (api.Waiting, bool) {
	was := adapterOf(s.adapters, p.Name)
	if was.Provider == nil || p.SameAddress(was.config) {
		return api.Waiting{}, false
	}
	w := api.Waiting{
		Subject: "provider " + string(p.Name), Text: prose.Difference(change.Difference{Kind: change.AddressChanged}),
		Remove: []api.Touched{}, Replace: []api.Touched{}, Doubted: []api.Touched{},
	}
	var named []change.Touched
	for _, f := range status {
		if f.Spec.Provider != p.Name {
			continue
		}
		for _, v := range f.Machines {
			if !v.Machine.Current.None() {
				named = append(named, change.Touched{Machine: v.Machine.Name, Instance: v.Machine.Current.ID})
			}
		}
	}
	for _, t := range named {
		w.Doubted = append(w.Doubted, api.Touched{Machine: string(t.Machine), Instance: string(t.Instance)})
	}
	w.ID = change.ID(string(p.Name), was.config.Hosts, p.Hosts, named)
	return w, true
}
