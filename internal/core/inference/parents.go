package inference

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// pageParents tells a person of each parent once, and again when it lasts. Parents that are due at nearly the same time
// become one page: a switch that no domain names takes twenty hosts along.
func (r *Inference) pageParents(members []*round.Member) {
	var due []*belief.Parent
	for i := range r.Sit.Whole.Parents {
		if p := &r.Sit.Whole.Parents[i]; !p.Paged && r.isPageDue(p) && r.isFailing(members, p) {
			due = append(due, p)
		}
	}
	for i := range r.Sit.Whole.Parents {
		p := &r.Sit.Whole.Parents[i]
		if len(due) > 0 && !p.Paged && !slices.Contains(due, p) && r.isFailing(members, p) &&
			r.S.Now.Reached(p.Opened.Add(r.parentPause()*4/5)) {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b *belief.Parent) int {
		return cmp.Or(strings.Compare(string(a.Domain.Kind), string(b.Domain.Kind)),
			strings.Compare(a.Domain.Name, b.Domain.Name))
	})
	r.tellOfParents(due)
	r.remindOfParents()
	r.endJointParents()
}

// isPageDue reports whether the parent's extent is clear, or it has lasted for long (L8). A server that has only just
// begun to look does not know yet what of it is over.
func (r *Inference) isPageDue(p *belief.Parent) bool {
	now, spec := r.S.Now, &r.S.Spec
	due := now.Reached(p.Opened.Add(spec.SharedFate.Wait))
	if spec.SharedFate.Then == policy.FatePage && now.Due(r.Sit.SteadyAt) {
		due = due || r.Tally.Suspect == 0 || now.Due(p.Since.Add(guard.SettleTime(*spec)))
	}
	return due && now.Reached(p.Opened.Add(r.parentPause()))
}

// parentPause is for how long a parent must last before a person is told.
func (r *Inference) parentPause() time.Duration {
	return min(round.PagePause, r.S.Spec.SharedFate.Wait)
}

// isFailing reports whether a machine of the parent's domain fails, and not only in passing.
func (r *Inference) isFailing(members []*round.Member, p *belief.Parent) bool {
	return slices.ContainsFunc(members, func(w *round.Member) bool {
		return r.census.Within(w.Site, p.Domain) && r.stateOf(w) == correlation.Failing && !passing(w.On.M, &r.Sit)
	})
}

// tellOfParents pages for the parents: of several by one message, beside a record of each.
func (r *Inference) tellOfParents(parents []*belief.Parent) {
	joint, among := "", []fleet.Domain(nil)
	if len(parents) > 1 {
		joint = round.NextJoint(r.S.Spec.Name, &r.Sit.Whole)
		for _, p := range parents[:min(len(parents), belief.MostAmong)] {
			among = append(among, p.Domain)
		}
	}
	for _, p := range parents {
		p.Paged, p.Told, p.Joint, p.Among = true, r.S.Now.Wall, joint, among
	}
	r.sayOfParents(parents, record.Record{Kind: record.Paged})
}

// remindOfParents tells a person again of the parents that last, if it is time. Those that were one page are one
// reminder.
func (r *Inference) remindOfParents() {
	var due []*belief.Parent
	for i := range r.Sit.Whole.Parents {
		if p := &r.Sit.Whole.Parents[i]; p.Paged && round.RemindAgain(&p.Told, p.Opened, &r.S.Spec, r.S.Now) {
			due = append(due, p)
		}
	}
	for len(due) > 0 {
		first := due[0]
		with := func(p *belief.Parent) bool { return p == first || p.Joint != "" && p.Joint == first.Joint }
		var group []*belief.Parent
		for _, p := range due {
			if with(p) {
				group = append(group, p)
			}
		}
		due = slices.DeleteFunc(due, with)
		r.sayOfParents(group, record.Record{Kind: record.Reminded, Took: r.S.Now.Wall.Sub(first.Opened)})
	}
}

// sayOfParents records rec of each of the parents, and once more of all that are one page.
func (r *Inference) sayOfParents(parents []*belief.Parent, rec record.Record) {
	all := rec
	for _, p := range parents {
		one := about(*p)
		one.Kind, one.Reason, one.Took, one.Joint = rec.Kind, fleet.ReasonSharedFate, rec.Took, p.Joint
		r.Record(one)
		all.Domains = append(all.Domains, p.Domain)
		all.Failing, all.Size = all.Failing+p.Failing, all.Size+p.Members
		all.Joint = p.Joint
	}
	if all.Joint != "" {
		all.Reason = fleet.ReasonSharedFate
		r.Record(all)
	}
}

// endJointParents says that what a page told of several parents is over, when the last of them is closed.
func (r *Inference) endJointParents() {
	for i, rec := range r.Records {
		open := func(p belief.Parent) bool { return p.Joint == rec.Joint }
		later := func(other record.Record) bool { return other.Kind == rec.Kind && other.Joint == rec.Joint }
		was := r.S.Whole.Parent(rec.Parent)
		if rec.Kind != record.ParentClosed || rec.Joint == "" || was == nil ||
			slices.ContainsFunc(r.Sit.Whole.Parents, open) || slices.ContainsFunc(r.Records[i+1:], later) {
			continue
		}
		r.Record(record.Record{Kind: record.JointOver, Reason: rec.Reason, Took: rec.Took, Joint: rec.Joint,
			Domains: was.Among, Paged: true})
	}
}
