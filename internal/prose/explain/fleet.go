package explain

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/rollout"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// Fleet says what holds a fleet as a whole, and what a person can do about it.
func Fleet(f published.Fleet) Answer {
	e := explainerOf(f)
	if f.Acting != "" {
		e.hold(f.Acting, f.Detail)
		e.explainIdle(f)
	}
	if f.Acting != fleet.ReasonProviderDown && f.Acting != fleet.ReasonProviderDoubtful {
		switch f.Provider.Standing {
		case fleet.ProviderDown:
			e.hold(fleet.ReasonProviderDown, f.Provider.Detail)
		case fleet.ProviderDoubtful:
			e.hold(fleet.ReasonProviderDoubtful, f.Provider.Detail)
		case fleet.ProviderUnknown:
			e.Now = append(e.Now, fmt.Sprintf("provider %s was not asked yet", f.Spec.Provider))
		case fleet.ProviderUp:
		}
	}
	e.explainStore(f)
	e.explainUnproven(f)
	e.explainBrake(f)
	if d := f.Whole.Doubt; d.Reason != "" {
		e.hold(d.Reason, "for "+prose.Span(max(0, f.Now.Wall.Sub(d.Since))))
	}
	e.explainParents(f)
	e.explainHeld(f)
	e.explainMachines(f)
	if f.Spec.Mode == policy.ModeObserve {
		e.hold(fleet.ReasonObserve, "")
	}
	if p := f.Pending(); !p.Empty() {
		e.Now = append(e.Now, fmt.Sprintf("plan %s waits to be confirmed", p.ID))
		e.advise("see what it would do: hale apply; have it done: hale apply --confirm " + p.ID)
	}
	if s, goes := rollout.Stands(&f.State, f.Machines); goes {
		e.explainRollout(&f, &s)
	}
	e.explainDrifts(&f, rollout.Drifts(f.Whole.Ledger, f.Machines, &f.Wanted))
	if o := f.Whole.Ledger.LastWord(&f.Wanted); o != nil {
		e.Now = append(e.Now, prose.OrderedSize(o, f.Whole.Ledger.Asked(&f.Wanted), f.Now.Wall))
	}
	return e.Answer
}

// explainParents says which domains fail as a whole.
func (e *explainer) explainParents(f published.Fleet) {
	for _, p := range f.Whole.Parents {
		lasts := prose.Span(max(0, f.Now.Wall.Sub(p.Opened)))
		e.Now = append(e.Now, fmt.Sprintf("incident %s, open for %s: %s", p.ID, lasts, prose.Parent(p)))
		e.explainPolicy(f, p)
		e.advise(words.Advice(fleet.ReasonSharedFate))
	}
}

// explainSpares says which machines stand by, and which are beyond the size.
func (e *explainer) explainSpares(f published.Fleet) {
	l := f.Whole.Ledger
	if l.Idle() > 0 {
		e.Now = append(e.Now, prose.Spares(l.Spares))
	}
	e.explainSurge(l)
}

// explainSurge says which machines are beyond the size. There may be no ledger.
func (e *explainer) explainSurge(l *belief.Ledger) {
	if l == nil {
		return
	}
	for _, s := range l.Surge {
		e.Now = append(e.Now, prose.Surge(l, s))
	}
}

// explainHeld says what of the fleet people hold, and until when.
func (e *explainer) explainHeld(f published.Fleet) {
	for i := range f.Whole.Holds {
		h := &f.Whole.Holds[i]
		what := "the fleet"
		if h.Machine != "" {
			what = string(h.Machine)
		} else if h.Host != "" {
			what = "host " + string(h.Host)
		}
		e.Now = append(
			e.Now,
			fmt.Sprintf(
				"%s is %s by %s until %s (%s more): %s",
				what,
				prose.Held(h.Only),
				h.By,
				h.Until.UTC().Format("2006-01-02 15:04:05 MST"),
				prose.Span(max(0, h.Until.Sub(f.Now.Wall))),
				h.Reason,
			),
		)
	}
}

// explainStore says that the store does not know the world, or cannot know whether it does.
func (e *explainer) explainStore(f published.Fleet) {
	if o := f.Whole.Older; o != nil {
		e.hold(fleet.ReasonStoreOlder, prose.Older(o))
	}
	for _, x := range f.Whole.Foreign {
		e.hold(fleet.ReasonInstallation, prose.Foreign(x))
	}
	if why := f.Unnoted(); why != "" {
		e.hold(fleet.ReasonPlaceSilent, why)
	}
}

// explainUnproven says which checks count for nothing, since they have not succeeded as they are.
func (e *explainer) explainUnproven(f published.Fleet) {
	if f.Whole.Book == nil {
		return
	}
	for _, t := range f.Whole.Book.Checks {
		if !t.Proven() && t.Told() {
			e.Now = append(e.Now, prose.Unproven(t, f.Now.Wall)+": its failures count for nothing until it does")
			e.advise(words.Advice(fleet.ReasonUnproven))
		}
	}
}

// explainBrake says who put the brake on, or what.
func (e *explainer) explainBrake(f published.Fleet) {
	switch {
	case f.Brake.By != "":
		e.Now = append(
			e.Now,
			fmt.Sprintf(
				"held: %s %s ago",
				prose.ByHand(f.Brake.By, f.Brake.Words),
				prose.Span(max(0, f.Now.Wall.Sub(f.Brake.At))),
			),
		)
		e.advise(prose.LetGo(f.Spec.Name))
	default:
		b, p, t := f.Braked()
		if b.On() {
			above := fmt.Sprintf("%s, it engages above %d", braked(f), guard.BrakeLimit(p, t.Size))
			e.hold(fleet.ReasonBrake, prose.Because(above, BrakeEnds(f)))
		}
	}
}

// braked says how many machines fail, of those that the brake counts under which the fleet stands.
func braked(f published.Fleet) string {
	b, _, t := f.Braked()
	return prose.Failing(t.Failing, t.Size, b.Scope, string(f.Spec.Provider))
}

// said are what is told of the fleet as a whole already.
var said = map[fleet.Reason]bool{
	fleet.ReasonBrake: true, fleet.ReasonHold: true, fleet.ReasonSharedFate: true, fleet.ReasonObserve: true,
	fleet.ReasonStoreOlder:   true,
	fleet.ReasonInstallation: true, fleet.ReasonPlaceSilent: true, fleet.ReasonVantageIsolated: true,
	fleet.ReasonVantageDoubtful: true,
	fleet.ReasonProviderDown:    true, fleet.ReasonProviderDoubtful: true,
}

// explainMachines counts those that wait, by what they wait for.
func (e *explainer) explainMachines(f published.Fleet) {
	e.explainSpares(f)
	waiting := map[fleet.Reason]int{}
	var order []fleet.Reason
	for i := range f.Machines {
		why := f.Machines[i].Machine.Waiting
		if why == "" || said[why] || why == f.Acting {
			continue
		}
		if waiting[why]++; waiting[why] == 1 {
			order = append(order, why)
		}
	}
	for _, why := range order {
		machines := "machines wait"
		if waiting[why] == 1 {
			machines = "machine waits"
		}
		said := words.Reason(why)
		if why == fleet.ReasonAmnesty {
			said = prose.Aside(said, AmnestyLeft(f))
		}
		e.Now = append(e.Now, fmt.Sprintf("%d %s: %s", waiting[why], machines, said))
	}
}
