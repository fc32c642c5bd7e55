package hooks

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Task is one thing that comes before the work goes on: a hook, or a pool that is to be left.
type Task struct {
	ID   fleet.HookID
	Hook policy.Hook
	Pool policy.Pool
}

// Asks reports whether the task is to ask a person whether the step may be done.
func (t *Task) Asks() bool { return t.ID.Moment() == fleet.MomentApprove }

// OfPool reports whether the task is to leave a pool.
func (t *Task) OfPool() bool { return t.ID.Moment() == fleet.MomentPool }

// Next returns what comes next in the phase that the repair is in; false: all of it is over.
func Next(spec *policy.Spec, r *belief.Repair) (Task, bool) {
	for _, m := range moments(r) {
		if t, asks := approval(spec, r, m); asks && !over(r, t.ID) {
			return t, true
		}
		if m == fleet.MomentPool {
			for _, p := range spec.Pools {
				if id := m.Hook(fleet.HookName(p.Balancer)); !over(r, id) {
					return Task{ID: id, Pool: p}, true
				}
			}
		}
		for _, h := range spec.At(m) {
			if id := m.Hook(h.Name); !over(r, id) {
				return Task{ID: id, Hook: h}, true
			}
		}
	}
	return Task{}, false
}

// approval returns what it is to ask a person whether the repair's step may be done, if the moment is for that and the
// step has one who is asked. Of what never stood nothing is lost.
func approval(spec *policy.Spec, r *belief.Repair, m fleet.Moment) (t Task, asks bool) {
	a := belief.CurrentStep(*spec, *r).Approve
	name := fleet.HookName(r.Step)
	t = Task{ID: m.Hook(name), Hook: policy.Hook{Name: name, Kind: policy.HookWait, Within: a.Within}}
	return t, m == fleet.MomentApprove && a.Within > 0 && r.Rung != belief.NoRung
}

func over(r *belief.Repair, id fleet.HookID) bool {
	_, ended := r.Hooks.Ended(id)
	return ended
}

// moments are those of the phase that the repair is in, in their order: whoever is in a pool is out of it before
// anything else is done for its leave.
func moments(r *belief.Repair) []fleet.Moment {
	var out []fleet.Moment
	heals := r.Kind == belief.RepairHeal
	switch r.Phase {
	case belief.PhaseLeave:
		if heals {
			out = append(out, fleet.MomentApprove, fleet.MomentBefore)
		}
		if leaves(r) {
			out = append(out, fleet.MomentPool, fleet.MomentLeave)
		}
	case belief.PhaseProvision:
		out = append(out, fleet.MomentProvision)
	case belief.PhaseAfter:
		if heals {
			out = append(out, fleet.MomentAfter)
		}
	case belief.PhaseLook, belief.PhaseAct, belief.PhaseVerify, belief.PhaseCertify:
	}
	return out
}

// leaves reports whether the work takes the machine away from those whom it serves. What was never whole serves no
// one.
func leaves(r *belief.Repair) bool {
	return (r.Target.Certified || r.Target.Adopted) &&
		(r.Kind.Ordered() && r.Kind != belief.RepairOperate || r.Step.Interrupts() &&
			(r.Kind == belief.RepairHeal || r.Kind == belief.RepairOperate))
}

// slack is how long a pool may take beyond its wait: for the order to get there, and for the next question.
const slack = 10 * time.Second

// Pool is a pool that is being left.
type Pool struct {
	policy.Pool
	// Members are what the pools say of the machine, Since is since when it leaves them.
	Members []fleet.Membership
	Since   fleet.Instant
	// Wanted says that a person, or an opinion, wants it gone, whoever else serves.
	Wanted bool
}

// Left returns why the pool is waited for no more; empty: it is.
func (p *Pool) Left(now fleet.Now) fleet.Reason {
	late := now.Due(p.Since.Add(p.Wait + slack))
	for _, m := range p.Members {
		switch {
		case m.Balancer != p.Balancer || m.Asked <= p.Since:
		case !m.Failed && (m.State == fleet.MemberOut || m.State == fleet.MemberDrains && m.Connections == 0),
			m.Verdict == fleet.MemberDown &&
				m.Connections == 0: // it may stay there, so that the pool goes on asking it
			return fleet.ReasonOut
		case m.Last && !p.Wanted:
			return fleet.ReasonLastServing
		case late && m.Failed:
			return fleet.ReasonPoolFailed
		case late:
			return fleet.ReasonWaitOver
		default:
			return ""
		}
	}
	if late {
		return fleet.ReasonPoolSilent
	}
	return ""
}

// Lacks returns why the hook cannot be told of the instance what it is to be told, and the placeholder; empty: it can.
func Lacks(h *policy.Hook, facts policy.Facts) (why fleet.Reason, placeholder string) {
	if placeholder = facts.Unknown(h.Run.Texts()...); placeholder != "" {
		return fleet.ReasonNoMetadata, placeholder
	}
	needs := h.Kind == policy.HookAnsible || h.Kind == policy.HookCopy || h.Run.Asks("{ip}")
	if needs && !facts.Address.IsValid() {
		return fleet.ReasonNoAddress, ""
	}
	if placeholder = facts.Unfit(h.Run.Args, h.Run.Env); placeholder != "" {
		return fleet.ReasonUnfit, placeholder
	}
	return "", ""
}

// Again returns which ends still count when an instance is provisioned again: of what is done, and of what must not be
// run once more.
func Again(spec *policy.Spec, ended *belief.Hooking) *belief.Hooking {
	return ended.Keep(func(o belief.HookOver) bool {
		h, _ := spec.Hook(o.Hook)
		return o.Why == "" || Spent(&h, o.Why)
	})
}

// Spent reports whether a hook that ended so must not be run once more: it may have begun, and does not bear that
// (L12).
func Spent(h *policy.Hook, why fleet.Reason) bool {
	began := why == fleet.ReasonHookFailed || why == fleet.ReasonHookLate || why == fleet.ReasonHookUnclear
	return began && !h.Idempotent && h.Kind != policy.HookWait
}

// Refused is why a hook failed that was refused: the program could not be started, or what it asks for was turned down.
func Refused(h *policy.Hook) fleet.Reason {
	if h.Kind == policy.HookCommand || h.Kind == policy.HookAnsible {
		return fleet.ReasonNoProgram
	}
	return fleet.ReasonHookRefused
}

// Say takes the word that a person, or a program, gives on the hook of the machine that waits for one. It returns how
// far the hooks are then, or why not.
func Say(m *belief.Machine, spec *policy.Spec, o *fleet.Order, now fleet.Now) (*belief.Hooking, fleet.Reason) {
	if m.Repair == nil {
		return nil, fleet.ReasonNotAwaited
	}
	h := m.Repair.Hooks
	if why, ended := answered(h, o.Hook); ended {
		return nil, why
	}
	if h == nil || !means(o, h.At) {
		return nil, fleet.ReasonNotAwaited
	}
	anew := h.By == 0 // after a restart its time begins anew, and the word may be heard before that
	switch hook, some := awaited(spec, m.Repair, h.At); {
	case !some, hook.Kind != policy.HookWait:
		return nil, fleet.ReasonNotAwaited
	case h.Word != "":
		return nil, fleet.ReasonAnswered
	case !anew && now.Due(h.By):
		return nil, fleet.ReasonHookLate
	case anew && o.Word == fleet.HookMore:
		return h, ""
	case o.Word == fleet.HookMore:
		return h.Due(h.At, min(now.Mono.Add(hook.Within), h.Most), h.Most), ""
	}
	said := *h
	said.Word, said.Words = o.Word, o.Reason
	return &said, ""
}

// awaited returns what the repair waits with: a hook of the fleet, or the approval of its step.
func awaited(spec *policy.Spec, r *belief.Repair, id fleet.HookID) (policy.Hook, bool) {
	if t, asks := approval(spec, r, id.Moment()); asks && t.ID == id {
		return t.Hook, true
	}
	return spec.Hook(id)
}

// means reports whether the order is about the hook: by its id, by its name, or since it names none. A step is approved
// by a word on that alone.
func means(o *fleet.Order, id fleet.HookID) bool {
	if id.Moment() == fleet.MomentApprove {
		return o.Hook == fleet.Approval || o.Hook == id
	}
	return o.Hook == "" || o.Hook == id || fleet.HookName(o.Hook) == id.Name()
}

// answered returns why a word on the hook comes too late; false: it has not ended, or none is named.
func answered(h *belief.Hooking, said fleet.HookID) (fleet.Reason, bool) {
	if h == nil || said == "" {
		return "", false
	}
	for _, o := range h.Over {
		switch {
		case said != o.Hook && fleet.HookName(said) != o.Hook.Name():
		case o.Why == fleet.ReasonHookLate:
			return o.Why, true
		default:
			return fleet.ReasonAnswered, true
		}
	}
	return "", false
}
