package notes

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
	"hale/internal/core/situation"
	"hale/internal/engine/process"
	"hale/internal/owner"
	"hale/internal/provider"
)

// Adopters notes at one provider's which instances this installation adopted, and reads which ones others did. The
// notes are of the kind that starts are noted by (see roll), under one name for all hales.
//
// Its rule is: a call to an adopted instance is sent only after this installation's claim on it had stood for a while,
// and after a look that began later and found no claim that goes before it. Where notes cannot be read or written, what
// was read last counts, and no more: a hale that is alone must heal.
type Adopters struct {
	reader provider.StartReader
	noter  provider.StartNoter // nil: there is no such place, or it cannot be written
	cares  func() Cares
	log    *slog.Logger
	nudge  func()

	turn process.Turn
	by   string // this installation, in its claims; of the one with the turn

	mu       sync.Mutex // guards what follows; held for no call
	claims   fleet.Claims
	verdict  map[fleet.InstanceID]fleet.Claim
	read     bool
	unwanted error // why the last claim could not be noted
}

// Cares is what an engine adopted at a provider.
type Cares struct {
	fleet.Cared      // sorted; whole where all fleets that adopt are looked after here
	Selects     bool // there is a fleet that adopts
}

// NewAdopters returns what keeps claims at the provider's. Nudge wakes the owners.
func NewAdopters(at provider.Provider, log *slog.Logger, nudge func()) *Adopters {
	a := &Adopters{log: log, nudge: nudge, turn: make(process.Turn, 1), cares: func() Cares { return Cares{} }}
	a.reader, _ = at.(provider.StartReader)
	a.noter, _ = at.(provider.StartNoter)
	return a
}

// Care says what is adopted, from now on; before anything is asked.
func (a *Adopters) Care(what func() Cares) { a.cares = what }

// Become begins to claim for the installation. What an earlier one of this engine's claimed is over.
func (a *Adopters) Become(ctx context.Context, id fleet.Installation) {
	if a.turn.Enter(ctx) != nil {
		return
	}
	defer a.turn.Leave()
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
func (a *Adopters) Run(ctx context.Context) {
	for a.reader != nil && a.noter != nil && ctx.Err() == nil {
		beat := owner.RollBeat
		if c := a.cares(); c.Selects {
			if err := a.look(ctx); err != nil && !fault.Is(err, fault.Unsupported) {
				beat = owner.RollAgain
			}
		}
		_ = process.Rest(ctx, beat)
	}
}

// look reads the claims, and notes and removes what is to be.
func (a *Adopters) look(ctx context.Context) error {
	if err := a.turn.Enter(ctx); err != nil {
		return err
	}
	defer a.turn.Leave()
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

func (a *Adopters) reads(ctx context.Context) (map[fleet.HostName][]fleet.StartName, error) {
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
func (a *Adopters) stake(ctx context.Context, claims *fleet.Claims, found map[fleet.HostName][]fleet.StartName,
	c Cares) (bool, error) {
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

func (a *Adopters) forget(ctx context.Context, names []fleet.StartName) {
	for _, name := range names {
		if err := a.within(ctx, func(ctx context.Context) error {
			return a.noter.ForgetStart(ctx, fleet.ClaimPlace,
				name)
		}); err != nil {
			a.log.Debug("an old claim was not removed", "claim", name, "err", err)
		}
	}
}

func (*Adopters) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rollLimit)
	defer cancel()
	return do(ctx)
}

// take takes in what was read, and wakes the owners when it says something else than before.
func (a *Adopters) take(claims fleet.Claims, c Cares, err error) {
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

// Tell says in what the notes say of starts what the claims say.
func (a *Adopters) Tell(r fleet.Roll) fleet.Roll {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.Claims = a.read
	if len(a.verdict) > 0 {
		r.Elsewhere = a.verdict // it is never changed in place
	}
	return r
}

// Permit says why the call may not be sent; nil: it may.
func (a *Adopters) Permit(ctx context.Context, call situation.Action) error {
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
