package decide

import "hale/internal/fleet"

// book enters into the ledger what the configuration asks for and destroys nothing. Whatever would destroy something waits for a
// person's word: package change says what that is.
func (r *round) book() {
	wanted := r.s.Wanted
	if wanted == nil {
		return
	}
	l := r.sit.Whole.Ledger
	if l == nil {
		l = fleet.OpenLedger(wanted, r.standing())
	}
	if wanted.Size > l.Size {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeUp, Size: wanted.Size, Limit: l.Size})
		l = l.Grown(wanted.Size)
	}
	r.sit.Whole.Ledger = l
}

// standing returns the highest number of a machine that has an instance.
func (r *round) standing() int {
	top := 0
	for i := range r.s.Machines {
		m := &r.s.Machines[i].Machine
		if n, _ := m.Name.Ordinal(); n > top && !m.Current.None() {
			top = n
		}
	}
	return top
}
