package metrics

import (
	"cmp"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/owner/published"

	"github.com/prometheus/client_golang/prometheus"
)

// look is one fleet as it stands, counted.
type look struct {
	*published.Fleet

	brake      belief.Brake
	policy     policy.Brake
	tally      guard.Tally // under which the brake stands
	verdicts   map[belief.Verdict]int
	held       map[fleet.Reason]int
	incidents  map[belief.Cause]int
	repairs    map[belief.RepairKind]int
	checks     map[fleet.Standing]int
	unknown    map[fleet.ResultReason]int // why checks are
	candidates int
	persons    int // machines that wait for one
	quarantine int
}

func lookAt(f *published.Fleet) *look {
	l := &look{
		Fleet: f, verdicts: map[belief.Verdict]int{}, held: map[fleet.Reason]int{},
		incidents: map[belief.Cause]int{}, repairs: map[belief.RepairKind]int{},
		checks: map[fleet.Standing]int{}, unknown: map[fleet.ResultReason]int{},
	}
	l.brake, l.policy, l.tally = f.Braked()
	for m, v := range f.Believed() {
		if !f.Left(m) {
			l.count(m)
			l.ask(v.Checks)
		}
	}
	return l
}

// unasked is of a check that has no result yet.
const unasked fleet.ResultReason = "none"

// ask counts how a machine's checks stand.
func (l *look) ask(checks []fleet.CheckState) {
	for i := range checks {
		c := &checks[i]
		standing := cmp.Or(c.Standing, fleet.StandingUnknown) // nothing was heard yet
		l.checks[standing]++
		if standing == fleet.StandingUnknown {
			l.unknown[cmp.Or(c.Result, unasked)]++
		}
	}
}

func (l *look) count(m *belief.Machine) {
	if m.Current.Candidate() {
		l.candidates++
	} else {
		l.verdicts[m.Health.Verdict]++
	}
	if m.Waiting != "" {
		l.held[m.Waiting]++
	}
	if m.Incident != nil {
		l.incidents[m.Incident.Cause]++
	}
	if m.Repair != nil {
		l.repairs[m.Repair.Kind]++
	}
	if m.Quarantine != nil {
		l.quarantine++
	}
	if m.Quarantine != nil || m.Incident != nil && m.Incident.Paged {
		l.persons++
	}
}

// row is one metric of a fleet. The fleet's name is its first label, and put adds it.
type row struct {
	family
	from func(l *look, put func(v float64, labels ...string))
}

// one is a metric with one value for each fleet.
func one(name, help string, from func(l *look) float64) row {
	return row{gauge(name, help, "fleet"), func(l *look, put func(float64, ...string)) { put(from(l)) }}
}

// each is a metric with one value for each word of a closed set that there is any of.
func each[W ~string](name, help, label string, from func(l *look) map[W]int) row {
	return row{gauge(name, help, "fleet", label), func(l *look, put func(float64, ...string)) {
		for word, n := range from(l) {
			put(number(n), string(word))
		}
	}}
}

var verdicts = []belief.Verdict{belief.VerdictUnknown, belief.VerdictStarting, belief.VerdictHealthy,
	belief.VerdictSuspect,
	belief.VerdictUnhealthy}

var standingsOfChecks = []fleet.Standing{fleet.StandingUp, fleet.StandingFailing, fleet.StandingDown,
	fleet.StandingUnknown}

var fleetRows = []row{
	{gauge("fleet_info", "What the fleet is: 1.", "fleet", "provider", "mode"),
		func(l *look, put func(float64, ...string)) { put(1, string(l.Spec.Provider), string(l.Spec.Mode)) }},
	one("fleet_size", "Machines that the fleet is to have, without spares and those beyond the size.",
		func(l *look) float64 { return number(l.Spec.Size - l.Whole.Ledger.Beside()) }),
	one("fleet_spares", "Spares that the fleet is to have.",
		func(l *look) float64 { return number(l.Whole.Ledger.Idle()) }),
	{gauge("machines", "Machines by verdict.", "fleet", "verdict"),
		func(l *look, put func(float64, ...string)) {
			for _, v := range verdicts {
				put(number(l.verdicts[v]), string(v))
			}
		}},
	{gauge("checks", "Checks of machines by standing.", "fleet", "standing"),
		func(l *look, put func(float64, ...string)) {
			for _, s := range standingsOfChecks {
				put(number(l.checks[s]), string(s))
			}
		}},
	each("checks_unknown", "Checks that say nothing of their machine, by why: late, local, no-address and so on.",
		"result",
		func(l *look) map[fleet.ResultReason]int { return l.unknown }),
	one("machines_candidate", "Machines that are watched, and not looked after yet.",
		func(l *look) float64 { return number(l.candidates) }),
	each("machines_held", "Machines to which nothing is done now although something could be, by why.", "reason",
		func(l *look) map[fleet.Reason]int { return l.held }),
	each("machines_in_repair", "Machines that hale works on, by what for.", "kind",
		func(l *look) map[belief.RepairKind]int { return l.repairs }),
	each("incidents_open", "Incidents of machines that are open, by cause.", "cause",
		func(l *look) map[belief.Cause]int { return l.incidents }),
	one("machines_waiting_for_person", "Machines that a person was told of, or that are in quarantine.",
		func(l *look) float64 { return number(l.persons) }),
	one("machines_quarantined", "Machines that hale could not heal and leaves alone.",
		func(l *look) float64 { return number(l.quarantine) }),
	one("fleet_parent_incidents", "Open incidents of hosts, racks and other domains in which machines fail together.",
		func(l *look) float64 { return number(len(l.Whole.Parents)) }),

	one("fleet_acting", "Whether hale may act in the fleet.",
		func(l *look) float64 { return truth(l.Acting == "").value() }),
	{gauge("fleet_idle", "Why hale does not act in the fleet: 1.", "fleet", "reason"),
		func(l *look, put func(float64, ...string)) {
			if l.Acting != "" {
				put(1, string(l.Acting))
			}
		}},
	one("fleet_lease_remaining_seconds", "How long this server surely still holds the fleet; 0: it does not.",
		func(l *look) float64 { return l.Lease.Seconds() }),
	one("fleet_sight_doubted", "Whether hale takes its own sight of the machines to be at fault.",
		func(l *look) float64 { return truth(l.Whole.Doubt.Reason != "").value() }),
	one("fleet_holds", "Holds by people in force, of machines, hosts or the whole fleet.",
		func(l *look) float64 { return number(len(l.Whole.Holds)) }),
	one("fleet_plan_waits", "Whether a plan waits for a person's word, because it would destroy something.",
		func(l *look) float64 { return truth(l.planned()).value() }),
	one("fleet_checks_unproven", "Checks that succeeded on no machine since they were made or edited.",
		func(l *look) float64 { return number(l.unproven()) }),

	one("fleet_brake_engaged", "Whether the brake under which the fleet stands is on: no repair begins.",
		func(l *look) float64 { return truth(l.brake.On()).value() }),
	one("fleet_brake_by_hand", "Whether a person put that brake on.",
		func(l *look) float64 { return truth(l.brake.By != "").value() }),
	one("fleet_brake_limit", "How many machines may fail before that brake engages.",
		func(l *look) float64 { return number(guard.BrakeLimit(l.policy, l.tally.Size)) }),
	one("fleet_brake_failing", "How many machines fail, as that brake counts.",
		func(l *look) float64 { return number(l.tally.Failing) }),
	one("fleet_repair_budget", "How many machines of the fleet may be in repair at once.",
		func(l *look) float64 { return number(l.Spec.Places()) }),
	one("fleet_repair_budget_used", "How many are, as that budget counts.",
		func(l *look) float64 { return number(l.Tally.InRepair) }),
	one("fleet_repair_budget_left", "How many more may be.",
		func(l *look) float64 { return number(max(0, l.Spec.Places()-l.Tally.InRepair)) }),

	one("notifications_waiting", "Messages to people that no target has taken yet.",
		func(l *look) float64 { return number(l.Post.Waiting) }),
	one("notifications_dead", "Messages to people that were given up.",
		func(l *look) float64 { return number(l.Post.Dead) }),
	{gauge("notifications_oldest_timestamp_seconds", "Since when the oldest message waits that no target has taken.",
		"fleet"), func(l *look, put func(float64, ...string)) {
		if !l.Post.Since.IsZero() {
			put(seconds(l.Post.Since))
		}
	}},
}

func (l *look) planned() bool {
	p := l.Pending()
	return !p.Empty()
}

func (l *look) unproven() (n int) {
	if l.Whole.Book == nil {
		return 0
	}
	for _, t := range l.Whole.Book.Checks {
		if !t.Proven() {
			n++
		}
	}
	return n
}

// The metrics of single machines, where they are asked for.
var (
	machineVerdict = gauge("machine_verdict", "What hale thinks of the machine: 1.", "fleet", "machine", "verdict")
	machineHeld    = gauge("machine_held", "Why nothing is done to the machine although something could be: 1.",
		"fleet", "machine", "reason")
)

// fleetCollector says how each fleet stands, and its provider.
type fleetCollector struct {
	fleets   func() []published.Fleet
	machines func() bool // whether each machine has series of its own
}

// Describe implements prometheus.Collector.
func (c fleetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, r := range fleetRows {
		to <- r.desc
	}
	for _, f := range append([]family{machineVerdict, machineHeld, providerUp, providerHosts, sharedBudget, sharedUsed,
		providerBudget, providerUsed}, sizeFamilies...) {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c fleetCollector) Collect(to chan<- prometheus.Metric) {
	all, out := c.fleets(), say(to)
	for i := range all {
		l := lookAt(&all[i])
		name := string(l.Spec.Name)
		for _, r := range fleetRows {
			r.from(l, func(v float64, labels ...string) {
				out.value(r.family, v,
					append([]string{name}, labels...)...)
			})
		}
		l.sized(out)
		if c.machines() {
			l.single(out)
		}
	}
	standings(all, out)
	shared(all, out)
}

// single says how each machine stands.
func (l *look) single(out say) {
	name := string(l.Spec.Name)
	for m := range l.Believed() {
		if l.Left(m) {
			continue
		}
		out.value(machineVerdict, 1, name, string(m.Name), string(m.Health.Verdict))
		if m.Waiting != "" {
			out.value(machineHeld, 1, name, string(m.Name), string(m.Waiting))
		}
	}
}
