package engine

import (
	"context"
	"log/slog"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/engine/calls"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/evidence"
	"hale/internal/tracing"
)

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
		b := t.calls().Evidence(gctx, &e, calls.Ref(a), policy)
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
