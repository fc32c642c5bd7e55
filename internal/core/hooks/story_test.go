package hooks_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/hooks"
	"hale/internal/core/policy"
)

const start = fleet.Instant(time.Hour)

func after(d time.Duration) fleet.Now { return fleet.Now{Mono: start.Add(d)} }

// A pool is waited for until it says that the machine is out, or has no connections, or the time is over; one that does
// not answer holds nothing up for ever.
func TestWhenAPoolIsLeft(t *testing.T) {
	t.Parallel()
	said := func(m fleet.Membership) []fleet.Membership {
		m.Balancer, m.Asked = "edge", start+1
		return []fleet.Membership{m}
	}
	late := 40 * time.Second
	for name, c := range map[string]struct {
		members []fleet.Membership
		wanted  bool
		after   time.Duration
		want    fleet.Reason
	}{
		"it is out": {said(fleet.Membership{State: fleet.MemberOut}), false, 0, fleet.ReasonOut},
		"it could not be drained": {said(fleet.Membership{State: fleet.MemberDrains, Failed: true}), true, late - 1,
			""},
		"and still cannot": {said(fleet.Membership{State: fleet.MemberDrains, Failed: true}), true, late,
			fleet.ReasonPoolFailed},
		"it could not be taken out": {said(fleet.Membership{State: fleet.MemberOut, Failed: true}), true, 0, ""},
		"it drains": {said(fleet.Membership{State: fleet.MemberDrains, Connections: 3}), true,
			late - 1, ""},
		"its connections ended": {said(fleet.Membership{State: fleet.MemberDrains}), true, 0, fleet.ReasonOut},
		"nobody knows of them": {said(fleet.Membership{State: fleet.MemberDrains, Connections: -1}), true, 0,
			""},
		"its time is over": {said(fleet.Membership{State: fleet.MemberDrains, Connections: 3}), true, late,
			fleet.ReasonWaitOver},
		"the last one, which fails": {said(fleet.Membership{State: fleet.MemberServes, Last: true}), false, 0,
			fleet.ReasonLastServing},
		"the last one, which is to go": {said(fleet.Membership{State: fleet.MemberServes, Last: true}), true, 0, ""},
		"the pool finds it down": {said(fleet.Membership{State: fleet.MemberServes, Verdict: fleet.MemberDown}),
			false, 0, fleet.ReasonOut},
		"the pool is silent": {nil, false, late - 1, ""},
		"and stays so":       {nil, false, late, fleet.ReasonPoolSilent},
		"what it said before counts not": {[]fleet.Membership{{Balancer: "edge", State: fleet.MemberOut, Asked: start}},
			false,
			0, ""},
	} {
		p := hooks.Pool{Pool: policy.Pool{Balancer: "edge", Wait: 30 * time.Second}, Members: c.members, Since: start,
			Wanted: c.wanted}
		if got := p.Left(after(c.after)); got != c.want {
			t.Errorf("%s: %q, and it should be %q", name, got, c.want)
		}
	}
}

// waiting is a machine whose hook finish waits for a word until a minute is over, and for ten at the most.
func waiting() (*belief.Machine, *policy.Spec) {
	spec := &policy.Spec{}
	spec.Hooks.Leave = []policy.Hook{{Name: "finish", Kind: policy.HookWait, Within: time.Minute,
		Deadline: 10 * time.Minute}}
	m := &belief.Machine{Name: "web-2", Repair: &belief.Repair{Kind: belief.RepairRemove, Order: "o1"}}
	m.Repair.Phase, m.Repair.Target = belief.PhaseLeave, belief.Incarnation{ID: "i-2", Certified: true}
	m.Repair.Hooks = m.Repair.Hooks.Due("leave/finish", start.Add(time.Minute), start.Add(10*time.Minute))
	return m, spec
}

// restarted is what a restart makes of it: the time begins anew when the repair has come there again.
func restarted(m *belief.Machine) { m.Repair.Hooks = &belief.Hooking{At: "leave/finish"} }

// A word is taken once, in time, and of the hook that waits; each other one is refused, and says why.
func TestAWordIsTakenOnceAndInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(m *belief.Machine)
		o      fleet.Order
		after  time.Duration
		want   fleet.Reason
	}{
		"in time":            {nil, fleet.Order{Word: fleet.HookDone}, time.Minute - 1, ""},
		"by its name":        {nil, fleet.Order{Word: fleet.HookDone, Hook: "finish"}, 0, ""},
		"of another hook":    {nil, fleet.Order{Word: fleet.HookDone, Hook: "drain"}, 0, fleet.ReasonNotAwaited},
		"after its deadline": {nil, fleet.Order{Word: fleet.HookDone}, time.Minute, fleet.ReasonHookLate},
		"of a machine at peace": {func(m *belief.Machine) { m.Repair = nil }, fleet.Order{Word: fleet.HookDone}, 0,
			fleet.ReasonNotAwaited},
		"a second time": {func(m *belief.Machine) { m.Repair.Hooks = m.Repair.Hooks.End("leave/finish", "") },
			fleet.Order{Word: fleet.HookDone, Hook: "finish"}, 0, fleet.ReasonAnswered},
		"a second time at once": {func(m *belief.Machine) {
			h := *m.Repair.Hooks
			h.Word, m.Repair.Hooks = fleet.HookDone, &h
		}, fleet.Order{Word: fleet.HookDone}, 0, fleet.ReasonAnswered},
		"right after a restart":           {restarted, fleet.Order{Word: fleet.HookDone}, time.Hour, ""},
		"more time right after a restart": {restarted, fleet.Order{Word: fleet.HookMore}, time.Hour, ""},
		"after it was given up": {func(m *belief.Machine) {
			m.Repair.Hooks = m.Repair.Hooks.End("leave/finish", fleet.ReasonHookLate)
		}, fleet.Order{Word: fleet.HookDone, Hook: "finish"}, 0, fleet.ReasonHookLate},
	} {
		m, spec := waiting()
		if c.change != nil {
			c.change(m)
		}
		if _, got := hooks.Say(m, spec, &c.o, after(c.after)); got != c.want {
			t.Errorf("%s: %q, and it should be %q", name, got, c.want)
		}
	}
}

// Who asks for more time gets it as often as they like, and not beyond the deadline.
func TestMoreTimeHasAnEnd(t *testing.T) {
	t.Parallel()
	m, spec := waiting()
	at := time.Duration(0)
	for range 20 {
		h, refused := hooks.Say(m, spec, &fleet.Order{Word: fleet.HookMore}, after(at))
		if refused != "" {
			break
		}
		m.Repair.Hooks = h
		at += 50 * time.Second
	}
	if got := m.Repair.Hooks.By; got != start.Add(10*time.Minute) {
		t.Errorf("it waits for %s", got.Sub(start))
	}
}

// Hooks come in their order, pools before hooks, each once; and only for whom they are.
func TestHooksComeInTheirOrder(t *testing.T) {
	t.Parallel()
	spec := &policy.Spec{Pools: []policy.Pool{{Balancer: "edge"}}, Provision: []policy.Hook{{Name: "site"}}}
	spec.Hooks = policy.Hooks{Before: []policy.Hook{{Name: "tell"}}, Leave: []policy.Hook{{Name: "b"}, {Name: "a"}},
		After: []policy.Hook{{Name: "told"}}}
	all := func(kind belief.RepairKind, phase belief.Phase, step fleet.StepKind, whole bool) string {
		r := &belief.Repair{Kind: kind}
		r.Phase, r.Step, r.Target = phase, step, belief.Incarnation{ID: "i", Certified: whole}
		out := ""
		for range 9 {
			task, some := hooks.Next(spec, r)
			if !some {
				break
			}
			out += string(task.ID) + " "
			r.Hooks = r.Hooks.End(task.ID, "")
		}
		return out
	}
	for want, got := range map[string]string{
		"before_repair/tell pool/edge leave/b leave/a ": all(belief.RepairHeal, belief.PhaseLeave, fleet.StepReboot,
			true),
		"before_repair/tell ": all(belief.RepairHeal, belief.PhaseLeave, fleet.StepStart,
			true),
		"pool/edge leave/b leave/a ": all(belief.RepairRemove, belief.PhaseLeave, "", true),
		"provision/site ":            all(belief.RepairBuild, belief.PhaseProvision, "", false),
		"after_repair/told ":         all(belief.RepairHeal, belief.PhaseAfter, "", true),
		"":                           all(belief.RepairUpdate, belief.PhaseLeave, "", false),
	} {
		if got != want {
			t.Errorf("they are %q, and should be %q", got, want)
		}
	}
	for step, leaves := range map[fleet.StepKind]bool{fleet.StepReboot: true, fleet.StepStop: true,
		fleet.StepStart: false, fleet.StepMigrate: false} {
		if got := all(belief.RepairOperate, belief.PhaseLeave, step, true) != ""; got != leaves {
			t.Errorf("%s by order has hooks before it: %v", step, got)
		}
	}
}

// A step is approved by a word on that alone: the word on a hook approves nothing, and the word that approves ends no
// hook. Another step is asked about anew.
func TestAStepIsApprovedByAWordOnItAlone(t *testing.T) {
	t.Parallel()
	spec := &policy.Spec{}
	spec.Hooks.Before = []policy.Hook{{Name: "approve", Kind: policy.HookWait, Within: time.Minute}}
	spec.Repair.Steps = []policy.Step{{Kind: fleet.StepRecreate, Approve: policy.Approval{Within: time.Minute}}}
	r := &belief.Repair{Kind: belief.RepairHeal}
	r.Phase, r.Step, r.Target = belief.PhaseLeave, fleet.StepRecreate, belief.Incarnation{ID: "i-2", Certified: true}
	m := &belief.Machine{Name: "web-2", Repair: r}
	by := start.Add(time.Minute)
	say := func(on fleet.HookID) fleet.Reason {
		_, refused := hooks.Say(m, spec, &fleet.Order{Word: fleet.HookDone, Hook: on}, fleet.Now{Mono: start})
		return refused
	}
	r.Hooks = r.Hooks.Due("approve/recreate", by, by)
	if say("") != fleet.ReasonNotAwaited || say("approve") != fleet.ReasonNotAwaited {
		t.Error("a word on a hook approves a step")
	}
	if why := say(fleet.Approval); why != "" {
		t.Error(why)
	}
	r.Hooks = r.Hooks.End("approve/recreate", "").Due("before_repair/approve", by, by)
	if why := say("approve"); why != "" {
		t.Error(why)
	}
	if say(fleet.Approval) == "" {
		t.Error("a step's approval ends a hook")
	}
	r.Hooks, r.Rung = nil, belief.NoRung
	if task, _ := hooks.Next(spec, r); task.Asks() {
		t.Error("a person is asked about what never stood")
	}
}
