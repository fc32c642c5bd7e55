package decide

import (
	"hale/internal/core/belief"
	"hale/internal/core/record"
)

// shareFates tells of the parents, and hangs the machines' incidents under them.
func (r *deciding) shareFates(works []*work) {
	r.inference.Tell(r.members)
	for _, w := range works {
		r.followParent(w)
	}
}

// judgeAllAfresh does so with all that is not well.
func (r *deciding) judgeAllAfresh(works []*work) {
	for _, w := range works {
		r.judgeAfresh(w)
	}
}

// followParent hangs a failing machine's incident under the parent of its domain, and judges the machine afresh when
// there is none any more.
func (r *deciding) followParent(w *work) {
	i := w.M.Incident
	if i == nil || w.Broken {
		return
	}
	kept := r.Sit.Whole.Parent(i.Parent)
	if kept != nil && r.inference.LiesIn(&w.Member, kept.Domain) {
		return
	}
	if p := r.inference.ParentOf(&w.Member); p != nil {
		r.wake(w)
		w.M.Incident.Parent = p.ID
		w.Record(record.Record{Kind: record.ChildJoined, Domain: p.Domain, Cause: w.M.Health.Cause,
			Instance: w.M.Current.ID})
		return
	}
	if i.Parent == "" {
		return
	}
	r.wake(w)
	i = w.M.Incident
	rec := record.Record{Kind: record.ChildReleased, Instance: w.M.Current.ID}
	if kept != nil {
		rec.Domain = kept.Domain
	}
	w.Record(rec)
	i.Parent = ""
	if w.M.Repair != nil {
		return // what is under way looks for itself
	}
	// what was tried under the parent proves nothing against the machine
	i.Failed, w.M.RetryAt, w.M.Attempts = 0, 0, nil
	r.judgeAfresh(w)
}

// judgeAfresh forgets what was heard of a machine that is not well, and judges it by what is left.
func (r *deciding) judgeAfresh(w *work) {
	if w.Broken || w.M.Health.Verdict == belief.VerdictHealthy {
		return
	}
	r.wake(w)
	r.Tally.Remove(w.M, &r.S.Spec)
	w.M.Afresh(r.S.Now, r.S.Spec)
	w.judgeHealth()
	r.Tally.Add(w.M, &r.S.Spec)
}
