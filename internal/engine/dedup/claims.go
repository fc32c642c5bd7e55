package dedup

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
	"hale/internal/engine/fellows"
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

func claimsPrefix(of fleet.ProviderName) string { return "providers/" + string(of) + "/told/" }

func brakeClaims(k policy.ScopeKind, p fleet.ProviderName) string {
	if k == policy.ScopeInstallation {
		return "brake/told/"
	}
	return "providers/" + string(p) + "/brake/told/"
}

func fateClaims(p fleet.ProviderName, d fleet.Domain) string {
	return "providers/" + string(p) + "/fate/" + string(d.Kind) + "/" + url.PathEscape(d.Name) + "/told/"
}

// Pages are those of one fleet.
type Pages struct {
	Store   state.Store
	Spec    *policy.Spec
	Fellows *fellows.Fleets
}

// Common is what a record says that is the same for several fleets: one of them tells people.
type Common struct {
	claims  []string      // the prefixes of the claims under which it is told
	fellows []policy.Spec // the fleets that it is about, as this engine knows them
	Over    bool          // what it tells is that it is over
	silent  bool          // no person is told: a wider incident is open
	remind  bool          // it is told once more
}

// InCommon returns what the record has to say for several fleets; false: it is about its own.
func (p Pages) InCommon(r *record.Record) (Common, bool) {
	if r.Machine != "" || r.Joined() {
		return Common{}, false
	}
	c := Common{remind: r.Kind == record.Reminded}
	paged := r.Kind == record.Paged || c.remind
	switch {
	case r.Scope != "" && (paged || r.Kind == record.Brake && r.Paged):
		c.claims, c.Over = []string{brakeClaims(r.Scope, p.Spec.Provider)}, r.Kind == record.Brake
		if c.fellows = p.Fellows.Everyone(p.Spec.Provider); r.Scope == policy.ScopeInstallation {
			c.fellows = p.Fellows.Everyone("")
		}
		return c, true
	case paged && r.Reason == fleet.ReasonSharedFate || isFateOver(r):
		first := r.Domains[:min(len(r.Domains), belief.MostAmong)]
		for _, d := range append(slices.Clone(first), r.Domain) {
			if !d.None() {
				c.claims = append(c.claims, fateClaims(p.Spec.Provider, d))
				c.fellows = append(c.fellows, p.Fellows.Struck(p.Spec.Provider, d)...)
			}
		}
		c.Over, c.silent = isFateOver(r), r.Reason == fleet.ReasonSuperseded
		return c, len(c.claims) > 0
	case r.Provider == "":
		return Common{}, false
	case paged && (r.Reason == fleet.ReasonDown || r.Reason == fleet.ReasonProviderDoubtful),
		r.Kind == record.Provider && r.Reason == fleet.ReasonUp && r.Paged:
		c.claims, c.fellows = []string{claimsPrefix(p.Spec.Provider)}, p.Fellows.Everyone(p.Spec.Provider)
		c.Over = r.Kind == record.Provider
		return c, true
	}
	return Common{}, false
}

// isFateOver reports whether the record says that the fate of one domain, or of several, is over.
func isFateOver(r *record.Record) bool {
	return r.Paged && (r.Kind == record.ParentClosed || r.Kind == record.JointOver && len(r.Domains) > 0)
}

// Share leaves of a letter about several fleets the targets that no other one has told, and returns the claims to be
// made or deleted with it, if they are still as they were read.
func (p Pages) Share(ctx context.Context, l outbox.Letter, c Common) (outbox.Letter, state.Txn, error) {
	var txn state.Txn
	if len(c.fellows) > 1 {
		for i := range c.fellows {
			l.Fleets = append(l.Fleets, c.fellows[i].Name)
		}
		slices.Sort(l.Fleets)
		l.Fleets = slices.Compact(l.Fleets)
	}
	if c.Over {
		l.Sendings = nil
		for _, to := range p.Spec.Notify.To {
			l.Sendings = append(l.Sendings, outbox.Sending{Target: to.Target})
		}
	}
	var mine []outbox.Sending
	for _, s := range l.Sendings {
		told, writes, err := p.claimFor(ctx, s.Target, c, l.Record)
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
func (p Pages) claimFor(ctx context.Context, target policy.TargetName, c Common,
	r record.Record) (told bool, txn state.Txn, _ error) {
	told = true
	for _, prefix := range c.claims {
		key := prefix + string(target)
		was, revision, err := p.claimOf(ctx, key)
		if err != nil {
			return false, txn, err
		}
		toldHere, write, err := p.decideClaim(ctx, key, was, &c, r, target)
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
func (p Pages) decideClaim(ctx context.Context, key string, was *claim, c *Common, r record.Record,
	target policy.TargetName) (told bool, _ *state.Write, _ error) {
	switch {
	case c.Over && was == nil:
		return true, nil, nil
	case c.Over:
		gone := state.Delete(key)
		return !was.Owed, &gone, nil
	case c.remind:
		return was != nil && was.By != p.Spec.Name, nil, nil
	}
	is := claim{By: p.Spec.Name, Since: r.At, Owed: p.wantsEnd(c, target)}
	if was != nil {
		stands, err := p.stands(ctx, was, c)
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
		return false, nil, fault.New(fault.Invalid, "dedup.claim", key, err)
	}
	made := state.Put(key, data)
	return false, &made, nil
}

// claimOf returns the claim and its revision; nil and 0: there is none.
func (p Pages) claimOf(ctx context.Context, key string) (*claim, int64, error) {
	e, err := p.Store.Get(ctx, key)
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
func (p Pages) stands(ctx context.Context, was *claim, c *Common) (bool, error) {
	if was.By == p.Spec.Name ||
		slices.ContainsFunc(c.fellows, func(f policy.Spec) bool { return f.Name == was.By }) {
		return true, nil
	}
	_, err := p.Store.Get(ctx, beliefs.OwnerKey(was.By))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// wantsEnd reports whether one of the fleets wants the target told of the end.
func (p Pages) wantsEnd(c *Common, target policy.TargetName) bool {
	for _, f := range append(slices.Clone(c.fellows), *p.Spec) {
		for _, to := range f.Notify.To {
			if to.Target == target && to.Wants(policy.NotifyHealed) {
				return true
			}
		}
	}
	return false
}

// ProviderTold sees whether an earlier term, or another fleet, told people that the provider fails.
func (p Pages) ProviderTold(ctx context.Context) (told bool, err error) {
	entries, _, err := p.Store.List(ctx, claimsPrefix(p.Spec.Provider))
	return len(entries) > 0, err
}
