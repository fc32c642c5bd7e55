package inference

import (
	"slices"
	"strconv"

	"hale/internal/core/belief"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Inference asks, round after round in the same memory, which failures have one cause, and whether it is hale's own
// sight: all machines and domains are explained together. The zero value is ready.
type Inference struct {
	*round.Round
	census  *correlation.Census // nil: no shared fate is in question
	fates   correlation.Census
	settled settled
	domains []fleet.Domain // of the parents
	first   []int          // by site, the first of these that it lies in
	lots    []fleet.Lot    // of the other fleets, that were counted last
}

// Begin begins a round.
func (r *Inference) Begin(of *round.Round) { r.Round, r.census = of, nil }

// FindParents opens a parent incident where failures concentrate in one domain beyond chance, and closes those that are
// over. While hale doubts its own sight, all stays as it is.
func (r *Inference) FindParents(members []*round.Member) {
	if !r.anybodysFate(members) || r.countedBefore(members) {
		return
	}
	r.takeCensus(members)
	if r.Sit.Whole.Doubt.Reason == "" {
		r.closeParents()
		r.openParents()
	}
	r.domains = r.domains[:0]
	for _, p := range r.Sit.Whole.Parents {
		r.domains = append(r.domains, p.Domain)
	}
	r.first = r.census.First(r.domains, r.first)
}

// Tell tells people of the parents, and has machines asked on demand where it is not clear yet which failures share a
// cause.
func (r *Inference) Tell(members []*round.Member) {
	if r.census != nil {
		r.pageParents(members)
		r.foresee(members)
		r.askAround(members)
	}
	r.askWitnesses(members)
}

// LiesIn reports whether the machine lies in the domain, as it was counted.
func (r *Inference) LiesIn(w *round.Member, d fleet.Domain) bool { return r.census.Within(w.Site, d) }

func (r *Inference) question() correlation.Question {
	return correlation.Question{AtLeast: r.S.Spec.SharedFate.AtLeast}
}

// alone asks of this fleet only: what others say may be old, and must not hide what it sees itself.
func (r *Inference) alone() correlation.Question {
	q := r.question()
	q.Alone = true
	return q
}

// anybodysFate reports whether it is worth counting: there are parents, or enough machines that fail or may.
func (r *Inference) anybodysFate(members []*round.Member) bool {
	if len(r.Sit.Whole.Parents) > 0 {
		return true
	}
	failing, suspect := 0, 0
	for _, w := range members {
		switch r.stateOf(w) {
		case correlation.Failing:
			failing++
		case correlation.Suspect:
			suspect++
		case correlation.Sound:
		}
	}
	least := r.S.Spec.SharedFate.AtLeast
	for i := range r.S.Lots {
		suspect += r.S.Lots[i].Failing + r.S.Lots[i].Suspect
	}
	return least > 0 && failing > 0 && (suspect > 0 || failing >= least)
}

// countedBefore reports whether a census would find what the last one found: no parent to look after, no suspect
// domain, where machines might share a fate yet, and no machine that fails or moved since.
func (r *Inference) countedBefore(members []*round.Member) bool {
	if len(r.Sit.Whole.Parents) > 0 || r.S.Whole.Doubt.Reason != "" || r.Tally.Suspect > 0 || len(r.Freed) > 0 ||
		!slices.Equal(r.lots, r.S.Lots) ||
		slices.ContainsFunc(r.lots, func(l fleet.Lot) bool { return l.Suspect > 0 }) {
		return false
	}
	for _, w := range members {
		if w.Asleep {
			continue
		}
		was := &r.S.Machines[w.Index].Machine
		if r.state(was) != r.stateOf(w) || was.Lies() != w.On.M.Lies() {
			return false
		}
	}
	return true
}

// stateOf says whether the machine's failure can be a shared one. A person's stop that is left alone is none, nor is an
// instance that never stood; one in quarantine, or in a person's hands, has a story of its own. A parent's child fails
// until it is seen healthy.
func (r *Inference) stateOf(w *round.Member) correlation.State {
	if w.Broken {
		return correlation.Sound
	}
	return r.state(w.On.M)
}

func (r *Inference) state(m *belief.Machine) correlation.State {
	switch {
	case guard.Surplus(m, &r.S.Spec), guard.AtRest(m, &r.Sit.Whole), m.Quarantine != nil,
		m.Health.Cause == belief.CauseRescued, m.Incident != nil && m.Incident.Cause == belief.CauseBuild:
		return correlation.Sound
	case guard.Counts(m, &r.S.Spec):
		return correlation.Failing
	case m.Incident != nil && r.Sit.Whole.Parent(m.Incident.Parent) != nil &&
		m.Health.Verdict != belief.VerdictHealthy &&
		!guard.LeftAlone(m.Health.Cause, &r.S.Spec):
		return correlation.Failing
	case m.Health.Verdict == belief.VerdictSuspect, m.Health.Result == fleet.ResultDependsOn:
		return correlation.Suspect
	}
	return correlation.Sound
}

// shows says what the machine shows of its place. One that a person holds shows it, too: its silence is no failure of
// its own, and may be the place's.
func (r *Inference) shows(w *round.Member) correlation.State {
	if r.inVain(w.On.View) {
		return correlation.Failing
	}
	if m := w.On.M; guard.AtRest(m, &r.Sit.Whole) && m.Health.Verdict == belief.VerdictUnhealthy &&
		m.Health.Cause == belief.CauseChecks && !guard.Speaks(w.On.View) {
		return correlation.Failing
	}
	return r.stateOf(w)
}

// takeCensus counts every machine where it lies. Those without work are well.
func (r *Inference) takeCensus(members []*round.Member) {
	r.census = &r.fates
	r.settle()
	for _, w := range members {
		if guard.Surplus(w.On.M, &r.S.Spec) {
			continue
		}
		w.Site = r.settled.sites[w.Index]
		was, is := r.S.Machines[w.Index].Machine.Lies(), w.On.M.Lies()
		if is.Apart(&was) { // it is where this round saw it, which is not stored yet
			w.Site = r.census.Move(w.Site, &is)
			r.settled.census = 0
		}
		r.census.Mark(w.Site, r.shows(w))
	}
	for _, i := range r.S.InVain { // also where its checks have noticed nothing yet
		if v := &r.S.Machines[i]; !v.Open() && r.inVain(v) {
			r.census.Mark(r.settled.sites[i], correlation.Failing)
		}
	}
	r.census.Beside(r.S.Lots)
	r.lots = r.S.Lots
}

// settled is the population of the census, and what it was counted from.
type settled struct {
	machines *situation.View // the first of them
	placed   uint64          // Situation.Placed
	size     int             // of the fleet
	census   int             // machines that were counted; 0: to be counted again
	sites    []int           // where each one lies
}

// settle counts the population, unless it lies where it lay when it was counted last.
func (r *Inference) settle() {
	s, was := &r.S, &r.settled
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
func (r *Inference) closeParents() {
	least, calm := r.S.Spec.SharedFate.AtLeast, r.S.Spec.Limits.Brake.ReleaseAfter
	kept := r.Sit.Whole.Parents[:0]
	for _, p := range r.Sit.Whole.Parents {
		f := r.census.Look(p.Domain, r.question())
		p.Failing, p.Members, p.Chance = f.Failing, f.Members, f.Chance
		switch {
		case least > 0 && (r.stands(f) || r.isLeft(&p) || r.stands(r.census.Look(p.Domain, r.alone()))):
			p.CalmSince = 0
		case p.CalmSince == 0:
			p.CalmSince = r.S.Now.Mono
		}
		if p.CalmSince != 0 && r.S.Now.Due(p.CalmSince.Add(calm)) {
			r.closeParent(p, fleet.ReasonReleased)
			continue
		}
		kept = append(kept, p)
	}
	r.Sit.Whole.Parents = kept
}

// isLeft reports whether the machines leave the domain, and none that is still there is well: that they become fewer
// contradicts nothing.
func (r *Inference) isLeft(p *belief.Parent) bool {
	f := r.census.Look(p.Domain, r.alone())
	return guard.Leaving(p, &r.Sit) && f.Failing > 0 && f.Failing == f.Members
}

// stands reports whether nothing contradicts what was told of the domain.
func (r *Inference) stands(f correlation.Finding) bool {
	return 2*f.Failing >= r.S.Spec.SharedFate.AtLeast && f.Stands()
}

func (r *Inference) closeParent(p belief.Parent, why fleet.Reason) {
	rec := about(p)
	rec.Kind, rec.Reason, rec.Took = record.ParentClosed, why, r.S.Now.Wall.Sub(p.Opened)
	rec.Paged, rec.Joint = p.Paged, p.Joint
	r.Record(rec)
}

// about begins a record about a parent.
func about(p belief.Parent) record.Record {
	return record.Record{Parent: p.ID, Domain: p.Domain, Failing: p.Failing, Size: p.Members, Chance: p.Chance}
}

// openParents blames domains as long as there are any to blame: first a wider one than is blamed already, then others,
// beside it.
func (r *Inference) openParents() {
	q := r.question()
	unplaced := func(p belief.Parent) bool { return !r.census.Knows(p.Domain) }
	if slices.ContainsFunc(r.Sit.Whole.Parents, unplaced) {
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
func (r *Inference) besides(q correlation.Question, others []fleet.Domain) correlation.Question {
	q.Without = slices.Clone(others)
	for _, p := range r.Sit.Whole.Parents {
		q.Without = append(q.Without, p.Domain)
	}
	return q
}

// widen opens a parent for a domain in which all the failures of open parents lie, and more, in their place.
func (r *Inference) widen(f correlation.Finding) bool {
	var inner []belief.Parent
	for _, p := range r.Sit.Whole.Parents {
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
func (r *Inference) openParent(f correlation.Finding, instead []belief.Parent) {
	r.Sit.Whole.Opened++
	p := belief.Parent{
		ID: string(r.S.Spec.Name) + "/p" + strconv.FormatUint(r.Sit.Whole.Opened, 10), Domain: f.Domain,
		Opened: r.S.Now.Wall, Since: r.S.Now.Mono, Failing: f.Failing, Members: f.Members, Chance: f.Chance,
	}
	for _, old := range instead {
		p.Since = min(p.Since, old.Since)
		if old.Opened.Before(p.Opened) {
			p.Opened = old.Opened
		}
	}
	r.Sit.Whole.Parents = slices.DeleteFunc(r.Sit.Whole.Parents, func(old belief.Parent) bool {
		return slices.ContainsFunc(instead, func(i belief.Parent) bool { return i.ID == old.ID })
	})
	rec := about(p)
	rec.Kind = record.ParentOpen
	r.Record(rec)
	for _, old := range instead {
		r.closeParent(old, fleet.ReasonSuperseded)
	}
	r.Sit.Whole.Parents = append(r.Sit.Whole.Parents, p)
}

// foresee marks the machines that would share a fate if the suspects around them turned out to fail.
func (r *Inference) foresee(members []*round.Member) {
	q := r.question()
	if q.AtLeast == 0 || !r.census.Unsure() {
		return
	}
	q = r.besides(q, nil)
	q.Suspects = true
	suspicions := r.census.Suspicions(q)
	q.Alone = true
	for _, f := range append(suspicions, r.census.Suspicions(q)...) {
		for _, w := range members {
			w.Fated = w.Fated || r.census.Within(w.Site, f.Domain)
		}
	}
}

// ParentOf returns the open parent of the machine's incident, or nil.
func (r *Inference) ParentOf(w *round.Member) *belief.Parent {
	if r.census == nil || w.Site < 0 || r.first[w.Site] < 0 || r.stateOf(w) != correlation.Failing {
		return nil
	}
	return &r.Sit.Whole.Parents[r.first[w.Site]]
}

// darkWithProvider reports whether the machine fell silent when its whole provider did. A person is told of the
// provider (picture.Picture.ProviderPage). One that is heard, or was silent before, fails for another reason.
func (r *Inference) darkWithProvider(w *round.Member) bool {
	return r.S.Provider.Standing == fleet.ProviderDown && !guard.Speaks(w.On.View) &&
		w.On.M.Health.SinceMono >= r.S.Provider.Since.Add(-guard.SettleTime(r.S.Spec))
}

// Explained reports whether a person is told of the failures by something better than the brake: a doubt, or parent
// incidents and a silent provider that leave no more of them than the brake allows; or that they pass without a person:
// no more last than the brake allows once it is released, and it is still to be hoped that it will be (L8). Parents do
// not explain for long that a machine waits that fails for itself. The limit is the brake's, and 0 of a brake that
// several fleets share: what fails in this one is explained, or not.
func (r *Inference) Explained(b *belief.Brake, members []*round.Member, limit int) bool {
	if d := r.Sit.Whole.Doubt; d.Paged || d.Reason != "" && !r.S.Now.Reached(d.Since.Add(round.PagePause)) {
		return true
	}
	lasting, shared, waits := r.Tally.Failing, 0, false
	for _, w := range members {
		switch {
		case guard.Surplus(w.On.M, &r.S.Spec), !guard.Counts(w.On.M, &r.S.Spec):
		case w.On.M.Incident != nil && r.Sit.Whole.Parent(w.On.M.Incident.Parent) != nil, r.darkWithProvider(w):
			shared++
		case passing(w.On.M, &r.Sit):
			lasting--
		case w.On.M.Incident != nil && !w.On.M.Incident.Paged:
			waits = waits || r.S.Now.Reached(w.On.M.Incident.Opened.Add(brakeWaits))
		}
	}
	if r.S.Now.Reached(b.Since.Add(brakePause)) {
		limit /= 2 // at half the limit it is about to release
	}
	return lasting <= limit || shared > 0 && lasting-shared <= limit && !waits
}
