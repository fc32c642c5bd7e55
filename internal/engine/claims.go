package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/outbox"
)

// claim says that a target was told of a provider's outage, of a brake that fleets share, or of a fate: by the owner
// of the fleet that came first, for all of them. It is made with the message and deleted with the message of the end,
// each by one transaction that only the first one wins.
type claim struct {
	By      fleet.Name
	Reasons []fleet.Reason // what was told of it
	Since   time.Time
	Owed    bool // the end is to be told, too
}

func claimsPrefix(p fleet.ProviderName) string { return "providers/" + string(p) + "/told/" }

func brakeClaims(k policy.ScopeKind, p fleet.ProviderName) string {
	if k == policy.ScopeInstallation {
		return "brake/told/"
	}
	return "providers/" + string(p) + "/brake/told/"
}

func fateClaims(p fleet.ProviderName, d fleet.Domain) string {
	return "providers/" + string(p) + "/fate/" + string(d.Kind) + "/" + url.PathEscape(d.Name) + "/told/"
}

// common is what a record says that is the same for several fleets: one of them tells people.
type common struct {
	claims  []string      // the prefixes of the claims under which it is told
	fellows []policy.Spec // the fleets that it is about, as this engine knows them
	over    bool          // what it tells is that it is over
	silent  bool          // no person is told: a wider incident is open
	remind  bool          // it is told once more
}

// inCommon returns what the record has to say for several fleets; false: it is about its own.
func (t *term) inCommon(r *record.Record) (common, bool) {
	if r.Machine != "" || r.Joined() {
		return common{}, false
	}
	c := common{remind: r.Kind == record.Reminded}
	paged := r.Kind == record.Paged || c.remind
	switch {
	case r.Scope != "" && (paged || r.Kind == record.Brake && r.Paged):
		c.claims, c.over = []string{brakeClaims(r.Scope, t.spec.Provider)}, r.Kind == record.Brake
		if c.fellows = t.everyone(t.spec.Provider); r.Scope == policy.ScopeInstallation {
			c.fellows = t.everyone("")
		}
		return c, true
	case paged && r.Reason == fleet.ReasonSharedFate || isFateOver(r):
		first := r.Domains[:min(len(r.Domains), belief.MostAmong)]
		for _, d := range append(slices.Clone(first), r.Domain) {
			if !d.None() {
				c.claims = append(c.claims, fateClaims(t.spec.Provider, d))
				c.fellows = append(c.fellows, t.struck(t.spec.Provider, d)...)
			}
		}
		c.over, c.silent = isFateOver(r), r.Reason == fleet.ReasonSuperseded
		return c, len(c.claims) > 0
	case r.Provider == "":
		return common{}, false
	case paged && (r.Reason == fleet.ReasonDown || r.Reason == fleet.ReasonProviderDoubtful),
		r.Kind == record.Provider && r.Reason == fleet.ReasonUp && r.Paged:
		c.claims, c.fellows = []string{claimsPrefix(t.spec.Provider)}, t.everyone(t.spec.Provider)
		c.over = r.Kind == record.Provider
		return c, true
	}
	return common{}, false
}

// isFateOver reports whether the record says that the fate of one domain, or of several, is over.
func isFateOver(r *record.Record) bool {
	return r.Paged && (r.Kind == record.ParentClosed || r.Kind == record.JointOver && len(r.Domains) > 0)
}

// everyone is all fleets, or those on the provider, as this engine was told.
func (e *Engine) everyone(on fleet.ProviderName) []policy.Spec {
	var all []policy.Spec
	for _, o := range *e.owners.Load() {
		if spec := o.told.Load().spec; on == "" || spec.Provider == on {
			all = append(all, spec)
		}
	}
	return all
}

// share leaves of a letter about several fleets the targets that no other one has told, and returns the claims to be
// made or deleted with it, if they are still as they were read.
func (t *term) share(ctx context.Context, l outbox.Letter, c common) (outbox.Letter, state.Txn, error) {
	var txn state.Txn
	if len(c.fellows) > 1 {
		for i := range c.fellows {
			l.Fleets = append(l.Fleets, c.fellows[i].Name)
		}
		slices.Sort(l.Fleets)
		l.Fleets = slices.Compact(l.Fleets)
	}
	if c.over {
		l.Sendings = nil
		for _, to := range t.spec.Notify.To {
			l.Sendings = append(l.Sendings, outbox.Sending{Target: to.Target})
		}
	}
	var mine []outbox.Sending
	for _, s := range l.Sendings {
		told, writes, err := t.claimFor(ctx, s.Target, c, l.Record)
		if err != nil {
			return l, txn, err
		}
		txn.If, txn.Then = append(txn.If, writes.If...), append(txn.Then, writes.Then...)
		if !told {
			mine = append(mine, s)
		}
	}
	if l.Sendings = mine; c.silent {
		l.Sendings = nil
	}
	return l, txn, nil
}

// claimFor reports whether the target need not be told of the record, since others told all of it. It returns what is
// to be claimed, or let go, with the message.
func (t *term) claimFor(ctx context.Context, target policy.TargetName, c common,
	r record.Record) (told bool, txn state.Txn, _ error) {
	told = true
	for _, prefix := range c.claims {
		key := prefix + string(target)
		was, revision, err := t.claimOf(ctx, key)
		if err != nil {
			return false, txn, err
		}
		toldHere, write, err := t.decideClaim(ctx, key, was, &c, r, target)
		if err != nil {
			return false, txn, err
		}
		if write != nil {
			txn.If = append(txn.If, state.At(key, revision))
			txn.Then = append(txn.Then, *write)
		}
		told = told && toldHere
	}
	return told, txn, nil
}

// decideClaim reports whether the target need not be told of the record, and returns what becomes of the claim; nil:
// it stays as it is.
func (t *term) decideClaim(ctx context.Context, key string, was *claim, c *common, r record.Record,
	target policy.TargetName) (told bool, _ *state.Write, _ error) {
	switch {
	case c.over && was == nil:
		return true, nil, nil
	case c.over:
		gone := state.Delete(key)
		return !was.Owed, &gone, nil
	case c.remind:
		return was != nil && was.By != t.spec.Name, nil, nil
	}
	is := claim{By: t.spec.Name, Since: r.At, Owed: t.wantsEnd(c, target)}
	if was != nil {
		stands, err := t.stands(ctx, was, c)
		if err != nil {
			return false, nil, err
		}
		if stands && slices.Contains(was.Reasons, r.Reason) {
			return true, nil, nil
		}
		if stands {
			is.Reasons, is.Since = slices.Clone(was.Reasons), was.Since
		}
	}
	is.Reasons = append(is.Reasons, r.Reason)
	data, err := json.Marshal(is)
	if err != nil {
		return false, nil, fault.New(fault.Invalid, "engine.claim", key, err)
	}
	made := state.Put(key, data)
	return false, &made, nil
}

// claimOf returns the claim and its revision; nil and 0: there is none.
func (t *term) claimOf(ctx context.Context, key string) (*claim, int64, error) {
	e, err := t.store.Get(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var c claim
	if err := json.Unmarshal(e.Value, &c); err != nil {
		return nil, e.Revision, nil //nolint:nilerr // what cannot be read keeps no page back
	}
	return &c, e.Revision, nil
}

// stands reports whether the claim still counts: the fleet that made it is looked after, so that it ends it.
func (t *term) stands(ctx context.Context, was *claim, c *common) (bool, error) {
	if was.By == t.spec.Name ||
		slices.ContainsFunc(c.fellows, func(f policy.Spec) bool { return f.Name == was.By }) {
		return true, nil
	}
	_, err := t.store.Get(ctx, beliefs.OwnerKey(was.By))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// wantsEnd reports whether one of the fleets wants the target told of the end.
func (t *term) wantsEnd(c *common, target policy.TargetName) bool {
	for _, f := range append(slices.Clone(c.fellows), t.spec) {
		for _, to := range f.Notify.To {
			if to.Target == target && to.Wants(policy.NotifyHealed) {
				return true
			}
		}
	}
	return false
}

// loadClaims sees whether an earlier term, or another fleet, told people that the provider fails.
func (t *term) loadClaims(ctx context.Context) (told bool, err error) {
	entries, _, err := t.store.List(ctx, claimsPrefix(t.spec.Provider))
	return len(entries) > 0, err
}
