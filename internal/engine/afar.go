package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/guard"
	"hale/internal/engine/fellows"
	"hale/internal/engine/process"
	"hale/internal/state/beliefs"
)

// afarEvery is how often a fleet is looked at that another server looks after.
const afarEvery = 10 * time.Second

// watchAfar looks, until the returned function is called, how the fleet stands that another server looks after: for the
// fleets that come after it. What its owner stores is as it sees it.
func (o *holder) watchAfar(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		o.defects.Keep(ctx, o.place(), func(ctx context.Context) {
			for ctx.Err() == nil {
				if err := o.lookAfar(ctx); err != nil { // nothing is known then
					o.afar.Store(nil)
				}
				_ = process.Rest(ctx, afarEvery)
			}
		})
	})
	return func() {
		cancel()
		wg.Wait()
		o.afar.Store(nil)
	}
}

func (o *holder) lookAfar(ctx context.Context) error {
	if !o.fellows.Precedes(o.name) {
		o.afar.Store(nil)
		return nil
	}
	asked := o.clock.Now().Mono
	l, err := beliefs.InForce(ctx, o.store, o.name)
	if err != nil {
		return err
	}
	all, err := beliefs.All(ctx, o.store, o.name)
	if err != nil {
		return err
	}
	machines := make([]*belief.Machine, len(all))
	for i := range all {
		machines[i] = &all[i].Machine
	}
	spec := l.Force(o.told.Load().spec)
	o.afar.Store(&fellows.Afar{Ahead: guard.Ahead(&spec, l, slices.Values(machines)), At: asked})
	return nil
}
