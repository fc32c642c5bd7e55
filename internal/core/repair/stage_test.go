package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/situation"
)

const hour = fleet.Instant(time.Hour)

// steps has every step, in the order in which they are tried here: each test takes those that it is about.
var steps = map[fleet.StepKind]policy.Step{
	fleet.StepStart:  {Kind: fleet.StepStart, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second},
	fleet.StepResume: {Kind: fleet.StepResume, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second},
	fleet.StepReboot: {Kind: fleet.StepReboot, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second},
	fleet.StepRun: {Kind: fleet.StepRun, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second,
		Run: policy.Command{Args: []string{"mend"}}},
	fleet.StepRebuild:  {Kind: fleet.StepRebuild, Timeout: time.Minute},
	fleet.StepRecreate: {Kind: fleet.StepRecreate, Timeout: time.Minute, OnDeleteFailure: policy.DeleteFailureStop},
	fleet.StepEvacuate: {Kind: fleet.StepEvacuate, Timeout: time.Minute},
	fleet.StepMigrate:  {Kind: fleet.StepMigrate, Timeout: time.Minute, VerifyWithin: 10 * time.Second},
	fleet.StepRescue:   {Kind: fleet.StepRescue, Timeout: time.Minute, VerifyWithin: 10 * time.Second},
	fleet.StepSnapshot: {Kind: fleet.StepSnapshot, Timeout: time.Minute, KeepFor: 24 * time.Hour},
	fleet.StepPage:     {Kind: fleet.StepPage},
}

// work is one machine's, in a round.
type work = repair.Work

// stage plays one machine's repair: what the provider and the looks say, and how calls end.
type stage struct {
	*testing.T
	m       belief.Machine
	view    situation.View
	s       guard.Situation
	records []record.Record
	actions []situation.Action
}

// newStage is a machine that fails by its checks, in a calm fleet with the steps.
func newStage(t *testing.T, steps ...policy.Step) *stage {
	t.Helper()
	st := &stage{T: t}
	st.s = guard.Situation{
		State: situation.State{
			Now:      fleet.Now{Mono: hour, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
			SteadyAt: 1,
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			Hosts:    []fleet.Host{{Name: "h1", Up: true}, {Name: "h2", Up: true}},
			Spec: policy.Spec{
				Name: "web", Provider: "lab", Size: 5, Mode: policy.ModeAct, Grace: 20 * time.Second,
				BuildWithin: time.Minute, BlindAfter: time.Minute, Evidence: policy.Evidence{Off: true},
				Checks: []policy.Check{{Name: "page", Kind: policy.CheckHTTP, Every: time.Second,
					Timeout: 500 * time.Millisecond, DownAfter: 3, UpAfter: 2}},
				UnhealthyWhen: policy.Condition{Op: policy.OpTerm, Term: "page"},
				Repair: policy.Repair{Steps: steps, Attempts: 3, AttemptsIn: time.Hour, Backoff: 5 * time.Second,
					Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff, Hosts: true}, Silence: policy.SilenceActs,
					OnExternalStop: policy.ExternalStopHeal},
				Limits: policy.Limits{InRepair: 5, InBuild: 5, Brake: policy.Brake{AtLeast: 5,
					ReleaseAfter: time.Minute}},
			},
		},
		Tally: guard.Tally{Size: 5},
	}
	st.m = belief.Machine{
		Name: "web-1", Generation: 1, Epoch: 1, Repairs: 1, Incidents: 1,
		Current:  belief.Incarnation{ID: "old", Host: "h1", Generation: 1, Certified: true},
		Incident: &belief.Incident{ID: "web-1/1", Cause: belief.CauseChecks, Opened: st.s.Now.Wall},
		Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, Since: st.s.Now.Wall,
			SinceMono: hour},
		Attempts: []fleet.Instant{hour},
	}
	st.view = situation.View{FreshID: "new", Epoch: 1,
		Checks: []fleet.CheckState{{Check: "page", Standing: fleet.StandingDown}}}
	return st
}

// work is the machine's work in a round of its own.
func (st *stage) work() *repair.Work {
	st.view.Machine = st.m.Clone()
	st.s.View = &st.view
	st.records, st.actions = nil, nil
	return &repair.Work{Chart: chart.Chart{M: &st.m, View: &st.view, Situation: &st.s, Installation: "ours",
		Load: func() map[fleet.HostName]int { return map[fleet.HostName]int{} }}}
}

// play runs a round, checks the laws before and after it, and tells what follows.
func (st *stage) play(do func(*work)) string {
	st.Helper()
	if err := st.m.Check(); err != nil {
		st.Fatal("before the round: ", err)
	}
	w := st.work()
	do(w)
	st.records, st.actions = w.Records, w.Actions
	st.view.Look, st.view.Outcome, st.view.Gathered = nil, nil, nil
	if err := st.m.Check(); err != nil {
		st.Error("after the round: ", err)
	}
	return st.outline()
}

// round goes on with the repair.
func (st *stage) round() string {
	st.Helper()
	return st.play((*work).Advance)
}

// begin opens a repair of the machine, which fails.
func (st *stage) begin() string {
	st.Helper()
	return st.play(func(w *work) { w.Begin(belief.RepairHeal) })
}

// fails gives the machine another cause to fail for.
func (st *stage) fails(c belief.Cause) *stage {
	st.m.Health.Cause, st.m.Incident.Cause = c, c
	return st
}

// ends has the call that is under way end a second later.
func (st *stage) ends(kind fleet.OutcomeKind) {
	st.pass(time.Second)
	st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: kind, Detail: "so it was said"}
}

// restarts has a new owner go on, as when hale died; what fails is judged anew as before.
func (st *stage) restarts() {
	h := st.m.Health
	st.pass(time.Second)
	st.m = st.m.Restart(st.s.Now, st.s.Spec)
	st.m.Health.Verdict, st.m.Health.Cause = h.Verdict, h.Cause
}

// due lets the time go by until which the repair waits.
func (st *stage) due() { st.pass(max(st.m.Repair.RetryAt, st.m.Repair.AskAt).Sub(st.s.Now.Mono)) }

// record returns the round's first record of the kind.
func (st *stage) record(k record.Kind) record.Record {
	st.Helper()
	i := slices.IndexFunc(st.records, func(r record.Record) bool { return r.Kind == k })
	if i < 0 {
		st.Fatalf("there is no record %s among %+v", k, st.records)
	}
	return st.records[i]
}

// action returns the one thing that the round asked for.
func (st *stage) action() situation.Action {
	st.Helper()
	if len(st.actions) != 1 {
		st.Fatalf("it asked for %+v", st.actions)
	}
	return st.actions[0]
}

// marked is an instance of the machine, by this installation.
func marked(id fleet.InstanceID, host fleet.HostName, p fleet.Power, g fleet.Generation) fleet.Instance {
	return fleet.Instance{ID: id, Host: host, Power: p,
		Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1", Generation: g}}
}

// outline tells what followed in the round, and where the repair stands now.
func (st *stage) outline() string {
	var said []string
	for _, rec := range st.records {
		switch rec.Kind {
		case record.Outcome, record.Intent, record.IncidentOpen:
		case record.StepChosen:
			said = append(said, "then "+string(rec.Step))
		case record.Proof:
			said = append(said, "proven "+string(rec.Proof))
		default:
			said = append(said, strings.TrimSpace(string(rec.Kind)+" "+string(rec.Reason)))
		}
	}
	for _, a := range st.actions {
		switch a.Kind {
		case situation.ActionCall:
			said = append(said, fmt.Sprintf("CALL %s %s", a.Intent.Op, a.Instance))
		case situation.ActionLook:
			said = append(said, "LOOK")
		case situation.ActionObserve:
			said = append(said, "ASK "+string(a.Instance))
		case situation.ActionGather:
			said = append(said, "GATHER")
		}
	}
	return strings.Join(append(said, st.stands()), "; ")
}

func (st *stage) stands() string {
	r := st.m.Repair
	if r == nil {
		if st.m.RetryAt > st.s.Now.Mono {
			return fmt.Sprint("over, again in ", st.m.RetryAt.Sub(st.s.Now.Mono))
		}
		return "over"
	}
	at := string(r.Phase)
	if r.RetryAt > st.s.Now.Mono {
		at += fmt.Sprint(" in ", r.RetryAt.Sub(st.s.Now.Mono))
	}
	return at
}

// pass lets time go by.
func (st *stage) pass(d time.Duration) {
	st.s.Now = fleet.Now{Mono: st.s.Now.Mono.Add(d), Wall: st.s.Now.Wall.Add(d)}
}

// seen says what the provider says of the instances, asked now. It says nothing else.
func (st *stage) seen(all ...fleet.Instance) {
	st.pass(time.Millisecond)
	st.view.Seen = nil
	for _, i := range all {
		st.view.Seen = append(st.view.Seen, fleet.Sighting{Asked: st.s.Now.Mono, Instance: i})
	}
}

// underWay has a call of the operation be under way.
func (st *stage) underWay(op fleet.Op, r belief.Repair) *belief.Intent {
	st.m.Repair = &r
	on := r.Target
	switch op {
	case fleet.OpCreate:
		on = r.Next
	case fleet.OpRestore:
		on = r.Back
	case fleet.OpCertify:
		on = st.m.Current
	default:
	}
	r.Intent = &belief.Intent{ID: "web-1/r1/call1", Op: op, Instance: on.ID, Host: on.Host, Generation: on.Generation,
		Limit: time.Minute, At: st.s.Now.Wall}
	return r.Intent
}
