package engine

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/notify"
)

// guarded returns the post with a guard around each target.
func (p Post) guarded(b *defect.Register) Post {
	if find := p.Find; find != nil {
		told := b.Witness(defect.Target, "")
		p.Find = func(name policy.TargetName) notify.Target { return notify.Guarded(find(name), string(name), told) }
	}
	return p
}

// Place is where a panic of the owner's own is noted.
func (o *holder) place() defect.Place { return defect.Place{Part: defect.Owner, Of: string(o.name)} }

// apart does work on a goroutine of the term's own, and tells the reigning one what came of it, if anything. Where the
// work panics, otherwise says what that means.
func (t *term) apart(ctx context.Context, doing string, work func() news, otherwise func(*defect.Panic) news) {
	t.wg.Go(func() {
		var n news
		defer func() {
			if n != nil {
				t.tell(ctx, n)
			}
		}()
		defer t.defects.Catch(t.place(), doing, func(p *defect.Panic) { n = otherwise(p) })
		n = work()
	})
}

// soundly does what is the owner's own. A panic becomes an error.
func (o *holder) soundly(doing string, do func() error) (err error) {
	defer o.defects.Catch(o.place(), doing, func(p *defect.Panic) { err = p })
	return do()
}

// heedDefects notes what there is to say of defects. It waits to be stored with the next decision, which is due then.
func (t *term) heedDefects() {
	revision := t.defects.Revision()
	if revision == 0 || revision == t.heeded && time.Since(t.heededAt) < heartbeat {
		return
	}
	t.heeded, t.heededAt = revision, time.Now()
	news := t.telling.Heed(&t.spec, t.defects.All(), t.heededAt)
	for _, rec := range news {
		t.own.Note(t.clock.Now(), rec)
	}
	if len(news) > 0 {
		t.own.Stir()
	}
}

// confess is how a term begins after one that panicked: it has what there is to tell stored and sent, for as long as
// an owner rests at most, before it does anything else. So a page arrives, too, when each term ends by a panic at once.
func (t *term) confess(ctx context.Context) error {
	rest := time.NewTimer(longestRest)
	defer rest.Stop()
	for {
		if err := t.post(ctx); err != nil {
			return err
		}
		select {
		case n := <-t.inbox:
			n(t)
		case <-rest.C:
			return nil
		case <-t.lease.Lost():
			return fault.New(fault.LeaseLost, "engine.confess", string(t.spec.Name), nil)
		case <-ctx.Done():
			return nil
		}
	}
}
