package orders

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
)

// mostProofs bounds what people say of hosts in one fleet.
const mostProofs = 100

// fenced takes up what a person knows of a host that does not answer. Of one that answers its provider knows more.
func (r *Orders) fenced(o *fleet.Order) {
	if _, dead := guard.DeadHost(o.Host, &r.Sit); !dead {
		r.Rule(o, fleet.ReasonHostUp)
		return
	}
	if !r.S.Spec.Repair.Fence.Enough(o.Proof) {
		r.Rule(o, fleet.ReasonWordRefused)
		return
	}
	if len(r.Sit.Whole.Fenced) >= mostProofs {
		r.Rule(o, fleet.ReasonTooMany)
		return
	}
	r.Rule(o, "")
	p := belief.HostProofOf(o, r.S.Now)
	r.Sit.Whole.Fenced = append(r.Sit.Whole.Fenced, p)
	r.S.Now.Await(p.Ends)
	r.Record(record.Record{Kind: record.HostProof, Host: p.Host, Proof: p.Proof, By: p.By, Order: p.Order,
		Detail: p.Reason, Took: o.For})
}

// note writes down that a person had a host's power cut, or a cut undone. What the controller said is not kept as a
// proof: it was true then, and anybody may have turned the host on since, or have cut it. A repair that needs to know
// asks for itself, and finds the host off already.
func (r *Orders) note(o *fleet.Order) {
	if o.After == "" {
		r.Rule(o, "")
		return
	}
	r.Rulings = append(r.Rulings, fleet.Ruling{Order: o.ID})
	kind := record.HostCut
	if o.Kind == fleet.OrderUncut {
		kind = record.HostUncut
	}
	r.Record(record.Record{Kind: kind, Host: o.Host, Proof: o.Proof, By: o.By, Order: o.After, Detail: o.Reason,
		Took: o.For})
}
