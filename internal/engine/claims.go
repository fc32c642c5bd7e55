package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/outbox"
	"hale/internal/state"
)

// claim says that a target was told of a provider's outage: by the owner of the fleet that came first, for all fleets
// on the provider. It is made with the message and deleted with the message of the end, each by one transaction that
// only the first one wins.
type claim struct {
	By      fleet.Name
	Reasons []fleet.Reason // how the provider stood, as far as it was told
	Since   time.Time
	Owed    bool // the end is to be told, too
}

func claimsPrefix(p fleet.ProviderName) string { return "providers/" + string(p) + "/told/" }
func claimKey(p fleet.ProviderName, t fleet.TargetName) string {
	return claimsPrefix(p) + string(t)
}

// aboutProvider reports whether the record tells people that the provider fails, and whether it tells them that this is
// over: that is the same for all fleets on it.
func aboutProvider(r *fleet.Record) (fails, over bool) {
	if r.Machine != "" || r.Provider == "" {
		return false, false
	}
	fails = r.Kind == fleet.RecordPaged && (r.Reason == fleet.ReasonDown || r.Reason == fleet.ReasonProviderDoubtful)
	return fails, r.Kind == fleet.RecordProvider && r.Reason == fleet.ReasonUp && r.Paged
}

// fellows are the fleets on the provider, as this engine was told.
func (e *Engine) fellows(of fleet.ProviderName) func() []fleet.Spec {
	return func() []fleet.Spec {
		var all []fleet.Spec
		for _, o := range *e.owners.Load() {
			if spec := o.told.Load().spec; spec.Provider == of {
				all = append(all, spec)
			}
		}
		return all
	}
}

// share leaves of a letter about the provider the targets that no other fleet has told, and returns the claims to be
// made or deleted with it, if they are still as they were read.
func (t *term) share(ctx context.Context, l outbox.Letter) (outbox.Letter, state.Txn, error) {
	var txn state.Txn
	fails, over := aboutProvider(&l.Record)
	if !fails && !over {
		return l, txn, nil
	}
	fellows := t.sentinel.fellows()
	if len(fellows) > 1 {
		for i := range fellows {
			l.Fleets = append(l.Fleets, fellows[i].Name)
		}
		slices.Sort(l.Fleets)
	}
	if over {
		l.Sendings = nil
		for _, to := range t.spec.Notify.To {
			l.Sendings = append(l.Sendings, outbox.Sending{Target: to.Target})
		}
	}
	var mine []outbox.Sending
	for _, s := range l.Sendings {
		key := claimKey(t.spec.Provider, s.Target)
		was, revision, err := t.claimOf(ctx, key)
		if err != nil {
			return l, txn, err
		}
		told, write, err := t.decideClaim(ctx, key, was, l.Record, s.Target)
		if err != nil {
			return l, txn, err
		}
		if write != nil {
			txn.If = append(txn.If, state.At(key, revision))
			txn.Then = append(txn.Then, *write)
		}
		if !told {
			mine = append(mine, s)
		}
	}
	l.Sendings = mine
	return l, txn, nil
}

// decideClaim reports whether the target need not be told of the record, and returns what becomes of the claim; nil:
// it stays as it is.
func (t *term) decideClaim(ctx context.Context, key string, was *claim, r fleet.Record, target fleet.TargetName) (
	told bool, _ *state.Write, _ error) {
	_, over := aboutProvider(&r)
	switch {
	case over && was == nil:
		return true, nil, nil
	case over:
		gone := state.Delete(key)
		return !was.Owed, &gone, nil
	}
	is := claim{By: t.spec.Name, Since: r.At, Owed: t.wantsEnd(target)}
	if was != nil {
		stands, err := t.stands(ctx, was)
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
func (t *term) stands(ctx context.Context, c *claim) (bool, error) {
	if c.By == t.spec.Name ||
		slices.ContainsFunc(t.sentinel.fellows(), func(f fleet.Spec) bool { return f.Name == c.By }) {
		return true, nil
	}
	_, err := t.store.Get(ctx, ownerKey(c.By))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// wantsEnd reports whether a fleet on the provider wants the target told of the end.
func (t *term) wantsEnd(target fleet.TargetName) bool {
	for _, f := range append(t.sentinel.fellows(), t.spec) {
		for _, to := range f.Notify.To {
			if to.Target == target && to.Wants(fleet.NotifyHealed) {
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
