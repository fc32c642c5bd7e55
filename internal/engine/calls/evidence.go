package calls

import (
	"context"
	"errors"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/provider"
	"hale/internal/state/evidence"
)

// storeShare is the part of the time for gathering that is left to store the answers: so long at most, and half of it
// where there is little.
const storeShare = 2 * time.Second

// askLimit bounds the questions to the provider.
func askLimit(patience time.Duration) time.Duration { return patience - min(storeShare, patience/2) }

// Evidence asks the provider for console and screen, side by side, and notes in the exhibit what came of it.
func (c Caller) Evidence(ctx context.Context, e *evidence.Exhibit, ref provider.Ref,
	policy policy.Evidence) (b evidence.Bytes) {
	ctx, cancel := context.WithTimeout(ctx, askLimit(policy.Patience()))
	defer cancel()
	var asked sync.WaitGroup
	asked.Go(func() {
		defer c.Defects.Catch(c.Place, "console", func(p *defect.Panic) { e.Parts.Console = keptOf(ctx, 0, p) })
		var err error
		b.Console, err = c.console(ctx, ref, policy.ConsoleBytes())
		e.Parts.Console = keptOf(ctx, len(b.Console), err)
	})
	if policy.NoScreenshot {
		e.Parts.Screenshot = fleet.EvidencePart{Why: fleet.ReasonNotWanted}
		asked.Wait()
		return b
	}
	asked.Go(func() {
		defer c.Defects.Catch(c.Place, "screenshot", func(p *defect.Panic) { e.Parts.Screenshot = keptOf(ctx, 0, p) })
		picture, err := c.screenshot(ctx, ref)
		b.Screenshot, e.Format = picture.Data, picture.Format
		e.Parts.Screenshot = keptOf(ctx, len(b.Screenshot), err)
	})
	asked.Wait()
	return b
}

func (c Caller) console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	able, ok := c.Poller.Source.Adapter.(provider.ConsoleReader)
	if !ok {
		return nil, fault.New(fault.Unsupported, "engine.console", string(ref.ID), nil)
	}
	said, err := able.Console(ctx, ref, limit)
	return said[max(0, len(said)-limit):], err
}

func (c Caller) screenshot(ctx context.Context, ref provider.Ref) (provider.Image, error) {
	able, ok := c.Poller.Source.Adapter.(provider.Screenshooter)
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
