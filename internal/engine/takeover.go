package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/engine/notes"
	"hale/internal/engine/poller"
	"hale/internal/engine/process"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
)

// TakeOver is a person's wish that this store becomes another installation of hale, which is gone for good.
type TakeOver struct {
	Installation fleet.Installation
	By, Reason   string
	// DryRun has it only say whether it could be.
	DryRun bool
}

// TakenOver is what was ordered when it was.
type TakenOver struct {
	// Orders are those to the fleets with instances of that installation, to believe the world; and Revision is from
	// which to await them.
	Orders   []fleet.Order
	Revision int64
}

// TakeOver makes the store the other installation, in one transaction with the journal's word of it and with the orders
// by which its fleets believe the world: machines are then what the provider shows by their marks. Every owner begins a
// new term. fault.Conflict, in words for a person: the store has machines of its own, it is that installation, no
// listed instance bears it, or the engine does not run; nothing was changed then. Any other error is the store's.
func (e *Engine) TakeOver(ctx context.Context, t TakeOver) (TakenOver, error) {
	if err := e.mayTakeOver(ctx, t); err != nil || t.DryRun {
		return TakenOver{}, err
	}
	var out TakenOver
	var err error
	asked := e.ask(ctx, func(ctx context.Context) { out, err = e.takeOver(ctx, t) })
	return out, errors.Join(asked, err)
}

// mayTakeOver says why the store cannot become the other installation.
func (e *Engine) mayTakeOver(ctx context.Context, t TakeOver) error {
	is, err := beliefs.Installation(ctx, e.opts.Store)
	if err != nil {
		return err
	}
	if is == t.Installation {
		return cannot(t, "this hale is that installation")
	}
	if listed := e.listed(); !slices.Contains(listed, t.Installation) {
		listed = slices.DeleteFunc(listed, func(i fleet.Installation) bool { return i == is })
		if len(listed) == 0 {
			return cannot(t, "no instance that is listed bears its mark, or that of any other installation")
		}
		return cannot(t, fmt.Sprintf("no instance that is listed bears its mark; those that are listed bear %v",
			listed))
	}
	return e.ownsNothing(ctx, t)
}

func cannot(t TakeOver, why string) error {
	return fault.New(fault.Conflict, "engine.take-over", string(t.Installation), errors.New(why))
}

// listed returns the installations that marked the listed instances of all fleets.
func (e *Engine) listed() []fleet.Installation {
	var out []fleet.Installation
	for _, s := range e.Status() {
		for _, v := range s.Machines {
			for _, seen := range v.Seen {
				i := &seen.Instance
				if by := i.Mark.Installation; i.Marked(v.Machine.Name, by) && !slices.Contains(out, by) {
					out = append(out, by)
				}
			}
		}
	}
	return out
}

// ownsNothing is an error when the store knows a machine that was built under its own id: that one would be a
// stranger's afterwards. What was adopted bears no mark.
func (e *Engine) ownsNothing(ctx context.Context, t TakeOver) error {
	entries, _, err := e.opts.Store.List(ctx, beliefs.FleetsPrefix)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := beliefs.FleetOf(entry.Key)
		if !ok || !strings.HasPrefix(entry.Key, beliefs.MachinesPrefix(name)) {
			continue
		}
		var m belief.Machine
		if err := json.Unmarshal(entry.Value, &m); err != nil {
			return fault.New(fault.Permanent, "engine.take-over", entry.Key, err)
		}
		if m.Generation > 0 || !m.Current.None() && !m.Current.Adopted {
			return cannot(t, fmt.Sprintf("this hale has machines of its own, as %s: restore that installation's "+
				"backup, or run its fleets in a hale with a data folder of its own", m.Name))
		}
	}
	return nil
}

// takeOver does what TakeOver says. It is Run's own. No fleet has an owner while the store becomes another
// installation.
func (e *Engine) takeOver(ctx context.Context, t TakeOver) (TakenOver, error) {
	var marked []fleet.Name
	for _, s := range e.Status() {
		if slices.ContainsFunc(s.Machines, func(v situation.View) bool { return v.Shown(t.Installation).Marked > 0 }) {
			marked = append(marked, s.Spec.Name)
		}
	}
	owners := *e.owners.Load()
	for _, o := range owners {
		e.dismiss(o)
	}
	out, err := e.rename(ctx, t, marked)
	for ctx.Err() == nil { // whatever became of it: no owner may go on under an id that is not the store's
		id, unread := e.installation(ctx)
		if unread == nil {
			if e.id = id; err != nil && id == t.Installation {
				err = nil // the answer was lost
			}
			break
		}
		_ = process.Rest(ctx, firstRest)
	}
	e.recall(e.id)
	for _, s := range e.pollers {
		s.Roll.Become(ctx, e.id)
		s.Adopters.Become(ctx, e.id)
		if e.id == t.Installation {
			s.Roll.Inherit(ctx, notes.Builds(e.builds(s)))
		}
	}
	for _, o := range owners {
		o.installation = e.id
		e.keep(ctx, o, o.place(), o.run)
	}
	for _, s := range e.pollers {
		s.Nudge()
	}
	return out, err
}

// builds reports whether something is built or destroyed in a fleet of the poller's.
func (e *Engine) builds(s *poller.Poller) bool {
	return slices.ContainsFunc(*e.owners.Load(), func(o *holder) bool {
		spec := o.told.Load().spec
		return o.poller == s && spec.Mode == policy.ModeAct && spec.Rolled()
	})
}

// rename gives the store the other id, and posts and writes down what follows, all or nothing.
func (e *Engine) rename(ctx context.Context, t TakeOver, marked []fleet.Name) (TakenOver, error) {
	if err := e.ownsNothing(ctx, t); err != nil {
		return TakenOver{}, err
	}
	was, err := e.opts.Store.Get(ctx, beliefs.InstallationKey)
	if err != nil {
		return TakenOver{}, err
	}
	txn := state.Txn{
		If:   []state.Compare{state.At(beliefs.InstallationKey, was.Revision)},
		Then: []state.Write{state.Put(beliefs.InstallationKey, []byte(t.Installation))},
	}
	for _, o := range *e.owners.Load() {
		txn.If = append(txn.If, state.Absent(beliefs.OwnerKey(o.name))) // as of another server
	}
	var out TakenOver
	now := e.clock.Now().Wall.UTC()
	for _, name := range marked {
		o := fleet.Order{Kind: fleet.OrderRecover, Fleet: name, By: t.By, Reason: t.Reason, Believe: true, At: now,
			Expires: now.Add(fleet.OrderLife)}
		if o.ID, err = inbox.NewID(); err != nil {
			return TakenOver{}, err
		}
		posted, err := inbox.Letters(o)
		if err != nil {
			return TakenOver{}, err
		}
		book, err := journal.Open(ctx, e.opts.Store, name)
		if err != nil {
			return TakenOver{}, err
		}
		told, err := book.Writes([]record.Record{{
			At: now, Fleet: name, Kind: record.Store, Reason: fleet.ReasonTakenOver, Order: o.ID, By: t.By,
			Detail: string(t.Installation)}}, journal.Keep{})
		if err != nil {
			return TakenOver{}, err
		}
		txn.If, txn.Then = append(txn.If, posted.If...), slices.Concat(txn.Then, posted.Then, told)
		out.Orders = append(out.Orders, o)
	}
	out.Revision, err = e.opts.Store.Commit(ctx, txn)
	if fault.Is(err, fault.Conflict) {
		return TakenOver{}, cannot(t, "another server looks after one of the fleets, or the store was taken over a "+
			"moment ago: try again")
	}
	return out, err
}
