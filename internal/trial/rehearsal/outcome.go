package rehearsal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/prose/words"
	"hale/internal/sim"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/judge"
	"hale/internal/sim/score"
)

// Outcome is what came of an order. It is what hale simulate --json prints.
type Outcome struct {
	Seed    uint64 `json:"seed"`
	Weather string `json:"weather"` // what went wrong, by its title
	score.Score
	Fleets []Fleet `json:"fleets"`
	// DidNotFit says what of a scenario or trace could not happen to the fleets.
	DidNotFit []string `json:"did_not_fit"`
	// Found is the least that does again what must never be done, if that was looked for.
	Found []Found `json:"found"`
}

// Fleet is what came of one fleet.
type Fleet struct {
	Name    fleet.Name  `json:"name"`
	Mode    policy.Mode `json:"mode"`
	Size    int         `json:"size"`
	Hosts   int         `json:"hosts"`
	Servers int         `json:"servers"`
	Days    float64     `json:"days"`
	Score   score.Score `json:"score"`

	Faults   []Fault   `json:"by_fault"` // the most frequent first
	Actions  []Count   `json:"actions"`  // changing calls that took effect, by operation
	Held     []Count   `json:"held"`     // by reason
	Paged    []Count   `json:"paged"`    // by reason
	Wrong    []Misdeed `json:"wrong"`
	Warnings []string  `json:"warnings"`
	// Unexpected is what is not as the scenario has it, where it expects something of this fleet.
	Unexpected []string `json:"unexpected"`

	Options sim.Options `json:"-"` // to play it again
	Result  sim.Result  `json:"-"`
}

// Machines says how many there are to be: "5 machines", or "2 to 8 machines".
func (f *Fleet) Machines() string {
	if p := f.Options.Spec.Sizing; p != nil {
		return fmt.Sprintf("%d to %d machines", p.Min, p.Max)
	}
	if f.Size == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", f.Size)
}

// Count is how often something happened, and in how many machines.
type Count struct {
	What     string `json:"what"`
	Text     string `json:"text,omitempty"` // in words
	Times    int    `json:"times"`
	Machines int    `json:"machines,omitempty"`
}

// Fault is what came of one kind of fault.
type Fault struct {
	Kind    string `json:"kind"`
	Times   int    `json:"times"`   // events of the plan
	Outages int    `json:"outages"` // machines that it kept from serving, each time
	Unseen  int    `json:"unseen"`  // outages that the policy does not call a failure

	Healed       int `json:"healed"`        // by hale, without a page
	HealedPaged  int `json:"healed_paged"`  // by hale, after a person was told
	ByItself     int `json:"by_itself"`     // over without anybody's doing
	ByPerson     int `json:"by_person"`     // mended by the operator
	Open         int `json:"open"`          // not over at the end
	LostSeconds  int `json:"lost_seconds"`  // machine-seconds without service
	MedianSecond int `json:"median_second"` // of an outage
}

// Misdeed is something that hale must never do.
type Misdeed struct {
	AtSeconds int      `json:"at_seconds"` // since the beginning
	Law       string   `json:"law"`
	Machine   string   `json:"machine"`
	What      string   `json:"what"`
	Around    []string `json:"around"` // what the trace says about the machine and the fleet, around that time
}

// The kinds of outages that no event of the plan brought about by itself.
const (
	byCall    = "a call of hale's own"
	byNothing = "what followed"
)

// classOf says what brought the outage about.
func classOf(o chronicle.Outage) string {
	switch {
	case o.Event != nil:
		return o.Event.Class()
	case o.ByCall:
		return byCall
	}
	return byNothing
}

func newFleet(o sim.Options, r sim.Result) Fleet {
	f := Fleet{
		Name: o.Spec.Name, Mode: o.Spec.Mode, Size: o.Spec.Size, Hosts: len(o.Hosts), Servers: o.Servers,
		Days: (o.Horizon).Hours() / 24, Score: r.Score, Options: o, Result: r,
	}
	if o.Spec.Sizing != nil {
		f.Size = o.Most()
	}
	h := o.History
	f.Faults = faults(h)
	f.Actions = actions(h)
	f.Held = tell(h, record.Held)
	f.Paged = tell(h, record.Paged)
	f.Wrong = misdeeds(h, r.Violations)
	f.Warnings = warnings(f)
	return f
}

// faults sums the outages up by what brought them about.
func faults(h *chronicle.History) []Fault {
	rows := map[string]*Fault{}
	row := func(kind string) *Fault {
		if rows[kind] == nil {
			rows[kind] = &Fault{Kind: kind}
		}
		return rows[kind]
	}
	for _, m := range h.Moments {
		if m.Event != nil && !m.Over {
			row(m.Event.Class()).Times++
		}
	}
	lengths := map[string][]time.Duration{}
	for _, o := range h.Outages {
		kind := classOf(o)
		row(kind).add(o)
		lengths[kind] = append(lengths[kind], o.To-o.From)
	}
	for kind, all := range lengths {
		slices.Sort(all)
		rows[kind].MedianSecond = int(all[len(all)/2].Seconds())
	}
	return slices.SortedFunc(values(rows), func(a, b Fault) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Kind, b.Kind))
	})
}

func values(rows map[string]*Fault) func(func(Fault) bool) {
	return func(yield func(Fault) bool) {
		for _, r := range rows {
			if !yield(*r) {
				return
			}
		}
	}
}

func (f *Fault) add(o chronicle.Outage) {
	f.Outages++
	f.LostSeconds += int((o.To - o.From).Seconds())
	if o.Unseen {
		f.Unseen++
	}
	switch o.Ended {
	case chronicle.EndedByHale:
		if o.Paged {
			f.HealedPaged++
		} else {
			f.Healed++
		}
	case chronicle.EndedByItself:
		f.ByItself++
	case chronicle.EndedByPerson:
		f.ByPerson++
	case chronicle.NotEnded:
		f.Open++
	}
}

// counter counts by a word.
type counter struct {
	times    map[string]int
	machines map[string]map[string]bool
}

func newCounter() counter {
	return counter{times: map[string]int{}, machines: map[string]map[string]bool{}}
}

func (c counter) add(what, machine string) {
	c.times[what]++
	if machine == "" {
		return
	}
	if c.machines[what] == nil {
		c.machines[what] = map[string]bool{}
	}
	c.machines[what][machine] = true
}

// counts returns what was counted, the most frequent first.
func (c counter) counts(text func(string) string) []Count {
	out := []Count{}
	for _, what := range slices.Sorted(maps.Keys(c.times)) {
		out = append(out, Count{What: what, Text: text(what), Times: c.times[what], Machines: len(c.machines[what])})
	}
	slices.SortStableFunc(out, func(a, b Count) int { return cmp.Compare(b.Times, a.Times) })
	return out
}

func actions(h *chronicle.History) []Count {
	c := newCounter()
	for _, a := range h.Acts {
		c.add(string(a.Op), a.Machine)
	}
	return c.counts(func(string) string { return "" })
}

// tell counts the records of the kind by their reason.
func tell(h *chronicle.History, kind record.Kind) []Count {
	c := newCounter()
	for _, m := range h.Moments {
		if m.Record != nil && m.Record.Kind == kind && !m.Record.Joined() {
			c.add(string(m.Record.Reason), m.Machine)
		}
	}
	return c.counts(func(reason string) string { return words.Reason(fleet.Reason(reason)) })
}

// How much of the trace goes with a misdeed.
const (
	before   = 15 * time.Minute
	after    = time.Minute
	mostLine = 20
)

func misdeeds(h *chronicle.History, broke []judge.Violation) []Misdeed {
	out := []Misdeed{}
	for _, v := range broke {
		m := Misdeed{AtSeconds: int(v.At.Seconds()), Law: v.Law, Machine: v.Machine, What: v.What, Around: []string{}}
		for _, line := range h.Around(v.Machine, v.At, before, after, mostLine) {
			m.Around = append(m.Around, chronicle.Stamp(line.At)+"  "+line.Line())
		}
		out = append(out, m)
	}
	return out
}

// OK reports whether nothing happened that must never happen, and everything that was expected.
func (o *Outcome) OK() bool {
	for _, f := range o.Fleets {
		if len(f.Unexpected) > 0 {
			return false
		}
	}
	return o.Wrong() == 0
}
