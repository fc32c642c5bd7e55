package decide

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// onHost is a machine on host h1 with a check that stands so, by such a result.
func onHost(v belief.Verdict, s fleet.Standing, r fleet.ResultReason) situation.View {
	view := situation.View{
		Machine: belief.Machine{
			Current: belief.Incarnation{ID: "i", Host: "h1"},
			Health:  belief.Health{Verdict: v, SinceMono: fleet.Instant(time.Hour)},
		},
		Checks: []fleet.CheckState{{Check: "alive", Standing: s, Result: r}, {Check: "inside"}},
	}
	if v == belief.VerdictUnhealthy {
		view.Machine.Health.Cause = belief.CauseChecks
	}
	return view
}

// silenceSpec pings every five seconds, and asks the agent.
func silenceSpec(size int) policy.Spec {
	return policy.Spec{Name: "web", Size: size, Mode: policy.ModeAct, Checks: []policy.Check{
		{Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 2},
		{Name: "inside", Kind: policy.CheckAgent, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 2},
	}}
}

// TestL04SilenceNeedsAWitness: what a silent machine has for a witness, and what it has not.
func TestL04SilenceNeedsAWitness(t *testing.T) {
	t.Parallel()
	down := func(r fleet.ResultReason) situation.View {
		return onHost(belief.VerdictUnhealthy, fleet.StandingDown, r)
	}
	silent, refuses, off, away := down(fleet.ResultTimeout), down(fleet.ResultRefused), down(""),
		down(fleet.ResultTimeout)
	well := onHost(belief.VerdictHealthy, fleet.StandingUp, fleet.ResultOK)
	suspect := onHost(belief.VerdictSuspect, fleet.StandingFailing, fleet.ResultTimeout)
	inside := onHost(belief.VerdictHealthy, fleet.StandingUnknown, "")
	off.Machine.Health.Cause, off.Checks = belief.CauseCrashed, nil
	away.Machine.Quarantine = &belief.Quarantine{}
	lost := func(alive, agent time.Duration) situation.View { // when each of the two checks last answered
		v := down(fleet.ResultTimeout)
		v.Checks[0].Answered = fleet.Instant(alive)
		v.Checks[1] = fleet.CheckState{Check: "inside", Standing: fleet.StandingDown, Result: fleet.ResultTimeout,
			Answered: fleet.Instant(agent)}
		return v
	}
	const at, apart = time.Minute, 7 * time.Second
	inside.Checks[1].Standing = fleet.StandingUp
	elsewhere := well
	elsewhere.Machine.Current.Host = "h2"
	h1 := fleet.Neighbourhood{Host: "h1"}
	hears := func(expected, n int) []fleet.Hearing {
		return []fleet.Hearing{{Neighbourhood: h1, Expected: expected, Heard: n, Delay: 6 * time.Second}}
	}
	for name, c := range map[string]struct {
		on      []situation.View // the first of them is the one in question
		others  []fleet.Hearing
		answers bool
		act     bool
		want    fleet.Reason
	}{
		"alone, and nothing bears witness":         {on: []situation.View{silent}, want: fleet.ReasonNoWitness},
		"alone, and its host answers":              {on: []situation.View{silent}, answers: true},
		"alone, and the policy acts":               {on: []situation.View{silent}, act: true},
		"alone, and its agent fell silent with it": {on: []situation.View{lost(at, at+apart-time.Second)}},
		"alone, and its agent fell silent later": {on: []situation.View{lost(at, at+apart)},
			want: fleet.ReasonNoWitness},
		"alone, and its agent fell silent before": {on: []situation.View{lost(at, at-apart)},
			want: fleet.ReasonNoWitness},
		"alone, and its agent was never heard":     {on: []situation.View{lost(at, 0)}, want: fleet.ReasonNoWitness},
		"alone, and only its agent was ever heard": {on: []situation.View{lost(0, at)}, want: fleet.ReasonNoWitness},
		"alone, and refuses connections":           {on: []situation.View{refuses}},
		"two are silent":                           {on: []situation.View{silent, silent}, want: fleet.ReasonNoWitness},
		"two are silent, and their host answers": {on: []situation.View{silent, silent}, answers: true,
			want: fleet.ReasonNoWitness},
		"one is silent, and one not heard": {on: []situation.View{silent, suspect},
			want: fleet.ReasonNoWitness},
		"the other is well":                        {on: []situation.View{silent, well}},
		"the other refuses connections":            {on: []situation.View{silent, refuses}},
		"the other is off, and the host answers":   {on: []situation.View{silent, off}, answers: true},
		"the other is in quarantine, host answers": {on: []situation.View{silent, away}, answers: true},
		"the other is well elsewhere": {on: []situation.View{silent, elsewhere},
			want: fleet.ReasonNoWitness},
		"only the other's agent answers":   {on: []situation.View{silent, inside}, want: fleet.ReasonNoWitness},
		"another fleet's machine is heard": {on: []situation.View{silent}, others: hears(1, 1)},
		"another fleet's machine is silent, too": {on: []situation.View{silent}, others: hears(1, 0), answers: true,
			want: fleet.ReasonNoWitness},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			views := slices.Clone(c.on)
			r := deciding{}
			r.S = situation.Situation{State: situation.State{Spec: silenceSpec(len(views))}, Machines: views,
				Others: c.others}
			for i := range views {
				views[i].Machine.Name = fleet.Name("web").Machine(i + 1)
			}
			r.Sit = guard.Situation{
				State: situation.State{
					SteadyAt: 1,
					Spec:     r.S.Spec,
					Now:      fleet.Now{Mono: fleet.Instant(time.Hour + time.Second)},
					Hosts:    []fleet.Host{{Name: "h1", Up: true}, {Name: "h2", Up: true}},
					Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
				},
				View: &views[0],
			}
			if c.answers {
				r.Sit.Answers = []fleet.HostName{"h1"}
			}
			if c.act {
				r.Sit.Spec.Repair.Silence = policy.SilenceActs
			}
			w := &work{}
			w.M, w.View = &views[0].Machine, &views[0]
			r.Sit.Sights = sights(&r, []*work{w})
			if got := guard.AnyStep(w.M, &r.Sit); got != c.want {
				t.Errorf("held: %q, want %q", got, c.want)
			}
		})
	}
}

// TestL04AWitnessIsHeardAfterTheSilenceBegan: with one failure that is enough, the witness has not been asked since.
func TestL04AWitnessIsHeardAfterTheSilenceBegan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		downAfter int
		wait      time.Duration // after the verdict, until the witness counts
	}{{1, 6 * time.Second}, {2, time.Second}, {3, 0}} {
		views := []situation.View{
			onHost(belief.VerdictUnhealthy, fleet.StandingDown, fleet.ResultTimeout),
			onHost(belief.VerdictHealthy, fleet.StandingUp, fleet.ResultOK),
		}
		spec := silenceSpec(2)
		spec.Checks[0].DownAfter = c.downAfter
		r := deciding{}
		r.S = situation.Situation{State: situation.State{Spec: spec}, Machines: views}
		r.Sit = guard.Situation{
			State: situation.State{
				SteadyAt: 1,
				Spec:     spec,
				Hosts:    []fleet.Host{{Name: "h1", Up: true}},
				Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			},
			View: &views[0],
		}
		w := &work{}
		w.M, w.View = &views[0].Machine, &views[0]
		r.Sit.Sights = sights(&r, []*work{w})
		since := views[0].Machine.Health.SinceMono
		if r.Sit.Now.Mono = since.Add(c.wait); guard.AnyStep(w.M, &r.Sit) != "" {
			t.Errorf("down after %d: held %v after the verdict", c.downAfter, c.wait)
		}
		if r.Sit.Now.Mono = since.Add(c.wait - 1); c.wait > 0 && guard.AnyStep(w.M, &r.Sit) != fleet.ReasonUnclear {
			t.Errorf("down after %d: not held before %v", c.downAfter, c.wait)
		}
	}
}
