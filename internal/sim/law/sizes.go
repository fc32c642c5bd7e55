package law

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/load"
	"hale/internal/sim/world"
)

// Sizes judges how a fleet's size moves where no person confirmed a plan: by opinions, by signals, and by orders within
// its bounds.
type Sizes struct {
	// Policy is as the operator edited it; nil: the size is a plain one.
	Policy *policy.Sizing

	court  Court
	demand *load.Demand
	tally  *SizeTally
	// began is when the owner knew nothing of the metrics for the last time.
	began   time.Duration
	gaps    map[fleet.MetricName]time.Duration // when it went on for the last time after it had not read the metric
	ordered map[string]time.Time               // when instances were ordered, by the clock of the server that did
	wall    time.Time                          // what time it is by the owner's clock
	Words
}

// Words are when sizes were asked for, as the store has it. They are forgotten with what a store forgets.
type Words struct {
	moved  time.Duration // when another size was asked for last
	pinned time.Duration // until when a person pinned the size
}

// SizeTally counts how the size moved.
type SizeTally struct {
	ScaledOut int `json:"scaled_out"` // times that the size asked for grew
	ScaledIn  int `json:"scaled_in"`
	// ScaledInBlind is how often it shrank by an opinion while a metric said nothing: that must never be.
	ScaledInBlind int `json:"scaled_in_blind"`
	// BelowLeast is how often hale took a machine down by its own choice and left fewer than the fleet's least size.
	BelowLeast int `json:"below_least"`
	// InVain is how often a machine was to go, by an opinion, within the window in which it was built.
	InVain int `json:"built_in_vain"`
}

// Add adds another tally.
func (t *SizeTally) Add(o SizeTally) {
	t.ScaledOut += o.ScaledOut
	t.ScaledIn += o.ScaledIn
	t.ScaledInBlind += o.ScaledInBlind
	t.BelowLeast += o.BelowLeast
	t.InVain += o.InVain
}

// NewSizes returns a judge of sizes, who counts in the tally.
func NewSizes(court Court, policy *policy.Sizing, demand *load.Demand, t *SizeTally) *Sizes {
	return &Sizes{Policy: policy, court: court, demand: demand, tally: t, ordered: map[string]time.Time{},
		gaps: map[fleet.MetricName]time.Duration{}}
}

// Demand has the judge look at another load.
func (s *Sizes) Demand(d *load.Demand) { s.demand = d }

// Now is the moment of a move.
type Now struct {
	At     time.Duration
	Asked  int           // how many machines are asked for until now
	Braked bool          // the brake is on
	Apart  time.Duration // how far the servers' clocks are
}

// Afresh notes that the owner knows nothing of the metrics.
func (s *Sizes) Afresh(now time.Duration) { s.began = now }

// Owned notes what time it is by the owner's clock: by that it knows how old an instance is.
func (s *Sizes) Owned(wall time.Time) { s.wall = wall }

// Stood notes that the owner read no metrics for so long: that is a gap in those that may not be as late.
func (s *Sizes) Stood(still, now time.Duration) {
	if s.Policy == nil {
		return
	}
	for i := range s.Policy.Metrics {
		if m := &s.Policy.Metrics[i]; still > m.Late {
			s.gaps[m.Name] = now
		}
	}
}

// ByOpinion judges a move by an opinion, as the record has it.
func (s *Sizes) ByOpinion(r *record.Record, now Now) {
	p, who := s.Policy, "opinion "+string(r.Opinion)
	if r.Size < p.Min || r.Size > p.Max {
		s.broken("L13", "%s moves the size to %d, and it is to be %d to %d", who, r.Size, p.Min, p.Max)
	}
	if p.Mode == policy.ModeObserve {
		s.broken("L3", "%s moves the size, and is only watched", who)
	}
	s.inTime(who, r.Size, now)
	if r.Size < now.Asked {
		s.shrinks(r.Opinion, r.Size, now)
	}
	s.Wants(r.Size, now)
}

func (s *Sizes) broken(law, format string, args ...any) {
	s.court.Broken(law, "", fmt.Sprintf(format, args...))
}

// Stated notes that the configuration says another size: an order that pinned one is over.
func (s *Sizes) Stated() { s.pinned = 0 }

// Wants notes that another size is asked for.
func (s *Sizes) Wants(size int, now Now) {
	switch {
	case size == now.Asked:
		return
	case size > now.Asked:
		s.tally.ScaledOut++
	default:
		s.tally.ScaledIn++
	}
	s.moved = now.At
}

// inTime judges that an opinion or a signal moves the size when it may.
func (s *Sizes) inTime(who string, size int, now Now) {
	cooldown := s.Policy.Up.Cooldown
	if size < now.Asked {
		cooldown = s.Policy.Down.Cooldown
	}
	if since := now.At - s.moved; size != now.Asked && s.moved != 0 && since < cooldown {
		s.broken("size", "%s moves the size %s after it moved, and its cooldown is %s", who, since, cooldown)
	}
	if now.At < s.pinned-now.Apart {
		s.broken("L15", "%s moves the size, which a person pinned", who)
	}
}

// shrinks judges that an opinion wants fewer machines.
func (s *Sizes) shrinks(by fleet.OpinionName, size int, now Now) {
	who := "opinion " + string(by)
	if m, lasts, is := s.blind(now.At); is {
		s.tally.ScaledInBlind++
		s.broken("size", "%s shrinks the fleet to %d, and metric %s has said nothing for %s", who, size, m, lasts)
	}
	since, reads := s.reads(by, now.Asked)
	if stood := now.At - since; stood < s.Policy.Down.Stabilise && reads {
		s.broken("L9", "%s shrinks the fleet %s after its owner began to read, and its window is %s", who, stood,
			s.Policy.Down.Stabilise)
	}
	if now.Braked {
		s.broken("L6", "%s shrinks the fleet while the brake is on", who)
	}
}

// reads reports whether the size rests on readings where the opinion moves it, and since when these have no gap: but
// for a schedule, which rests on the time of day, while no opinion on a metric has a say. Steps that never lead to
// fewer machines than there are have none in that.
func (s *Sizes) reads(by fleet.OpinionName, size int) (since time.Duration, is bool) {
	scheduled, read := false, false
	since = s.began
	for i := range s.Policy.Opinions {
		o := &s.Policy.Opinions[i]
		schedule := o.Kind == policy.OpinionSchedule
		scheduled = scheduled || schedule && o.Name == by
		grows := o.Kind == policy.OpinionSteps && !slices.ContainsFunc(o.Steps,
			func(step policy.SizeStep) bool { return step.Change.To(size) < size })
		says := !closed(o.Only, o.Not, s.wall)
		if !schedule && !grows && (says || o.Name == by) {
			read, since = read || says, max(since, s.gaps[o.Metric])
		}
	}
	return since, read || !scheduled
}

// blind returns a metric that an opinion goes by and that has said nothing for longer than it may be late.
func (s *Sizes) blind(at time.Duration) (fleet.MetricName, time.Duration, bool) {
	for i := range s.Policy.Opinions {
		o := &s.Policy.Opinions[i]
		m := s.Policy.Metric(o.Metric)
		if m == nil || len(o.Only) > 0 || len(o.Not) > 0 {
			continue // it may have no say now
		}
		if lasts, is := s.demand.Silent(string(m.Name), at); is && lasts > m.Late+m.Every {
			return m.Name, lasts, true
		}
	}
	return "", 0, false
}

// TakenBack returns how many machines are asked for after the records, of those that were: where an opinion's metric
// says nothing, its removals that made no call are taken back, and it asks for as many as stay.
func TakenBack(l *belief.Ledger, spec *policy.Spec, records []record.Record, asked int) int {
	taken := slices.ContainsFunc(records, func(r record.Record) bool {
		return r.Kind == record.Change && r.Reason == fleet.ReasonWithdrawn && r.Opinion != ""
	})
	if !taken || l == nil || l.Ordered == nil || l.Ordered.Opinion == "" {
		return asked
	}
	return max(asked, min(l.Ordered.Size, Serving(l, spec)))
}

// Serving is how many machines serve when all that are to go have gone, and as many stand by as are to.
func Serving(l *belief.Ledger, spec *policy.Spec) int {
	return l.Staying() - max(spec.Spares.Count, l.Idle())
}

// ByOrder judges an order of a size as it is taken up, and returns the size that is asked for then. It is a word anew,
// though it asks for what the bounds let through of another one, where it pins the size, or ends that.
func (s *Sizes) ByOrder(o *fleet.Order, now Now) (size int, anew bool) {
	size, p := o.Size, s.Policy
	if p == nil {
		return size, false
	}
	anew = o.For > 0 || now.At < s.pinned
	if o.Change != (fleet.SizeChange{}) {
		size = o.Change.To(now.Asked)
	}
	if p.Strict && p.Bound(size) != size {
		s.broken("L13", "%d machines are ordered, beyond strict bounds, and that is taken up", size)
	}
	size = p.Bound(size)
	if o.Signal {
		s.inTime("a signal", size, now)
	} else {
		s.pinned = 0
		if o.For > 0 {
			s.pinned = now.At + o.For
		}
	}
	s.Wants(size, now)
	return size, anew
}

// Goes judges that a machine is to go without a plan, so that so many stay; with its instance, if that serves and
// hale knows.
func (s *Sizes) Goes(r *belief.Removal, staying int, vm *world.VM) {
	name, p := string(r.Machine), s.Policy
	if staying < p.Min {
		s.tally.BelowLeast++
		s.court.Broken("L13", name, fmt.Sprintf("it is to go, so that %d stay, and there are to be %d at least",
			staying,
			p.Min))
	}
	if r.Opinion == "" {
		return
	}
	if n, _ := r.Machine.Ordinal(); slices.Contains(p.Stay, n) {
		s.court.Broken("L10", name, "it is to go by an opinion, and to stay by the configuration")
	}
	at, built := s.ordered[string(r.Instance)]
	if lived := s.wall.Sub(at); built && vm != nil && lived >= 0 && lived < p.Down.Stabilise {
		s.tally.InVain++
		s.court.Broken("size", name, fmt.Sprintf("it was built %s ago, and is to go within the window of %s", lived,
			p.Down.Stabilise))
	}
}

// Orders notes that an instance was ordered then by the clock of the server that did, for a larger size or to heal a
// machine.
func (s *Sizes) Orders(instance string, at time.Time) {
	if _, known := s.ordered[instance]; !known {
		s.ordered[instance] = at
	}
}

// Well returns the machine's instance, if it serves, and hale takes it for healthy; else nil.
func Well(vm *world.VM, m *belief.Machine) *world.VM {
	if vm != nil && vm.Serving() && m.Health.Verdict == belief.VerdictHealthy {
		return vm
	}
	return nil
}

// Staying counts the machines, by their numbers up to most, that are in force, are not to go, and are as asked.
func Staying(l *belief.Ledger, most int, as func(n int) bool) int {
	staying := 0
	for n := 1; n <= min(most, l.Size+len(l.Left)); n++ {
		goes := slices.ContainsFunc(l.Removals, func(r belief.Removal) bool {
			goes, _ := r.Machine.Ordinal()
			return goes == n
		})
		if !goes && !slices.Contains(l.Left, n) && as(n) {
			staying++
		}
	}
	return staying
}

// Remnant reports whether the instance is what a build of the machine left that was never finished, and hale knows.
func Remnant(vm *world.VM, m *belief.Machine) bool {
	return vm != nil && !vm.Mark.Certified && (slices.ContainsFunc(m.Strays, func(s belief.Stray) bool {
		return string(s.ID) == vm.ID
	}) || m.Repair != nil && m.Repair.Kind == belief.RepairRemnant && string(m.Repair.Target.ID) == vm.ID)
}

// TakesDown judges that a machine that serves is taken down without a plan, while so many others serve, or failed so
// lately that hale cannot know of it.
func (s *Sizes) TakesDown(machine string, others int) {
	if least := s.Policy.Min; others < least {
		s.tally.BelowLeast++
		s.court.Broken("L13", machine,
			fmt.Sprintf("it is taken down while it serves, and with it go all but %d, of %d "+
				"at least", others, least))
	}
}
