package decide

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// mostProofs bounds what people say of hosts in one fleet.
const mostProofs = 100

// fenced takes up what a person knows of a host that does not answer. Of one that answers its provider knows more.
func (r *round) fenced(o *fleet.Order) {
	if _, dead := guard.DeadHost(o.Host, &r.sit); !dead {
		r.rule(o, fleet.ReasonHostUp)
		return
	}
	if !r.s.Spec.Repair.Fence.Enough(o.Proof) {
		r.rule(o, fleet.ReasonWordRefused)
		return
	}
	if len(r.sit.Whole.Fenced) >= mostProofs {
		r.rule(o, fleet.ReasonTooMany)
		return
	}
	r.rule(o, "")
	p := fleet.HostProofOf(o, r.s.Now)
	r.sit.Whole.Fenced = append(r.sit.Whole.Fenced, p)
	r.s.Now.Await(p.Ends)
	r.record(fleet.Record{Kind: fleet.RecordHostProof, Host: p.Host, Proof: p.Proof, By: p.By, Order: p.Order,
		Detail: p.Reason, Took: o.For})
}

// note writes down that a person had a host's power cut, or a cut undone. What the controller said is not kept as a
// proof: it was true then, and anybody may have turned the host on since, or have cut it. A repair that needs to know
// asks for itself, and finds the host off already.
func (r *round) note(o *fleet.Order) {
	if o.After == "" {
		r.rule(o, "")
		return
	}
	r.rulings = append(r.rulings, fleet.Ruling{Order: o.ID})
	kind := fleet.RecordHostCut
	if o.Kind == fleet.OrderUncut {
		kind = fleet.RecordHostUncut
	}
	r.record(fleet.Record{Kind: kind, Host: o.Host, Proof: o.Proof, By: o.By, Order: o.After, Detail: o.Reason,
		Took: o.For})
}

// forgetProofs lets go what counts no more: its time is over, or the host answers.
func (r *round) forgetProofs() {
	if len(r.sit.Whole.Fenced) == 0 {
		return
	}
	var kept []fleet.HostProof
	for i := range r.sit.Whole.Fenced {
		p := r.sit.Whole.Fenced[i]
		reason := fleet.Reason("")
		switch _, dead := guard.DeadHost(p.Host, &r.sit); {
		case p.Over(r.s.Now):
			reason = fleet.ReasonExpired
		case !dead && slices.ContainsFunc(r.s.Hosts, func(h fleet.Host) bool { return h.Name == p.Host }):
			reason = fleet.ReasonHostUp
		}
		if reason == "" {
			kept = append(kept, p)
			continue
		}
		r.record(fleet.Record{Kind: fleet.RecordHostProof, Reason: reason, Host: p.Host, Proof: p.Proof, By: p.By,
			Order: p.Order})
	}
	r.sit.Whole.Fenced = kept
}

// noticeAccess tells a person at once of what was left behind cut, and may write by now beside the machine's instance
// (L1).
func (w *work) noticeAccess() {
	if len(w.M.Left) == 0 {
		return
	}
	for i := range w.Situation.Hosts {
		for _, old := range w.M.Lapse(w.Situation.Hosts[i]) {
			w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: fleet.ReasonAccessBack, Instance: old.ID,
				Generation: old.Generation, Host: old.Host})
		}
	}
}

// hearHosts notes each dead host with a machine that is not known to fail: where hale could turn a host off, every
// machine on it counts.
func (r *round) hearHosts() {
	if !r.s.Spec.Repair.Fence.Hosts || !slices.ContainsFunc(r.s.Hosts, func(h fleet.Host) bool { return !h.Up }) {
		return
	}
	for i := range r.s.Machines {
		m := &r.s.Machines[i].Machine
		host := m.Current.Host
		if m.Current.None() || m.Health.Verdict == fleet.VerdictUnhealthy || slices.Contains(r.sit.Answering, host) {
			continue
		}
		if _, dead := guard.DeadHost(host, &r.sit); dead {
			r.sit.Answering = append(r.sit.Answering, host)
		}
	}
}

// proveSilent notes which of the silent hosts are proven off: by a repair that rests on it, or by what one left behind
// there. What was proven before a host last answered counts no more.
func (r *round) proveSilent() {
	if len(r.s.Silent) == 0 {
		return
	}
	r.sit.Silent = slices.Clone(r.s.Silent)
	for i := range r.sit.Silent {
		h := &r.sit.Silent[i]
		h.Off = slices.ContainsFunc(r.s.Machines, func(v fleet.View) bool { return provesOff(&v.Machine, h) })
	}
}

func provesOff(m *fleet.Machine, h *fleet.Silence) bool {
	if p := m.Repair; p != nil && p.Target.Host == h.Host && p.Proof.OfHost() && p.ProvenAt > h.Answered {
		return true
	}
	return slices.ContainsFunc(m.Left, func(l fleet.LeftBehind) bool {
		return l.Host == h.Host && l.Proof.OfHost() && l.Since > h.Answered
	})
}
