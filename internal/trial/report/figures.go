package report

import (
	"fmt"
	"strconv"
	"time"

	"hale/internal/prose"
	"hale/internal/sim/score"
	"hale/internal/trial/rehearsal"
)

// reading is one figure of a score.
type reading struct {
	name  string
	part  int // the table that it stands in
	value func(s score.Score) string
}

// The tables. In the first one, anything but 0 is wrong.
const (
	never = iota
	outages
	done
	sized
)

func number(of func(score.Score) int) func(score.Score) string {
	return func(s score.Score) string { return strconv.Itoa(of(s)) }
}

func lasting(of func(score.Score) float64) func(score.Score) string {
	return func(s score.Score) string { return prose.Span(time.Duration(of(s) * float64(time.Second))) }
}

var readings = []reading{
	{"healthy machines destroyed", never, number(func(s score.Score) int { return s.HealthyDestroyed })},
	{"two instances of one machine", never, number(func(s score.Score) int { return s.DoubleInstances })},
	{"repairs lost", never, number(func(s score.Score) int { return s.LostRepairs })},
	{"neither healed nor in a person's hands in time", never, number(func(s score.Score) int { return s.Unhealed })},
	{"laws broken", never, number(func(s score.Score) int { return s.LawsBroken })},
	{"machine-days", outages, func(s score.Score) string { return fmt.Sprintf("%.0f", s.MachineDays) }},
	{"faults", outages, number(func(s score.Score) int { return s.Faults })},
	{"outages of machines", outages, number(func(s score.Score) int { return s.Outages })},
	{"no failure to the policy", outages, number(func(s score.Score) int { return s.Unseen })},
	{"hale's to heal alone", outages, number(func(s score.Score) int { return s.Healable })},
	{"healed alone", outages,
		func(s score.Score) string { return fmt.Sprintf("%d (%.1f %%)", s.HealedAlone, 100*s.HealedShare()) }},
	{"healed late", outages, number(func(s score.Score) int { return s.LateHeals })},
	{"half healed within", outages, lasting(func(s score.Score) float64 { return s.HealP50 })},
	{"99 % healed within", outages, lasting(func(s score.Score) float64 { return s.HealP99 })},
	{"caught while recovering", outages, number(func(s score.Score) int { return s.CaughtRecovering })},
	{"machine-hours without service", outages,
		func(s score.Score) string { return fmt.Sprintf("%.1f", s.MachineHoursLost) }},
	{"repairs", done, number(func(s score.Score) int { return s.Repairs })},
	{"actions", done, number(func(s score.Score) int { return s.Actions })},
	{"times held, needlessly", done,
		func(s score.Score) string { return fmt.Sprintf("%d, %d", s.Held, s.NeedlessHolds) }},
	{"brake engaged, needlessly", done,
		func(s score.Score) string { return fmt.Sprintf("%d, %d", s.Brakes, s.NeedlessBrakes) }},
	{"pages", done, number(func(s score.Score) int { return s.Paged })},
	{"mended by a person", done, number(func(s score.Score) int { return s.Visits })},
	{"shrunk while a metric said nothing", never, number(func(s score.Score) int { return s.ScaledInBlind })},
	{"too small for its load", sized, lasting(func(s score.Score) float64 { return s.SecondsUnder })},
	{"machine-hours on", sized, func(s score.Score) string { return fmt.Sprintf("%.1f", s.MachineHours) }},
	{"more than the load needed", sized, func(s score.Score) string { return fmt.Sprintf("%.1f", s.HoursOver) }},
	{"grew, shrank", sized, func(s score.Score) string { return fmt.Sprintf("%d, %d", s.ScaledOut, s.ScaledIn) }},
}

// table is figures under a title.
type table struct {
	Title   string
	Figures []figure
}

// figures lists the score of the whole and, where there are several, of each fleet: what must never happen, what came
// of the outages, and what was done.
func figures(o rehearsal.Outcome) []table {
	scores := []score.Score{o.Score}
	if len(o.Fleets) > 1 {
		for _, f := range o.Fleets {
			scores = append(scores, f.Score)
		}
	}
	out := []table{{Title: "must never happen"}, {Title: "outages"}, {Title: "what was done"}}
	if o.MachineHours > 0 {
		out = append(out, table{Title: "size under load"})
	}
	for _, r := range readings {
		if r.part >= len(out) {
			continue
		}
		f := figure{Name: r.name, Never: r.part == never}
		for _, s := range scores {
			v := r.value(s)
			f.Values = append(f.Values, v)
			f.Bad = f.Bad || f.Never && v != "0"
		}
		out[r.part].Figures = append(out[r.part].Figures, f)
	}
	return out
}
