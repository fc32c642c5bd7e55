package rehearsal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/prose"
	"hale/internal/prose/words"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/world"
)

// warnings says in plain words what the run shows about the policy: where it left machines down, and what it cost.
func warnings(f Fleet) []string {
	out := []string{}
	for _, look := range []func(Fleet) []string{
		watching, slowBoots, hasty, quarantines, unseen, braking, noBrake, waiting, recovering, late, left,
	} {
		out = append(out, look(f)...)
	}
	return out
}

func watching(f Fleet) []string {
	if f.Mode != policy.ModeObserve {
		return nil
	}
	return []string{
		fmt.Sprintf("hale only watched (mode: observe): it healed none of %s; under held stands what it would have "+
			"done", times(f.Score.Outages, "outage")),
	}
}

// slowBoots tells of machines that take longer to boot than the policy gives them: they are taken for failed meanwhile.
func slowBoots(f Fleet) []string {
	o := f.Options
	w := world.Options{Boot: o.Boot, BootMost: o.BootMost, Latency: o.Latency, LatencyMost: o.LatencyMost}.Complete()
	if o.Spec.Mode != policy.ModeAct || w.BootMost <= o.Spec.Grace {
		return nil
	}
	return []string{fmt.Sprintf("machines take up to %s to boot here, and grace is %s: one that boots is taken for "+
		"failed, and repaired, before it is up; write a longer grace",
		prose.Span(w.BootMost), prose.Span(o.Spec.Grace))}
}

// hasty tells of checks that take one lost packet for a failure.
func hasty(f Fleet) (out []string) {
	for i := range f.Options.Spec.Checks {
		if c := &f.Options.Spec.Checks[i]; f.Mode == policy.ModeAct && c.Hasty() {
			out = append(out, fmt.Sprintf("check %s has down_after: 1: a single lost packet makes a machine "+
				"unhealthy, and it is repaired for it; write 2 or more", c.Name))
		}
	}
	return out
}

// quarantines tells of the machines that were left to a person, by the reason.
func quarantines(f Fleet) []string {
	type pile struct {
		times    int
		machines map[string]bool
	}
	piles := map[fleet.Reason]*pile{}
	for _, m := range f.Options.History.Moments {
		if m.Record == nil || m.Record.Kind != record.Quarantined {
			continue
		}
		p := piles[m.Record.Reason]
		if p == nil {
			p = &pile{machines: map[string]bool{}}
			piles[m.Record.Reason] = p
		}
		p.times++
		p.machines[m.Machine] = true
	}
	var out []string
	for _, reason := range slices.Sorted(maps.Keys(piles)) {
		p := piles[reason]
		said := fmt.Sprintf("%s left down for a person, %s: %s",
			were(len(p.machines)), times(p.times, "time"), words.Reason(reason))
		if missing := lacking(f.Options.Spec); missing != "" {
			said += "; " + missing
		}
		out = append(out, said)
	}
	return out
}

// lacking says what the ladder could do more.
func lacking(spec policy.Spec) string {
	has := map[fleet.StepKind]bool{}
	var names []string
	for _, s := range spec.Repair.Steps {
		has[s.Kind] = true
		names = append(names, string(s.Kind))
	}
	if has[fleet.StepRecreate] {
		return ""
	}
	why := ""
	if disk, kept := spec.Template.DiskLost(); kept {
		why = fmt.Sprintf(" (disk %s is kept, which forbids it)", disk)
	}
	return fmt.Sprintf("the ladder ends with %s and has no recreate%s", names[len(names)-1], why)
}

// unseen tells of outages that the policy does not take for failures.
func unseen(f Fleet) []string {
	kinds := map[string]bool{}
	var lost time.Duration
	for _, o := range f.Options.History.Outages {
		if !o.Unseen {
			continue
		}
		lost += o.To - o.From
		if o.Event != nil {
			kinds[o.Event.Class()] = true
		}
	}
	if f.Score.Unseen == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s (%s without service) no failure to this policy: no check asks for what was lost, "+
		"or unhealthy_when wants more (%s)",
		are(f.Score.Unseen, "outage"), prose.Span(lost), strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))}
}

// braking tells how often and how long the brake was on.
func braking(f Fleet) []string {
	spans := Brakes(f.Options.History)
	if len(spans) == 0 {
		return nil
	}
	var longest time.Duration
	for _, s := range spans {
		longest = max(longest, s.To-s.From)
	}
	b := f.Options.Spec.Limits.Brake
	said := fmt.Sprintf("the brake engaged %s, for %s at most (at_least %d, percent %d%%): nothing is repaired "+
		"meanwhile, and a person is told",
		times(len(spans), "time"), prose.Span(longest), b.AtLeast, b.Percent)
	if n := f.Score.NeedlessBrakes; n > 0 {
		said += fmt.Sprintf("; %s nothing common was wrong", times(n, "time"))
	}
	return []string{said}
}

// Span is a stretch of a run's time.
type Span struct{ From, To time.Duration }

// Brakes returns when the brake was on.
func Brakes(h *chronicle.History) []Span {
	var out []Span
	on := false
	for _, m := range h.Moments {
		if m.Record == nil || m.Record.Kind != record.Brake {
			continue
		}
		switch engaged := m.Record.Reason == fleet.ReasonEngaged; {
		case engaged && !on:
			out = append(out, Span{From: m.At, To: h.End})
		case !engaged && on:
			out[len(out)-1].To = m.At
		}
		on = m.Record.Reason == fleet.ReasonEngaged
	}
	return out
}

func noBrake(f Fleet) []string {
	if f.Size > 2 || f.Options.Spec.Repair.Silence != policy.SilenceActs {
		return nil
	}
	return []string{fmt.Sprintf("a fleet of %d has no brake, and silence: act: when hale's own network fails in a "+
		"way that looks like its machines', they are repaired, one at a time, after a look", f.Size)}
}

// waiting tells of repairs that waited for their turn.
func waiting(f Fleet) []string {
	for _, c := range f.Held {
		if c.What == string(fleet.ReasonBudget) && 4*c.Times > f.Score.Repairs {
			return []string{fmt.Sprintf("%s waited for %s (limits.in_repair: %d)",
				of(c.Times, f.Score.Repairs, "repair"), "their turn", f.Options.Spec.Places())}
		}
	}
	return nil
}

func recovering(f Fleet) []string {
	if f.Score.CaughtRecovering == 0 {
		return nil
	}
	var slowest time.Duration
	for _, c := range f.Options.Spec.Checks {
		slowest = max(slowest, time.Duration(c.UpAfter)*c.Every)
	}
	return []string{
		fmt.Sprintf("%s a machine that had just begun to answer again: its checks need up to %s to see that",
			hit(f.Score.CaughtRecovering), prose.Span(slowest)),
	}
}

func late(f Fleet) []string {
	if f.Score.LateHeals == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("%s healed later than one pass of the ladder should take", wereTimes(f.Score.LateHeals)),
	}
}

// left tells what was still down when the run ended.
func left(f Fleet) []string {
	down := map[string]bool{}
	for _, o := range f.Options.History.Outages {
		if o.Open {
			down[o.Machine] = true
		}
	}
	if len(down) == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(down), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	said := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		said += " and others"
	}
	return []string{fmt.Sprintf("%s still down at the end: %s", were(len(down)), said)}
}

// times renders "1 outage", "3 outages".
func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func were(n int) string {
	if n == 1 {
		return "1 machine was"
	}
	return fmt.Sprintf("%d machines were", n)
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

func of(n, all int, what string) string { return fmt.Sprintf("%d of %d %ss", n, all, what) }

func hit(n int) string {
	if n == 1 {
		return "1 act hit"
	}
	return fmt.Sprintf("%d acts hit", n)
}

func wereTimes(n int) string {
	if n == 1 {
		return "1 outage was"
	}
	return fmt.Sprintf("%d outages were", n)
}
