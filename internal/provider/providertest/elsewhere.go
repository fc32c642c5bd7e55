package providertest

import (
	"context"
	"fmt"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// movesNot reports whether the provider does not have the operation, and logs it.
func (e *exam) movesNot(op fleet.Op) bool {
	if slices.Contains(provider.Cannot(e.p), op) {
		e.Logf("%s is left out: the provider does not have it", op)
		return true
	}
	return false
}

// migrated: a running instance moves to another host, under its id, name and mark. Whichever order of the move loses
// its answer, the instance is there once, and the same call again does not move it further.
func migrated(t T, h Harness) {
	e := begin(t, h)
	if e.movesNot(fleet.OpMigrate) {
		return
	}
	order := e.built(1)
	e.removedWherever(order)
	e.eachOrder("migrate", func(after int) bool {
		from := e.located(order)
		err := e.unheard(after, func(ctx context.Context) error { return has[provider.Migrator](e).Migrate(ctx, from) })
		e.uncertain("migrate", after, err)
		e.movedOnce(order, from, func() error { return has[provider.Migrator](e).Migrate(e.ctx(), from) })
		return err == nil
	})
	from := e.located(order)
	e.off(from)
	e.refused("migrate of one that is off", has[provider.Migrator](e).Migrate(e.ctx(), from), fault.Conflict)
	e.do("start", e.p.Start(e.ctx(), from))
}

// evacuated: an instance goes on elsewhere while its host does not answer, and stays where it is while its host
// answers.
func evacuated(t T, h Harness) {
	e := begin(t, h)
	if e.movesNot(fleet.OpEvacuate) {
		return
	}
	f := ability[HostFailer](t, h)
	order := e.built(1)
	e.removedWherever(order)
	from := e.located(order)
	e.refused("evacuation off a host that answers", has[provider.Evacuator](e).Evacuate(e.ctx(), from), fault.Conflict)
	f.FailHost(t, from.Host)
	e.Cleanup(func() { f.RepairHost(t, from.Host) })
	err := e.unheard(0, func(ctx context.Context) error { return has[provider.Evacuator](e).Evacuate(ctx, from) })
	e.uncertain("evacuate", 0, err)
	e.movedOnce(order, from, func() error { return has[provider.Evacuator](e).Evacuate(e.ctx(), from) })
}

// removedWherever removes the instance at the end from where it is then.
func (e *exam) removedWherever(o provider.Blueprint) {
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.Context()), e.h.Patience())
		defer cancel()
		ref, found := e.whereIs(ctx, o)
		if !found {
			return
		}
		if err := e.p.PowerOff(ctx, ref); err != nil {
			e.Error(err)
		}
		if err := e.p.Delete(ctx, ref); err != nil {
			e.Error(err)
		}
	})
}

// whereIs looks the instance up on the hosts that answer.
func (e *exam) whereIs(ctx context.Context, o provider.Blueprint) (provider.Ref, bool) {
	e.Helper()
	l, err := e.p.List(ctx)
	if err != nil {
		e.Fatalf("list: %v", err)
	}
	found := Named(l, o.Name)
	if len(found) != 1 {
		return provider.Ref{}, false
	}
	ref := o.Ref
	ref.Host = found[0].Host
	return ref, true
}

// located returns a reference to the instance where it is now.
func (e *exam) located(o provider.Blueprint) provider.Ref {
	e.Helper()
	ref, found := e.whereIs(e.ctx(), o)
	if !found {
		e.Fatalf("%s is not there once", o.Name)
	}
	return ref
}

// movedOnce makes the call again, twice, and looks where the instance is.
func (e *exam) movedOnce(o provider.Blueprint, from provider.Ref, again func() error) {
	e.Helper()
	e.await("the same move again", func() (string, bool) { err := again(); return fmt.Sprint(err), err == nil })
	now := e.located(o)
	if now.Host == from.Host {
		e.Errorf("it is still on %q", from.Host)
	}
	e.do("the same move once more", again())
	if last := e.located(o); last.Host != now.Host {
		e.Errorf("a move that was made is made again: from %q to %q, and then to %q", from.Host, now.Host, last.Host)
	}
	seen, err := e.p.Get(e.ctx(), now)
	e.do("get", err)
	if seen.ID != o.ID || seen.Mark.Machine != o.Mark.Machine || seen.Mark.Generation != o.Mark.Generation ||
		seen.Power != fleet.PowerRunning {
		e.Errorf("after the move it is %+v", seen)
	}
}
