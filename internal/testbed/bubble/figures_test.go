package bubble

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/notify"
	"hale/internal/trial/scenario"
)

// apart are the figures of the score that the bubble does not compare, with the reason.
var apart = map[string]string{
	"runs":               "a play is one",
	"machine_days":       "a play ends when there is nothing left to happen",
	"faults":             "they are the file's own events",
	"outages":            "a beat can miss a short one",
	"healable":           "which outage hale should have healed alone is the bookkeeping of the simulator's judge",
	"healed_alone":       "as healable",
	"healable_paged":     "as healable",
	"late_heals":         "as healable",
	"curable":            "as healable",
	"curable_alone":      "as healable",
	"prompt":             "as healable",
	"prompt_alone":       "as healable",
	"causes":             "as healable",
	"needless_holds":     "as healable",
	"needless_brakes":    "as healable",
	"machine_hours_lost": "boots and calls take as long as they take there: the bubble has the middle of each range",
	"hours_alone":        "as machine_hours_lost",
	"oracle_hours":       "as machine_hours_lost",
	"oracle_hours_alone": "as machine_hours_lost",
	"brake_hours":        "as machine_hours_lost",
	"heal_seconds_p50":   "as machine_hours_lost",
	"heal_seconds_p99":   "as machine_hours_lost",
	"edges":              "results at one instant come in any order, and each order has its own edges",
	"decisions":          "as edges",
	"caught_recovering":  "it hangs on seconds of one boot",
	"window_acts":        "as caught_recovering",

	"seconds_under_capacity": "as machine_hours_lost",
	"machine_hours_over":     "as machine_hours_lost",
	"machine_hours_on":       "as machine_hours_lost",
	"scaled_out":             "orders move the size, too, and the judge of sizes hears of opinions here",
	"scaled_in":              "as scaled_out",
	"below_least":            "as scaled_out",
	"built_in_vain":          "as scaled_out",
}

// roughly are the figures that the bubble compares only by whether there were any: how often the same reason is given
// again depends on the order within one instant.
var roughly = map[string]bool{"held": true, "actions": true, "visits": true, "disks_reattached": true}

// figures returns what was counted, by the names in the score's JSON.
func (j *judge) figures() map[string]float64 {
	t := j.tally
	out := map[string]float64{}
	for name, n := range map[string]int{
		"healthy_destroyed": t.HealthyDestroyed, "double_instances": t.DoubleInstances, "lost_repairs": t.lost,
		"unhealed": t.unhealed, "laws_broken": len(j.broke), "repairs": t.repairs, "paged": t.paged, "brakes": t.brakes,
		"held": t.held, "actions": t.Actions, "visits": t.visits, "disks_reattached": t.Reattached,
		"snapshots": t.Snapshots, "scaled_in_blind": t.ScaledInBlind,
		"store_pages": j.r.storePages(),
	} {
		out[name] = float64(n)
	}
	return out
}

// storePages counts the pages of the store, which go out without it.
func (r *room) storePages() int {
	n := 0
	for _, m := range r.pager.Taken() {
		if m.Event == notify.EventPage && (m.Reason == string(fleet.ReasonStoreFull) ||
			m.Reason == string(fleet.ReasonStoreDown)) {
			n++
		}
	}
	return n
}

// compare says what of the file's expectations did not come about.
func (j *judge) compare(expected []scenario.Expectation) []string {
	var problems []string
	got := j.figures()
	for _, e := range expected {
		v, counted := got[e.Figure]
		switch {
		case apart[e.Figure] != "":
		case !counted:
			problems = append(problems,
				fmt.Sprintf("the bubble knows no figure %s: count it, or list it in apart with the reason", e.Figure))
		case roughly[e.Figure] && e.Op == "=":
			if (v > 0) != (e.Value > 0) {
				problems = append(problems, fmt.Sprintf("%s is %v, and the simulator counts %v", e.Figure, v, e.Value))
			}
		case !e.Holds(v):
			problems = append(problems, fmt.Sprintf("%s is %v, expected %s %v", e.Figure, v, e.Op, e.Value))
		}
	}
	return problems
}

// settled reports whether the machine is well, or in a person's hands: that of a fleet that is only watched always is.
func (r *room) settled(n int) bool {
	m, known := r.machine(n)
	return r.spec.Mode == policy.ModeObserve || r.healthy(n) || known && m.Repair == nil && r.judge.covered(n) ||
		rests(&m) || r.owner() == nil && r.serves(n)
}

// rests reports whether the machine is a spare that is off, as it is to be.
func rests(m *belief.Machine) bool { return m.Repair == nil && m.Health.Cause == belief.CauseSpareOff }

// well reports whether nothing is left to happen: every machine is, the brake is off, and the agenda is empty.
func (r *room) well() bool {
	return len(r.agenda) == 0 && !r.judge.braked && r.each(func(n int) bool {
		m, _ := r.machine(n)
		return rests(&m) || r.healthy(n) && m.Waiting == ""
	}) && r.spec.Mode == policy.ModeAct
}
