package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/provider"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/evidence"
	"hale/internal/tracing"
)

// storeShare is the part of the time for gathering that is left to store the answers: so long at most, and half of it
// where there is little.
const storeShare = 2 * time.Second

// askLimit bounds the questions to the provider.
func askLimit(patience time.Duration) time.Duration { return patience - min(storeShare, patience/2) }

// gather keeps what can be kept of an instance before something is done to it. Whatever goes wrong is part of the
// answer.
func (t *term) gather(ctx context.Context, index int, a situation.Action) {
	e, policy := t.exhibit(index, a), t.spec.Evidence
	owns := []state.Compare{state.Held(beliefs.OwnerKey(t.spec.Name), t.ownerRev, t.lease.ID())}
	told := func(k fleet.Evidence) news {
		return func(t *term) { t.own.TellGathered(index, situation.Gathered{ID: a.Gather, Evidence: k}) }
	}
	t.apart(ctx, "gather", func() news {
		gctx, cancel := context.WithTimeout(ctx, policy.Patience())
		defer cancel()
		b := t.askEvidence(gctx, &e, refOf(a), policy)
		if err := evidence.Keep(gctx, t.store, owns, e, b); err != nil {
			t.log.Warn("the evidence could not be kept", tracing.About(t.installation, a.Machine, a.Incident),
				slog.Any("err", err))
			e.Parts = unstored(e.Parts, err)
		}
		return told(e.Parts)
	}, func(p *defect.Panic) news { return told(ungathered(p)) })
}

// exhibit is what is known already: how the checks stand, and what the provider said last.
func (t *term) exhibit(index int, a situation.Action) evidence.Exhibit {
	v := t.own.View(index)
	e := evidence.Exhibit{
		At: t.clock.Now().Wall, Fleet: t.spec.Name, Machine: a.Machine, Incident: a.Incident, Instance: a.Instance,
		Generation: a.Mark.Generation, Host: a.Host,
	}
	e.Cause, e.Since = v.Machine.Health.Cause, v.Machine.Health.Since
	if seen := v.Sighting(a.Instance); seen.Known() {
		e.Power, e.Stop = seen.Instance.Power, seen.Instance.Stop
	}
	if v.Epoch != v.Machine.Epoch {
		return e
	}
	for _, c := range slices.Concat(v.Checks, v.Tells) {
		e.Checks = append(e.Checks, evidence.Finding{Check: c.Check, Standing: c.Standing, Result: c.Result,
			Detail: c.Detail})
	}
	return e
}

// askEvidence asks the provider for console and screen, side by side, and notes in the exhibit what came of it.
func (t *term) askEvidence(ctx context.Context, e *evidence.Exhibit, ref provider.Ref,
	policy policy.Evidence) (b evidence.Bytes) {
	ctx, cancel := context.WithTimeout(ctx, askLimit(policy.Patience()))
	defer cancel()
	var asked sync.WaitGroup
	asked.Go(func() {
		defer t.defects.Catch(t.place(), "console", func(p *defect.Panic) { e.Parts.Console = keptOf(ctx, 0, p) })
		var err error
		b.Console, err = t.console(ctx, ref, policy.ConsoleBytes())
		e.Parts.Console = keptOf(ctx, len(b.Console), err)
	})
	if policy.NoScreenshot {
		e.Parts.Screenshot = fleet.EvidencePart{Why: fleet.ReasonNotWanted}
		asked.Wait()
		return b
	}
	asked.Go(func() {
		defer t.defects.Catch(t.place(), "screenshot", func(p *defect.Panic) { e.Parts.Screenshot = keptOf(ctx, 0, p) })
		picture, err := t.screenshot(ctx, ref)
		b.Screenshot, e.Format = picture.Data, picture.Format
		e.Parts.Screenshot = keptOf(ctx, len(b.Screenshot), err)
	})
	asked.Wait()
	return b
}

func (t *term) console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	able, ok := t.poller.Source.Adapter.(provider.ConsoleReader)
	if !ok {
		return nil, fault.New(fault.Unsupported, "engine.console", string(ref.ID), nil)
	}
	said, err := able.Console(ctx, ref, limit)
	return said[max(0, len(said)-limit):], err
}

func (t *term) screenshot(ctx context.Context, ref provider.Ref) (provider.Image, error) {
	able, ok := t.poller.Source.Adapter.(provider.Screenshooter)
	if !ok {
		return provider.Image{}, fault.New(fault.Unsupported, "engine.screenshot", string(ref.ID), nil)
	}
	p, err := able.Screenshot(ctx, ref, fleet.ScreenshotLimit)
	if len(p.Data) > fleet.ScreenshotLimit {
		return provider.Image{}, fault.New(fault.Invalid, "engine.screenshot", string(ref.ID),
			errors.New("too large"))
	}
	return p, err
}

// keptOf says whether a part is there to be kept, or why not.
func keptOf(ctx context.Context, bytes int, err error) fleet.EvidencePart {
	switch {
	case err == nil && bytes == 0:
		return fleet.EvidencePart{Why: fleet.ReasonNothing}
	case err == nil:
		return fleet.EvidencePart{Bytes: bytes}
	case ctx.Err() != nil:
		return fleet.EvidencePart{Why: fleet.ReasonTooLate}
	}
	k := fleet.EvidencePart{Why: fleet.ReasonCallFailed, Detail: fault.Plain(err)}
	switch fault.KindOf(err) {
	case fault.Unsupported:
		k.Why = fleet.ReasonUnsupported
	case fault.Invalid:
		k.Why = fleet.ReasonTooLarge
	case fault.NotFound:
		k.Why = fleet.ReasonNoInstance
	case fault.Conflict:
		k.Why = fleet.ReasonNotRunning
	default:
	}
	return k
}

// ungathered says that nothing was kept, since gathering panicked.
func ungathered(p *defect.Panic) fleet.Evidence {
	lost := fleet.EvidencePart{Why: fleet.ReasonCallFailed, Detail: p.Error()}
	return fleet.Evidence{Console: lost, Screenshot: lost, Findings: lost}
}

// unstored says why nothing was kept after all. Why a part was not there to be kept still counts.
func unstored(k fleet.Evidence, err error) fleet.Evidence {
	lost := fleet.EvidencePart{Why: fleet.ReasonStoreDown, Detail: fault.Plain(err)}
	switch fault.KindOf(err) {
	case fault.NoSpace:
		lost = fleet.EvidencePart{Why: fleet.ReasonStoreFull}
	case fault.Conflict, fault.LeaseLost:
		lost = fleet.EvidencePart{Why: fleet.ReasonNotOwner}
	default:
	}
	for _, part := range []*fleet.EvidencePart{&k.Console, &k.Screenshot, &k.Findings} {
		if part.Why == "" {
			*part = lost
		}
	}
	return k
}
