package ledger

import (
	"slices"
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/leaving"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/resized"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/core/sizing"
)

// Weigh lets opinions move the size, and chooses the machines that go when fewer are asked for within bounds. It
// follows Book, in the same round.
func Weigh(r *round.Round, hours *sizing.Hours) {
	wanted := r.S.Wanted
	if wanted == nil || wanted.Sizing == nil || wanted.Adopt.Selects() {
		r.Sit.Whole.Sizing = nil
		return
	}
	w := weighing{Round: r, wanted: wanted, was: r.Sit.Whole.Ledger}
	if s := r.Sit.Whole.Sizing; s != nil {
		w.state = *s
	}
	listenToMetrics(&w)
	c, v := judge(&r.Sit, wanted, r.S.Machines, hours)
	w.blind = slices.ContainsFunc(v.Said, func(s sizing.Said) bool { return s.Missing() })
	if sizing.Watched(wanted) {
		w.observe(&c, &v)
	} else {
		w.move(&c, &v)
		w.release()
	}
	w.say(&c, &v)
	foresee(&w, &v)
	w.settle()
}

// weighing is one judgement of a fleet's size.
type weighing struct {
	*round.Round
	wanted *policy.Spec
	was    *belief.Ledger
	state  resized.State
	blind  bool // an opinion has none
}

// judge returns what the opinions come to, and whether anything keeps machines from going by it.
func judge(sit *guard.Situation, wanted *policy.Spec, machines []situation.View, hours *sizing.Hours) (sizing.Case,
	sizing.Verdict) {
	c := sizing.CaseOf(&sit.State, wanted, machines)
	v := hours.Judge(&c)
	if v.Size < c.Size && !sizing.Watched(wanted) {
		if why := guard.ScaleIn(sit); why != "" {
			v.Size, v.Why, v.Until = c.Size, why, 0
		}
	}
	return c, v
}

// Opine returns what the opinions come to in a fleet with bounds as it stands, for those who ask: the same as Weigh
// would follow.
func Opine(s *situation.State, wanted *policy.Spec, machines []situation.View) (sizing.Case, sizing.Verdict) {
	sit := guard.Situation{State: *s}
	sit.Brake = guard.Braked(s.Brake, &s.Whole)
	return judge(&sit, wanted, machines, new(sizing.Hours))
}

// opine returns the record of what the opinion that counts wants.
func opine(v *sizing.Verdict, why fleet.Reason, from, to int) record.Record {
	rec := record.Record{Kind: record.Size, Reason: why, Size: to, Limit: from}
	if v.By >= 0 {
		s := &v.Said[v.By]
		rec.Opinion, rec.Metric, rec.Value, rec.Goal = s.Opinion, s.Metric, s.Value, s.Goal
	}
	return rec
}

// observe records what would be done.
func (w *weighing) observe(c *sizing.Case, v *sizing.Verdict) {
	if v.Size == c.Size {
		return
	}
	w.Record(opine(v, fleet.ReasonObserve, c.Size, v.Size))
	w.state = *w.state.Moves(c.Size, v.Size, w.S.Now)
	w.state.Would = v.Size
}

// move has the size be the one that opinions want.
func (w *weighing) move(c *sizing.Case, v *sizing.Verdict) {
	w.state.Would = 0
	if v.Size == c.Size {
		return
	}
	l := named(w.Sit.Whole.Ledger)
	by := v.Said[v.By].Opinion
	next := l.Order(&belief.OrderedSize{Size: v.Size, File: w.wanted.Said(), By: string(by), Opinion: by, Within: true,
		Order: nameOf(l), At: w.S.Now.Wall})
	w.Record(opine(v, fleet.ReasonOpinion, c.Size, v.Size))
	if due := v.Size + w.wanted.Spares.Count; due > next.Staying() {
		next = grow(w.Round, next, due)
	}
	enforce(w.Round, next)
	w.state = *w.state.Moves(c.Size, v.Size, w.S.Now)
}

// release chooses the machines that go, where fewer are asked for within bounds than there are, and takes those back
// that have not begun to go by an opinion's word while its metric says nothing.
func (w *weighing) release() {
	l := w.Sit.Whole.Ledger
	o := l.LastWord(w.wanted)
	if o == nil || !o.Within {
		return
	}
	if l = w.takeBack(l, o); o.Opinion != "" && w.blind {
		return
	}
	n := w.serving(l) - l.Kept(w.wanted)
	if o.Opinion != "" {
		n = min(n, w.most()-w.going(l))
	}
	if n <= 0 || o.Opinion != "" && guard.ScaleIn(&w.Sit) != "" {
		return
	}
	next := named(l)
	next.Removals = slices.Clone(l.Removals)
	scene := Scene(&w.Sit.State, l, w.S.Machines)
	if o.Opinion == "" {
		scene.Fresh = nil // who says how many are to be there does not wait
	}
	for _, g := range leaving.Choose(scene, n) {
		rem := belief.Removal{Machine: g.Machine, Instance: g.Instance, Why: g.Why, Order: nameOf(next), By: o.By,
			Opinion: o.Opinion}
		if w.wanted.Sizing.Grace > 0 {
			rem.Chosen = w.S.Now.Mono
		}
		next.Removals = append(next.Removals, rem)
		w.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonLeaves, Machine: g.Machine,
			Instance: g.Instance, Order: o.Order, By: o.By, Opinion: o.Opinion, Detail: string(g.Why),
			Took: w.wanted.Sizing.Grace, Size: w.serving(next), Limit: w.serving(next) + 1})
		w.Again = true
	}
	if len(next.Removals) > len(l.Removals) {
		enforce(w.Round, next)
	}
}

// named returns the ledger with another name for what is booked in it by the size.
func named(l *belief.Ledger) *belief.Ledger {
	next := *l
	next.Moves++
	return &next
}

func nameOf(l *belief.Ledger) fleet.OrderID {
	return fleet.OrderID("size-" + strconv.FormatUint(l.Moves, 10))
}

// most returns how many machines may be on their way out at once by opinions.
func (w *weighing) most() int { return sizing.Most(w.wanted.Sizing.Down, w.Sit.Whole.Ledger.Posts()) }

// serving returns how many machines serve when the removals are over, and as many stand by as are to.
func (w *weighing) serving(l *belief.Ledger) int {
	return l.Staying() - max(w.wanted.Spares.Count, l.Idle())
}

// going counts the machines that are on their way out by opinions.
func (w *weighing) going(l *belief.Ledger) int {
	n := 0
	for i := range l.Removals {
		if l.Removals[i].Opinion != "" {
			n++
		}
	}
	return n
}

// Scene is what the choice of those that go within bounds rests on. Those that may not go are kept from it, and so is
// what was built within the window in which a size is to be stable, for a larger size or to heal a machine: healing and
// scaling do not undo what the other one does.
func Scene(s *situation.State, l *belief.Ledger, machines []situation.View) leaving.Scene {
	spec := &s.Spec
	return leaving.Scene{Spec: spec, Machines: machines, Hosts: s.Hosts, Gauges: s.Gauges, Spare: true,
		Gone: func(m *belief.Machine) bool { return l.Leaves(m.Name) }, Beside: l.IsSpare,
		Fresh: func(built time.Time) bool {
			return s.Now.Reached(built) && !s.Now.Reached(built.Add(spec.Sizing.Down.Stabilise))
		},
		Fit: func(m *belief.Machine) bool {
			n, _ := m.Name.Ordinal()
			failed := m.Change != nil && !slices.Contains(harmless, m.Change.Ended)
			whole := m.Current.None() ||
				m.Current.Replaceable() // what is being built comes to be healthy, or goes by itself
			return !slices.Contains(spec.Sizing.Stay, n) && !failed && whole && m.Contest == nil && m.Wanted == nil &&
				!guard.Kept(m, &s.Whole) && change.Unremovable(m, spec) == ""
		}}
}

// harmless are the ends of a removal after which the machine may be chosen again.
var harmless = []fleet.Reason{fleet.ReasonRemoved, fleet.ReasonWithdrawn, fleet.ReasonStalePlan, fleet.ReasonUpdated,
	fleet.ReasonInForce}

// takeBack lets the machines stay that were to go by an opinion's word, and have not begun to, where a person keeps
// them, or what the word rested on says nothing any more.
func (w *weighing) takeBack(l *belief.Ledger, o *belief.OrderedSize) *belief.Ledger {
	next := l
	for _, rem := range l.Removals {
		at, known := w.Ordered(rem.Machine)
		begun := known && w.S.Machines[at].Machine.Repair.CarriesOut(rem.Order)
		kept := known && guard.Kept(&w.S.Machines[at].Machine, &w.Sit.Whole)
		if rem.Opinion == "" || begun || !w.blind && !kept {
			continue
		}
		w.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Machine: rem.Machine,
			Order: rem.Order, By: rem.By, Opinion: rem.Opinion})
		next = next.Dropped(rem.Machine)
	}
	if next == l {
		return l
	}
	if w.blind && o.Opinion != "" {
		again := *o
		again.Size = w.serving(l) + next.Staying() - l.Staying()
		next = next.Order(&again)
	}
	enforce(w.Round, next)
	return next
}

// say records what opinions want and does not happen, once for each reason.
func (w *weighing) say(c *sizing.Case, v *sizing.Verdict) {
	said := resized.Said{Why: v.Why, Up: v.Wants > c.Size}
	brief := v.Why == fleet.ReasonCooldown && v.Until.Sub(w.S.Now.Mono) <= sizing.Beat
	if brief || v.Why == "" || v.Size != c.Size {
		said = resized.Said{}
	}
	if said.Why != "" && said != w.state.Said {
		rec := opine(v, said.Why, c.Size, v.Wants)
		if v.Until != 0 {
			rec.Until = w.S.Now.When(v.Until)
		}
		w.Record(rec)
	}
	w.state.Said = said
}

// settle keeps what is remembered, and holds what was decided to the laws.
func (w *weighing) settle() {
	if err := CheckMove(w.Sit.Whole.Ledger, &Move{Was: w.was, Wanted: w.wanted, Missing: w.blind,
		Now: w.S.Now}); err != nil {
		enforce(w.Round, w.was)
		w.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonLawBroken, Detail: err.Error()})
		return
	}
	if s := w.Sit.Whole.Sizing; s == nil || !w.state.Same(s) {
		next := w.state
		w.Sit.Whole.Sizing = &next
	}
}
