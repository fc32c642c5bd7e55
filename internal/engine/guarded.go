package engine

import (
	"context"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/engine/defects"
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

// told is what the fleet's journal has of a place: the spell, and whether that it is over.
type told struct {
	spell int
	over  bool
}

// telling is what the records that wait to be stored say of a place.
type telling struct {
	place defect.Place
	told
}

// heedDefects records each place of concern that began to panic, or has been calm for long: once, however often it
// panicked. The records wait to be stored with the next decision, which is due then.
func (t *term) heedDefects() {
	revision := t.defects.Revision()
	if revision == 0 || revision == t.heeded && time.Since(t.heededAt) < heartbeat {
		return
	}
	t.heeded, t.heededAt = revision, time.Now()
	for _, e := range t.defects.All() {
		if !defects.Concerns(&t.spec, e.Place) || slices.ContainsFunc(t.telling,
			func(w telling) bool { return w.place == e.Place }) {
			continue
		}
		now := told{e.Spell, e.Over(t.heededAt)}
		switch was := t.confessed[e.Place]; {
		case now == was:
			continue
		case now.spell > was.spell && !now.over:
			rec := defects.Record(e)
			page := rec
			page.Kind = record.Paged
			t.own.Note(t.clock.Now(), rec)
			t.own.Note(t.clock.Now(), page)
		case now.spell == was.spell && now.over:
			rec := defects.Record(e)
			rec.Kind, rec.Size, rec.Took, rec.Paged = record.DefectOver, e.Count, e.Last.Sub(e.First), true
			t.own.Note(t.clock.Now(), rec)
		default: // it is over already, and the fleet did not see it
			continue
		}
		t.telling = append(t.telling, telling{e.Place, now})
		t.own.Stir()
	}
}

// toldDefects notes that the records which waited are stored.
func (t *term) toldDefects() {
	for _, w := range t.telling {
		t.confessed[w.place] = w.told
	}
	t.telling = nil
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
