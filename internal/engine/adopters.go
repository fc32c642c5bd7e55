package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/owner"
	"hale/internal/provider"
)

// adopters notes at one provider's which instances this installation adopted, and reads which ones others did. The
// notes are of the kind that starts are noted by (see roll), under one name for all hales.
//
// Its rule is: a call to an adopted instance is sent only after this installation's claim on it had stood for a while,
// and after a look that began later and found no claim that goes before it. Where notes cannot be read or written, what
// was read last counts, and no more: a hale that is alone must heal.
type adopters struct {
	reader provider.StartReader
	noter  provider.StartNoter // nil: there is no such place, or it cannot be written
	cares  func() cares
	log    *slog.Logger
	nudge  func()

	turn turn
	by   string // this installation, in its claims; of the one with the turn

	mu       sync.Mutex // guards what follows; held for no call
	claims   fleet.Claims
	verdict  map[fleet.InstanceID]fleet.Claim
	read     bool
	unwanted error // why the last claim could not be noted
}

// cares is what an engine adopted at a provider.
type cares struct {
	fleet.Cared      // sorted; whole where all fleets that adopt are looked after here
	selects     bool // there is a fleet that adopts
}

func newAdopters(src Source, log *slog.Logger, nudge func()) *adopters {
	a := &adopters{log: log, nudge: nudge, turn: make(turn, 1), cares: func() cares { return cares{} }}
	a.reader, _ = src.Adapter.(provider.StartReader)
	a.noter, _ = src.Adapter.(provider.StartNoter)
	return a
}

// cares returns what the engine's fleets on the provider adopted, of those that may act.
func (e *Engine) cares(of fleet.ProviderName) func() cares {
	return func() cares {
		c := cares{Cared: fleet.Cared{Whole: true}}
		for _, o := range *e.owners.Load() {
			f := o.published.Load()
			if f.Spec.Provider != of || !f.Spec.Adopt.Selects() {
				continue
			}
			c.selects = true
			if f.Acting != "" {
				c.Whole = false
				continue
			}
			for i := range f.Machines {
				m := &f.Machines[i].Machine
				if f.Spec.Mode == fleet.ModeAct && m.Current.Adopted && m.Current.Certified {
					c.IDs = append(c.IDs, m.Current.ID)
				}
			}
		}
		slices.Sort(c.IDs)
		return c
	}
}

// become begins to claim for the installation. What an earlier one of this engine's claimed is over.
func (a *adopters) become(ctx context.Context, id fleet.Installation) {
	if a.turn.enter(ctx) != nil {
		return
	}
	defer a.turn.leave()
	was := a.by
	if a.by = fleet.Claimant(id); was == "" || was == a.by || a.noter == nil {
		return
	}
	a.mu.Lock()
	stale := a.claims.Stale(was, fleet.Cared{Whole: true}, time.Now())
	a.mu.Unlock()
	a.forget(ctx, stale)
}

// Run looks on a beat.
func (a *adopters) run(ctx context.Context) {
	for a.reader != nil && a.noter != nil && ctx.Err() == nil {
		beat := owner.RollBeat
		if c := a.cares(); c.selects {
			if err := a.look(ctx); err != nil && !fault.Is(err, fault.Unsupported) {
				beat = owner.RollAgain
			}
		}
		_ = rest(ctx, beat)
	}
}

// look reads the claims, and notes and removes what is to be.
func (a *adopters) look(ctx context.Context) error {
	if err := a.turn.enter(ctx); err != nil {
		return err
	}
	defer a.turn.leave()
	c := a.cares()
	found, err := a.reads(ctx)
	if err != nil {
		return err
	}
	claims := claimsIn(found)
	a.forget(ctx, claims.Stale(a.by, c.Cared, time.Now()))
	changed, err := a.stake(ctx, &claims, found, c)
	if changed {
		again, unread := a.reads(ctx)
		if unread != nil {
			return unread
		}
		claims = claimsIn(again)
	}
	a.take(claims, c, err)
	return err
}

func (a *adopters) reads(ctx context.Context) (map[fleet.HostName][]fleet.StartName, error) {
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	return a.reader.Starts(ctx, fleet.ClaimPlace)
}

// claimsIn reads what any host has.
func claimsIn(found map[fleet.HostName][]fleet.StartName) fleet.Claims {
	var all []fleet.StartName
	for _, names := range found {
		all = append(all, names...)
	}
	slices.Sort(all)
	return fleet.ReadClaims(slices.Compact(all))
}

// stake notes the claims that are wanted wherever they are not, and that they stand, which comes first. It reports
// whether it noted anything.
func (a *adopters) stake(ctx context.Context, claims *fleet.Claims, found map[fleet.HostName][]fleet.StartName,
	c cares) (bool, error) {
	if len(c.IDs) == 0 {
		return false, nil
	}
	var names []fleet.StartName
	now := time.Now()
	renewal := fleet.RenewalName(a.by, now)
	if at := claims.Renewed(a.by); now.Before(at.Add(fleet.ClaimRenew)) {
		renewal = fleet.RenewalName(a.by, at)
	}
	names = append(names, renewal)
	for _, id := range c.IDs {
		claim, has := claims.Own(a.by, id, now)
		if !has {
			claim = claims.Stake(a.by, id, now)
		}
		names = append(names, fleet.ClaimName(claim, id))
	}
	var errs []error
	noted := false
	for _, name := range names {
		lacks := func(there []fleet.StartName) bool { return !slices.Contains(there, name) }
		if !slices.ContainsFunc(slices.Collect(maps.Values(found)), lacks) {
			continue
		}
		err := a.within(ctx, func(ctx context.Context) error { return a.noter.NoteStart(ctx, fleet.ClaimPlace, name) })
		if errs = append(errs, err); err != nil && ctx.Err() != nil {
			break
		}
		noted = true
	}
	return noted, errors.Join(errs...)
}

func (a *adopters) forget(ctx context.Context, names []fleet.StartName) {
	for _, name := range names {
		if err := a.within(ctx, func(ctx context.Context) error {
			return a.noter.ForgetStart(ctx, fleet.ClaimPlace,
				name)
		}); err != nil {
			a.log.Debug("an old claim was not removed", "claim", name, "err", err)
		}
	}
}

func (*adopters) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	return do(ctx)
}

// take takes in what was read, and wakes the owners when it says something else than before.
func (a *adopters) take(claims fleet.Claims, c cares, err error) {
	verdict := make(map[fleet.InstanceID]fleet.Claim)
	for _, id := range c.IDs {
		if claim, elsewhere := claims.Elsewhere(a.by, id, time.Now()); elsewhere {
			verdict[id] = claim
		}
	}
	a.mu.Lock()
	changed := !a.read || !maps.Equal(verdict, a.verdict)
	a.claims, a.verdict, a.read, a.unwanted = claims, verdict, true, err
	a.mu.Unlock()
	if changed {
		a.nudge()
	}
}

// tell says in what the notes say of starts what the claims say.
func (a *adopters) tell(r fleet.Roll) fleet.Roll {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.Claims = a.read
	if len(a.verdict) > 0 {
		r.Elsewhere = a.verdict // it is never changed in place
	}
	return r
}

// permit says why the call may not be sent; nil: it may.
func (a *adopters) permit(ctx context.Context, call fleet.Action) error {
	if a.reader == nil || a.noter == nil {
		return nil
	}
	if _, adopted := slices.BinarySearch(a.cares().IDs, call.Instance); !adopted {
		return nil
	}
	began := time.Now()
	unread := a.look(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, elsewhere := a.verdict[call.Instance]; elsewhere {
		return fmt.Errorf("%s: %s", fleet.ReasonElsewhere, c)
	}
	own, has := a.claims.Own(a.by, call.Instance, began)
	if unread == nil && a.unwanted == nil && (!has || began.Before(own.At().Add(fleet.ClaimSettle))) {
		return errors.New("the claim on the adopted instance was noted at the provider a moment ago")
	}
	return nil
}
