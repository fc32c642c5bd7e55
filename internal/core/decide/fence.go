package decide

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// forgetProofs lets go what counts no more: its time is over, or the host answers.
func (r *deciding) forgetProofs() {
	if len(r.Sit.Whole.Fenced) == 0 {
		return
	}
	var kept []belief.HostProof
	for i := range r.Sit.Whole.Fenced {
		p := r.Sit.Whole.Fenced[i]
		reason := fleet.Reason("")
		switch _, dead := guard.DeadHost(p.Host, &r.Sit); {
		case p.Over(r.S.Now):
			reason = fleet.ReasonExpired
		case !dead && slices.ContainsFunc(r.S.Hosts, func(h fleet.Host) bool { return h.Name == p.Host }):
			reason = fleet.ReasonHostUp
		}
		if reason == "" {
			kept = append(kept, p)
			continue
		}
		r.Record(record.Record{Kind: record.HostProof, Reason: reason, Host: p.Host, Proof: p.Proof, By: p.By,
			Order: p.Order})
	}
	r.Sit.Whole.Fenced = kept
}

// noticeAccess tells a person at once of what was left behind cut, and may write by now beside the machine's instance
// (L1).
func (w *work) noticeAccess() {
	if len(w.M.Left) == 0 {
		return
	}
	for i := range w.Situation.Hosts {
		for _, old := range w.M.Lapse(w.Situation.Hosts[i]) {
			w.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonAccessBack, Instance: old.ID,
				Generation: old.Generation, Host: old.Host})
		}
	}
}

// hearHosts notes each dead host with a machine that is not known to fail: where hale could turn a host off, every
// machine on it counts.
func (r *deciding) hearHosts() {
	if !r.S.Spec.Repair.Fence.Hosts || !slices.ContainsFunc(r.S.Hosts, func(h fleet.Host) bool { return !h.Up }) {
		return
	}
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		host := m.Current.Host
		if m.Current.None() || m.Health.Verdict == belief.VerdictUnhealthy || slices.Contains(r.Sit.Answering, host) {
			continue
		}
		if _, dead := guard.DeadHost(host, &r.Sit); dead {
			r.Sit.Answering = append(r.Sit.Answering, host)
		}
	}
}

// proveSilent notes which of the silent hosts are proven off: by a repair that rests on it, or by what one left behind
// there. What was proven before a host last answered counts no more.
func (r *deciding) proveSilent() {
	if len(r.S.Silent) == 0 {
		return
	}
	r.Sit.Silent = slices.Clone(r.S.Silent)
	for i := range r.Sit.Silent {
		h := &r.Sit.Silent[i]
		h.Off = slices.ContainsFunc(r.S.Machines, func(v situation.View) bool { return provesOff(&v.Machine, h) })
	}
}

func provesOff(m *belief.Machine, h *fleet.Silence) bool {
	if p := m.Repair; p != nil && p.Target.Host == h.Host && p.Proof.OfHost() && p.ProvenAt > h.Answered {
		return true
	}
	return slices.ContainsFunc(m.Left, func(l belief.LeftBehind) bool {
		return l.Host == h.Host && l.Proof.OfHost() && l.Since > h.Answered
	})
}
