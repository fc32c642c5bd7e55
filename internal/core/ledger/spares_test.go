package ledger_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// ready is a round of a fleet of so many machines that are well, beside one spare, the last of them.
func ready(size int) *round.Round {
	wanted := &policy.Spec{Name: "web", Size: size, Mode: policy.ModeAct, Spares: policy.Spares{Count: 1}}
	l := belief.OpenLedger(wanted, 0)
	r := &round.Round{S: situation.Situation{Wanted: wanted}}
	r.Sit.Provider.Standing, r.Sit.Now.Mono, r.Sit.SteadyAt = fleet.ProviderUp, 10, 5
	r.Sit.Whole.Ledger, r.S.Spec = l, l.Force(*wanted)
	r.Sit.Spec = r.S.Spec
	for n := 1; n <= size+1; n++ {
		r.S.Machines = append(r.S.Machines, situation.View{Machine: belief.Machine{Name: wanted.Name.Machine(n),
			Current: belief.Incarnation{ID: fleet.InstanceID(wanted.Name.Machine(n)), Certified: true},
			Health:  belief.Health{Verdict: belief.VerdictHealthy}, Address: netip.MustParseAddr("10.0.0.1")}})
	}
	return r
}

// operated is one step by a person's order.
func operated(by fleet.StepKind) *belief.Repair {
	return &belief.Repair{Kind: belief.RepairOperate, Order: "o", Climb: belief.Climb{Step: by}}
}

func handOut(t *testing.T, r *round.Round) []fleet.MachineName {
	t.Helper()
	ledger.HandOut(r, func(i int) *belief.Machine { return &r.S.Machines[i].Machine })
	for _, rec := range r.Records {
		if err := rec.Valid(); err != nil || rec.Kind == record.Paged {
			t.Errorf("%+v: %v", rec, err)
		}
	}
	return r.Sit.Whole.Ledger.Spares
}

func pending(wanted *policy.Spec, r *round.Round) change.Plan {
	return change.Pending(wanted, r.Sit.Whole.Ledger, r.S.Machines, nil)
}

func TestASpareTakesThePlaceOfAMachineThatFails(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct {
		happens func(r *round.Round)
		spare   fleet.MachineName
	}{
		"all is well": {func(*round.Round) {}, "web-4"},
		"one fails": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
		}, "web-2"},
		"one is suspect": {func(r *round.Round) { r.S.Machines[1].Machine.Health.Verdict = belief.VerdictSuspect },
			"web-4"},
		"one is not seen": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Incident = belief.VerdictUnknown, &belief.Incident{Cause: belief.CauseBlind}
		}, "web-4"},
		"one is put in quarantine": {func(r *round.Round) {
			r.S.Machines[0].Machine.Quarantine = &belief.Quarantine{}
		}, "web-1"},
		"one is changed by order": {func(r *round.Round) {
			r.S.Machines[2].Machine.Repair = &belief.Repair{Kind: belief.RepairUpdate, Order: "o"}
		}, "web-3"},
		"one is stopped by order": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseParked}
		}, "web-2"},
		"one is replaced by order": {func(r *round.Round) {
			r.S.Machines[2].Machine.Repair = &belief.Repair{Kind: belief.RepairReplace, Order: "o"}
		}, "web-3"},
		"one is restarted by order": {func(r *round.Round) {
			r.S.Machines[2].Machine.Repair = operated(fleet.StepReboot)
		}, "web-3"},
		"one is moved by order, and serves meanwhile": {func(r *round.Round) {
			r.S.Machines[2].Machine.Repair = operated(fleet.StepMigrate)
		}, "web-4"},
		"one fails, and the spare is to be stopped": {func(r *round.Round) {
			r.S.Machines[0].Machine.Quarantine = &belief.Quarantine{}
			r.Sit.Now.Wall = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
			r.S.Machines[3].Machine.Wanted = &belief.Wanted{Order: "o", Chore: fleet.OrderStop,
				Until: r.Sit.Now.Wall.Add(time.Hour)}
		}, "web-4"},
		"one fails under the brake": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
			r.Sit.Brake.Engaged = true
		}, "web-2"},
		"one seems to fail, and hale doubts its sight": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
			r.Sit.Whole.Doubt.Reason = fleet.ReasonVantageDoubtful
		}, "web-4"},
		"one fails, and a person holds the spare": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
			r.Sit.Whole.Holds = []belief.Hold{{Machine: "web-4"}}
		}, "web-4"},
		"one's host is to be emptied, and it serves as ever": {func(r *round.Round) {
			m := &r.S.Machines[1].Machine
			m.Health.Verdict, m.Health.Cause, m.Incident = belief.VerdictUnhealthy, belief.CauseDisabled,
				&belief.Incident{}
		}, "web-4"},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			r := ready(3)
			c.happens(r)
			if got := handOut(t, r); !slices.Equal(got, []fleet.MachineName{c.spare}) {
				t.Errorf("the spares are %v, and not %s", got, c.spare)
			}
		})
	}
}

func TestALargerSizeTakesTheSpareFirst(t *testing.T) {
	t.Parallel()
	r := ready(3)
	wanted := *r.S.Wanted
	wanted.Size = 4
	r.S.Wanted = &wanted
	ledger.Book(r)
	if got := handOut(t, r); !slices.Equal(got, []fleet.MachineName{"web-5"}) || r.S.Spec.Size != 5 {
		t.Errorf("of %d machines the spares are %v", r.S.Spec.Size, got)
	}
	if again := len(r.Records); again != 2 {
		t.Errorf("%d records of it: %+v", again, r.Records)
	}
}

func TestWhenSparesAreAskedForOneIsBuiltToStandBy(t *testing.T) {
	t.Parallel()
	r := ready(3)
	r.S.Machines = r.S.Machines[:3]
	r.Sit.Whole.Ledger = &belief.Ledger{Size: 3}
	r.S.Spec = r.Sit.Whole.Ledger.Force(*r.S.Wanted)
	ledger.Book(r)
	if got := handOut(t, r); !slices.Equal(got, []fleet.MachineName{"web-4"}) || r.S.Spec.Size != 4 {
		t.Errorf("of %d machines the spares are %v", r.S.Spec.Size, got)
	}
	if len(r.Records) != 1 || r.Records[0].Reason != fleet.ReasonSparesUp {
		t.Errorf("it is recorded as %+v", r.Records)
	}
}

// Fewer spares are a plan for a person: it names the spare, and no machine that serves.
func TestFewerSparesAwaitAWord(t *testing.T) {
	t.Parallel()
	r := ready(3)
	wanted := *r.S.Wanted
	wanted.Spares.Count = 0
	p := pending(&wanted, r)
	if p.From != 4 || p.To != 3 || len(p.Remove) != 1 || p.Remove[0].Machine != "web-4" ||
		p.Remove[0].Why != fleet.ReasonTooManySpares {
		t.Errorf("what waits is %+v", p)
	}
	r.S.Wanted = &wanted
	if got := handOut(t, r); !slices.Equal(got, []fleet.MachineName{"web-4"}) {
		t.Errorf("until then the spares are %v", got)
	}
}

// A smaller size takes none of the spares that are well.
func TestASmallerSizeLeavesTheSpare(t *testing.T) {
	t.Parallel()
	r := ready(3)
	wanted := *r.S.Wanted
	wanted.Size = 2
	if p := pending(&wanted, r); len(p.Remove) != 1 || p.Remove[0].Machine != "web-3" {
		t.Errorf("what waits is %+v", p)
	}
	m := &r.S.Machines[3].Machine
	m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
	if p := pending(&wanted, r); len(p.Remove) != 1 || p.Remove[0].Machine != "web-4" {
		t.Errorf("with a spare that fails, what waits is %+v", p)
	}
}

// resting is a round as ready's, of a fleet whose spare is to be off, an hour after all became well; the spare is off.
func resting(size int) *round.Round {
	r := ready(size)
	wanted := *r.S.Wanted
	wanted.Spares.Off = true
	r.S.Wanted = &wanted
	r.S.Now.Mono = fleet.Instant(time.Hour)
	r.Sit.Now.Mono = r.S.Now.Mono
	m := &r.S.Machines[size].Machine
	m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseSpareOff}
	r.S.Open = []int{size} // as everything that is not well
	return r
}

// lost has the machine fail.
func lost(m *belief.Machine) {
	m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{}
}

func TestASpareIsOffWhileNoneIsNeeded(t *testing.T) {
	t.Parallel()
	well := func(r *round.Round) *belief.Machine {
		m := &r.S.Machines[3].Machine
		m.Health = belief.Health{Verdict: belief.VerdictHealthy}
		return m
	}
	for story, c := range map[string]struct {
		happens    func(r *round.Round)
		rest, rise string
	}{
		"all are well":                {func(r *round.Round) { well(r) }, "web-4", ""},
		"all are well, and it is off": {func(*round.Round) {}, "", ""},
		"it was healed just now": {func(r *round.Round) {
			well(r).Health.SinceMono = r.S.Now.Mono.Add(-time.Minute)
		}, "", ""},
		"a machine that serves was healed just now": {func(r *round.Round) {
			well(r)
			r.S.Machines[1].Machine.Health.SinceMono = r.S.Now.Mono.Add(-time.Minute)
		}, "", ""},
		"a machine that serves is suspect": {func(r *round.Round) {
			well(r)
			r.S.Machines[1].Machine.Health.Verdict = belief.VerdictSuspect
		}, "", ""},
		"one fails while it is off": {func(r *round.Round) { lost(&r.S.Machines[1].Machine) }, "", "web-4"},
		"one fails while hale doubts its sight": {func(r *round.Round) {
			lost(&r.S.Machines[1].Machine)
			r.Sit.Whole.Doubt.Reason = fleet.ReasonVantageDoubtful
		}, "", ""},
		"it serves by now": {func(r *round.Round) {
			l := *r.Sit.Whole.Ledger
			l.Spares = []fleet.MachineName{"web-1"}
			r.Sit.Whole.Ledger = &l
		}, "", "web-4"},
		"another template goes through the fleet": {func(r *round.Round) {
			l := *r.Sit.Whole.Ledger
			l.Update = &belief.Update{Order: "o", Edition: 2}
			r.Sit.Whole.Ledger = &l
		}, "", "web-4"},
		"another template goes, and it is on": {func(r *round.Round) {
			well(r)
			l := *r.Sit.Whole.Ledger
			l.Update = &belief.Update{Order: "o", Edition: 2}
			r.Sit.Whole.Ledger = &l
		}, "", ""},
		"spares are to run again": {func(r *round.Round) {
			wanted := *r.S.Wanted
			wanted.Spares.Off = false
			r.S.Wanted = &wanted
		}, "", "web-4"},
		"a person had hale turn it off": {func(r *round.Round) {
			r.S.Machines[3].Machine.Health.Cause = belief.CauseParked
			lost(&r.S.Machines[1].Machine)
		}, "", ""},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			r := resting(3)
			c.happens(r)
			ledger.StandBy(r, func(i int) *belief.Machine { return &r.S.Machines[i].Machine })
			if rest, rise := names(r.Rests), names(r.Rises); rest != c.rest || rise != c.rise {
				t.Errorf("%q is to be turned off, and %q on", rest, rise)
			}
		})
	}
}

// As many spares are started as machines fail, and those count that are on already.
func TestOnlyAsManySparesAreStartedAsMachinesFail(t *testing.T) {
	t.Parallel()
	r := resting(4)
	l := *r.Sit.Whole.Ledger
	l.Spares = []fleet.MachineName{"web-3", "web-4", "web-5"}
	r.Sit.Whole.Ledger = &l
	r.S.Machines[3].Machine.Health = r.S.Machines[4].Machine.Health
	lost(&r.S.Machines[0].Machine)
	lost(&r.S.Machines[1].Machine)
	ledger.StandBy(r, func(i int) *belief.Machine { return &r.S.Machines[i].Machine })
	if got := names(r.Rises); got != "web-4" { // web-3 runs
		t.Errorf("%q are to be started", got)
	}
}

func names(all []fleet.MachineName) string {
	said := ""
	for _, n := range all {
		said += string(n)
	}
	return said
}
