package decide

import (
	"slices"
	"strconv"

	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// inference is the part of a round that asks which failures have one cause, and whether it is hale's own sight: all
// machines and domains are explained together.
type inference struct{ *round }

// findParents opens a parent incident where failures concentrate in one domain beyond chance, and closes those that are
// over. While hale doubts its own sight, all stays as it is.
func (r inference) findParents(works []*work) {
	if !r.anybodysFate(works) || r.countedBefore(works) {
		return
	}
	r.takeCensus(works)
	if r.sit.Whole.Doubt.Reason == "" {
		r.closeParents()
		r.openParents()
	}
	r.domains = r.domains[:0]
	for _, p := range r.sit.Whole.Parents {
		r.domains = append(r.domains, p.Domain)
	}
	r.first = r.census.First(r.domains, r.first)
}

// shareFates tells of the parents, and hangs the machines' incidents under them.
func (r inference) shareFates(works []*work) {
	if r.census != nil {
		r.pageParents(works)
		r.foresee(works)
		r.askAround(works)
	}
	for _, w := range works {
		r.followParent(w)
	}
}

func (r inference) question() correlation.Question {
	return correlation.Question{AtLeast: r.s.Spec.SharedFate.AtLeast}
}

// alone asks of this fleet only: what others say may be old, and must not hide what it sees itself.
func (r inference) alone() correlation.Question {
	q := r.question()
	q.Alone = true
	return q
}

// anybodysFate reports whether it is worth counting: there are parents, or enough machines that fail or may.
func (r inference) anybodysFate(works []*work) bool {
	if len(r.sit.Whole.Parents) > 0 {
		return true
	}
	failing, suspect := 0, 0
	for _, w := range works {
		switch r.stateOf(w) {
		case correlation.Failing:
			failing++
		case correlation.Suspect:
			suspect++
		case correlation.Sound:
		}
	}
	least := r.s.Spec.SharedFate.AtLeast
	for i := range r.s.Lots {
		suspect += r.s.Lots[i].Failing + r.s.Lots[i].Suspect
	}
	return least > 0 && failing > 0 && (suspect > 0 || failing >= least)
}

// countedBefore reports whether a census would find what the last one found: no parent to look after, no suspect
// domain, where machines might share a fate yet, and no machine that fails or moved since.
func (r inference) countedBefore(works []*work) bool {
	if len(r.sit.Whole.Parents) > 0 || r.s.Whole.Doubt.Reason != "" || r.tally.Suspect > 0 || len(r.freed) > 0 ||
		!slices.Equal(r.lots, r.s.Lots) ||
		slices.ContainsFunc(r.lots, func(l fleet.Lot) bool { return l.Suspect > 0 }) {
		return false
	}
	for _, w := range works {
		if w.asleep {
			continue
		}
		was := &r.s.Machines[w.index].Machine
		if r.state(was) != r.stateOf(w) || was.Lies() != w.M.Lies() {
			return false
		}
	}
	return true
}

// stateOf says whether the machine's failure can be a shared one. A person's stop that is left alone is none, nor is an
// instance that never stood; one in quarantine, or in a person's hands, has a story of its own. A parent's child fails
// until it is seen healthy.
func (r inference) stateOf(w *work) correlation.State {
	if w.broken {
		return correlation.Sound
	}
	return r.state(w.M)
}

func (r inference) state(m *fleet.Machine) correlation.State {
	switch {
	case guard.Surplus(m, &r.s.Spec), guard.AtRest(m, &r.sit.Whole), m.Quarantine != nil,
		m.Health.Cause == fleet.CauseRescued, m.Incident != nil && m.Incident.Cause == fleet.CauseBuild:
		return correlation.Sound
	case guard.Counts(m, &r.s.Spec):
		return correlation.Failing
	case m.Incident != nil && r.sit.Whole.Parent(m.Incident.Parent) != nil &&
		m.Health.Verdict != fleet.VerdictHealthy &&
		!guard.LeftAlone(m.Health.Cause, &r.s.Spec):
		return correlation.Failing
	case m.Health.Verdict == fleet.VerdictSuspect, m.Health.Result == fleet.ResultDependsOn:
		return correlation.Suspect
	}
	return correlation.Sound
}

// shows says what the machine shows of its place. One that a person holds shows it, too: its silence is no failure of
// its own, and may be the place's.
func (r inference) shows(w *work) correlation.State {
	if r.inVain(w.View) {
		return correlation.Failing
	}
	if m := w.M; guard.AtRest(m, &r.sit.Whole) && m.Health.Verdict == fleet.VerdictUnhealthy &&
		m.Health.Cause == fleet.CauseChecks && !guard.Speaks(w.View) {
		return correlation.Failing
	}
	return r.stateOf(w)
}

// takeCensus counts every machine where it lies. Those without work are well.
func (r inference) takeCensus(works []*work) {
	r.census = &r.fates
	r.settle()
	for _, w := range works {
		if guard.Surplus(w.M, &r.s.Spec) {
			continue
		}
		w.site = r.settled.sites[w.index]
		was, is := r.s.Machines[w.index].Machine.Lies(), w.M.Lies()
		if is.Apart(&was) { // it is where this round saw it, which is not stored yet
			w.site = r.census.Move(w.site, &is)
			r.settled.census = 0
		}
		r.census.Mark(w.site, r.shows(w))
	}
	for _, i := range r.s.InVain { // also where its checks have noticed nothing yet
		if v := &r.s.Machines[i]; !v.Open() && r.inVain(v) {
			r.census.Mark(r.settled.sites[i], correlation.Failing)
		}
	}
	r.census.Beside(r.s.Lots)
	r.lots = r.s.Lots
}

// settled is the population of the census, and what it was counted from.
type settled struct {
	machines *fleet.View // the first of them
	placed   uint64      // Situation.Placed
	size     int         // of the fleet
	census   int         // machines that were counted; 0: to be counted again
	sites    []int       // where each one lies
}

// settle counts the population, unless it lies where it lay when it was counted last.
func (r inference) settle() {
	s, was := &r.s, &r.settled
	if was.census == len(s.Machines) && was.machines == &s.Machines[0] && was.placed == s.Placed && s.Placed != 0 &&
		was.size == s.Spec.Size && r.census.Holds(s.Hosts) {
		r.census.Unmark()
		return
	}
	r.census.Begin(s.Hosts)
	sites := was.sites[:0]
	for i := range s.Machines {
		m, site := &s.Machines[i].Machine, -1
		if !guard.Surplus(m, &s.Spec) {
			at := m.Lies()
			site = r.census.Add(&at)
		}
		sites = append(sites, site)
	}
	r.settled = settled{placed: s.Placed, size: s.Spec.Size, census: len(sites), sites: sites}
	if len(sites) > 0 {
		r.settled.machines = &s.Machines[0]
	}
}

// closeParents closes each parent when its domain has been calm for the time that a brake needs: hardly a machine fails
// there, or no more than chance explains.
func (r inference) closeParents() {
	least, calm := r.s.Spec.SharedFate.AtLeast, r.s.Spec.Limits.Brake.ReleaseAfter
	kept := r.sit.Whole.Parents[:0]
	for _, p := range r.sit.Whole.Parents {
		f := r.census.Look(p.Domain, r.question())
		p.Failing, p.Members, p.Chance = f.Failing, f.Members, f.Chance
		switch {
		case least > 0 && (r.stands(f) || r.isLeft(&p) || r.stands(r.census.Look(p.Domain, r.alone()))):
			p.CalmSince = 0
		case p.CalmSince == 0:
			p.CalmSince = r.s.Now.Mono
		}
		if p.CalmSince != 0 && r.s.Now.Due(p.CalmSince.Add(calm)) {
			r.closeParent(p, fleet.ReasonReleased)
			continue
		}
		kept = append(kept, p)
	}
	r.sit.Whole.Parents = kept
}

// isLeft reports whether the machines leave the domain, and none that is still there is well: that they become fewer
// contradicts nothing.
func (r inference) isLeft(p *fleet.Parent) bool {
	f := r.census.Look(p.Domain, r.alone())
	return guard.Leaving(p, &r.sit) && f.Failing > 0 && f.Failing == f.Members
}

// stands reports whether nothing contradicts what was told of the domain.
func (r inference) stands(f correlation.Finding) bool {
	return 2*f.Failing >= r.s.Spec.SharedFate.AtLeast && f.Stands()
}

func (r inference) closeParent(p fleet.Parent, why fleet.Reason) {
	rec := about(p)
	rec.Kind, rec.Reason, rec.Took = fleet.RecordParentClosed, why, r.s.Now.Wall.Sub(p.Opened)
	rec.Paged, rec.Joint = p.Paged, p.Joint
	r.record(rec)
}

// about begins a record about a parent.
func about(p fleet.Parent) fleet.Record {
	return fleet.Record{Parent: p.ID, Domain: p.Domain, Failing: p.Failing, Size: p.Members, Chance: p.Chance}
}

// openParents blames domains as long as there are any to blame: first a wider one than is blamed already, then others,
// beside it.
func (r inference) openParents() {
	q := r.question()
	unplaced := func(p fleet.Parent) bool { return !r.census.Knows(p.Domain) }
	if slices.ContainsFunc(r.sit.Whole.Parents, unplaced) {
		return // as before the first listing: it is not known which failures are explained already
	}
	var others []fleet.Domain // that explain failures of other fleets only
	for q.AtLeast > 0 {
		if f := r.census.Blame(q); f.Concentrated && r.widen(f) {
			continue
		}
		causes := r.census.Causes(r.besides(q, others))
		if len(causes) == 0 {
			causes = r.census.Causes(r.besides(r.alone(), others))
		}
		if len(causes) == 0 {
			return
		}
		for _, f := range causes {
			if r.census.Concerns(f.Domain) {
				r.openParent(f, nil)
			} else {
				others = append(others, f.Domain)
			}
		}
	}
}

// besides asks about what neither the open parents explain nor these domains do.
func (r inference) besides(q correlation.Question, others []fleet.Domain) correlation.Question {
	q.Without = slices.Clone(others)
	for _, p := range r.sit.Whole.Parents {
		q.Without = append(q.Without, p.Domain)
	}
	return q
}

// widen opens a parent for a domain in which all the failures of open parents lie, and more, in their place.
func (r inference) widen(f correlation.Finding) bool {
	var inner []fleet.Parent
	for _, p := range r.sit.Whole.Parents {
		if p.Domain == f.Domain {
			return false
		}
		if r.census.Covers(f.Domain, p.Domain) {
			inner = append(inner, p)
		}
	}
	if len(inner) == 0 {
		return false
	}
	r.openParent(f, inner)
	return true
}

// openParent opens the parent of a domain. One that takes the place of others began when the first of them did.
func (r inference) openParent(f correlation.Finding, instead []fleet.Parent) {
	r.sit.Whole.Opened++
	p := fleet.Parent{
		ID: string(r.s.Spec.Name) + "/p" + strconv.FormatUint(r.sit.Whole.Opened, 10), Domain: f.Domain,
		Opened: r.s.Now.Wall, Since: r.s.Now.Mono, Failing: f.Failing, Members: f.Members, Chance: f.Chance,
	}
	for _, old := range instead {
		p.Since = min(p.Since, old.Since)
		if old.Opened.Before(p.Opened) {
			p.Opened = old.Opened
		}
	}
	r.sit.Whole.Parents = slices.DeleteFunc(r.sit.Whole.Parents, func(old fleet.Parent) bool {
		return slices.ContainsFunc(instead, func(i fleet.Parent) bool { return i.ID == old.ID })
	})
	rec := about(p)
	rec.Kind = fleet.RecordParentOpen
	r.record(rec)
	for _, old := range instead {
		r.closeParent(old, fleet.ReasonSuperseded)
	}
	r.sit.Whole.Parents = append(r.sit.Whole.Parents, p)
}

// foresee marks the machines that would share a fate if the suspects around them turned out to fail.
func (r inference) foresee(works []*work) {
	q := r.question()
	if q.AtLeast == 0 || !r.census.Unsure() {
		return
	}
	q = r.besides(q, nil)
	q.Suspects = true
	suspicions := r.census.Suspicions(q)
	q.Alone = true
	for _, f := range append(suspicions, r.census.Suspicions(q)...) {
		for _, w := range works {
			w.fated = w.fated || r.census.Within(w.site, f.Domain)
		}
	}
}

// followParent hangs a failing machine's incident under the parent of its domain, and judges the machine afresh when
// there is none any more.
func (r inference) followParent(w *work) {
	i := w.M.Incident
	if i == nil || w.broken {
		return
	}
	kept := r.sit.Whole.Parent(i.Parent)
	if kept != nil && r.census.Within(w.site, kept.Domain) {
		return
	}
	if p := r.parentOf(w); p != nil {
		r.wake(w)
		w.M.Incident.Parent = p.ID
		w.Record(fleet.Record{Kind: fleet.RecordChildJoined, Domain: p.Domain, Cause: w.M.Health.Cause,
			Instance: w.M.Current.ID})
		return
	}
	if i.Parent == "" {
		return
	}
	r.wake(w)
	i = w.M.Incident
	rec := fleet.Record{Kind: fleet.RecordChildReleased, Instance: w.M.Current.ID}
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

// parentOf returns the open parent of the machine's incident, or nil.
func (r inference) parentOf(w *work) *fleet.Parent {
	if r.census == nil || w.site < 0 || r.first[w.site] < 0 || r.stateOf(w) != correlation.Failing {
		return nil
	}
	return &r.sit.Whole.Parents[r.first[w.site]]
}

// darkWithProvider reports whether the machine fell silent when its whole provider did. A person is told of the
// provider (picture.Picture.ProviderPage). One that is heard, or was silent before, fails for another reason.
func (r inference) darkWithProvider(w *work) bool {
	return r.s.Provider.Standing == fleet.ProviderDown && !guard.Speaks(w.View) &&
		w.M.Health.SinceMono >= r.s.Provider.Since.Add(-guard.SettleTime(r.s.Spec))
}

// explained reports whether a person is told of the failures by something better than the brake: a doubt, or parent
// incidents and a silent provider that leave no more of them than the brake allows; or that they pass without a person:
// no more last than the brake allows once it is released, and it is still to be hoped that it will be (L8). The limit
// is the brake's, and 0 of a brake that several fleets share: what fails in this one is explained, or not.
func (r inference) explained(b *fleet.Brake, works []*work, limit int) bool {
	if d := r.sit.Whole.Doubt; d.Paged || d.Reason != "" && !r.s.Now.Reached(d.Since.Add(pagePause)) {
		return true
	}
	lasting, shared := r.tally.Failing, 0
	for _, w := range works {
		switch {
		case guard.Surplus(w.M, &r.s.Spec), !guard.Counts(w.M, &r.s.Spec):
		case w.M.Incident != nil && r.sit.Whole.Parent(w.M.Incident.Parent) != nil, r.darkWithProvider(w):
			shared++
		case passing(w.M, &r.sit):
			lasting--
		}
	}
	if r.s.Now.Reached(b.Since.Add(brakePause)) {
		limit /= 2 // at half the limit it is about to release
	}
	return lasting <= limit || shared > 0 && lasting-shared <= limit
}
